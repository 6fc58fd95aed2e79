//! fe2o3-amqp as a shim: what the commands call.

mod contract;
mod errors;
mod opening;
mod values;

use contract::{serve, unsupported, Answer, Failure, Told};
use errors::Explained;
use fe2o3_amqp::types::messaging::Outcome;
use fe2o3_amqp::Sendable;
use opening::{ask_receiver, Handed, Sender, CONNECTIONS, RECEIVERS, SENDERS, SESSIONS};
use serde_json::{json, Value};
use std::sync::Weak;
use tokio::sync::mpsc;
use values::{message, Message, KEPT};

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
        "connect" => opening::connect(told).await,
        "open" => opening::open(told).await,
        "attach" => opening::attach(told).await,
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
        "close" | "detach" => opening::shut(&command, &told).await,
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

fn outcome(of: &Outcome) -> &'static str {
    match of {
        Outcome::Accepted(_) => "accepted",
        Outcome::Rejected(_) => "rejected",
        Outcome::Released(_) => "released",
        Outcome::Modified(_) => "modified",
    }
}

/// Send a message so many times, and tell the outcome of the last, or a tag where nobody waits.
async fn send(message: &Message, told: &Told) -> Answer {
    let sender = SENDERS.get(&told.text("on"))?;
    let settled = told.flag("settled");
    let mut sendable = Sendable::from(message.clone());
    if settled {
        sendable.settled = Some(true);
    }
    let settled = settled || sender.settled;
    let count = told.number("count")?.unwrap_or(1);
    if told.given("wait") == Some(&json!(false)) {
        // The library waits for credit before it takes a message: it is kept for it, behind those before it.
        let tag = contract::next(&format!("{}-", sender.name), 1);
        for _ in 0..count {
            let _ = sender
                .handed
                .send((sendable.clone(), settled, tag.clone()));
        }
        return Ok(json!({"tag": tag}));
    }
    let mut it = sender.it.lock().await;
    let Some(it) = it.as_mut() else {
        return Err(Failure::new("local", "", "it has been closed"));
    };
    let mut answer = json!({"outcome": null});
    for _ in 0..count {
        let found = it
            .send_ref(&sendable)
            .await
            .map_err(|error| error.explain(Some(&sender.of)))?;
        if !settled {
            answer = json!({"outcome": outcome(&found)});
        }
    }
    Ok(answer)
}

/// Send what is handed over, in its order, and make events of the outcomes. What closed the link is told elsewhere.
pub async fn send_handed(mut handed: mpsc::UnboundedReceiver<Handed>, of: Weak<Sender>) {
    while let Some((sendable, settled, tag)) = handed.recv().await {
        let Some(sender) = of.upgrade() else { return };
        let mut it = sender.it.lock().await;
        let Some(Ok(sent)) = (match it.as_mut() {
            Some(it) => Some(it.send_batchable_ref(&sendable).await),
            None => None,
        }) else {
            continue;
        };
        drop(it);
        tokio::spawn(async move {
            if let (Ok(found), false) = (sent.await, settled) {
                let event = json!({"event": "outcome", "on": sender.name, "tag": tag, "outcome": outcome(&found)});
                sender.of.events.put(event);
            }
        });
    }
}
