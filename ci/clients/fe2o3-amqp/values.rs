//! What fe2o3-amqp makes of the contract's values, and the way back.

use crate::contract::{unsupported, Failure, Typed};
use fe2o3_amqp::types::primitives::{Array, OrderedMap, Symbol, Timestamp, Uuid, Value};
use serde_amqp::described::Described;
use serde_amqp::descriptor::Descriptor;

pub fn made(value: Typed) -> Result<Value, Failure> {
    let all = |values: Vec<Typed>| values.into_iter().map(made).collect::<Result<Vec<_>, _>>();
    Ok(match value {
        Typed::Null => Value::Null,
        Typed::Bool(value) => Value::Bool(value),
        Typed::Text(value) => Value::String(value),
        Typed::Int(value) => i32::try_from(value).map_or(Value::Long(value), Value::Int),
        Typed::Float(value) => Value::from(value),
        Typed::I8(value) => Value::Byte(value),
        Typed::U8(value) => Value::Ubyte(value),
        Typed::I16(value) => Value::Short(value),
        Typed::U16(value) => Value::Ushort(value),
        Typed::I32(value) => Value::Int(value),
        Typed::U32(value) => Value::Uint(value),
        Typed::I64(value) => Value::Long(value),
        Typed::U64(value) => Value::Ulong(value),
        Typed::F32(bits) => Value::from(f32::from_bits(bits)),
        Typed::F64(bits) => Value::from(f64::from_bits(bits)),
        Typed::Bits(_, octets) => match octets.len() {
            4 => Value::Decimal32(<[u8; 4]>::try_from(octets).unwrap_or_default().into()),
            8 => Value::Decimal64(<[u8; 8]>::try_from(octets).unwrap_or_default().into()),
            16 => Value::Decimal128(<[u8; 16]>::try_from(octets).unwrap_or_default().into()),
            _ => return unsupported("decimals have 4, 8 or 16 octets"),
        },
        Typed::Time(value) => Value::Timestamp(Timestamp::from_milliseconds(value)),
        Typed::Bin(octets) => Value::Binary(octets.into()),
        Typed::Sym(value) => Value::Symbol(Symbol::from(value)),
        Typed::Char(value) => Value::Char(value),
        Typed::Uuid(octets) => Value::Uuid(Uuid::from(octets)),
        Typed::List(values) => Value::List(all(values)?),
        Typed::Map(pairs) => {
            let mut map = OrderedMap::new();
            for (key, value) in pairs {
                if map.insert(made(key)?, made(value)?).is_some() {
                    return unsupported("the library's maps hold no key twice");
                }
            }
            Value::Map(map)
        }
        Typed::Array(_, values) => Value::Array(Array::from(all(values)?)),
        Typed::Desc(descriptor, value) => {
            let descriptor = match *descriptor {
                Typed::Sym(name) => Descriptor::Name(Symbol::from(name)),
                Typed::U64(code) => Descriptor::Code(code),
                _ => return unsupported("the library's descriptors are symbols and ulongs"),
            };
            Value::Described(Box::new(Described {
                descriptor,
                value: made(*value)?,
            }))
        }
        other => return unsupported(format!("the library has no type for {}", other.kind())),
    })
}

pub fn found(value: &Value) -> Typed {
    match value {
        Value::Null => Typed::Null,
        Value::Bool(value) => Typed::Bool(*value),
        Value::Ubyte(value) => Typed::U8(*value),
        Value::Ushort(value) => Typed::U16(*value),
        Value::Uint(value) => Typed::U32(*value),
        Value::Ulong(value) => Typed::U64(*value),
        Value::Byte(value) => Typed::I8(*value),
        Value::Short(value) => Typed::I16(*value),
        Value::Int(value) => Typed::I32(*value),
        Value::Long(value) => Typed::I64(*value),
        Value::Float(value) => Typed::F32(value.into_inner().to_bits()),
        Value::Double(value) => Typed::F64(value.into_inner().to_bits()),
        Value::Decimal32(value) => Typed::Bits("d32", value.as_inner().to_vec()),
        Value::Decimal64(value) => Typed::Bits("d64", value.as_inner().to_vec()),
        Value::Decimal128(value) => Typed::Bits("d128", value.as_inner().to_vec()),
        Value::Char(value) => Typed::Char(*value),
        Value::Timestamp(value) => Typed::Time(value.milliseconds()),
        Value::Uuid(value) => Typed::Uuid(*value.as_inner()),
        Value::Binary(octets) => Typed::Bin(octets.to_vec()),
        Value::String(value) => Typed::Text(value.clone()),
        Value::Symbol(value) => Typed::Sym(value.0.clone()),
        Value::List(values) => Typed::List(values.iter().map(found).collect()),
        Value::Map(map) => Typed::Map(
            map.iter()
                .map(|(key, value)| (found(key), found(value)))
                .collect(),
        ),
        Value::Array(values) => {
            let values: Vec<_> = values.0.iter().map(found).collect();
            Typed::Array(values.first().map_or("null".into(), Typed::kind), values)
        }
        Value::Described(it) => {
            let descriptor = match &it.descriptor {
                Descriptor::Name(name) => Typed::Sym(name.0.clone()),
                Descriptor::Code(code) => Typed::U64(*code),
            };
            Typed::Desc(descriptor.into(), found(&it.value).into())
        }
    }
}
