//! How connections and channels of lapin are opened, what they notify of, and what errors mean.

use crate::contract::{dial, next, Answer, Events, Failure, Names, Told};
use crate::values::tell;
use async_compat::CompatExt;
use lapin::tcp::AsyncTcpStream;
use lapin::uri::{AMQPAuthority, AMQPQueryString, AMQPUri, AMQPUserInfo, SASLMechanism};
use lapin::{ConnectionProperties, Error, ErrorKind, Event};
use serde_json::json;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;
use tokio_stream::StreamExt;

pub static CONNECTIONS: LazyLock<Names<Connection>> = LazyLock::new(Names::new);
pub static CHANNELS: LazyLock<Names<Channel>> = LazyLock::new(Names::new);

pub struct Connection {
    pub of: lapin::Connection,
    pub events: Arc<Events>,
    /// Why it is over.
    pub reason: Mutex<Option<Failure>>,
}

pub struct Channel {
    pub of: lapin::Channel,
    pub name: String,
    pub connection: Arc<Connection>,
    pub reason: Mutex<Option<Failure>>,
}

pub async fn connect(told: Told) -> Answer {
    let auth_mechanism = match told.text("mechanism").as_str() {
        "" => None,
        "PLAIN" => Some(SASLMechanism::Plain),
        "AMQPLAIN" => Some(SASLMechanism::AMQPlain),
        "ANONYMOUS" => Some(SASLMechanism::Anonymous),
        "EXTERNAL" => Some(SASLMechanism::External),
        other => {
            return crate::contract::unsupported(format!("the library has no mechanism {other}"))
        }
    };
    let uri = AMQPUri {
        authority: AMQPAuthority {
            userinfo: AMQPUserInfo {
                username: told.text("user"),
                password: told.text("password"),
            },
            host: told.text("host"),
            port: told.number("port")?.unwrap_or(0),
        },
        vhost: told.text("vhost"),
        query: AMQPQueryString {
            frame_max: told.number("frame_max")?,
            channel_max: told.number("channel_max")?,
            heartbeat: told.number("heartbeat")?,
            connection_timeout: None,
            auth_mechanism,
        },
        ..AMQPUri::default()
    };
    let runtime = lapin::runtime::default_runtime().map_err(explain_alone)?;
    // The socket is ours, as nothing in the library drops one without a close.
    let socket = Arc::new(Mutex::new(Some(
        dial(&told)
            .await
            .map_err(|error| explain_alone(error.into()))?,
    )));
    let of = lapin::Connection::connector(
        uri,
        runtime,
        async move |_, _| match socket.lock().unwrap().take() {
            Some(socket) => Ok(AsyncTcpStream::Plain(socket.compat())),
            None => Err(std::io::Error::from(std::io::ErrorKind::NotConnected).into()), // no second attempt
        },
        ConnectionProperties::default(),
    );
    let of = of.await.map_err(explain_alone)?;
    let mut notified = of.events_listener();
    let (name, connection) = (
        next("c", 0),
        Arc::new(Connection {
            of,
            events: Events::new(),
            reason: Mutex::new(None),
        }),
    );
    let (on, it) = (name.clone(), Arc::downgrade(&connection));
    tokio::spawn(async move {
        while let Some(event) = notified.next().await {
            if let (Event::Error(error), Some(it)) = (event, it.upgrade()) {
                over(&on, &it, error);
            }
        }
    });
    CONNECTIONS.put(&name, connection);
    Ok(json!({"on": name}))
}

/// Keep why a connection or its channels are over, and make an event of it: the library does not say which channel it was.
fn over(on: &str, connection: &Arc<Connection>, error: Error) {
    let level = if connection.of.status().connected() {
        "channel"
    } else {
        "connection"
    };
    let failure = explain(&error, level);
    if level == "connection" {
        if connection
            .reason
            .lock()
            .unwrap()
            .replace(failure.clone())
            .is_none()
        {
            connection.events.end(Some(failure.event(on)));
        }
        return;
    }
    for channel in CHANNELS.all() {
        let state = channel.of.status();
        let closed = !(state.connected() || state.closing() || state.initializing());
        if closed && Arc::ptr_eq(&channel.connection, connection) {
            let mut reason = channel.reason.lock().unwrap();
            if reason.is_none() {
                *reason = Some(failure.clone());
                connection.events.put(failure.event(&channel.name));
            }
        }
    }
}

pub async fn open(told: Told) -> Answer {
    let connection = CONNECTIONS.get(&told.text("on"))?;
    let of = match connection.of.create_channel().await {
        Ok(of) => of,
        Err(error) => return Err(explain_on(&connection, None, error).await),
    };
    let name = next(&format!("{}/", told.text("on")), 1);
    let channel = Channel {
        of,
        name: name.clone(),
        connection,
        reason: Mutex::new(None),
    };
    CHANNELS.put(&name, Arc::new(channel));
    Ok(json!({"on": name}))
}

/// Ask for what came back: without confirms the library keeps it until it is asked.
pub fn returned(connection: &Arc<Connection>) {
    for channel in CHANNELS.all() {
        if Arc::ptr_eq(&channel.connection, connection) && channel.of.status().connected() {
            tokio::spawn(async move {
                for each in channel.of.wait_for_confirms().await.unwrap_or_default() {
                    let (code, text) = (each.reply_code, each.reply_text.to_string());
                    channel
                        .connection
                        .events
                        .put(json!({"event": "returned", "on": channel.name,
                        "code": code, "text": text, "message": tell(each.delivery)}));
                }
            });
        }
    }
}

fn explain_alone(error: Error) -> Failure {
    explain(&error, "connection")
}

/// Tell an error of the library in the contract's words.
fn explain(error: &Error, level: &str) -> Failure {
    let kind = match error.kind() {
        ErrorKind::ProtocolError(told) => {
            let text = told.get_message().as_str();
            return Failure::closed(
                "lapin::ErrorKind::ProtocolError",
                level,
                "code",
                told.get_id().into(),
                text,
            );
        }
        ErrorKind::IOError(error) => crate::contract::io_kind(error),
        ErrorKind::MissingHeartbeatError => "timeout",
        _ => "local",
    };
    let native = format!("{:?}", error.kind());
    let native = native
        .split(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or("");
    Failure::new(kind, &format!("lapin::ErrorKind::{native}"), error)
}

/// Tell an error of a command; where the library says only that something is closed, why was told beside.
pub async fn explain_on(
    connection: &Connection,
    channel: Option<&Channel>,
    error: Error,
) -> Failure {
    match error.kind() {
        ErrorKind::InvalidChannelState(..)
        | ErrorKind::InvalidConnectionState(_)
        | ErrorKind::InvalidChannel(_) => {
            let why = || {
                let of = channel.and_then(|channel| channel.reason.lock().unwrap().clone());
                of.or_else(|| connection.reason.lock().unwrap().clone())
            };
            if why().is_none() {
                tokio::time::sleep(Duration::from_millis(20)).await; // it may be on its way to us
            }
            why().unwrap_or_else(|| explain(&error, "channel"))
        }
        _ if error.is_amqp_hard_error() || !connection.of.status().connected() => {
            explain(&error, "connection")
        }
        _ => explain(
            &error,
            if channel.is_some() {
                "channel"
            } else {
                "connection"
            },
        ),
    }
}
