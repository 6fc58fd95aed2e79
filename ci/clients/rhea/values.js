'use strict';
// Typed values and messages of AMQP 1.0 as rhea has them.

const { message: sections, string_to_uuid: uuid, types } = require('rhea');
const { decode, encode, measured, octets, renamed, unsupported } = require('./contract');

const HEADER = ['durable', 'priority', 'ttl', 'first-acquirer', 'delivery-count'];
const IDENTIFIERS = ['message-id', 'correlation-id'];

const bytes = (hex) => Buffer.from(hex, 'hex');
const number = (wrap) => (text) => wrap(Number(text));

/** An integer of 64 bits: octets where a number of JavaScript would be another. */
const long = (wrap, write) => (text) => {
  if (Number.isSafeInteger(Number(text))) return wrap(Number(text));
  const made = Buffer.alloc(8);
  made[write](BigInt(text));
  return wrap(made);
};

/** Typed values that rhea can send. */
const KINDS = {
  i8: number(types.wrap_byte),
  u8: number(types.wrap_ubyte),
  i16: number(types.wrap_short),
  u16: number(types.wrap_ushort),
  i32: number(types.wrap_int),
  u32: number(types.wrap_uint),
  i64: long(types.wrap_long, 'writeBigInt64BE'),
  u64: long(types.wrap_ulong, 'writeBigUInt64BE'),
  f32: (hex) => types.wrap_float(bytes(hex).readFloatBE()),
  f64: (hex) => types.wrap_double(bytes(hex).readDoubleBE()),
  d32: (hex) => types.Decimal32(bytes(hex)),
  d64: (hex) => types.Decimal64(bytes(hex)),
  d128: (hex) => types.Decimal128(bytes(hex)),
  time: number(types.wrap_timestamp),
  bin: bytes,
  sym: types.wrap_symbol,
  char: (text) => types.wrap_char(text.codePointAt(0)),
  uuid: (text) => types.wrap_uuid(uuid(text)),
  map: (pairs) => new Map(pairs),
  desc: ([descriptor, value], make) => types.described(types.wrap(make(descriptor)), types.wrap(make(value))),
  array: ([kind, values], make) => {
    if (!ELEMENTS[kind]) throw unsupported(`an array of ${kind}`);
    const element = (value) => types.wrap(KINDS[kind] ? make({ [kind]: value }) : value).value;
    return types.wrap_array(values.map(element), ELEMENTS[kind].typecode);
  },
};

/** What the elements of an array are written as; rhea wants to be told. */
const ELEMENTS = {
  i8: types.Byte,
  u8: types.Ubyte,
  i16: types.Short,
  u16: types.Ushort,
  i32: types.Int,
  u32: types.Uint,
  i64: types.Long,
  u64: types.Ulong,
  f32: types.Float,
  f64: types.Double,
  time: types.Timestamp,
  bin: types.Vbin32,
  sym: types.Sym32,
  char: types.CharUTF32,
  uuid: types.Uuid,
  text: types.Str32,
};

/** Of an identifier that is octets rhea would make a UUID. */
const IDENTIFYING = { ...KINDS, bin: (hex) => types.wrap_binary(bytes(hex)) };

/** Other properties than identifiers, and what is in the header, are given their type by rhea. */
const UNTYPED = { time: Number, bin: bytes, sym: String, u8: Number, u32: Number };

const underscored = (name) => name.replaceAll('-', '_');

/** A map whose keys are given their type by rhea: text, or `symbolic`. */
function named({ map }, symbolic) {
  const pairs = map.map(([key, value]) => [symbolic && key.sym ? key.sym : key, decode(value, KINDS)]);
  if (pairs.some(([key]) => typeof key !== 'string')) throw unsupported('a key of another type');
  return Object.fromEntries(pairs);
}

/** Make a message of what `send` says. */
function composed({ body, properties, header, application, annotations }) {
  const field = (value, name) => decode(value, IDENTIFIERS.includes(name) ? IDENTIFYING : UNTYPED);
  const made = renamed({ ...properties, ...header }, underscored, field);
  if (application) made.application_properties = named(application, false);
  if (annotations) made.message_annotations = named(annotations, true);
  if (body.value !== undefined) made.body = decode(body.value, KINDS);
  else if (body.sequence) made.body = sections.sequence_section(decode({ list: body.sequence }, KINDS));
  else made.body = sections.data_section(octets(body));
  return made;
}

/** Only what is described is left typed. */
const known = (value, tell) => {
  if (!value.toRheaTyped || !value.descriptor) return undefined;
  return { desc: [tell(types.unwrap(value.descriptor)), tell(types.unwrap(value.value, true))] };
};

/** Tell a message. */
function told({ application_properties: application, message_annotations: annotations, body, ...rest }) {
  const parts = {};
  for (const [key, value] of Object.entries(rest)) {
    if (key === 'delivery_annotations' || key === 'footer') continue;
    const name = key.replaceAll('_', '-');
    const plain = typeof value === 'number' && !IDENTIFIERS.includes(name);
    const part = HEADER.includes(name) ? 'header' : 'properties';
    parts[part] = { ...parts[part], [name]: plain ? value : encode(value, known) };
  }
  if (application) parts.application = encode(application, known);
  if (annotations) parts.annotations = encode(annotations, known);
  if (!body || !body.collect_sections) return { value: encode(body, known), ...parts };
  const content = body.multiple ? body.content : [body.content];
  if (Buffer.isBuffer(content[0])) return { ...measured(Buffer.concat(content)), ...parts };
  return { sequence: content.flat().map((value) => encode(value, known)), ...parts };
}

module.exports = { composed, told };
