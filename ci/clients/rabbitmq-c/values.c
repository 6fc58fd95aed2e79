// Fields of tables as the library takes them.
#include "values.h"

#include <string.h>

amqp_bytes_t bytes(struct octets octets) { return (amqp_bytes_t){octets.size, (void *)octets.at}; }

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
