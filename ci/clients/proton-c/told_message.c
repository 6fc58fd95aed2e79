// Messages as the library tells them.
#include "fields.h"
#include "values.h"

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
