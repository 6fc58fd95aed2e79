// Properties of messages.
#include "values.h"

#include <string.h>

#define PROPERTY(name, FLAG, field)                                                                                    \
  { name, AMQP_BASIC_##FLAG##_FLAG, offsetof(amqp_basic_properties_t, field) }
static const struct {
  const char *name;
  amqp_flags_t flag;
  size_t offset;
} texts[] = {
    PROPERTY("content-type", CONTENT_TYPE, content_type),
    PROPERTY("content-encoding", CONTENT_ENCODING, content_encoding),
    PROPERTY("correlation-id", CORRELATION_ID, correlation_id),
    PROPERTY("reply-to", REPLY_TO, reply_to),
    PROPERTY("expiration", EXPIRATION, expiration),
    PROPERTY("message-id", MESSAGE_ID, message_id),
    PROPERTY("type", TYPE, type),
    PROPERTY("user-id", USER_ID, user_id),
    PROPERTY("app-id", APP_ID, app_id),
};
enum { TEXTS = sizeof texts / sizeof *texts };

amqp_basic_properties_t properties(json *told) {
  amqp_basic_properties_t set = {0};
  json_object_object_foreach(told ? told : json_object_new_object(), name, value) {
    size_t at = 0;
    while (at < TEXTS && strcmp(texts[at].name, name))
      at++;
    if (at < TEXTS) {
      *(amqp_bytes_t *)((char *)&set + texts[at].offset) = bytes(text(value));
      set._flags |= texts[at].flag;
    } else if (!strcmp(name, "headers")) {
      set.headers = table(value);
      set._flags |= AMQP_BASIC_HEADERS_FLAG;
    } else if (!strcmp(name, "delivery-mode")) {
      set.delivery_mode = (uint8_t)whole(value, 0, UINT8_MAX);
      set._flags |= AMQP_BASIC_DELIVERY_MODE_FLAG;
    } else if (!strcmp(name, "priority")) {
      set.priority = (uint8_t)whole(value, 0, UINT8_MAX);
      set._flags |= AMQP_BASIC_PRIORITY_FLAG;
    } else if (!strcmp(name, "timestamp")) {
      set.timestamp = whole_unsigned(member(value, "time"), UINT64_MAX);
      set._flags |= AMQP_BASIC_TIMESTAMP_FLAG;
    } else {
      unsupported("rabbitmq-c has no property %s", name);
    }
  }
  return set;
}

json *told_properties(const amqp_basic_properties_t *came) {
  json *properties = json_object_new_object();
  for (size_t at = 0; at < TEXTS; at++)
    if (came->_flags & texts[at].flag)
      with(properties, texts[at].name, told(octets(*(amqp_bytes_t *)((char *)came + texts[at].offset))));
  if (came->_flags & AMQP_BASIC_HEADERS_FLAG)
    with(properties, "headers", told_table(&came->headers));
  if (came->_flags & AMQP_BASIC_DELIVERY_MODE_FLAG)
    with(properties, "delivery-mode", json_object_new_int(came->delivery_mode));
  if (came->_flags & AMQP_BASIC_PRIORITY_FLAG)
    with(properties, "priority", json_object_new_int(came->priority));
  if (came->_flags & AMQP_BASIC_TIMESTAMP_FLAG)
    with(properties, "timestamp", told_unsigned("time", came->timestamp));
  return properties;
}
