import com.google.gson.JsonElement;
import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Envelope;
import com.rabbitmq.client.LongString;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import java.util.Map;

/** Messages and values of RabbitMQ's Java client, as lines tell them. */
abstract class Messages extends Failures {
  private static final List<String> PROPERTIES = List.of("content-type", "content-encoding", "headers",
      "delivery-mode", "priority", "correlation-id", "reply-to", "expiration", "message-id", "timestamp", "type",
      "user-id", "app-id");

  /** A message as the library gave it. */
  record Got(long tag, AMQP.BasicProperties properties, byte[] body) {}

  final Map<String, Object> message(Envelope envelope, AMQP.BasicProperties properties, byte[] body) {
    Got got = new Got(envelope.getDeliveryTag(), properties, body);
    Map<String, Object> made = message(got, envelope.getExchange(), envelope.getRoutingKey());
    made.put("redelivered", envelope.isRedeliver());
    return made;
  }

  final Map<String, Object> message(Got got, String exchange, String key) {
    Map<String, Object> made = map("token", token(got), "exchange", exchange, "key", key);
    made.putAll(summary(got.body));
    made.put("properties", fields(got.properties, AMQP.BasicProperties.class, PROPERTIES));
    return made;
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
