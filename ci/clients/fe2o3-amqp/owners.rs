//! What is open. The library lends each connection, session and link to one caller at a time: so each has a task that owns it,
//! waits for its end, and does what it is asked in between; who gives up waiting drops what the library was about.

use crate::contract::{Events, Failure, Names, Told};
use fe2o3_amqp::session::SessionHandle;
use fe2o3_amqp::types::messaging::Body;
use fe2o3_amqp::types::primitives::Value;
use fe2o3_amqp::Sendable;
use std::future::Future;
use std::sync::{Arc, LazyLock, Mutex};
use tokio::sync::{mpsc, oneshot};

pub static CONNECTIONS: LazyLock<Names<Connection>> = LazyLock::new(Names::new);
pub static SESSIONS: LazyLock<Names<Session>> = LazyLock::new(Names::new);
pub static SENDERS: LazyLock<Names<Sender>> = LazyLock::new(Names::new);
pub static RECEIVERS: LazyLock<Names<Receiver>> = LazyLock::new(Names::new);

/// What an owner is asked: a command with its arguments, and where the answer goes.
pub type Asked<T> = (String, Told, oneshot::Sender<Result<T, Failure>>);

/// A message that was handed over, whether it is sent settled, and the tag by which its outcome is told.
pub type Handed = (Sendable<Body<Value>>, bool, String);

pub struct Connection {
    pub events: Arc<Events>,
    /// Why it is over.
    pub reason: Mutex<Option<Failure>>,
    pub ask: mpsc::UnboundedSender<Asked<Option<SessionHandle<()>>>>,
}

pub struct Session {
    pub name: String,
    pub of: Arc<Connection>,
    pub reason: Mutex<Option<Failure>>,
    pub ask: mpsc::UnboundedSender<Asked<Link>>,
}

/// What a session attaches.
pub enum Link {
    Sender(fe2o3_amqp::Sender),
    Receiver(fe2o3_amqp::Receiver),
    Nothing,
}

pub struct Sender {
    pub name: String,
    pub of: Arc<Connection>,
    pub settled: bool,
    pub it: tokio::sync::Mutex<Option<fe2o3_amqp::Sender>>,
    /// What was handed over, and waits its turn.
    pub handed: mpsc::UnboundedSender<Handed>,
}

pub struct Receiver {
    pub name: String,
    pub of: Arc<Connection>,
    pub reason: Mutex<Option<Failure>>,
    pub ask: mpsc::UnboundedSender<Asked<()>>,
}

/// Ask an owner; where it is gone, say why.
pub async fn ask<T>(
    to: &mpsc::UnboundedSender<Asked<T>>,
    command: &str,
    told: &Told,
    why: impl Fn() -> Option<Failure>,
) -> Result<T, Failure> {
    let (answer, answered) = oneshot::channel();
    let _ = to.send((command.into(), told.clone(), answer));
    match answered.await {
        Ok(found) => found,
        Err(_) => Err(why().unwrap_or_else(|| Failure::new("local", "", "it has been closed"))),
    }
}

/// Answer with what something gives, unless nobody waits any more.
pub async fn answer<T>(
    mut to: oneshot::Sender<Result<T, Failure>>,
    found: impl Future<Output = Result<T, Failure>>,
) {
    tokio::select! {
        found = found => { let _ = to.send(found); }
        () = to.closed() => {}
    }
}
