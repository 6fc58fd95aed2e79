import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.util.*;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.qpid.protonj2.client.*;
import org.apache.qpid.protonj2.client.exceptions.*;
import org.apache.qpid.protonj2.types.Binary;
import org.apache.qpid.protonj2.types.messaging.*;

/** ProtonJ2's client behind lines of JSON. */
final class Shim extends Contract {
  private static final String TYPES = "org.apache.qpid.protonj2.types";
  private static final List<String> PROPERTIES = List.of("message-id", "user-id", "to", "subject", "reply-to",
      "correlation-id", "content-type", "content-encoding", "absolute-expiry-time", "creation-time", "group-id",
      "group-sequence", "reply-to-group-id");
  private static final List<String> HEADER =
      List.of("durable", "priority", "time-to-live", "first-acquirer", "delivery-count");

  private final Set<String> ended = ConcurrentHashMap.newKeySet(); // by ourselves

  /** The library waits for credit before it takes a message: what is handed over waits in a thread of its own. */
  private record Sending(Sender sender, boolean settled, ExecutorService turn) {}

  private Shim(String version) {
    super("protonj2-client", version, "1-0");
  }

  public static void main(String[] arguments) throws IOException {
    Properties ofMaven = new Properties();
    ofMaven.load(Client.class.getResourceAsStream("/META-INF/maven/org.apache.qpid/protonj2-client/pom.properties"));
    new Shim(ofMaven.getProperty("version")).serve();
  }

  Object connect(JsonObject told) throws Exception {
    if (told.has("heartbeat")) {
      throw unsupported("1.0 has no heartbeat; idle is what it has");
    }
    long within = milliseconds(told, "within", 5);
    Events events = new Events();
    String[] name = {""};
    ConnectionOptions options =
        new ConnectionOptions().user(text(told, "user", null)).password(text(told, "password", null))
        .openTimeout(within).closeTimeout(within).requestTimeout(within).sendTimeout(within).drainTimeout(within);
    options.transportOptions().connectTimeout((int) within);
    options.disconnectedHandler((connection, event) -> {
      if (!ended.contains(name[0])) {
        over(events, name[0], whole(event.failureCause()));
      }
      events.end();
    });
    pass(told, "frame_max", options::maxFrameSize);
    pass(told, "channel_max", options::channelMax);
    pass(told, "idle", options::idleTimeout);
    if (told.has("hostname")) {
      options.virtualHost(text(told, "hostname", ""));
    }
    if (told.has("mechanism")) {
      options.saslOptions().addAllowedMechanism(text(told, "mechanism", ""));
    }
    ClientOptions container = told.has("container") ? new ClientOptions().id(text(told, "container", ""))
        : new ClientOptions();
    Connection connection = Client.create(container).connect(text(told, "host", ""), number(told, "port", 0), options);
    sockets.add(behind(connection, "transport", "channel"));
    connection.openFuture().get();
    name[0] = keep(connection, events);
    return map("on", name[0]);
  }

  Object open(JsonObject told) throws Exception {
    Session session = held(told, "on", Connection.class).openSession();
    session.openFuture().get();
    return map("on", keepBelow(told, session));
  }

