//! What lapin makes of the contract's values, and the way back.

use crate::contract::{unsupported, Failure, Typed};
use lapin::types::{AMQPValue, DecimalValue, FieldTable, ShortString};
use serde_json::Value;

/// Make a short string; the library panics where it is too long, and it may be asked before.
pub fn short(text: &str) -> Result<ShortString, Failure> {
    ShortString::try_new(text)
        .map_err(|error| Failure::new("local", "lapin::types::ShortStringError", error))
}

pub fn made(value: Typed) -> Result<AMQPValue, Failure> {
    Ok(match value {
        Typed::Null => AMQPValue::Void,
        Typed::Bool(value) => AMQPValue::Boolean(value),
        Typed::Text(value) => AMQPValue::LongString(value.into()),
        Typed::Int(value) => {
            i32::try_from(value).map_or(AMQPValue::LongLongInt(value), AMQPValue::LongInt)
        }
        Typed::Float(value) => AMQPValue::Double(value),
        Typed::I8(value) => AMQPValue::ShortShortInt(value),
        Typed::U8(value) => AMQPValue::ShortShortUInt(value),
        Typed::I16(value) => AMQPValue::ShortInt(value),
        Typed::U16(value) => AMQPValue::ShortUInt(value),
        Typed::I32(value) => AMQPValue::LongInt(value),
        Typed::U32(value) => AMQPValue::LongUInt(value),
        Typed::I64(value) => AMQPValue::LongLongInt(value),
        Typed::F32(bits) => AMQPValue::Float(f32::from_bits(bits)),
        Typed::F64(bits) => AMQPValue::Double(f64::from_bits(bits)),
        Typed::Dec(scale, unscaled) => match unscaled.parse() {
            Ok(value) => AMQPValue::DecimalValue(DecimalValue { scale, value }),
            Err(_) => return unsupported("the library's decimals have 32 bits without a sign"),
        },
        Typed::Time(value) => match value.try_into() {
            Ok(seconds) => AMQPValue::Timestamp(seconds),
            Err(_) => return unsupported("the library's timestamps have no sign"),
        },
        Typed::Bin(octets) => AMQPValue::ByteArray(octets.into()),
        Typed::List(values) => AMQPValue::FieldArray(
            values
                .into_iter()
                .map(made)
                .collect::<Result<Vec<_>, _>>()?
                .into(),
        ),
        Typed::Map(pairs) => {
            let mut table = FieldTable::default();
            for (key, value) in pairs {
                let Typed::Text(name) = key else {
                    return unsupported("names in the library's tables are texts");
                };
                if table.contains_key(&name) {
                    return unsupported("the library's tables hold no name twice");
                }
                table.insert(short(&name)?, made(value)?);
            }
            AMQPValue::FieldTable(table)
        }
        // The library has a ShortString here, too, but writes it with a code of its own ('_'), and says that it is internal.
        other => return unsupported(format!("the library has no type for {}", other.kind())),
    })
}

pub fn table(told: Option<&Value>) -> Result<FieldTable, Failure> {
    match told.map(Typed::read).transpose()?.map(made).transpose()? {
        None => Ok(FieldTable::default()),
        Some(AMQPValue::FieldTable(table)) => Ok(table),
        Some(_) => unsupported("arguments and headers are tables"),
    }
}

fn found(value: &AMQPValue) -> Typed {
    match value {
        AMQPValue::Boolean(value) => Typed::Bool(*value),
        AMQPValue::ShortShortInt(value) => Typed::I8(*value),
        AMQPValue::ShortShortUInt(value) => Typed::U8(*value),
        AMQPValue::ShortInt(value) => Typed::I16(*value),
        AMQPValue::ShortUInt(value) => Typed::U16(*value),
        AMQPValue::LongInt(value) => Typed::I32(*value),
        AMQPValue::LongUInt(value) => Typed::U32(*value),
        AMQPValue::LongLongInt(value) => Typed::I64(*value),
        AMQPValue::Float(value) => Typed::F32(value.to_bits()),
        AMQPValue::Double(value) => Typed::F64(value.to_bits()),
        AMQPValue::DecimalValue(value) => Typed::Dec(value.scale, value.value.to_string()),
        AMQPValue::ShortString(value) => Typed::Short(value.to_string()),
        AMQPValue::LongString(value) => match std::str::from_utf8(value.as_bytes()) {
            Ok(text) => Typed::Text(text.into()),
            Err(_) => Typed::Bin(value.as_bytes().into()),
        },
        AMQPValue::FieldArray(values) => Typed::List(values.as_slice().iter().map(found).collect()),
        AMQPValue::Timestamp(value) => Typed::Time(*value as i64),
        AMQPValue::FieldTable(table) => found_table(table),
        AMQPValue::ByteArray(octets) => Typed::Bin(octets.as_slice().into()),
        AMQPValue::Void => Typed::Null,
    }
}

pub fn found_table(table: &FieldTable) -> Typed {
    Typed::Map(
        table
            .into_iter()
            .map(|(name, value)| (Typed::Text(name.to_string()), found(value)))
            .collect(),
    )
}
