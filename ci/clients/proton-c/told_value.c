// Values as the library tells them.
#include "values.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  pn_type_t type;
} types[] = {
    {"null", PN_NULL},      {"bool", PN_BOOL},  {"text", PN_STRING},   {"i8", PN_BYTE},        {"u8", PN_UBYTE},
    {"i16", PN_SHORT},      {"u16", PN_USHORT}, {"i32", PN_INT},       {"u32", PN_UINT},       {"i64", PN_LONG},
    {"u64", PN_ULONG},      {"number", PN_INT}, // an int of C
    {"f32", PN_FLOAT},      {"f64", PN_DOUBLE}, {"d32", PN_DECIMAL32}, {"d64", PN_DECIMAL64},  {"d128", PN_DECIMAL128},
    {"time", PN_TIMESTAMP}, {"bin", PN_BINARY}, {"sym", PN_SYMBOL},    {"char", PN_CHAR},      {"uuid", PN_UUID},
    {"list", PN_LIST},      {"map", PN_MAP},    {"array", PN_ARRAY},   {"desc", PN_DESCRIBED},
};

pn_type_t type_called(const char *name) {
  for (size_t at = 0; at < sizeof types / sizeof *types; at++)
    if (!strcmp(types[at].name, name))
      return types[at].type;
  unsupported("Proton has no type %s", name);
}

const char *name_of(pn_type_t type) {
  for (size_t at = 0; at < sizeof types / sizeof *types; at++)
    if (types[at].type == type)
      return types[at].name;
  return "null";
}

static struct octets octets(pn_bytes_t bytes) { return (struct octets){bytes.size, bytes.start}; }

static json *told_letter(pn_char_t point) {
  char octets[5] = {(char)point};
  size_t size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  for (size_t at = size; size > 1 && --at > 0; point >>= 6)
    octets[at] = (char)(0x80 | (point & 0x3F));
  if (size > 1)
    octets[0] = (char)((0xF00 >> size) | point);
  return one("char", told_text((struct octets){size, octets}));
}

static json *told_all(pn_data_t *data) {
  json *list = json_object_new_array();
  pn_data_enter(data);
  while (pn_data_next(data))
    json_object_array_add(list, told_value(data));
  pn_data_exit(data);
  return list;
}

static json *told_map(pn_data_t *data) {
  json *pairs = json_object_new_array();
  pn_data_enter(data);
  while (pn_data_next(data)) {
    json *pair = json_object_new_array();
    json_object_array_add(pair, told_value(data));
    json_object_array_add(pair, pn_data_next(data) ? told_value(data) : NULL);
    json_object_array_add(pairs, pair);
  }
  pn_data_exit(data);
  return one("map", pairs);
}

static json *told_uuid(pn_uuid_t uuid) {
  char said[40] = "";
  for (size_t at = 0; at < sizeof uuid.bytes; at++)
    snprintf(said + strlen(said), 4, at == 4 || at == 6 || at == 8 || at == 10 ? "-%02x" : "%02x",
             (unsigned char)uuid.bytes[at]);
  return one("uuid", json_object_new_string(said));
}

static json *told_array(pn_data_t *data) {
  json *pair = json_object_new_array(), *bare = json_object_new_array();
  const char *name = name_of(pn_data_get_array_type(data));
  const bool described = pn_data_is_array_described(data);
  json *values = told_all(data);
  EACH(at, values) {
    // Those of an array need no type of their own; its descriptor, if any, is told first.
    json *value = json_object_array_get_idx(values, at), *under;
    const bool same = !(described && !at) && !strcmp(typed(value, &under), name);
    json_object_array_add(bare, json_object_get(same ? under : value));
  }
  json_object_put(values);
  json_object_array_add(pair, json_object_new_string(name));
  json_object_array_add(pair, bare);
  return one("array", pair);
}

json *told_value(pn_data_t *data) {
  union {
    float f32;
    double f64;
    uint32_t short_bits;
    uint64_t bits;
  } as = {.bits = 0};
  pn_decimal128_t decimal;
  const pn_type_t type = pn_data_type(data);
  const char *name = name_of(type);
  switch (type) {
  case PN_BOOL: return json_object_new_boolean(pn_data_get_bool(data));
  case PN_UBYTE: return told_whole(name, pn_data_get_ubyte(data));
  case PN_BYTE: return told_whole(name, pn_data_get_byte(data));
  case PN_USHORT: return told_whole(name, pn_data_get_ushort(data));
  case PN_SHORT: return told_whole(name, pn_data_get_short(data));
  case PN_UINT: return told_whole(name, pn_data_get_uint(data));
  case PN_INT: return told_whole(name, pn_data_get_int(data));
  case PN_ULONG: return told_unsigned(name, pn_data_get_ulong(data));
  case PN_LONG: return told_whole(name, pn_data_get_long(data));
  case PN_TIMESTAMP: return told_whole(name, pn_data_get_timestamp(data));
  case PN_CHAR: return told_letter(pn_data_get_char(data));
  case PN_FLOAT: as.f32 = pn_data_get_float(data); return told_bits(name, as.short_bits, 8);
  case PN_DOUBLE: as.f64 = pn_data_get_double(data); return told_bits(name, as.bits, 16);
  case PN_DECIMAL32: return told_bits(name, pn_data_get_decimal32(data), 8);
  case PN_DECIMAL64: return told_bits(name, pn_data_get_decimal64(data), 16);
  case PN_DECIMAL128:
    decimal = pn_data_get_decimal128(data);
    return told_hex(name, (struct octets){sizeof decimal, decimal.bytes});
  case PN_UUID: return told_uuid(pn_data_get_uuid(data));
  case PN_BINARY: return told_hex(name, octets(pn_data_get_binary(data)));
  case PN_STRING: return told(octets(pn_data_get_string(data)));
  case PN_SYMBOL: return one(name, told_text(octets(pn_data_get_symbol(data))));
  case PN_DESCRIBED:
  case PN_LIST: return one(name, told_all(data));
  case PN_ARRAY: return told_array(data);
  case PN_MAP: return told_map(data);
  default: return NULL;
  }
}
