//! Consumers on a channel of lapin.

use crate::contract::Told;
use crate::opening::Channel;
use crate::told::tell;
use crate::values::{short, table};
use crate::Refused;
use lapin::options::*;
use serde_json::{json, Value};
use std::sync::{Arc, Mutex};
use tokio_stream::StreamExt;

/// Consumers that `stop` ended, by channel and tag.
static STOPPED: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

/// Start a consumer.
pub async fn receive(ch: &Arc<Channel>, told: &Told) -> Result<Value, Refused> {
    let options = BasicConsumeOptions {
        no_ack: told.flag("settled"),
        ..Default::default()
    };
    let (queue, tag) = (short(&told.text("queue"))?, short(&told.text("tag"))?);
    let mut consumer = ch
        .of
        .basic_consume(queue, tag, options, table(told.given("arguments"))?)
        .await?;
    let (tag, on) = (consumer.tag().to_string(), Arc::downgrade(ch));
    tokio::spawn(async move {
        while let Some(delivery) = consumer.next().await {
            let (Ok(delivery), Some(ch)) = (delivery, on.upgrade()) else {
                return;
            };
            let message = tell(delivery);
            let tag = consumer.tag().to_string();
            ch.connection
                .events
                .put(json!({"event": "message", "on": ch.name, "tag": tag, "message": message}));
        }
        // It ends when it is cancelled; who did that the library does not tell: if we did, `stop` has told so.
        if let Some(ch) = on.upgrade().filter(|ch| ch.of.status().connected()) {
            let tag = consumer.tag().to_string();
            if !STOPPED
                .lock()
                .unwrap()
                .contains(&(ch.name.clone(), tag.clone()))
            {
                ch.connection
                    .events
                    .put(json!({"event": "cancelled", "on": ch.name, "tag": tag}));
            }
        }
    });
    Ok(json!({"tag": tag}))
}

/// End a consumer.
pub async fn stop(ch: &Arc<Channel>, told: &Told) -> Result<Value, Refused> {
    STOPPED
        .lock()
        .unwrap()
        .push((ch.name.clone(), told.text("tag")));
    ch.of
        .basic_cancel(short(&told.text("tag"))?, BasicCancelOptions::default())
        .await?;
    Ok(Value::Null)
}
