//! What is told of messages of fe2o3-amqp.

use crate::contract::{next, tell_body, Names, Typed};
use crate::messages::Message;
use crate::owners::Receiver;
use crate::properties::tell_properties;
use crate::values::found;
use fe2o3_amqp::link::delivery::DeliveryInfo;
use fe2o3_amqp::types::messaging::annotations::OwnedKey;
use fe2o3_amqp::types::messaging::*;
use fe2o3_amqp::types::primitives::Value;
use serde_json::json;
use std::sync::{Arc, LazyLock};

/// What a token stands for.
pub struct Kept {
    pub message: Message,
    pub info: DeliveryInfo,
    pub from: Arc<Receiver>,
}

pub static KEPT: LazyLock<Names<Kept>> = LazyLock::new(Names::new);

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
