// Messages as they are told to the library.
#include "fields.h"
#include "values.h"

#include <string.h>

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
