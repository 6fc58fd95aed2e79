//! fe2o3-amqp as a shim: what the commands call.

mod closing;
mod connections;
mod contract;
mod errors;
mod link_errors;
mod links;
mod messages;
mod owners;
mod properties;
mod receivers;
mod sending;
mod sessions;
mod told;
mod values;

use contract::{serve, unsupported, Answer, Failure, Told};
use messages::message;
use owners::{CONNECTIONS, RECEIVERS, SENDERS, SESSIONS};
use receivers::ask_receiver;
use sending::send;
use serde_json::{json, Value};
use told::KEPT;

fn main() {
    serve(|command, told| async move {
        // The library has no time-outs of its own: what takes longer is dropped.
        let (within, waits) = (told.seconds("within"), command == "wait");
        let acting = act(command, told);
        if waits {
            return acting.await;
        }
        let late = |_| {
            Err(Failure::new(
                "timeout",
                "",
                "the shim gave up waiting for the library",
            ))
        };
        tokio::time::timeout(within, acting)
            .await
            .unwrap_or_else(late)
    })
}

async fn act(command: String, told: Told) -> Answer {
    match command.as_str() {
        "hello" => Ok(
            json!({"contract": 1, "library": "fe2o3-amqp", "version": env!("LIBRARY_VERSION"),
            "language": "Rust", "protocol": "1-0"}),
        ),
        "connect" => connections::connect(told).await,
        "open" => sessions::open(told).await,
        "attach" => links::attach(told).await,
        "send" => send(&message(&told)?, &told).await,
        "echo" => send(&KEPT.get(&told.text("token"))?.message, &told).await,
        "credit" | "drain" => {
            let receiver = RECEIVERS.get(&told.text("on"))?;
            ask_receiver(&receiver, &command, &told).await
        }
        "settle" if told.flag("multiple") => {
            unsupported("the library has no range of deliveries, only lists of them")
        }
        "settle" => {
            let kept = KEPT.get(&told.text("token"))?;
            ask_receiver(&kept.from, &command, &told).await
        }
        "close" | "detach" => closing::shut(&command, &told).await,
        "wait" => {
            let on = told.text("on");
            let connection = CONNECTIONS.get(on.split('/').next().unwrap_or(""))?;
            connection.events.wait(&told, || ()).await
        }
        "reset" => {
            contract::drop_sockets();
            let all = (
                KEPT.clear(),
                SENDERS.clear(),
                RECEIVERS.clear(),
                SESSIONS.clear(),
                CONNECTIONS.clear(),
            );
            tokio::spawn(async { drop(all) });
            Ok(Value::Null)
        }
        other => Err(Failure::new(
            "unknown",
            "",
            format!("there is no command {other:?}"),
        )),
    }
}
