//! How sessions of fe2o3-amqp are begun, and who owns them.

use crate::contract::{next, Answer, Told};
use crate::errors::Explained;
use crate::links::attached;
use crate::owners::{answer, ask, Asked, Link, Session, CONNECTIONS, SESSIONS};
use fe2o3_amqp::session::SessionHandle;
use serde_json::json;
use std::sync::{Arc, Mutex, Weak};
use tokio::sync::mpsc;

pub async fn open(told: Told) -> Answer {
    let connection = CONNECTIONS.get(&told.text("on"))?;
    let begun = ask(&connection.ask, "open", &told, || {
        connection.reason.lock().unwrap().clone()
    })
    .await?;
    let (name, (ask, asked)) = (
        next(&format!("{}/", told.text("on")), 1),
        mpsc::unbounded_channel(),
    );
    let session = Session {
        name: name.clone(),
        of: connection,
        reason: Mutex::new(None),
        ask,
    };
    let session = Arc::new(session);
    if let Some(handle) = begun {
        tokio::spawn(own_session(handle, asked, Arc::downgrade(&session)));
    }
    SESSIONS.put(&name, session);
    Ok(json!({"on": name}))
}

async fn own_session(
    mut handle: SessionHandle<()>,
    mut asked: mpsc::UnboundedReceiver<Asked<Link>>,
    of: Weak<Session>,
) {
    loop {
        tokio::select! {
            over = handle.on_end() => {
                if let (Err(error), Some(of)) = (over, of.upgrade()) {
                    let failure = error.explain(Some(&of.of));
                    if failure.0["level"] == "session" {
                        of.of.events.put(failure.event(&of.name));
                    }
                    *of.reason.lock().unwrap() = Some(failure);
                }
                return;
            }
            next = asked.recv() => {
                let (Some((command, told, to)), Some(of)) = (next, of.upgrade()) else { return };
                if command == "close" {
                    answer(to, async {
                        handle.end().await.map(|()| Link::Nothing).map_err(|error| error.explain(Some(&of.of)))
                    }).await;
                    return;
                }
                answer(to, attached(&mut handle, &told, &of.of)).await;
            }
        }
    }
}
