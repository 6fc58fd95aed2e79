//! lapin as a shim: what the commands call.

mod consumers;
mod contract;
mod ends;
mod messages;
mod methods;
mod opening;
mod told;
mod values;

use contract::{serve, Answer, Failure, Told};
use ends::explain_on;
use opening::{Channel, CHANNELS, CONNECTIONS};
use serde_json::{json, Value};
use std::sync::Arc;
use told::KEPT;
use values::short;

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
                .wait(&told, || messages::returned(&connection))
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
            match on_channel(&command, &channel, &told).await {
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

async fn on_channel(command: &str, ch: &Arc<Channel>, told: &Told) -> Result<Value, Refused> {
    match command {
        "call" => {
            let args = told.object("args");
            let reply = methods::call(ch, &told.text("method"), &args).await?;
            // What the library gives where it does not wait was not the server's.
            Ok(
                json!({"reply": if args.flag("no-wait") || reply.is_null() { json!({}) } else { reply }}),
            )
        }
        "send" => messages::send(ch, told).await,
        "get" => messages::get(ch, told).await,
        "receive" => consumers::receive(ch, told).await,
        "stop" => consumers::stop(ch, told).await,
        "settle" => messages::settle(ch, told).await,
        "echo" => messages::echo(ch, told).await,
        _ => opening::close(ch).await,
    }
}
