import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.List;
import java.util.Map;
import org.apache.qpid.protonj2.client.AdvancedMessage;
import org.apache.qpid.protonj2.client.Delivery;
import org.apache.qpid.protonj2.client.exceptions.ClientException;
import org.apache.qpid.protonj2.types.Binary;
import org.apache.qpid.protonj2.types.messaging.*;

/** Messages of ProtonJ2's client, as lines tell them. */
abstract class Messages extends Failures {
  private static final String TYPES = "org.apache.qpid.protonj2.types";
  private static final List<String> PROPERTIES = List.of("message-id", "user-id", "to", "subject", "reply-to",
      "correlation-id", "content-type", "content-encoding", "absolute-expiry-time", "creation-time", "group-id",
      "group-sequence", "reply-to-group-id");
  private static final List<String> HEADER =
      List.of("durable", "priority", "time-to-live", "first-acquirer", "delivery-count");

  /** Make the message that is told. */
  final AdvancedMessage<Object> filled(JsonObject told) throws Exception {
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
    return made;
  }

  private Map<Object, Object> pairs(JsonObject told, String name) throws Refused {
    return told.has(name) ? table(object(told, name).getAsJsonArray("map")) : Map.of();
  }

  /** Tell a message that came. */
  final Map<String, Object> message(Delivery got) throws ClientException {
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

  @Override
  Object typed(String key, JsonElement told) throws Refused {
    return key.equals("bin") ? new Binary((byte[]) super.typed(key, told)) : typed(TYPES, key, told);
  }

  @Override
  Object told(Object value) {
    return value instanceof Binary octets ? super.told(octets.asByteArray()) : super.told(value);
  }
}
