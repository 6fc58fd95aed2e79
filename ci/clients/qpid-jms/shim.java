import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import jakarta.jms.*;
import jakarta.jms.Queue;
import java.io.IOException;
import java.io.Serializable;
import java.net.URI;
import java.util.*;
import java.util.concurrent.*;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.qpid.jms.*;
import org.apache.qpid.jms.exceptions.JmsConnectionFailedException;
import org.apache.qpid.jms.message.JmsInboundMessageDispatch;
import org.apache.qpid.jms.meta.JmsProducerId;
import org.apache.qpid.jms.meta.JmsProducerInfo;
import org.apache.qpid.jms.policy.JmsPrefetchPolicy;
import org.apache.qpid.jms.policy.JmsPresettlePolicy;
import org.apache.qpid.jms.provider.ProviderException;
import org.apache.qpid.jms.provider.amqp.AmqpProducer;
import org.apache.qpid.jms.provider.exceptions.*;
import org.apache.qpid.jms.util.MetaDataSupport;
import org.apache.qpid.proton.engine.EndpointState;

/** Qpid JMS behind lines of JSON. */
final class Shim extends Contract implements JmsPrefetchPolicy, JmsPresettlePolicy {
  private static final String TYPES = "org.apache.qpid.proton.amqp";
  private static final int INDIVIDUAL_ACKNOWLEDGE = 101; // Qpid's: of one message, not of all before it
  private static final Pattern CONDITION = Pattern.compile("(?s)(.*?) ?\\[condition = ([^\\]]*)\\]");
  private static final Map<String, Integer> OUTCOMES = Map.of("accept", 1, "reject", 2, "release", 3, "modify", 4);

  /** Properties that JMS has, and what it calls them. */
  private static final Map<String, String> PROPERTIES =
      Map.of("subject", "JMSType", "correlation-id", "JMSCorrelationID",
      "group-id", "JMSXGroupID", "group-sequence", "JMSXGroupSeq", "reply-to-group-id", "JMS_AMQP_REPLY_TO_GROUP_ID",
      "message-id", "JMSMessageID", "user-id", "JMSXUserID");

  private final Map<Object, String> names = Collections.synchronizedMap(new WeakHashMap<>());
  private final Map<Throwable, String> levels = Collections.synchronizedMap(new WeakHashMap<>());
  private final Map<Object, Refused> early = new WeakHashMap<>(); // closed before it had a name
  private int prefetch; // of the next receiver
  private boolean settled; // whether the next link is

  /** The library waits for credit before it takes a message: what is handed over waits in a thread of its own. */
  private record Sender(Session session, MessageProducer producer, String address, boolean settled,
      ThreadPoolExecutor turn) {}

  /** What gets credit for one message at a time pumps them, where the library has none to give by itself. */
  private record Receiver(Session session, MessageConsumer consumer, ThreadPoolExecutor pump) {}

  private Shim() {
    super("qpid-jms-client", MetaDataSupport.PROVIDER_VERSION, "1-0");
  }

  public static void main(String[] arguments) throws IOException {
    new Shim().serve();
  }

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
    return java.net.URLEncoder.encode(text, java.nio.charset.StandardCharsets.UTF_8);
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

