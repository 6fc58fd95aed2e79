// Fields of tables as the library tells them.
#include "values.h"

struct octets octets(amqp_bytes_t bytes) {
  return (struct octets){bytes.len, bytes.bytes};
}

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

json *told_table(const amqp_table_t *table) {
  json *pairs = json_object_new_array();
  for (int at = 0; at < table->num_entries; at++) {
    json *pair = json_object_new_array();
    json_object_array_add(pair, told(octets(table->entries[at].key)));
    json_object_array_add(pair, told_field(&table->entries[at].value));
    json_object_array_add(pairs, pair);
  }
  return one("map", pairs);
}
