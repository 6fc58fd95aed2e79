//! What fe2o3-amqp makes of the contract's values and messages, and the way back.

use crate::contract::{body, next, tell_body, unsupported, Failure, Names, Told, Typed};
use crate::opening::Receiver;
use fe2o3_amqp::link::delivery::DeliveryInfo;
use fe2o3_amqp::types::messaging::annotations::OwnedKey;
use fe2o3_amqp::types::messaging::*;
use fe2o3_amqp::types::primitives::{
    Array, OrderedMap, SimpleValue, Symbol, Timestamp, Uuid, Value,
};
use serde_amqp::described::Described;
use serde_amqp::descriptor::Descriptor;
use serde_json::json;
use std::sync::{Arc, LazyLock};

pub type Message = fe2o3_amqp::types::messaging::Message<Body<Value>>;

/// What a token stands for.
pub struct Kept {
    pub message: Message,
    pub info: DeliveryInfo,
    pub from: Arc<Receiver>,
}

pub static KEPT: LazyLock<Names<Kept>> = LazyLock::new(Names::new);

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

fn pairs(told: Option<&serde_json::Value>) -> Result<Option<Vec<(Typed, Typed)>>, Failure> {
    match told.map(Typed::read).transpose()? {
        None => Ok(None),
        Some(Typed::Map(pairs)) => Ok(Some(pairs)),
        Some(_) => unsupported("these are maps"),
    }
}

/// Make what is sent.
pub fn message(told: &Told) -> Result<Message, Failure> {
    let list = |held: &serde_json::Value| match Typed::of("list", held)? {
        Typed::List(values) => values.into_iter().map(made).collect::<Result<Vec<_>, _>>(),
        _ => unsupported("a sequence is a list"),
    };
    let told_body = told.given("body");
    let body = match told_body
        .and_then(|told| told.as_object())
        .and_then(|object| object.iter().next())
    {
        Some((kind, held)) if kind == "value" => Body::Value(AmqpValue(made(Typed::read(held)?)?)),
        Some((kind, held)) if kind == "sequence" => {
            Body::Sequence(Batch::new(vec![AmqpSequence(list(held)?)]))
        }
        _ => Body::Data(Batch::new(vec![Data::from(body(told_body)?)])),
    };
    let mut made_message = Message::from(
        fe2o3_amqp::types::messaging::Message::builder()
            .body(body)
            .build(),
    );
    if told.given("header").is_some() {
        let header = told.object("header");
        header.only("durable priority ttl first-acquirer delivery-count")?;
        made_message.header = Some(Header {
            durable: header.flag("durable"),
            priority: header
                .number("priority")?
                .map_or_else(Priority::default, Priority),
            ttl: header.number("ttl")?,
            first_acquirer: header.flag("first-acquirer"),
            delivery_count: header.number("delivery-count")?.unwrap_or(0),
        });
    }
    if told.given("properties").is_some() {
        made_message.properties = Some(properties(told.object("properties"))?);
    }
    if let Some(pairs) = pairs(told.given("application"))? {
        let mut map = OrderedMap::new();
        for (key, value) in pairs {
            match (key, SimpleValue::try_from(made(value)?)) {
                (Typed::Text(name), Ok(value)) if !map.contains_key(&name) => {
                    map.insert(name, value)
                }
                _ => return unsupported(
                    "the library's application properties are simple values by texts, none twice",
                ),
            };
        }
        made_message.application_properties = Some(ApplicationProperties(map));
    }
    if let Some(pairs) = pairs(told.given("annotations"))? {
        let mut map = OrderedMap::new();
        for (key, value) in pairs {
            let key = match key {
                Typed::Sym(name) | Typed::Text(name) => OwnedKey::from(name),
                Typed::U64(code) => OwnedKey::from(code),
                _ => {
                    return unsupported("the library's keys of annotations are symbols and ulongs")
                }
            };
            map.insert(key, made(value)?);
        }
        made_message.message_annotations = Some(MessageAnnotations(map));
    }
    Ok(made_message)
}

