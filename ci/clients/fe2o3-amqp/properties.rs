//! Properties of messages, both ways.

use crate::contract::{unsupported, Failure, Told, Typed};
use fe2o3_amqp::types::messaging::*;
use fe2o3_amqp::types::primitives::{Symbol, Timestamp, Uuid};
use serde_json::json;

pub fn properties(told: Told) -> Result<Properties, Failure> {
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

pub fn tell_properties(of: &Properties) -> serde_json::Value {
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
