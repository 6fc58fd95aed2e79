//! How connections, sessions and links of fe2o3-amqp are left.

use crate::contract::{unsupported, Answer, Failure, Told};
use crate::errors::Explained;
use crate::owners::{ask, CONNECTIONS, RECEIVERS, SENDERS, SESSIONS};
use crate::receivers::ask_receiver;
use serde_json::json;

/// Close something by its name, or detach a link.
pub async fn shut(command: &str, told: &Told) -> Answer {
    let on = told.text("on");
    if let Some(receiver) = RECEIVERS.find(&on) {
        return ask_receiver(&receiver, command, told).await;
    }
    if let Some(sender) = SENDERS.find(&on) {
        let Ok(mut it) = tokio::time::timeout(told.seconds("within"), sender.it.lock()).await
        else {
            return Err(Failure::new(
                "timeout",
                "",
                "the sender is busy with an earlier command",
            ));
        };
        let Some(it) = it.take() else {
            return Err(Failure::new("local", "", "it has been closed"));
        };
        let of = Some(&*sender.of);
        let done = match command {
            "detach" => it
                .detach()
                .await
                .map(drop)
                .map_err(|(_, error)| error.explain(of)),
            _ => it.close().await.map_err(|error| error.explain(of)),
        };
        return done.map(|()| json!({}));
    }
    if command == "detach" {
        return unsupported("only links are detached");
    }
    if let Some(session) = SESSIONS.find(&on) {
        let why = || {
            session
                .reason
                .lock()
                .unwrap()
                .clone()
                .or_else(|| session.of.reason.lock().unwrap().clone())
        };
        ask(&session.ask, command, told, why).await?;
    } else {
        let connection = CONNECTIONS.get(&on)?;
        ask(&connection.ask, command, told, || {
            connection.reason.lock().unwrap().clone()
        })
        .await?;
    }
    Ok(json!({}))
}
