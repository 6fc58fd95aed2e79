import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.rabbitmq.client.*;
import com.rabbitmq.client.impl.ClientVersion;
import java.io.IOException;
import java.time.Instant;
import java.util.*;

/** RabbitMQ's Java client behind lines of JSON. */
final class Shim extends Contract {
  private static final List<String> PROPERTIES = List.of("content-type", "content-encoding", "headers",
      "delivery-mode", "priority", "correlation-id", "reply-to", "expiration", "message-id", "timestamp", "type",
      "user-id", "app-id");

  /** A message as the library gave it. */
  private record Got(long tag, AMQP.BasicProperties properties, byte[] body) {}

  private Shim() {
    super("amqp-client", ClientVersion.VERSION, "0-9-1");
  }

  public static void main(String[] arguments) throws IOException {
    new Shim().serve();
  }

  Object connect(JsonObject told) throws Exception {
    ConnectionFactory factory = new ConnectionFactory();
    int within = (int) milliseconds(told, "within", 5);
    factory.setHost(text(told, "host", ""));
    factory.setPort(number(told, "port", 0));
    factory.setUsername(text(told, "user", ""));
    factory.setPassword(text(told, "password", ""));
    factory.setVirtualHost(text(told, "vhost", ""));
    factory.setAutomaticRecoveryEnabled(false);
    factory.setTopologyRecoveryEnabled(false);
    factory.setConnectionTimeout(within);
    factory.setHandshakeTimeout(within);
    factory.setChannelRpcTimeout(within);
    factory.setSocketConfigurator(factory.getSocketConfigurator().andThen(sockets::add));
    pass(told, "heartbeat", factory::setRequestedHeartbeat);
    pass(told, "frame_max", factory::setRequestedFrameMax);
    pass(told, "channel_max", factory::setRequestedChannelMax);
    String mechanism = text(told, "mechanism", "PLAIN");
    factory.setSaslConfig(switch (mechanism) {
      case "PLAIN" -> DefaultSaslConfig.PLAIN; // as it is by default
      case "EXTERNAL" -> DefaultSaslConfig.EXTERNAL;
      case "CRAM-MD5", "DIGEST-MD5" -> new JDKSaslConfig(factory, new String[] {mechanism});
      default -> throw unsupported("no mechanism " + mechanism);
    });
    Events events = new Events();
    Connection connection = factory.newConnection();
    String name = keep(connection, events);
    connection.addShutdownListener(signal -> {
      if (!signal.isInitiatedByApplication()) {
        over(events, name, why(signal));
      }
      events.end();
    });
    return map("on", name);
  }

  Object open(JsonObject told) throws Exception {
    Channel channel = held(told, "on", Connection.class).createChannel();
    if (channel == null) {
      throw new Refused(Kind.LOCAL, "no channel is left", null);
    }
    String name = text(told, "on", "") + "/" + channel.getChannelNumber();
    Events events = events(name);
    channel.addShutdownListener(signal -> {
      if (!signal.isHardError() && !signal.isInitiatedByApplication()) {
        over(events, name, why(signal));
      }
    });
    channel.addReturnListener(back -> {
      Map<String, Object> message =
          message(new Got(0, back.getProperties(), back.getBody()), back.getExchange(), back.getRoutingKey());
      events.add(map("event", "returned", "on", name, "code", back.getReplyCode(), "text", back.getReplyText(),
          "message", message));
    });
    return keep(name, channel);
  }

  /** Send a method by the builder that the library has for each. */
  Object call(JsonObject told) throws Exception {
    Channel channel = held(told, "on", Channel.class);
    String method = text(told, "method", "");
    JsonObject arguments = object(told, "args");
    if (text(arguments, "queue", "").length() > 255) {
      // refused, as by all of its kind; rpc would leave the channel stuck
      channel.queuePurge(text(arguments, "queue", ""));
    }
    Object builder;
    try {
      String[] words = method.split("\\.");
      builder = Class.forName("com.rabbitmq.client.AMQP$" + capital(words[0]) + "$" + capital(camel(words[1]))
          + "$Builder")
          .getConstructor().newInstance();
    } catch (ClassNotFoundException failure) {
      throw unsupported("no method " + method);
    }
    set(builder, arguments, Map.of("no-wait", "nowait"));
    Method made = (Method) invoke(builder.getClass().getMethod("build"), builder);
    if (method.equals("basic.recover-async") || flag(arguments, "no-wait", false)) {
      channel.asyncRpc(made); // sends it, and waits for nothing
      return map("reply", map());
    }
    Method answer = channel.rpc(made).getMethod();
    Class<?> due = Class.forName(made.getClass().getInterfaces()[0].getName() + "Ok");
    due.cast(answer); // as the library's own function for each method does
    return map("reply", fields(answer, due, List.of()));
  }

