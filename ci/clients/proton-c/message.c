#include "values.h"

#include <string.h>

// Fields that are a text, and those that are a moment.
static const struct {
  const char *name;
  int (*set)(pn_message_t *message, const char *text);
  const char *(*get)(pn_message_t *message);
} texts[] = {
    {"to", pn_message_set_address, pn_message_get_address},
    {"subject", pn_message_set_subject, pn_message_get_subject},
    {"reply-to", pn_message_set_reply_to, pn_message_get_reply_to},
    {"content-type", pn_message_set_content_type, pn_message_get_content_type},
    {"content-encoding", pn_message_set_content_encoding, pn_message_get_content_encoding},
    {"group-id", pn_message_set_group_id, pn_message_get_group_id},
    {"reply-to-group-id", pn_message_set_reply_to_group_id, pn_message_get_reply_to_group_id},
};
static const struct {
  const char *name;
  int (*set)(pn_message_t *message, pn_timestamp_t time);
  pn_timestamp_t (*get)(pn_message_t *message);
} times[] = {
    {"absolute-expiry-time", pn_message_set_expiry_time, pn_message_get_expiry_time},
    {"creation-time", pn_message_set_creation_time, pn_message_get_creation_time},
};
static const struct {
  const char *name;
  pn_data_t *(*of)(pn_message_t *message);
} values[] = {{"message-id", pn_message_id}, {"correlation-id", pn_message_correlation_id}};
#define ALL(at, table) for (size_t at = 0; at < sizeof table / sizeof *table; at++)

static void set_property(pn_message_t *message, const char *name, json *value) {
  json *held;
  const char *type = typed(value, &held);
  ALL(at, texts)
  if (!strcmp(name, texts[at].name)) {
    texts[at].set(message, cstring(held, NULL));
    return;
  }
  ALL(at, times)
  if (!strcmp(name, times[at].name)) {
    times[at].set(message, whole(held, INT64_MIN, INT64_MAX));
    return;
  }
  ALL(at, values)
  if (!strcmp(name, values[at].name)) {
    pn_data_clear(values[at].of(message));
    put(values[at].of(message), value);
    return;
  }
  if (!strcmp(name, "user-id")) {
    const struct octets octets = strcmp(type, "bin") ? text(held) : hex(held);
    pn_message_set_user_id(message, pn_bytes(octets.size, octets.at));
  } else if (!strcmp(name, "group-sequence")) {
    pn_message_set_group_sequence(message, (pn_sequence_t)whole(held, 0, UINT32_MAX));
  } else {
    unsupported("Proton has no property %s", name);
  }
}

static void set_header(pn_message_t *message, const char *name, json *value) {
  json *held;
  typed(value, &held);
  if (!strcmp(name, "durable"))
    pn_message_set_durable(message, truth(held));
  else if (!strcmp(name, "first-acquirer"))
    pn_message_set_first_acquirer(message, truth(held));
  else if (!strcmp(name, "priority"))
    pn_message_set_priority(message, (uint8_t)whole(held, 0, UINT8_MAX));
  else if (!strcmp(name, "ttl"))
    pn_message_set_ttl(message, (pn_millis_t)whole(held, 0, UINT32_MAX));
  else if (!strcmp(name, "delivery-count"))
    pn_message_set_delivery_count(message, (uint32_t)whole(held, 0, UINT32_MAX));
  else
    unsupported("Proton has no field %s of a header", name);
}

void fill(pn_message_t *message, json *line) {
  json *said = member(line, "body"), *properties = member(line, "properties"), *header = member(line, "header");
  pn_data_t *into = pn_message_body(message);
  json *value, *object = json_object_is_type(said, json_type_object) ? said : NULL;
  if (json_object_object_get_ex(object, "value", &value)) {
    put(into, value);
  } else if (json_object_object_get_ex(object, "sequence", &value)) {
    pn_message_set_inferred(message, true);
    json *list = one("list", json_object_get(value));
    put(into, list);
    json_object_put(list);
  } else {
    const struct octets octets = body(said);
    pn_message_set_inferred(message, true);
    pn_data_put_binary(into, pn_bytes(octets.size, octets.at));
  }
  if (properties) {
    json_object_object_foreach(properties, name, held) { set_property(message, name, held); }
  }
  if (header) {
    json_object_object_foreach(header, name, held) { set_header(message, name, held); }
  }
  if (member(line, "application"))
    put(pn_message_properties(message), member(line, "application"));
  if (member(line, "annotations"))
    put(pn_message_annotations(message), member(line, "annotations"));
}

static json *told_first(pn_data_t *data) {
  pn_data_rewind(data);
  return pn_data_next(data) ? told_value(data) : NULL;
}

static void add(json *object, const char *name, json *value) {
  if (value)
    with(object, name, value);
}

// Proton does not say what came: what stands for a missing field is taken for one.
static json *told_header(pn_message_t *message) {
  json *header = json_object_new_object();
  if (pn_message_is_durable(message))
    with(header, "durable", json_object_new_boolean(true));
  if (pn_message_is_first_acquirer(message))
    with(header, "first-acquirer", json_object_new_boolean(true));
  if (pn_message_get_priority(message) != PN_DEFAULT_PRIORITY)
    with(header, "priority", json_object_new_int(pn_message_get_priority(message)));
  if (pn_message_get_ttl(message))
    with(header, "ttl", json_object_new_int64(pn_message_get_ttl(message)));
  if (pn_message_get_delivery_count(message))
    with(header, "delivery-count", json_object_new_int64(pn_message_get_delivery_count(message)));
  return header;
}

static json *told_properties(pn_message_t *message) {
  json *properties = json_object_new_object();
  ALL(at, values)
  add(properties, values[at].name, told_first(values[at].of(message)));
  const pn_bytes_t user = pn_message_get_user_id(message);
  if (user.size)
    with(properties, "user-id", told_hex("bin", (struct octets){user.size, user.start}));
  ALL(at, texts)
  if (texts[at].get(message))
    with(properties, texts[at].name, told_text(here(texts[at].get(message))));
  ALL(at, times)
  if (times[at].get(message))
    with(properties, times[at].name, told_whole("time", times[at].get(message)));
  if (pn_message_get_group_sequence(message))
    with(properties, "group-sequence", json_object_new_int64((uint32_t)pn_message_get_group_sequence(message)));
  return properties;
}

json *told_message(const char *token, pn_message_t *message) {
  json *said = one("token", json_object_new_string(token));
  pn_data_t *came = pn_message_body(message);
  pn_data_rewind(came);
  const pn_type_t type = pn_data_next(came) ? pn_data_type(came) : PN_NULL;
  if (pn_message_is_inferred(message) && type == PN_BINARY) {
    const pn_bytes_t octets = pn_data_get_binary(came);
    told_body(said, (struct octets){octets.size, octets.start});
  } else if (pn_message_is_inferred(message) && type == PN_LIST) {
    json *list = told_value(came);
    with(said, "sequence", json_object_get(member(list, "list")));
    json_object_put(list);
  } else {
    with(said, "value", told_first(came));
  }
  json *properties = told_properties(message), *header = told_header(message);
  add(said, "properties", json_object_object_length(properties) ? properties : NULL);
  add(said, "header", json_object_object_length(header) ? header : NULL);
  add(said, "application", told_first(pn_message_properties(message)));
  add(said, "annotations", told_first(pn_message_annotations(message)));
  return said;
}
