import com.rabbitmq.client.*;
import com.rabbitmq.client.impl.ClientVersion;

/** What the exceptions of RabbitMQ's Java client mean. */
abstract class Failures extends Contract {
  Failures() {
    super("amqp-client", ClientVersion.VERSION, "0-9-1");
  }

  @Override
  Refused why(Throwable failure) {
    if (failure instanceof AuthenticationFailureException) { // keeps nothing of the Close but its text
      return new Refused(Kind.CLOSED, failure.getMessage(), failure, "level", "connection", "code",
          AMQP.ACCESS_REFUSED);
    } else if (failure instanceof ChannelContinuationTimeoutException) {
      return new Refused(Kind.TIMEOUT, failure.getMessage(), failure);
    }
    if (!(failure instanceof ShutdownSignalException signal)) {
      return null;
    }
    // A Close with a cause is the library's own.
    Throwable cause = signal.getCause() instanceof ShutdownSignalException ? null : signal.getCause();
    boolean ours = signal.isInitiatedByApplication() || cause != null;
    if (!ours && signal.getReason() instanceof AMQP.Channel.Close close) {
      return new Refused(Kind.CLOSED, close.getReplyText(), signal, "level", "channel", "code", close.getReplyCode());
    } else if (!ours && signal.getReason() instanceof AMQP.Connection.Close close) {
      return new Refused(Kind.CLOSED, close.getReplyText(), signal, "level", "connection", "code",
          close.getReplyCode());
    }
    boolean lost = signal.getReason() == null
        && (cause == null || whole(cause) != null && whole(cause).kind == Kind.LOST);
    return new Refused(lost ? Kind.LOST : Kind.LOCAL, signal.getMessage() + (cause == null ? "" : ": " + cause),
        signal);
  }
}
