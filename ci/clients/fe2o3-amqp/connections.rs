//! How connections of fe2o3-amqp are opened, and who owns them.

use crate::contract::{dial, next, unsupported, Answer, Events, Told};
use crate::errors::Explained;
use crate::owners::{answer, Asked, Connection, CONNECTIONS};
use fe2o3_amqp::connection::ConnectionHandle;
use fe2o3_amqp::sasl_profile::SaslProfile;
use fe2o3_amqp::session::SessionHandle;
use serde_json::json;
use std::sync::{Arc, Mutex, Weak};
use tokio::sync::mpsc;

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
    of: Weak<Connection>,
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
