import com.google.gson.JsonObject;
import jakarta.jms.*;
import java.util.*;
import java.util.concurrent.*;
import org.apache.qpid.jms.meta.JmsProducerId;
import org.apache.qpid.jms.meta.JmsProducerInfo;
import org.apache.qpid.jms.provider.amqp.AmqpProducer;
import org.apache.qpid.jms.provider.exceptions.*;
import org.apache.qpid.proton.engine.EndpointState;

/** What Qpid JMS sends, and what becomes of it. */
abstract class Sending extends Opening {
  /** The library waits for credit before it takes a message: what is handed over waits in a thread of its own. */
  record Sender(Session session, MessageProducer producer, String address, boolean settled,
      ThreadPoolExecutor turn) {}

  Object send(JsonObject told) throws Exception {
    Sender sender = held(told, "on", Sender.class);
    if (flag(told, "settled", sender.settled) && !sender.settled) {
      throw unsupported("JMS settles all that a link sends, or nothing");
    }
    return sent(told, sender, () -> filled(sender.session, sender.address, told), object(told, "header"));
  }

  Object echo(JsonObject told) throws Exception {
    Message message = held(told, "token", Message.class);
    JsonObject header = new JsonObject();
    header.addProperty("durable", message.getJMSDeliveryMode() == DeliveryMode.PERSISTENT);
    header.addProperty("priority", message.getJMSPriority());
    return sent(told, held(told, "on", Sender.class), () -> message, header);
  }

  private Object sent(JsonObject told, Sender sender, Callable<Message> made, JsonObject header) throws Exception {
    String on = text(told, "on", "");
    Events events = events(on);
    String tag = flag(told, "wait", true) ? null : token("");
    int mode = flag(header, "durable", true) ? DeliveryMode.PERSISTENT : DeliveryMode.NON_PERSISTENT;
    int priority = number(header, "priority", Message.DEFAULT_PRIORITY);
    java.util.Queue<Future<String>> handed = new ArrayDeque<>();
    for (int left = number(told, "count", 1); left > 0; left--) {
      CompletableFuture<String> found = new CompletableFuture<>();
      Message message = made.call();
      handed.add(found);
      sender.turn.submit(() -> {
        try {
          sender.producer.send(message, mode, priority, 0, new Told(sender, found));
        } catch (JMSException | RuntimeException failure) {
          found.completeExceptionally(failure);
        }
      });
      if (tag != null && !sender.settled) {
        found.thenAccept(each -> events.add(map("event", "outcome", "on", on, "tag", tag, "outcome", each)));
      }
    }
    String outcome = null;
    while (tag == null && !handed.isEmpty()) {
      outcome = handed.remove().get();
    }
    return tag == null ? map("outcome", sender.settled ? null : outcome) : map("tag", tag);
  }

  /** Hears what became of a message. */
  private final class Told implements CompletionListener {
    private final Sender sender;
    private final CompletableFuture<String> found;

    Told(Sender sender, CompletableFuture<String> found) {
      this.sender = sender;
      this.found = found;
    }

    @Override
    public void onCompletion(Message message) {
      found.complete("accepted");
    }

    @Override
    public void onException(Message message, Exception failure) {
      String outcome = outcome(sender, failure);
      boolean known = outcome == null ? found.completeExceptionally(failure) : found.complete(outcome);
    }
  }

  /** JMS tells outcomes as exceptions; a rejection is whatever came while the link is open. */
  private String outcome(Sender sender, Exception failure) {
    for (Throwable each = failure; each != null; each = each.getCause()) {
      if (each instanceof ProviderDeliveryReleasedException) {
        return "released";
      } else if (each instanceof ProviderDeliveryModifiedException) {
        return "modified";
      }
    }
    EndpointState open = EndpointState.ACTIVE;
    try {
      JmsProducerId id = ((JmsProducerInfo) hidden(sender.producer, "producerInfo")).getId();
      org.apache.qpid.proton.engine.Link link = ((AmqpProducer) id.getProviderHint()).getEndpoint();
      if (link.getSession().getRemoteState() != open) {
        levels.put(failure.getCause() == null ? failure : failure.getCause(), "session");
        return null;
      }
      sender.producer.getPriority(); // which a closed one refuses
      boolean rejected = whole(failure).kind == Kind.CLOSED && !"connection".equals(whole(failure).told.get("level"));
      return rejected && link.getRemoteState() == open ? "rejected" : null;
    } catch (JMSException | ReflectiveOperationException closed) {
      return null;
    }
  }
}