  Object attach(JsonObject told) throws Exception {
    Session session = held(told, "on", Session.class);
    String modes = text(told, "snd", "unsettled") + text(told, "rcv", "first");
    if (!List.of("unsettledfirst", "settledfirst").contains(modes)) {
      throw unsupported("it settles all or nothing before, and first as a receiver");
    }
    long within = milliseconds(told, "within", 5);
    boolean settled = modes.startsWith("settled");
    DeliveryMode mode = settled ? DeliveryMode.AT_MOST_ONCE : DeliveryMode.AT_LEAST_ONCE;
    if (text(told, "role", "").equals("sender")) {
      SenderOptions options = new SenderOptions().deliveryMode(mode).linkName(text(told, "name", null))
          .openTimeout(within).closeTimeout(within).requestTimeout(within).sendTimeout(within);
      Sender sender = session.openSender(text(told, "address", ""), options);
      sender.openFuture().get();
      return map("on", keepBelow(told, new Sending(sender, settled, oneByOne())));
    }
    ReceiverOptions options = new ReceiverOptions().deliveryMode(mode).linkName(text(told, "name", null))
        .openTimeout(within).closeTimeout(within).requestTimeout(within).drainTimeout(within);
    Receiver receiver = session.openReceiver(text(told, "address", ""), options.creditWindow(0).autoAccept(false));
    receiver.openFuture().get();
    String on = keepBelow(told, receiver);
    Events events = events(on);
    daemon(() -> {
      try {
        while (true) {
          Delivery got = receiver.receive();
          if (got != null) {
            events.add(map("event", "message", "on", on, "tag", "", "message", message(got)));
          }
        }
      } catch (Exception failure) {
        Refused why = whole(failure);
        boolean ours = ended.stream().anyMatch(each -> (on + "/").startsWith(each + "/"));
        if (!ours && why.kind == Kind.CLOSED && !"connection".equals(why.told.get("level"))) {
          boolean whole = "session".equals(why.told.get("level")); // told by each link, and of it once
          String where = whole ? on.substring(0, on.lastIndexOf('/')) : on;
          if (!whole || ended.add(where)) {
            over(events, where, why);
          }
        }
        return null;
      }
    });
    if (number(told, "credit", 0) > 0) {
      receiver.addCredit(number(told, "credit", 0));
    }
    return map("on", on);
  }

  Object credit(JsonObject told) throws Exception {
    held(told, "on", Receiver.class).addCredit(number(told, "credit", 0));
    return null;
  }

  Object drain(JsonObject told) throws Exception {
    held(told, "on", Receiver.class).drain().get();
    return null;
  }

  Object send(JsonObject told) throws Exception {
    AdvancedMessage<Object> made = AdvancedMessage.create();
    set(made, object(told, "properties"), Map.of());
    set(made, object(told, "header"), Map.of("ttl", "timeToLive"));
    for (Map.Entry<Object, Object> each : pairs(told, "application").entrySet()) {
      made.property((String) each.getKey(), each.getValue());
    }
    for (Map.Entry<Object, Object> each : pairs(told, "annotations").entrySet()) {
      made.annotation(each.getKey().toString(), each.getValue());
    }
    JsonElement body = told.get("body");
    JsonObject sections = body.isJsonObject() ? body.getAsJsonObject() : new JsonObject();
    made.addBodySection(sections.has("value") ? new AmqpValue<>(value(sections.get("value")))
        : sections.has("sequence") ? new AmqpSequence<>(list(sections.getAsJsonArray("sequence")))
            : new Data(octets(body)));
    return sent(told, made);
  }

  private Map<Object, Object> pairs(JsonObject told, String name) throws Refused {
    return told.has(name) ? table(object(told, name).getAsJsonArray("map")) : Map.of();
  }

  Object echo(JsonObject told) throws Exception {
    return sent(told, held(told, "token", Delivery.class).message());
  }

  private Object sent(JsonObject told, Message<?> message) throws Exception {
    String on = text(told, "on", "");
    Sending sending = held(told, "on", Sending.class);
    if (flag(told, "settled", sending.settled) && !sending.settled) {
      throw unsupported("it settles all that a link sends, or nothing");
    }
    String tag = flag(told, "wait", true) ? null : token("");
    Events events = events(on);
    long within = milliseconds(told, "within", 5);
    Queue<Future<Tracker>> handed = new ArrayDeque<>();
    for (int left = number(told, "count", 1); left > 0; left--) {
      handed.add(sending.turn.submit(() -> sending.sender.send(message)));
    }
    if (tag != null && !sending.settled) {
      for (Future<Tracker> each : handed) {
        daemon(() -> {
          String outcome = outcome(each.get(), Integer.MAX_VALUE);
          events.add(map("event", "outcome", "on", on, "tag", tag, "outcome", outcome));
          return outcome;
        });
      }
    }
    String outcome = null;
    while (tag == null && !handed.isEmpty()) {
      Tracker tracker = handed.remove().get();
      outcome = sending.settled ? null : outcome(tracker, within);
    }
    return tag == null ? map("outcome", outcome) : map("tag", tag);
  }

