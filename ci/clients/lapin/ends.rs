//! What ends connections and channels of lapin, and what its errors mean.

use crate::contract::Failure;
use crate::opening::{Channel, Connection, CHANNELS};
use lapin::{Error, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

/// Keep why a connection or its channels are over, and make an event of it: the library does not say which channel it was.
pub fn over(on: &str, connection: &Arc<Connection>, error: Error) {
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

pub fn explain_alone(error: Error) -> Failure {
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
