#include "values.h"

#include <string.h>

amqp_bytes_t bytes(struct octets octets) { return (amqp_bytes_t){octets.size, (void *)octets.at}; }

struct octets octets(amqp_bytes_t bytes) {
  return (struct octets){bytes.len, bytes.bytes};
}

// Fields of tables.

static amqp_field_value_t field(json *value);

static amqp_array_t array(json *list) {
  const int size = (int)json_object_array_length(list);
  amqp_array_t array = {size, keep((size_t)size * sizeof *array.entries)};
  EACH(at, list)
  array.entries[at] = field(json_object_array_get_idx(list, at));
  return array;
}

amqp_table_t table(json *map) {
  json *pairs = map ? member(map, "map") : NULL;
  if (!pairs)
    return amqp_empty_table;
  const int size = (int)json_object_array_length(pairs);
  amqp_table_t table = {size, keep((size_t)size * sizeof *table.entries)};
  EACH(at, pairs) {
    json *pair = json_object_array_get_idx(pairs, at);
    table.entries[at].key = bytes(text(json_object_array_get_idx(pair, 0)));
    table.entries[at].value = field(json_object_array_get_idx(pair, 1));
  }
  return table;
}

static amqp_field_value_t decimal(json *held) {
  amqp_decimal_t decimal = {
      .decimals = (uint8_t)whole(json_object_array_get_idx(held, 0), 0, UINT8_MAX),
      .value = (uint32_t)whole(json_object_array_get_idx(held, 1), INT32_MIN, UINT32_MAX),
  };
  return (amqp_field_value_t){AMQP_FIELD_KIND_DECIMAL, .value.decimal = decimal};
}

// The library's kinds are the letters of the errata: s and l are the signed ones, x is what is no text.
static amqp_field_value_t field(json *value) {
  json *held;
  const char *type = typed(value, &held);
#define IF(key, letter, member, of)                                                                                    \
  if (!strcmp(type, key))                                                                                              \
  return (amqp_field_value_t){AMQP_FIELD_KIND_##letter, .value.member = (of)}
  IF("null", VOID, i32, 0);
  IF("bool", BOOLEAN, boolean, truth(held));
  IF("text", UTF8, bytes, bytes(text(held)));
  IF("bin", BYTES, bytes, bytes(hex(held)));
  IF("i8", I8, i8, (int8_t)whole(held, INT8_MIN, INT8_MAX));
  IF("u8", U8, u8, (uint8_t)whole(held, 0, UINT8_MAX));
  IF("i16", I16, i16, (int16_t)whole(held, INT16_MIN, INT16_MAX));
  IF("u16", U16, u16, (uint16_t)whole(held, 0, UINT16_MAX));
  IF("i32", I32, i32, (int32_t)whole(held, INT32_MIN, INT32_MAX));
  IF("u32", U32, u32, (uint32_t)whole(held, 0, UINT32_MAX));
  IF("i64", I64, i64, whole(held, INT64_MIN, INT64_MAX));
  IF("u64", U64, u64, whole_unsigned(held, UINT64_MAX));
  IF("number", I32, i32, (int32_t)whole(held, INT32_MIN, INT32_MAX)); // an int of C
  IF("time", TIMESTAMP, u64, whole_unsigned(held, UINT64_MAX));
  IF("list", ARRAY, array, array(held));
  IF("map", TABLE, table, table(value));
  const uint64_t same = bits(held);
  IF("f32", F32, f32,
     ((union {
       uint32_t bits;
       float value;
     }){.bits = (uint32_t)same})
         .value);
  IF("f64", F64, f64,
     ((union {
       uint64_t bits;
       double value;
     }){.bits = same})
         .value);
  if (!strcmp(type, "dec"))
    return decimal(held);
  unsupported("rabbitmq-c has no field of type %s", type);
}

static json *told_table(const amqp_table_t *table);

static json *told_field(const amqp_field_value_t *field) {
  union {
    float f32;
    double f64;
    uint32_t short_bits;
    uint64_t bits;
  } as = {.bits = 0};
  switch (field->kind) {
  case AMQP_FIELD_KIND_BOOLEAN:
    return json_object_new_boolean(field->value.boolean);
  case AMQP_FIELD_KIND_I8:
    return told_whole("i8", field->value.i8);
  case AMQP_FIELD_KIND_U8:
    return told_whole("u8", field->value.u8);
  case AMQP_FIELD_KIND_I16:
    return told_whole("i16", field->value.i16);
  case AMQP_FIELD_KIND_U16:
    return told_whole("u16", field->value.u16);
  case AMQP_FIELD_KIND_I32:
    return told_whole("i32", field->value.i32);
  case AMQP_FIELD_KIND_U32:
    return told_whole("u32", field->value.u32);
  case AMQP_FIELD_KIND_I64:
    return told_whole("i64", field->value.i64);
  case AMQP_FIELD_KIND_U64:
    return told_unsigned("u64", field->value.u64);
  case AMQP_FIELD_KIND_F32:
    as.f32 = field->value.f32;
    return told_bits("f32", as.short_bits, 8);
  case AMQP_FIELD_KIND_F64:
    as.f64 = field->value.f64;
    return told_bits("f64", as.bits, 16);
  case AMQP_FIELD_KIND_UTF8:
    return told(octets(field->value.bytes));
  case AMQP_FIELD_KIND_BYTES:
    return told_hex("bin", octets(field->value.bytes));
  case AMQP_FIELD_KIND_TIMESTAMP:
    return told_unsigned("time", field->value.u64);
  case AMQP_FIELD_KIND_TABLE:
    return told_table(&field->value.table);
  case AMQP_FIELD_KIND_DECIMAL: {
    json *pair = json_object_new_array(), *unscaled = told_whole("i", (int32_t)field->value.decimal.value);
    json_object_array_add(pair, json_object_new_int(field->value.decimal.decimals));
    json_object_array_add(pair, json_object_get(member(unscaled, "i")));
    json_object_put(unscaled);
    return one("dec", pair);
  }
  case AMQP_FIELD_KIND_ARRAY: {
    json *list = json_object_new_array();
    for (int at = 0; at < field->value.array.num_entries; at++)
      json_object_array_add(list, told_field(&field->value.array.entries[at]));
    return one("list", list);
  }
  default:
    return NULL;
  }
}

static json *told_table(const amqp_table_t *table) {
  json *pairs = json_object_new_array();
  for (int at = 0; at < table->num_entries; at++) {
    json *pair = json_object_new_array();
    json_object_array_add(pair, told(octets(table->entries[at].key)));
    json_object_array_add(pair, told_field(&table->entries[at].value));
    json_object_array_add(pairs, pair);
  }
  return one("map", pairs);
}

// Properties of messages.

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
