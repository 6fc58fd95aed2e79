//! Messages on a channel of lapin: what is published, got, returned, settled and echoed.

use crate::contract::{unsupported, Failure, Told};
use crate::opening::{Channel, Connection, CHANNELS};
use crate::told::{publishing, tell, KEPT};
use crate::values::short;
use crate::Refused;
use lapin::options::*;
use serde_json::{json, Value};
use std::sync::Arc;

/// Publish a message, so many times.
pub async fn send(ch: &Arc<Channel>, told: &Told) -> Result<Value, Refused> {
    let (body, properties) = publishing(told)?;
    let options = BasicPublishOptions {
        mandatory: told.flag("mandatory"),
        immediate: told.flag("immediate"),
    };
    let (exchange, key) = (short(&told.text("exchange"))?, short(&told.text("key"))?);
    for _ in 0..told.number("count")?.unwrap_or(1) {
        ch.of
            .basic_publish(
                exchange.clone(),
                key.clone(),
                options,
                &body,
                properties.clone(),
            )
            .await?;
    }
    Ok(Value::Null)
}

/// Get a message.
pub async fn get(ch: &Arc<Channel>, told: &Told) -> Result<Value, Refused> {
    let options = BasicGetOptions {
        no_ack: told.flag("settled"),
    };
    let found = ch
        .of
        .basic_get(short(&told.text("queue"))?, options)
        .await?;
    Ok(json!({"message": found.map(|found| tell(found.delivery))}))
}

/// Ask for what came back: without confirms the library keeps it until it is asked.
pub fn returned(connection: &Arc<Connection>) {
    for channel in CHANNELS.all() {
        if Arc::ptr_eq(&channel.connection, connection) && channel.of.status().connected() {
            tokio::spawn(async move {
                for each in channel.of.wait_for_confirms().await.unwrap_or_default() {
                    let (code, text) = (each.reply_code, each.reply_text.to_string());
                    channel
                        .connection
                        .events
                        .put(json!({"event": "returned", "on": channel.name,
                        "code": code, "text": text, "message": tell(each.delivery)}));
                }
            });
        }
    }
}

/// Settle a message.
pub async fn settle(ch: &Arc<Channel>, told: &Told) -> Result<Value, Refused> {
    let (it, multiple) = (KEPT.get(&told.text("token"))?, told.flag("multiple"));
    let requeue = match (told.text("outcome").as_str(), multiple) {
        ("accept", _) => None,
        ("release", false) => Some(true),
        ("reject", false) => Some(false),
        (other, _) => {
            return Ok(unsupported(format!(
                "Basic.Reject knows neither multiple nor {other}"
            ))?)
        }
    };
    let done = match requeue {
        None => it.ack(BasicAckOptions { multiple }).await?,
        Some(requeue) => it.reject(BasicRejectOptions { requeue }).await?,
    };
    if !done {
        let why = ch
            .reason
            .lock()
            .unwrap()
            .clone()
            .or_else(|| ch.connection.reason.lock().unwrap().clone());
        let used = Failure::new(
            "local",
            "lapin::Acker",
            "it was used, or its channel is closed",
        );
        return Err(why.unwrap_or(used).into());
    }
    Ok(Value::Null)
}

/// Publish a message again, as the library gave it.
pub async fn echo(ch: &Arc<Channel>, told: &Told) -> Result<Value, Refused> {
    let (it, options) = (
        KEPT.get(&told.text("token"))?,
        BasicPublishOptions::default(),
    );
    let key = short(&told.text("key"))?;
    ch.of
        .basic_publish(short("")?, key, options, &it.data, it.properties.clone())
        .await?;
    Ok(Value::Null)
}
