//! How links of fe2o3-amqp are attached.

use crate::contract::{next, Answer, Failure, Told};
use crate::errors::Explained;
use crate::owners::{ask, Connection, Link, Receiver, Sender, RECEIVERS, SENDERS, SESSIONS};
use crate::receivers::own_receiver;
use crate::sending::send_handed;
use fe2o3_amqp::link::CreditMode;
use fe2o3_amqp::session::SessionHandle;
use fe2o3_amqp::types::definitions::{ReceiverSettleMode, SenderSettleMode};
use serde_json::json;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;

pub async fn attached(
    session: &mut SessionHandle<()>,
    told: &Told,
    of: &Connection,
) -> Result<Link, Failure> {
    let name = if told.given("name").is_some() {
        told.text("name")
    } else {
        next("shim-", 1)
    };
    let snd = match told.text("snd").as_str() {
        "unsettled" => SenderSettleMode::Unsettled,
        "settled" => SenderSettleMode::Settled,
        _ => SenderSettleMode::Mixed,
    };
    let rcv = match told.text("rcv").as_str() {
        "second" => ReceiverSettleMode::Second,
        _ => ReceiverSettleMode::First,
    };
    if told.text("role") == "sender" {
        let builder = fe2o3_amqp::Sender::builder()
            .name(name)
            .target(told.text("address"));
        let sender = builder
            .sender_settle_mode(snd)
            .receiver_settle_mode(rcv)
            .attach(session)
            .await;
        return sender
            .map(Link::Sender)
            .map_err(|error| error.explain(Some(of)));
    }
    let builder = fe2o3_amqp::Receiver::builder()
        .name(name)
        .source(told.text("address"));
    let builder = builder
        .sender_settle_mode(snd)
        .receiver_settle_mode(rcv)
        .credit_mode(CreditMode::Manual);
    let mut receiver = builder
        .attach(session)
        .await
        .map_err(|error| error.explain(Some(of)))?;
    if let Some(credit) = told.number("credit")?.filter(|credit| *credit > 0) {
        receiver
            .set_credit(credit)
            .await
            .map_err(|error| error.explain(Some(of)))?;
    }
    Ok(Link::Receiver(receiver))
}

pub async fn attach(told: Told) -> Answer {
    let session = SESSIONS.get(&told.text("on"))?;
    let why = || {
        session
            .reason
            .lock()
            .unwrap()
            .clone()
            .or_else(|| session.of.reason.lock().unwrap().clone())
    };
    let link = ask(&session.ask, "attach", &told, why).await?;
    let (name, of) = (next(&format!("{}/", session.name), 1), session.of.clone());
    match link {
        Link::Sender(it) => {
            let settled = told.text("snd") == "settled";
            let (handed, asked) = mpsc::unbounded_channel();
            let sender = Arc::new(Sender {
                name: name.clone(),
                of,
                settled,
                it: tokio::sync::Mutex::new(Some(it)),
                handed,
            });
            tokio::spawn(send_handed(asked, Arc::downgrade(&sender)));
            SENDERS.put(&name, sender);
        }
        Link::Receiver(it) => {
            let (ask, asked) = mpsc::unbounded_channel();
            let receiver = Arc::new(Receiver {
                name: name.clone(),
                of,
                reason: Mutex::new(None),
                ask,
            });
            tokio::spawn(own_receiver(it, asked, Arc::downgrade(&receiver)));
            RECEIVERS.put(&name, receiver);
        }
        Link::Nothing => {}
    }
    Ok(json!({"on": name}))
}
