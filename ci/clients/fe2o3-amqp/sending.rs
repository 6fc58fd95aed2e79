//! What fe2o3-amqp sends, and what becomes of it.

use crate::contract::{next, Answer, Failure, Told};
use crate::errors::Explained;
use crate::messages::Message;
use crate::owners::{Handed, Sender, SENDERS};
use fe2o3_amqp::types::messaging::Outcome;
use fe2o3_amqp::Sendable;
use serde_json::json;
use std::sync::Weak;
use tokio::sync::mpsc;

fn outcome(of: &Outcome) -> &'static str {
    match of {
        Outcome::Accepted(_) => "accepted",
        Outcome::Rejected(_) => "rejected",
        Outcome::Released(_) => "released",
        Outcome::Modified(_) => "modified",
    }
}

/// Send a message so many times, and tell the outcome of the last, or a tag where nobody waits.
pub async fn send(message: &Message, told: &Told) -> Answer {
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
        let tag = next(&format!("{}-", sender.name), 1);
        for _ in 0..count {
            let _ = sender.handed.send((sendable.clone(), settled, tag.clone()));
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
