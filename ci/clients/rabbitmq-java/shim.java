import com.google.gson.JsonObject;
import com.rabbitmq.client.*;
import java.io.IOException;
import java.util.*;

/** RabbitMQ's Java client behind lines of JSON. */
final class Shim extends Methods {
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

  Object settle(JsonObject told) throws Exception {
    Channel channel = held(told, "on", Channel.class);
    long tag = held(told, "token", Got.class).tag();
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
    held(told, "on", Channel.class).basicPublish("", text(told, "key", ""), got.properties(), got.body());
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
}
