import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Properties;
import java.util.stream.Stream;
import org.apache.qpid.protonj2.client.Client;
import org.apache.qpid.protonj2.client.ErrorCondition;
import org.apache.qpid.protonj2.client.exceptions.*;

/** What the exceptions of ProtonJ2's client mean. */
abstract class Failures extends Contract {
  Failures() {
    super("protonj2-client", version(), "1-0");
  }

  private static String version() {
    Properties ofMaven = new Properties();
    try {
      ofMaven.load(Client.class.getResourceAsStream("/META-INF/maven/org.apache.qpid/protonj2-client/pom.properties"));
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
    return ofMaven.getProperty("version");
  }

  @Override
  Refused why(Throwable failure) {
    String text = String.valueOf(failure.getMessage());
    if (failure instanceof ClientConnectionRemotelyClosedException closed && closed.getErrorCondition() == null) {
      // The library says so of all that ends a connection, its own doing as well.
      boolean told = Stream
          .of("failed to authenticate", "from remote peer", "without a specific", "led to connection disconnect")
          .anyMatch(text::contains);
      boolean lost = Stream.of("closed connection unexpectedly", "result is unknown").anyMatch(text::contains);
      return text.contains("timed out") ? new Refused(Kind.TIMEOUT, text, failure)
          : lost ? new Refused(Kind.LOST, text, failure) : told ? closed(failure, "connection", null) : null;
    } else if (failure instanceof ClientConnectionRemotelyClosedException closed) {
      return closed(failure, "connection", closed.getErrorCondition());
    } else if (failure instanceof ClientSessionRemotelyClosedException closed) {
      return closed(failure, "session", closed.getErrorCondition());
    } else if (failure instanceof ClientResourceRemotelyClosedException closed) {
      return closed(failure, "link", closed.getErrorCondition());
    } else if (failure instanceof ClientOperationTimedOutException || failure instanceof ClientSendTimedOutException) {
      return new Refused(Kind.TIMEOUT, failure.getMessage(), failure);
    }
    return null;
  }

  private static Refused closed(Throwable failure, String level, ErrorCondition condition) {
    String text = condition == null ? failure.getMessage() : condition.description();
    return new Refused(Kind.CLOSED, text, failure, "level", level, "condition", condition == null ? ""
        : condition.condition());
  }
}