fn properties(told: Told) -> Result<Properties, Failure> {
    let mut made = Properties::new();
    for (name, held) in &told.0 {
        let typed = Typed::read(held)?;
        let id = || match typed.clone() {
            Typed::U64(value) => Ok(Some(MessageId::Ulong(value))),
            Typed::Uuid(octets) => Ok(Some(MessageId::Uuid(Uuid::from(octets)))),
            Typed::Bin(octets) => Ok(Some(MessageId::Binary(octets.into()))),
            Typed::Text(text) => Ok(Some(MessageId::String(text))),
            other => unsupported(format!(
                "the library has no identity that is {}",
                other.kind()
            )),
        };
        let text = || match typed.clone() {
            Typed::Text(text) | Typed::Sym(text) => Ok(Some(text)),
            other => unsupported(format!("to the library {name} is no {}", other.kind())),
        };
        let time = || match typed {
            Typed::Time(value) => Ok(Some(Timestamp::from_milliseconds(value))),
            _ => unsupported(format!("to the library {name} is a timestamp")),
        };
        match name.as_str() {
            "message-id" => made.message_id = id()?,
            "user-id" => {
                made.user_id = match typed.clone() {
                    Typed::Bin(octets) => Some(octets.into()),
                    _ => text()?.map(|text| text.into_bytes().into()),
                }
            }
            "to" => made.to = text()?,
            "subject" => made.subject = text()?,
            "reply-to" => made.reply_to = text()?,
            "correlation-id" => made.correlation_id = id()?,
            "content-type" => made.content_type = text()?.map(Symbol::from),
            "content-encoding" => made.content_encoding = text()?.map(Symbol::from),
            "absolute-expiry-time" => made.absolute_expiry_time = time()?,
            "creation-time" => made.creation_time = time()?,
            "group-id" => made.group_id = text()?,
            "group-sequence" => {
                made.group_sequence = match typed {
                    Typed::U32(value) => Some(value),
                    _ => told.number(name)?,
                }
            }
            "reply-to-group-id" => made.reply_to_group_id = text()?,
            _ => return unsupported(format!("the library has no property {name}")),
        }
    }
    Ok(made)
}

/// Tell a message, and keep it under a token.
pub fn tell(info: DeliveryInfo, message: Message, from: Arc<Receiver>) -> serde_json::Value {
    let token = next("t", 1);
    let mut told = json!({"token": token});
    if let Some(of) = &message.header {
        told["header"] = json!({"durable": of.durable, "priority": of.priority.0, "first-acquirer": of.first_acquirer,
            "delivery-count": of.delivery_count});
        if let Some(ttl) = of.ttl {
            told["header"]["ttl"] = ttl.into();
        }
    }
    if let Some(of) = &message.properties {
        told["properties"] = tell_properties(of);
    }
    if let Some(of) = &message.application_properties {
        let all = of.0.iter().map(|(name, value)| {
            (
                Typed::Text(name.clone()),
                found(&Value::from(value.clone())),
            )
        });
        told["application"] = Typed::Map(all.collect()).tell();
    }
    if let Some(of) = &message.message_annotations {
        let all = of.0.iter().map(|(key, value)| match key {
            OwnedKey::Symbol(name) => (Typed::Sym(name.0.clone()), found(value)),
            OwnedKey::Ulong(code) => (Typed::U64(*code), found(value)),
        });
        told["annotations"] = Typed::Map(all.collect()).tell();
    }
    match &message.body {
        Body::Data(sections) => {
            let octets: Vec<u8> = sections
                .iter()
                .flat_map(|section| section.0.to_vec())
                .collect();
            tell_body(&mut told, &octets);
        }
        Body::Value(value) => told["value"] = found(&value.0).tell(),
        Body::Sequence(sections) => {
            told["sequence"] = sections
                .iter()
                .flat_map(|section| &section.0)
                .map(|value| found(value).tell())
                .collect()
        }
        Body::Empty => {}
    }
    KEPT.put(
        &token,
        Arc::new(Kept {
            message,
            info,
            from,
        }),
    );
    told
}

fn tell_properties(of: &Properties) -> serde_json::Value {
    let id = |id: &Option<MessageId>| {
        id.as_ref().map(|id| match id {
            MessageId::Ulong(value) => Typed::U64(*value).tell(),
            MessageId::Uuid(value) => Typed::Uuid(*value.as_inner()).tell(),
            MessageId::Binary(octets) => Typed::Bin(octets.to_vec()).tell(),
            MessageId::String(text) => json!(text),
        })
    };
    let text = |text: &Option<String>| text.as_ref().map(|text| json!(text));
    let symbol =
        |text: &Option<Symbol>| text.as_ref().map(|text| Typed::Sym(text.0.clone()).tell());
    let time = |time: &Option<Timestamp>| {
        time.as_ref()
            .map(|time| Typed::Time(time.milliseconds()).tell())
    };
    let mut told = json!({});
    for (name, value) in [
        ("message-id", id(&of.message_id)),
        (
            "user-id",
            of.user_id
                .as_ref()
                .map(|octets| Typed::Bin(octets.to_vec()).tell()),
        ),
        ("to", text(&of.to)),
        ("subject", text(&of.subject)),
        ("reply-to", text(&of.reply_to)),
        ("correlation-id", id(&of.correlation_id)),
        ("content-type", symbol(&of.content_type)),
        ("content-encoding", symbol(&of.content_encoding)),
        ("absolute-expiry-time", time(&of.absolute_expiry_time)),
        ("creation-time", time(&of.creation_time)),
        ("group-id", text(&of.group_id)),
        (
            "group-sequence",
            of.group_sequence.map(|number| json!(number)),
        ),
        ("reply-to-group-id", text(&of.reply_to_group_id)),
    ] {
        if let Some(value) = value {
            told[name] = value;
        }
    }
    told
}
