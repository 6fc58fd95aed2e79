import jakarta.jms.MessageFormatException;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.qpid.jms.exceptions.JmsConnectionFailedException;
import org.apache.qpid.jms.provider.ProviderException;
import org.apache.qpid.jms.provider.exceptions.*;
import org.apache.qpid.jms.util.MetaDataSupport;

/** What the exceptions of Qpid JMS mean. */
abstract class Failures extends Contract {
  private static final Pattern CONDITION = Pattern.compile("(?s)(.*?) ?\\[condition = ([^\\]]*)\\]");

  /** Of what level is what was closed, by the exception that tells of it. */
  final Map<Throwable, String> levels = Collections.synchronizedMap(new WeakHashMap<>());

  Failures() {
    super("qpid-jms-client", MetaDataSupport.PROVIDER_VERSION, "1-0");
  }

  @Override
  Refused why(Throwable failure) {
    String text = String.valueOf(failure.getMessage());
    Matcher told = CONDITION.matcher(text);
    if (text.contains("due to connection loss")) {
      return new Refused(Kind.LOST, text, failure);
    } else if (failure instanceof JmsConnectionFailedException || failure instanceof ProviderFailedException) {
      boolean lost = text.contains("Transport connection remotely closed");
      return failure.getCause() != null ? null : new Refused(lost ? Kind.LOST : Kind.LOCAL, text, failure);
    } else if (failure instanceof ProviderOperationTimedOutException
        || failure instanceof ProviderSendTimedOutException) {
      return new Refused(Kind.TIMEOUT, text, failure);
    } else if (failure instanceof MessageFormatException) {
      return new Refused(Kind.UNSUPPORTED, text, failure);
    } else if (failure instanceof ProviderConnectionSecuritySaslException && text.contains("failed to authenticate")) {
      return new Refused(Kind.CLOSED, text, failure, "level", "connection", "condition", "");
    } else if (!(failure instanceof ProviderException) || !told.matches() && !text.contains("from remote peer")) {
      return null;
    }
    boolean connection = failure instanceof ProviderConnectionRemotelyClosedException;
    String level = connection ? "connection" : levels.getOrDefault(failure, "link");
    boolean named = told.matches();
    return new Refused(Kind.CLOSED, named ? told.group(1) : "", failure, "level", level, "condition", named
        ? told.group(2) : "");
  }
}
