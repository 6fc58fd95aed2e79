//! lapin as a shim: what the commands call.

mod contract;
mod methods;
mod opening;
mod values;

use contract::{serve, unsupported, Answer, Failure, Told};
use lapin::options::*;
use opening::{explain_on, Channel, CHANNELS, CONNECTIONS};
use serde_json::{json, Value};
use std::sync::Arc;
use tokio_stream::StreamExt;
use values::{publishing, short, table, tell, KEPT};

fn main() {
    serve(act)
}

async fn act(command: String, told: Told) -> Answer {
    match command.as_str() {
        "hello" => Ok(
            json!({"contract": 1, "library": "lapin", "version": env!("LIBRARY_VERSION"), "language": "Rust",
            "protocol": "0-9-1"}),
        ),
        "connect" => opening::connect(told).await,
        "open" => opening::open(told).await,
        "wait" => {
            let on = told.text("on");
            let connection = CONNECTIONS.get(on.split('/').next().unwrap_or(""))?;
            connection
                .events
                .wait(&told, || opening::returned(&connection))
                .await
        }
        "close" if CONNECTIONS.find(&told.text("on")).is_some() => {
            let it = CONNECTIONS.get(&told.text("on"))?;
            let closed = it.of.close(200, short("")?).await;
            it.events.end(None);
            match closed {
                Ok(()) => Ok(Value::Null),
                Err(error) => Err(explain_on(&it, None, error).await),
            }
        }
        "reset" => {
            contract::drop_sockets();
            tokio::spawn(async { drop((KEPT.clear(), CHANNELS.clear(), CONNECTIONS.clear())) });
            Ok(Value::Null)
        }
        "call" | "send" | "get" | "receive" | "stop" | "settle" | "echo" | "close" => {
            let channel = CHANNELS.get(&told.text("on"))?;
            match on_channel(&command, &channel, told).await {
                Ok(found) => Ok(found),
                Err(Refused::Told(failure)) => Err(failure),
                Err(Refused::Library(error)) => {
                    Err(explain_on(&channel.connection, Some(&channel), error).await)
                }
            }
        }
        other => Err(Failure::new(
            "unknown",
            "",
            format!("there is no command {other:?}"),
        )),
    }
}

/// Why a command on a channel was not carried out.
pub enum Refused {
    Told(Failure),
    Library(lapin::Error),
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Refused::Told(failure)
    }
}

impl From<lapin::Error> for Refused {
    fn from(error: lapin::Error) -> Self {
        Refused::Library(error)
    }
}

async fn on_channel(command: &str, ch: &Arc<Channel>, told: Told) -> Result<Value, Refused> {
    match command {
        "call" => {
            let args = told.object("args");
            let reply = methods::call(ch, &told.text("method"), &args).await?;
            // What the library gives where it does not wait was not the server's.
            return Ok(
                json!({"reply": if args.flag("no-wait") || reply.is_null() { json!({}) } else { reply }}),
            );
        }
        "send" => {
            let (body, properties) = publishing(&told)?;
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
        }
        "get" => {
            let options = BasicGetOptions {
                no_ack: told.flag("settled"),
            };
            let found = ch
                .of
                .basic_get(short(&told.text("queue"))?, options)
                .await?;
            return Ok(json!({"message": found.map(|found| tell(found.delivery))}));
        }
        "receive" => {
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
                    ch.connection.events.put(
                        json!({"event": "message", "on": ch.name, "tag": tag, "message": message}),
                    );
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
            return Ok(json!({"tag": tag}));
        }
        "stop" => {
            STOPPED
                .lock()
                .unwrap()
                .push((ch.name.clone(), told.text("tag")));
            ch.of
                .basic_cancel(short(&told.text("tag"))?, BasicCancelOptions::default())
                .await?;
        }
        "settle" => {
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
        }
        "echo" => {
            let (it, options) = (
                KEPT.get(&told.text("token"))?,
                BasicPublishOptions::default(),
            );
            let key = short(&told.text("key"))?;
            ch.of
                .basic_publish(short("")?, key, options, &it.data, it.properties.clone())
                .await?;
        }
        _ => {
            ch.of.close(200, short("")?).await?;
            let ours = Failure::new(
                "local",
                "lapin::ErrorKind::InvalidChannelState",
                "the channel was closed",
            );
            ch.reason.lock().unwrap().get_or_insert(ours);
        }
    }
    Ok(Value::Null)
}

/// Consumers that `stop` ended, by channel and tag.
static STOPPED: std::sync::Mutex<Vec<(String, String)>> = std::sync::Mutex::new(Vec::new());