  private static String outcome(Tracker tracker, long within) throws Exception {
    DeliveryState state = tracker.awaitSettlement(within, TimeUnit.MILLISECONDS).remoteState();
    return state == null ? null : state.getType().name().toLowerCase(Locale.ROOT);
  }

  private Map<String, Object> message(Delivery got) throws ClientException {
    AdvancedMessage<Object> message = got.<Object>message().toAdvancedMessage();
    Map<String, Object> made = map();
    for (Section<?> section : message.bodySections()) {
      if (section instanceof Data data) {
        made.putAll(summary(data.getValue()));
      } else if (section instanceof AmqpSequence<?> sequence) {
        made.put("sequence", ((Map<?, ?>) told(sequence.getValue())).get("list"));
      } else {
        made.put("value", told(section.getValue()));
      }
    }
    if (message.properties() != null) {
      Map<String, Object> properties = fields(message.properties(), message.properties().getClass(), PROPERTIES);
      for (String each : List.of("absolute-expiry-time", "creation-time")) { // the library has them as long
        properties.computeIfPresent(each, (name, long64) -> map("time", ((Map<?, ?>) long64).get("i64")));
      }
      properties.computeIfPresent("group-sequence", (name, long64) -> map("u32", ((Map<?, ?>) long64).get("i64")));
      made.put("properties", properties);
    }
    if (message.header() != null) {
      Map<String, Object> header = fields(message.header(), Header.class, HEADER);
      header.replaceAll((name, each) -> each instanceof Map<?, ?> number
          ? Long.valueOf((String) number.values().iterator().next()) : each);
      Object ttl = header.remove("time-to-live");
      header.putAll(ttl == null ? map() : map("ttl", ttl));
      made.put("header", header);
    }
    if (message.applicationProperties() != null) {
      made.put("application", told(message.applicationProperties().getValue()));
    }
    if (message.annotations() != null) {
      made.put("annotations", told(message.annotations().getValue()));
    }
    return withToken(got, made);
  }

  Object settle(JsonObject told) throws Exception {
    Delivery got = held(told, "token", Delivery.class);
    if (flag(told, "multiple", false)) {
      throw unsupported("it settles one by one");
    }
    switch (text(told, "outcome", "")) {
      case "accept" -> got.accept();
      case "reject" -> got.reject("", "");
      case "release" -> got.release();
      default -> got.modified(true, false);
    }
    return null;
  }

  Object detach(JsonObject told) throws Exception {
    link(told).detachAsync().get();
    return null;
  }

  Object close(JsonObject told) throws Exception {
    Object what = held(told, "on", Object.class);
    ended.add(text(told, "on", ""));
    Future<?> closed = what instanceof Connection connection ? connection.closeAsync()
        : what instanceof Session session ? session.closeAsync() : link(told).closeAsync();
    closed.get();
    return null;
  }

  private Link<?> link(JsonObject told) throws Refused {
    return held(told, "on", Object.class) instanceof Sending sending ? sending.sender
        : held(told, "on", Receiver.class);
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

  @Override
  Object typed(String key, JsonElement told) throws Refused {
    return key.equals("bin") ? new Binary((byte[]) super.typed(key, told)) : typed(TYPES, key, told);
  }

  @Override
  Object told(Object value) {
    return value instanceof Binary octets ? super.told(octets.asByteArray()) : super.told(value);
  }
}
