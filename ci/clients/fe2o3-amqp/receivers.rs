//! Receivers of fe2o3-amqp, and who owns them.

use crate::contract::{hex, unsupported, Answer, Failure, Told};
use crate::errors::Explained;
use crate::owners::{answer, ask, Asked, Connection, Receiver};
use crate::told::{tell, KEPT};
use fe2o3_amqp::link::{ErrorRecovery, RecvError};
use fe2o3_amqp::types::definitions::{self, AmqpError};
use fe2o3_amqp::types::messaging::{Body, Modified};
use fe2o3_amqp::types::primitives::Value;
use serde_json::json;
use std::sync::Weak;
use tokio::sync::mpsc;

pub async fn own_receiver(
    mut it: fe2o3_amqp::Receiver,
    mut asked: mpsc::UnboundedReceiver<Asked<()>>,
    of: Weak<Receiver>,
) {
    loop {
        tokio::select! {
            got = it.recv::<Body<Value>>() => {
                let Some(of) = of.upgrade() else { return };
                match got {
                    Ok(delivery) => {
                        let (info, message) = delivery.into_parts();
                        let tag = hex(info.delivery_tag());
                        let message = tell(info, message, of.clone());
                        of.of.events.put(json!({"event": "message", "on": of.name, "tag": tag, "message": message}));
                    }
                    Err(error) if error.recovery() == ErrorRecovery::UseLink => eprintln!("{}: {error:?}", of.name),
                    Err(error) => {
                        let wrong = definitions::Error::new(AmqpError::NotAllowed, format!("{error:?}"), None);
                        let link_is_over = matches!(error, RecvError::LinkStateError(_));
                        let failure = error.explain(Some(&of.of));
                        if failure.0["level"] == "link" {
                            of.of.events.put(failure.event(&of.name));
                        }
                        *of.reason.lock().unwrap() = Some(failure);
                        if !link_is_over {
                            // To say why a link is of no more use is left to its user.
                            let _ = it.close_with_error(wrong).await;
                        }
                        return;
                    }
                }
            }
            next = asked.recv() => {
                let (Some((command, told, to)), Some(of)) = (next, of.upgrade()) else { return };
                let of = Some(&*of.of);
                match command.as_str() {
                    "close" => return answer(to, async { it.close().await.map_err(|error| error.explain(of)) }).await,
                    "detach" => {
                        let detached = async { it.detach().await.map(drop).map_err(|(_, error)| error.explain(of)) };
                        return answer(to, detached).await;
                    }
                    _ => answer(to, asked_of(&mut it, &command, &told, of)).await,
                }
            }
        }
    }
}

async fn asked_of(
    it: &mut fe2o3_amqp::Receiver,
    command: &str,
    told: &Told,
    of: Option<&Connection>,
) -> Result<(), Failure> {
    let info = || KEPT.get(&told.text("token")).map(|kept| kept.info.clone());
    let done = match (command, told.text("outcome").as_str()) {
        ("credit", _) => it.set_credit(told.number("credit")?.unwrap_or(0)).await,
        ("drain", _) => it.drain().await,
        (_, "accept") => it.accept(info()?).await,
        (_, "reject") => it.reject(info()?, None).await,
        (_, "release") => it.release(info()?).await,
        (_, "modify") => {
            let nothing = Modified {
                delivery_failed: None,
                undeliverable_here: None,
                message_annotations: None,
            };
            it.modify(info()?, nothing).await
        }
        (_, other) => return unsupported(format!("the library has no outcome {other}")),
    };
    done.map_err(|error| error.explain(of))
}

/// Ask a receiver for something.
pub async fn ask_receiver(receiver: &Receiver, command: &str, told: &Told) -> Answer {
    let why = || {
        receiver
            .reason
            .lock()
            .unwrap()
            .clone()
            .or_else(|| receiver.of.reason.lock().unwrap().clone())
    };
    ask(&receiver.ask, command, told, why).await?;
    Ok(json!({}))
}
