// Values as they are told to the library.
#include "values.h"

#include <string.h>

static pn_bytes_t bytes(struct octets octets) { return pn_bytes(octets.size, octets.at); }

static void fixed(void *into, size_t size, struct octets octets) {
  if (octets.size != size)
    refuse(error("local", "", here("it has not as many octets as its type")));
  memcpy(into, octets.at, size);
}

// A UUID is hex with hyphens.
static pn_uuid_t uuid(json *held) {
  char digits[64] = "";
  for (const char *at = cstring(held, ""); *at && strlen(digits) < 63; at++)
    if (*at != '-')
      strncat(digits, at, 1);
  json *plain = json_object_new_string(digits);
  pn_uuid_t uuid;
  fixed(&uuid, sizeof uuid, hex(plain));
  json_object_put(plain);
  return uuid;
}

// The code of the one character of a text.
static pn_char_t letter(json *held) {
  const unsigned char *at = (const unsigned char *)cstring(held, "");
  if (*at < 0x80)
    return *at;
  pn_char_t point = *at & (*at >= 0xF0 ? 7 : *at >= 0xE0 ? 15 : 31);
  for (at++; *at >> 6 == 2; at++)
    point = point << 6 | (*at & 0x3F);
  return point;
}

static void put_all(pn_data_t *data, json *list) {
  pn_data_enter(data);
  EACH(at, list)
  put(data, json_object_array_get_idx(list, at));
  pn_data_exit(data);
}

static void put_array(pn_data_t *data, json *held) {
  const pn_type_t type = type_called(cstring(json_object_array_get_idx(held, 0), ""));
  json *values = json_object_array_get_idx(held, 1);
  pn_data_put_array(data, false, type);
  pn_data_enter(data);
  EACH(at, values) {
    // What each holds stands bare, or with its type; both are of the array's.
    json *value = json_object_array_get_idx(values, at), *bare;
    const char *own = typed(value, &bare);
    if (!strcmp(own, name_of(type)))
      put(data, value);
    else {
      json *whole = one(name_of(type), json_object_get(value));
      put(data, whole);
      json_object_put(whole);
    }
  }
  pn_data_exit(data);
}

void put(pn_data_t *data, json *value) {
  json *held;
  const char *name = typed(value, &held);
  const pn_type_t type = type_called(name);
  const uint64_t same =
      type == PN_FLOAT || type == PN_DOUBLE || type == PN_DECIMAL32 || type == PN_DECIMAL64 ? bits(held) : 0;
  pn_decimal128_t decimal;
  switch (type) {
  case PN_NULL: pn_data_put_null(data); break;
  case PN_BOOL: pn_data_put_bool(data, truth(held)); break;
  case PN_UBYTE: pn_data_put_ubyte(data, (uint8_t)whole(held, 0, UINT8_MAX)); break;
  case PN_BYTE: pn_data_put_byte(data, (int8_t)whole(held, INT8_MIN, INT8_MAX)); break;
  case PN_USHORT: pn_data_put_ushort(data, (uint16_t)whole(held, 0, UINT16_MAX)); break;
  case PN_SHORT: pn_data_put_short(data, (int16_t)whole(held, INT16_MIN, INT16_MAX)); break;
  case PN_UINT: pn_data_put_uint(data, (uint32_t)whole(held, 0, UINT32_MAX)); break;
  case PN_INT: pn_data_put_int(data, (int32_t)whole(held, INT32_MIN, INT32_MAX)); break;
  case PN_ULONG: pn_data_put_ulong(data, whole_unsigned(held, UINT64_MAX)); break;
  case PN_LONG: pn_data_put_long(data, whole(held, INT64_MIN, INT64_MAX)); break;
  case PN_TIMESTAMP: pn_data_put_timestamp(data, whole(held, INT64_MIN, INT64_MAX)); break;
  case PN_CHAR: pn_data_put_char(data, letter(held)); break;
  case PN_FLOAT:
    pn_data_put_float(data, ((union {
                              uint32_t bits;
                              float value;
                            }){.bits = (uint32_t)same})
                                .value);
    break;
  case PN_DOUBLE:
    pn_data_put_double(data, ((union {
                               uint64_t bits;
                               double value;
                             }){.bits = same})
                                 .value);
    break;
  case PN_DECIMAL32: pn_data_put_decimal32(data, (pn_decimal32_t)same); break;
  case PN_DECIMAL64: pn_data_put_decimal64(data, same); break;
  case PN_DECIMAL128:
    fixed(&decimal, sizeof decimal, hex(held));
    pn_data_put_decimal128(data, decimal);
    break;
  case PN_UUID: pn_data_put_uuid(data, uuid(held)); break;
  case PN_BINARY: pn_data_put_binary(data, bytes(hex(held))); break;
  case PN_STRING: pn_data_put_string(data, bytes(text(held))); break;
  case PN_SYMBOL: pn_data_put_symbol(data, bytes(text(held))); break;
  case PN_LIST:
    pn_data_put_list(data);
    put_all(data, held);
    break;
  case PN_ARRAY: put_array(data, held); break;
  case PN_DESCRIBED:
    pn_data_put_described(data);
    put_all(data, held);
    break;
  case PN_MAP:
    pn_data_put_map(data);
    pn_data_enter(data);
    EACH(at, held) {
      put(data, json_object_array_get_idx(json_object_array_get_idx(held, at), 0));
      put(data, json_object_array_get_idx(json_object_array_get_idx(held, at), 1));
    }
    pn_data_exit(data);
    break;
  default: unsupported("Proton has no type %s", name);
  }
}
