//! How connections, sessions and links of fe2o3-amqp are opened and closed.
//!
//! The library lends each of them to one caller at a time. So each has a task that owns it, waits for its end, and does what it
//! is asked in between; who gives up waiting drops what the library was about.

use crate::contract::{dial, next, unsupported, Answer, Events, Failure, Names, Told};
use crate::errors::Explained;
use crate::send_handed;
use crate::values::tell;
use fe2o3_amqp::connection::ConnectionHandle;
use fe2o3_amqp::link::{CreditMode, ErrorRecovery, RecvError};
use fe2o3_amqp::sasl_profile::SaslProfile;
use fe2o3_amqp::session::SessionHandle;
use fe2o3_amqp::types::definitions::{self, AmqpError, ReceiverSettleMode, SenderSettleMode};
use fe2o3_amqp::types::messaging::{Body, Modified};
use fe2o3_amqp::types::primitives::Value;
use fe2o3_amqp::Sendable;
use serde_json::json;
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
    ask: mpsc::UnboundedSender<Asked<Option<SessionHandle<()>>>>,
}

pub struct Session {
    pub name: String,
    pub of: Arc<Connection>,
    reason: Mutex<Option<Failure>>,
    ask: mpsc::UnboundedSender<Asked<Link>>,
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
    reason: Mutex<Option<Failure>>,
    ask: mpsc::UnboundedSender<Asked<()>>,
}

/// Ask an owner; where it is gone, say why.
async fn ask<T>(
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
async fn answer<T>(
    mut to: oneshot::Sender<Result<T, Failure>>,
    found: impl Future<Output = Result<T, Failure>>,
) {
    tokio::select! {
        found = found => { let _ = to.send(found); }
        () = to.closed() => {}
    }
}

pub async fn connect(told: Told) -> Answer {
    if told.given("heartbeat").is_some() {
        return unsupported("the library has no heartbeat");
    }
    let profile = match told.text("mechanism").as_str() {
        "" | "PLAIN" => SaslProfile::Plain {
            username: told.text("user"),
            password: told.text("password"),
        },
        "ANONYMOUS" => SaslProfile::Anonymous,
        "EXTERNAL" => SaslProfile::External,
        other => return unsupported(format!("the library has no mechanism {other}")),
    };
    let or =
        |name: &str, otherwise: String| told.given(name).map_or(otherwise, |_| told.text(name));
    let hostname = or("hostname", told.text("host")); // as the library does with a URL
    let mut builder =
        fe2o3_amqp::Connection::builder().container_id(or("container", next("shim-", 1)));
    builder = builder.hostname(hostname.as_str()).sasl_profile(profile);
    if let Some(size) = told.number::<u32>("frame_max")? {
        builder = builder.max_frame_size(size);
    }
    if let Some(channels) = told.number::<u16>("channel_max")? {
        builder = builder.channel_max(channels);
    }
    if let Some(idle) = told.number::<u32>("idle")? {
        builder = builder.idle_time_out(idle);
    }
    // The socket is ours, as nothing in the library drops one without a close.
    let socket = dial(&told).await.map_err(|error| error.explain(None))?;
    let handle = builder
        .open_with_stream(socket)
        .await
        .map_err(|error| error.explain(None))?;
    let (name, (ask, asked)) = (next("c", 0), mpsc::unbounded_channel());
    let connection = Arc::new(Connection {
        events: Events::new(),
        reason: Mutex::new(None),
        ask,
    });
    tokio::spawn(own_connection(
        handle,
        asked,
        name.clone(),
        Arc::downgrade(&connection),
    ));
    CONNECTIONS.put(&name, connection);
    Ok(json!({"on": name}))
}

async fn own_connection(
    mut handle: ConnectionHandle<()>,
    mut asked: mpsc::UnboundedReceiver<Asked<Option<SessionHandle<()>>>>,
    name: String,
    of: std::sync::Weak<Connection>,
) {
    loop {
        tokio::select! {
            over = handle.on_close() => {
                let failure = over.err().map(|error| error.explain(None));
                if let Some(of) = of.upgrade() {
                    of.reason.lock().unwrap().clone_from(&failure);
                    of.events.end(failure.map(|failure| failure.event(&name)));
                }
                return;
            }
            next = asked.recv() => match next {
                Some((command, _, to)) if command == "close" => {
                    let closed = async { handle.close().await.map(|()| None).map_err(|error| error.explain(None)) };
                    answer(to, closed).await;
                    if let Some(of) = of.upgrade() {
                        of.events.end(None);
                    }
                    return;
                }
                Some((_, _, to)) => answer(to, async {
                    let of = of.upgrade();
                    let begun = fe2o3_amqp::Session::begin(&mut handle).await;
                    begun.map(Some).map_err(|error| error.explain(of.as_deref()))
                }).await,
                None => return,
            },
        }
    }
}

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
    of: std::sync::Weak<Session>,
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

async fn attached(
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

async fn own_receiver(
    mut it: fe2o3_amqp::Receiver,
    mut asked: mpsc::UnboundedReceiver<Asked<()>>,
    of: std::sync::Weak<Receiver>,
) {
    loop {
        tokio::select! {
            got = it.recv::<Body<Value>>() => {
                let Some(of) = of.upgrade() else { return };
                match got {
                    Ok(delivery) => {
                        let (info, message) = delivery.into_parts();
                        let tag = crate::contract::hex(info.delivery_tag());
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
    let info = || {
        crate::values::KEPT
            .get(&told.text("token"))
            .map(|kept| kept.info.clone())
    };
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