  Object send(JsonObject told) throws Exception {
    Channel channel = held(told, "on", Channel.class);
    byte[] body = octets(told.get("body"));
    AMQP.BasicProperties.Builder properties = new AMQP.BasicProperties.Builder();
    set(properties, object(told, "properties"), Map.of());
    boolean mandatory = flag(told, "mandatory", false);
    boolean immediate = flag(told, "immediate", false);
    for (int left = number(told, "count", 1); left > 0; left--) {
      channel.basicPublish(text(told, "exchange", ""), text(told, "key", ""), mandatory, immediate, properties.build(),
          body);
    }
    return null;
  }

  Object get(JsonObject told) throws Exception {
    GetResponse got = held(told, "on", Channel.class).basicGet(text(told, "queue", ""), flag(told, "settled", false));
    return map("message", got == null ? null : message(got.getEnvelope(), got.getProps(), got.getBody()));
  }

  Object receive(JsonObject told) throws Exception {
    String name = text(told, "on", "");
    Events events = events(name);
    DeliverCallback deliver = (tag, got) -> events.add(map("event", "message", "on", name, "tag", tag,
        "message", message(got.getEnvelope(), got.getProperties(), got.getBody())));
    CancelCallback cancel = tag -> events.add(map("event", "cancelled", "on", name, "tag", tag));
    return map("tag", held(told, "on", Channel.class)
        .basicConsume(text(told, "queue", ""), flag(told, "settled", false), text(told, "tag", ""), false, false,
        consuming(told), deliver, cancel));
  }

  @SuppressWarnings("unchecked")
  private Map<String, Object> consuming(JsonObject told) throws Refused {
    return told.has("arguments") ? (Map<String, Object>) value(told.get("arguments")) : null;
  }

  Object stop(JsonObject told) throws Exception {
    held(told, "on", Channel.class).basicCancel(text(told, "tag", ""));
    return null;
  }

  private Map<String, Object> message(Envelope envelope, AMQP.BasicProperties properties, byte[] body) {
    Got got = new Got(envelope.getDeliveryTag(), properties, body);
    Map<String, Object> made = message(got, envelope.getExchange(), envelope.getRoutingKey());
    made.put("redelivered", envelope.isRedeliver());
    return made;
  }

  private Map<String, Object> message(Got got, String exchange, String key) {
    Map<String, Object> made = map("token", token(got), "exchange", exchange, "key", key);
    made.putAll(summary(got.body));
    made.put("properties", fields(got.properties, AMQP.BasicProperties.class, PROPERTIES));
    return made;
  }

  Object settle(JsonObject told) throws Exception {
    Channel channel = held(told, "on", Channel.class);
    long tag = held(told, "token", Got.class).tag;
    boolean multiple = flag(told, "multiple", false);
    switch (text(told, "outcome", "") + (multiple ? " several" : "")) {
      case "accept", "accept several" -> channel.basicAck(tag, multiple);
      case "reject" -> channel.basicReject(tag, false);
      case "release" -> channel.basicReject(tag, true);
      default -> throw unsupported("no such outcome, or not of several");
    }
    return null;
  }

  Object echo(JsonObject told) throws Exception {
    Got got = held(told, "token", Got.class);
    held(told, "on", Channel.class).basicPublish("", text(told, "key", ""), got.properties, got.body);
    return null;
  }

  Object close(JsonObject told) throws Exception {
    if (text(told, "on", "").contains("/")) {
      held(told, "on", Channel.class).close();
    } else {
      held(told, "on", Connection.class).close((int) milliseconds(told, "within", 5));
    }
    return null;
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

  @Override
  Object typed(String key, JsonElement told) throws Refused {
    return switch (key) {
      case "time" -> Date.from(Instant.ofEpochSecond(told.getAsLong()));
      case "uuid" -> throw unsupported("the library has no type for uuid");
      default -> super.typed(key, told);
    };
  }

  @Override
  Object told(Object value) {
    if (value instanceof LongString text) {
      String read = utf8(text.getBytes());
      return super.told(read == null ? text.getBytes() : read);
    }
    return value instanceof Date time ? map("time", Long.toString(time.toInstant().getEpochSecond()))
        : super.told(value);
  }
}
