import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import jakarta.jms.*;
import jakarta.jms.Queue;
import java.io.Serializable;
import java.util.*;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Messages of JMS, as lines tell them. */
abstract class Messages extends Failures {
  private static final String TYPES = "org.apache.qpid.proton.amqp";

  /** Properties that JMS has, and what it calls them. */
  private static final Map<String, String> PROPERTIES =
      Map.of("subject", "JMSType", "correlation-id", "JMSCorrelationID",
      "group-id", "JMSXGroupID", "group-sequence", "JMSXGroupSeq", "reply-to-group-id", "JMS_AMQP_REPLY_TO_GROUP_ID",
      "message-id", "JMSMessageID", "user-id", "JMSXUserID");

  /** Make the message that is told; `address` is where it goes. */
  final Message filled(Session session, String address, JsonObject told) throws Exception {
    Message made = body(session, told.get("body"));
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
        made.setJMSReplyTo(session.createQueue((String) value));
      } else if (each.getKey().equals("correlation-id") && value instanceof byte[] octets) {
        made.setJMSCorrelationIDAsBytes(octets);
      } else if (each.getKey().equals("correlation-id") && !(value instanceof String)) {
        made.setJMSCorrelationID("ID:AMQP_" + (value instanceof UUID ? "UUID:" : "ULONG:") + value);
      } else if (!name.isEmpty() && !List.of("message-id", "user-id").contains(each.getKey())) {
        made.setObjectProperty(name, value instanceof Number number ? (Object) number.intValue() : value);
      } else if (!(each.getKey().equals("to") && address.equals(value))) {
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

  /** Tell a message that came. */
  @SuppressWarnings("unchecked") // JMS enumerates without types
  final Map<String, Object> message(Message got) throws JMSException {
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

  @Override
  Object typed(String key, JsonElement told) throws Refused {
    return typed(TYPES, key, told);
  }
}
