//! What fe2o3-amqp makes of the contract's messages.

use crate::contract::{body, unsupported, Failure, Told, Typed};
use crate::properties::properties;
use crate::values::made;
use fe2o3_amqp::types::messaging::annotations::OwnedKey;
use fe2o3_amqp::types::messaging::*;
use fe2o3_amqp::types::primitives::{OrderedMap, SimpleValue, Value};

pub type Message = fe2o3_amqp::types::messaging::Message<Body<Value>>;

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
