import com.google.gson.JsonObject;
import jakarta.jms.*;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.qpid.jms.*;
import org.apache.qpid.jms.message.JmsInboundMessageDispatch;
import org.apache.qpid.jms.policy.JmsPrefetchPolicy;
import org.apache.qpid.jms.policy.JmsPresettlePolicy;

/** Connections and sessions of Qpid JMS, and what it tells of their end. */
abstract class Opening extends Messages implements JmsPrefetchPolicy, JmsPresettlePolicy {
  private static final int INDIVIDUAL_ACKNOWLEDGE = 101; // Qpid's: of one message, not of all before it

  private final Map<Object, String> names = Collections.synchronizedMap(new WeakHashMap<>());
  private final Map<Object, Refused> early = new WeakHashMap<>(); // closed before it had a name
  int prefetch; // of the next receiver
  boolean settled; // whether the next link is

  Object connect(JsonObject told) throws Exception {
    if (told.has("heartbeat")) {
      throw unsupported("1.0 has no heartbeat; idle is what it has");
    }
    StringBuilder options = new StringBuilder("jms.validatePropertyNames=false&amqp.drainTimeout=W"
        + "&jms.connectTimeout=W&jms.requestTimeout=W&jms.sendTimeout=W&jms.closeTimeout=W");
    Map.of("frame_max", "amqp.maxFrameSize", "channel_max", "amqp.channelMax", "mechanism", "amqp.saslMechanisms",
        "container", "jms.clientID", "hostname", "amqp.vhost", "idle", "amqp.idleTimeout").forEach((name, option) -> {
          if (told.has(name)) {
            options.append('&').append(option).append('=').append(encoded(text(told, name, "")));
          }
        });
    String within = Long.toString(milliseconds(told, "within", 5));
    JmsConnectionFactory factory =
        new JmsConnectionFactory("amqp://" + text(told, "host", "") + ":" + text(told, "port", "")
        + "?" + options.toString().replace("=W", "=" + within));
    factory.setPrefetchPolicy(this);
    factory.setPresettlePolicy(this);
    JmsConnection connection =
        (JmsConnection) factory.createConnection(text(told, "user", null), text(told, "password", null));
    sockets.add(behind(connection, "provider", "transport", "channel"));
    Events events = new Events();
    connection.addConnectionListener(new Listener(events));
    connection.start(); // this is when it sends its Open
    names.put(events, keep(connection, events));
    return map("on", names.get(events));
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  private final class Listener implements JmsConnectionListener {
    private final Events events;
    private boolean failed;

    Listener(Events events) {
      this.events = events;
    }

    @Override
    public void onConnectionFailure(Throwable error) {
      if (!failed) { // it may be told twice
        over(events, names.get(events), whole(error));
      }
      failed = true;
      events.end();
    }

    @Override
    public void onSessionClosed(Session session, Throwable cause) {
      gone(session, cause, "session");
    }

    @Override
    public void onConsumerClosed(MessageConsumer consumer, Throwable cause) {
      gone(consumer, cause, "link");
    }

    @Override
    public void onProducerClosed(MessageProducer producer, Throwable cause) {
      gone(producer, cause, "link");
    }

    private void gone(Object what, Throwable cause, String level) {
      levels.put(cause == null ? new Throwable() : cause, level);
      Refused why = cause == null ? new Refused(Kind.CLOSED, "", null, "level", level, "condition", "") : whole(cause);
      synchronized (names) {
        if (names.containsKey(what)) {
          over(events, names.get(what), why);
        } else {
          early.put(what, why);
        }
      }
    }

    @Override
    public void onConnectionEstablished(URI uri) {}

    @Override
    public void onConnectionInterrupted(URI uri) {}

    @Override
    public void onConnectionRestored(URI uri) {}

    @Override
    public void onInboundMessage(JmsInboundMessageDispatch envelope) {}
  }

  Object open(JsonObject told) throws Exception {
    Session session = held(told, "on", Connection.class).createSession(false, INDIVIDUAL_ACKNOWLEDGE);
    return map("on", named(told, session, session));
  }

  final String named(JsonObject told, Object what, Object library) throws Refused {
    String name = keepBelow(told, what);
    synchronized (names) {
      names.put(library, name);
      if (early.containsKey(library)) {
        over(events(name), name, early.remove(library));
      }
    }
    return name;
  }

  @Override
  public Opening copy() {
    return this;
  }

  @Override
  public int getConfiguredPrefetch(JmsSession session, JmsDestination destination, boolean durable, boolean browser) {
    return prefetch;
  }

  @Override
  public boolean isProducerPresttled(JmsSession session, JmsDestination destination) {
    return settled;
  }

  @Override
  public boolean isConsumerPresttled(JmsSession session, JmsDestination destination) {
    return settled;
  }
}
