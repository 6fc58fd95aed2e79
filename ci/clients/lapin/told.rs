//! What lapin makes of the contract's messages, and the way back.

use crate::contract::{body, next, tell_body, unsupported, Failure, Names, Told, Typed};
use crate::values::{found_table, short, table};
use lapin::message::Delivery;
use lapin::types::ShortString;
use lapin::BasicProperties;
use serde_json::{json, Value};
use std::sync::{Arc, LazyLock};

/// What the library gave, by tokens.
pub static KEPT: LazyLock<Names<Delivery>> = LazyLock::new(Names::new);

/// Make what is published.
pub fn publishing(told: &Told) -> Result<(Vec<u8>, BasicProperties), Failure> {
    let given = told.object("properties");
    let mut made = BasicProperties::default();
    for (name, value) in &given.0 {
        let text = || short(value.as_str().unwrap_or(""));
        let octet = || Ok::<u8, Failure>(given.number(name)?.unwrap_or(0));
        made = match name.as_str() {
            "headers" => made.with_headers(table(Some(value))?),
            "delivery-mode" => made.with_delivery_mode(octet()?),
            "priority" => made.with_priority(octet()?),
            "timestamp" => match Typed::read(value)? {
                Typed::Time(seconds) if seconds >= 0 => made.with_timestamp(seconds as u64),
                _ => return unsupported("the library's timestamps have no sign"),
            },
            "content-type" => made.with_content_type(text()?),
            "content-encoding" => made.with_content_encoding(text()?),
            "correlation-id" => made.with_correlation_id(text()?),
            "reply-to" => made.with_reply_to(text()?),
            "expiration" => made.with_expiration(text()?),
            "message-id" => made.with_message_id(text()?),
            "type" => made.with_type(text()?),
            "user-id" => made.with_user_id(text()?),
            "app-id" => made.with_app_id(text()?),
            _ => return unsupported(format!("the library has no property {name}")),
        };
    }
    Ok((body(told.given("body"))?, made))
}

/// Tell a message, and keep it under a token.
pub fn tell(delivery: Delivery) -> Value {
    let (token, of) = (next("t", 1), &delivery.properties);
    let text = |value: &Option<ShortString>| value.as_ref().map(|text| json!(text.as_str()));
    let mut message = json!({"token": token, "redelivered": delivery.redelivered, "properties": {},
        "exchange": delivery.exchange.as_str(), "key": delivery.routing_key.as_str()});
    for (name, value) in [
        ("content-type", text(of.content_type())),
        ("content-encoding", text(of.content_encoding())),
        (
            "headers",
            of.headers().as_ref().map(|table| found_table(table).tell()),
        ),
        ("delivery-mode", of.delivery_mode().map(|mode| json!(mode))),
        ("priority", of.priority().map(|priority| json!(priority))),
        ("correlation-id", text(of.correlation_id())),
        ("reply-to", text(of.reply_to())),
        ("expiration", text(of.expiration())),
        ("message-id", text(of.message_id())),
        (
            "timestamp",
            of.timestamp()
                .map(|seconds| Typed::Time(seconds as i64).tell()),
        ),
        ("type", text(of.kind())),
        ("user-id", text(of.user_id())),
        ("app-id", text(of.app_id())),
    ] {
        if let Some(value) = value {
            message["properties"][name] = value;
        }
    }
    tell_body(&mut message, &delivery.data);
    KEPT.put(&token, Arc::new(delivery));
    message
}