  private String named(JsonObject told, Object what, Object library) throws Refused {
    String name = keepBelow(told, what);
    synchronized (names) {
      names.put(library, name);
      if (early.containsKey(library)) {
        over(events(name), name, early.remove(library));
      }
    }
    return name;
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

  Object send(JsonObject told) throws Exception {
    Sender sender = held(told, "on", Sender.class);
    if (flag(told, "settled", sender.settled) && !sender.settled) {
      throw unsupported("JMS settles all that a link sends, or nothing");
    }
    return sent(told, sender, () -> filled(sender, told), object(told, "header"));
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

  private Message filled(Sender sender, JsonObject told) throws Exception {
    Message made = body(sender.session, told.get("body"));
    if (told.has("annotations")) {
      throw unsupported("JMS has no annotations");
    }
    for (Map.Entry<String, JsonElement> each : object(told, "header").entrySet()) {
      if (each.getKey().equals("ttl")) {
        made.setLongProperty("JMS_AMQP_TTL", ((Number) value(each.getValue())).longValue());
      } else if (!List.of("durable", "priority").contains(each.getKey())) {
        throw unsupported("JMS leaves no way to set " + each.getKey());
      }
    }
    for (Map.Entry<String, JsonElement> each : object(told, "properties").entrySet()) {
      Object value = value(each.getValue());
      String name = PROPERTIES.getOrDefault(each.getKey(), "");
      if (each.getKey().equals("reply-to")) {
        made.setJMSReplyTo(sender.session.createQueue((String) value));
      } else if (each.getKey().equals("correlation-id") && value instanceof byte[] octets) {
        made.setJMSCorrelationIDAsBytes(octets);
      } else if (each.getKey().equals("correlation-id") && !(value instanceof String)) {
        made.setJMSCorrelationID("ID:AMQP_" + (value instanceof UUID ? "UUID:" : "ULONG:") + value);
      } else if (!name.isEmpty() && !List.of("message-id", "user-id").contains(each.getKey())) {
        made.setObjectProperty(name, value instanceof Number number ? (Object) number.intValue() : value);
      } else if (!(each.getKey().equals("to") && sender.address.equals(value))) {
        throw unsupported("JMS leaves no way to set " + each.getKey());
      }
    }
    for (JsonElement each : told.has("application") ? object(told, "application").getAsJsonArray("map")
        : List.<JsonElement>of()) {
      made.setObjectProperty(each.getAsJsonArray().get(0).getAsString(), value(each.getAsJsonArray().get(1)));
    }
    return made;
  }

  private Message body(Session session, JsonElement told) throws Exception {
    JsonObject sections = told.isJsonObject() ? told.getAsJsonObject() : new JsonObject();
    if (sections.has("sequence")) {
      StreamMessage stream = session.createStreamMessage();
      for (Object each : list(sections.getAsJsonArray("sequence"))) {
        stream.writeObject(each);
      }
      return stream;
    } else if (!sections.has("value")) {
      BytesMessage octets = session.createBytesMessage();
      octets.writeBytes(octets(told));
      return octets;
    }
    Object value = value(sections.get("value"));
    if (value instanceof String text) {
      return session.createTextMessage(text);
    } else if (value != null && !(value instanceof Map || value instanceof List || value instanceof Object[])) {
      throw unsupported("JMS has no message of " + value.getClass().getSimpleName());
    }
    ObjectMessage object = session.createObjectMessage();
    object.setBooleanProperty("JMS_AMQP_TYPED_ENCODING", true);
    object.setObject((Serializable) value);
    return object;
  }

  @SuppressWarnings("unchecked") // JMS enumerates without types
  private Map<String, Object> message(Message got) throws JMSException {
    Map<String, Object> made = map();
    if (got instanceof BytesMessage octets) {
      byte[] read = new byte[(int) octets.getBodyLength()];
      octets.readBytes(read);
      made.putAll(summary(read));
    } else if (got instanceof StreamMessage stream) {
      List<Object> values = new ArrayList<>();
      try {
        while (true) {
          values.add(told(stream.readObject()));
        }
      } catch (MessageEOFException end) {
        made.put("sequence", values);
      }
    } else if (got instanceof MapMessage pairs) {
      Map<String, Object> values = map();
      for (Object name : Collections.list(pairs.getMapNames())) {
        values.put((String) name, pairs.getObject((String) name));
      }
      made.put("value", told(values));
    } else {
      made.put("value", told(got instanceof TextMessage text ? text.getText()
          : got instanceof ObjectMessage object ? object.getObject() : null));
    }
    Map<String, Object> properties = map();
    for (Map.Entry<String, String> each : PROPERTIES.entrySet()) {
      properties.put(each.getKey(), each.getValue().endsWith("ID") && each.getValue().startsWith("JMS")
          ? id(got.getStringProperty(each.getValue())) : told(got.getObjectProperty(each.getValue())));
    }
    properties.put("to", got.getJMSDestination() instanceof Queue queue ? queue.getQueueName() : null);
    properties.put("reply-to", got.getJMSReplyTo() instanceof Queue queue ? queue.getQueueName() : null);
    properties.put("creation-time", got.getJMSTimestamp() == 0 ? null : told(new Date(got.getJMSTimestamp())));
    properties.put("absolute-expiry-time", got.getJMSExpiration() == 0 ? null : told(new Date(got.getJMSExpiration())));
    properties.values().removeIf(Objects::isNull);
    if (!got.propertyExists("JMSXGroupSeq")) {
      properties.remove("group-sequence");
    }
    made.put("properties", properties);
    Map<String, Object> header = map("durable", got.getJMSDeliveryMode() == DeliveryMode.PERSISTENT);
    header.putAll(map("priority", got.getJMSPriority(), "delivery-count", got.getIntProperty("JMSXDeliveryCount") - 1));
    made.put("header", header);
    Map<String, Object> application = map();
    for (Object name : Collections.list(got.getPropertyNames())) {
      if (!((String) name).startsWith("JMS")) {
        application.put((String) name, got.getObjectProperty((String) name));
      }
    }
    made.put("application", told(application));
    return withToken(got, made);
  }

  /** Tell an identifier, of whose type JMS makes a prefix. */
  private Object id(String text) {
    Matcher typed = Pattern.compile("ID:AMQP_(ULONG|UUID|BINARY|STRING|NO_PREFIX):(.*)", Pattern.DOTALL)
        .matcher(text == null ? "" : text);
    Map<String, String> keys = Map.of("ULONG", "u64", "UUID", "uuid", "BINARY", "bin");
    if (!typed.matches()) {
      return text;
    }
    String key = keys.get(typed.group(1));
    return key == null ? typed.group(2) : map(key, typed.group(2).toLowerCase(Locale.ROOT));
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
    AutoCloseable closed = what instanceof Sender sender ? sender.producer
        : what instanceof Receiver receiver ? receiver.consumer : (AutoCloseable) what;
    closed.close();
    return null;
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

  @Override
  Object typed(String key, JsonElement told) throws Refused {
    return typed(TYPES, key, told);
  }

  @Override
  public Shim copy() {
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
