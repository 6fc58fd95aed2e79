//! How connections and channels of lapin are opened and closed.

use crate::contract::{dial, next, Answer, Events, Failure, Names, Told};
use crate::ends::{explain_alone, explain_on, over};
use crate::values::short;
use crate::Refused;
use async_compat::CompatExt;
use lapin::tcp::AsyncTcpStream;
use lapin::uri::{AMQPAuthority, AMQPQueryString, AMQPUri, AMQPUserInfo, SASLMechanism};
use lapin::{ConnectionProperties, Event};
use serde_json::{json, Value};
use std::sync::{Arc, LazyLock, Mutex};
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

/// Close a channel.
pub async fn close(ch: &Arc<Channel>) -> Result<Value, Refused> {
    ch.of.close(200, short("")?).await?;
    let ours = Failure::new(
        "local",
        "lapin::ErrorKind::InvalidChannelState",
        "the channel was closed",
    );
    ch.reason.lock().unwrap().get_or_insert(ours);
    Ok(Value::Null)
}
