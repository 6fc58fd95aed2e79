import com.google.gson.JsonObject;
import jakarta.jms.*;
import jakarta.jms.Queue;
import java.io.IOException;
import java.util.*;
import java.util.concurrent.*;

/** Qpid JMS behind lines of JSON. */
final class Shim extends Sending {
  private static final Map<String, Integer> OUTCOMES = Map.of("accept", 1, "reject", 2, "release", 3, "modify", 4);

  /** What gets credit for one message at a time pumps them, where the library has none to give by itself. */
  private record Receiver(Session session, MessageConsumer consumer, ThreadPoolExecutor pump) {}

  public static void main(String[] arguments) throws IOException {
    new Shim().serve();
  }

  Object attach(JsonObject told) throws Exception {
    Session session = held(told, "on", Session.class);
    String address = text(told, "address", "");
    String modes = text(told, "snd", "unsettled") + text(told, "rcv", "first");
    if (told.has("name") || !List.of("unsettledfirst", "settledfirst").contains(modes)) {
      throw unsupported("JMS names links by itself, settles all or nothing before, and first as a receiver");
    }
    settled = modes.startsWith("settled");
    prefetch = number(told, "credit", 0);
    Queue queue = session.createQueue(address);
    if (text(told, "role", "").equals("sender")) {
      MessageProducer producer = session.createProducer(queue);
      return map("on", named(told, new Sender(session, producer, address, settled, oneByOne()), producer));
    }
    MessageConsumer consumer = session.createConsumer(queue);
    ThreadPoolExecutor pump = null;
    if (prefetch == 0) {
      pump = new ThreadPoolExecutor(1, 1, 1, TimeUnit.DAYS, new LinkedBlockingQueue<>());
    }
    String name = named(told, new Receiver(session, consumer, pump), consumer);
    if (prefetch > 0) {
      Events events = events(name);
      consumer.setMessageListener(got -> arrived(events, name, got));
    }
    return map("on", name);
  }

  private void arrived(Events events, String on, Message got) {
    try {
      events.add(map("event", "message", "on", on, "tag", "", "message", message(got)));
    } catch (JMSException failure) {
      failure.printStackTrace();
    }
  }

  /** With a prefetch of none JMS gives credit for one message whenever it is asked for one. */
  Object credit(JsonObject told) throws Exception {
    String on = text(told, "on", "");
    Receiver receiver = held(told, "on", Receiver.class);
    Events events = events(on);
    if (receiver.pump == null) {
      throw unsupported("the library gives credit by itself, as it was told with attach");
    }
    for (int left = number(told, "credit", 0); left > 0; left--) {
      receiver.pump.submit(() -> {
        Message got = receiver.consumer.receive();
        if (got != null) {
          arrived(events, on, got);
        }
        return got;
      });
    }
    return null;
  }

  /** To ask without waiting is to drain. */
  Object drain(JsonObject told) throws Exception {
    Receiver receiver = held(told, "on", Receiver.class);
    if (receiver.pump == null || receiver.pump.getActiveCount() > 0) {
      throw unsupported("JMS drains only where nothing is asked for");
    }
    Message got = receiver.consumer.receiveNoWait();
    if (got != null) {
      arrived(events(text(told, "on", "")), text(told, "on", ""), got);
    }
    return null;
  }

  Object settle(JsonObject told) throws Exception {
    Message got = held(told, "token", Message.class);
    if (told.has("multiple") && flag(told, "multiple", false)) {
      throw unsupported("the messages of a session so acknowledged cannot be settled one by one");
    }
    got.setIntProperty("JMS_AMQP_ACK_TYPE", OUTCOMES.get(text(told, "outcome", "")));
    got.acknowledge();
    return null;
  }

  Object detach(JsonObject told) throws Exception {
    throw unsupported("JMS closes what it detaches");
  }

  Object close(JsonObject told) throws Exception {
    Object what = held(told, "on", Object.class);
    AutoCloseable closed = what instanceof Sender sender ? sender.producer()
        : what instanceof Receiver receiver ? receiver.consumer : (AutoCloseable) what;
    closed.close();
    return null;
  }
}
