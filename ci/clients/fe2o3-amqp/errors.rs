//! What the errors of fe2o3-amqp mean: each thing has an error of its own, and most of them hold those of what is above.

use crate::contract::{io_kind, Failure};
use crate::owners::Connection;
use fe2o3_amqp::connection::{self, ConnectionStopReason, OpenError};
use fe2o3_amqp::link::SessionStopReason;
use fe2o3_amqp::session::{self, BeginError};
use fe2o3_amqp::transport;
use fe2o3_amqp::types::definitions::{self, ErrorCondition};
use fe2o3_amqp::types::primitives::Symbol;

/// An error that can be told; `of` is the connection that it arose on, which knows why it is over.
pub trait Explained: std::fmt::Display {
    fn explain(&self, of: Option<&Connection>) -> Failure;

    fn local(&self) -> Failure {
        let native = std::any::type_name_of_val(self);
        Failure::new("local", native, self)
    }

    /// Say that the other side closed a level, with or without an error.
    fn closed(&self, level: &str, error: Option<&definitions::Error>) -> Failure {
        let native = std::any::type_name_of_val(self);
        let Some(error) = error else {
            return Failure::closed(native, level, "condition", ().into(), self);
        };
        let condition = match &error.condition {
            ErrorCondition::AmqpError(it) => Symbol::from(it),
            ErrorCondition::ConnectionError(it) => Symbol::from(it),
            ErrorCondition::SessionError(it) => Symbol::from(it),
            ErrorCondition::LinkError(it) => Symbol::from(it),
            ErrorCondition::Custom(it) => it.clone(),
        };
        let text = error.description.clone().unwrap_or_default();
        Failure::closed(native, level, "condition", condition.0.into(), text)
    }

    fn connection_stopped(&self, why: &ConnectionStopReason, of: Option<&Connection>) -> Failure {
        match why {
            ConnectionStopReason::RemoteClosed => self.closed("connection", None),
            ConnectionStopReason::RemoteClosedWithError(error) => {
                self.closed("connection", Some(error))
            }
            // The library says so of a lost socket, too; the connection told better.
            _ => of
                .and_then(|of| of.reason.lock().unwrap().clone())
                .unwrap_or_else(|| self.local()),
        }
    }

    fn session_stopped(&self, why: &SessionStopReason, of: Option<&Connection>) -> Failure {
        match why {
            SessionStopReason::RemoteEnded => self.closed("session", None),
            SessionStopReason::RemoteEndedWithError(error) => self.closed("session", Some(error)),
            SessionStopReason::ConnectionStopped(why) => self.connection_stopped(why, of),
            _ => self.local(),
        }
    }

    fn transport(&self, error: &transport::Error) -> Failure {
        let mut failure = self.local();
        match error {
            transport::Error::Io(error) => failure.0["kind"] = io_kind(error).into(),
            transport::Error::IdleTimeoutElapsed => failure.0["kind"] = "timeout".into(),
            _ => {}
        }
        failure
    }
}

impl Explained for std::io::Error {
    fn explain(&self, _: Option<&Connection>) -> Failure {
        Failure::new(io_kind(self), "std::io::Error", self)
    }
}

impl Explained for OpenError {
    fn explain(&self, _: Option<&Connection>) -> Failure {
        match self {
            OpenError::Io(error) => error.explain(None),
            OpenError::TransportError(error) => self.transport(error),
            OpenError::SaslError { .. } | OpenError::RemoteClosed => {
                self.closed("connection", None)
            }
            OpenError::RemoteClosedWithError(error) => self.closed("connection", Some(error)),
            _ => self.local(),
        }
    }
}

impl Explained for connection::Error {
    fn explain(&self, _: Option<&Connection>) -> Failure {
        match self {
            connection::Error::TransportError(error) => self.transport(error),
            connection::Error::RemoteClosed => self.closed("connection", None),
            connection::Error::RemoteClosedWithError(error) => {
                self.closed("connection", Some(error))
            }
            _ => self.local(),
        }
    }
}

impl Explained for BeginError {
    fn explain(&self, of: Option<&Connection>) -> Failure {
        match self {
            BeginError::ConnectionStopped(why) => self.connection_stopped(why, of),
            BeginError::RemoteEnded => self.closed("session", None),
            BeginError::RemoteEndedWithError(error) => self.closed("session", Some(error)),
            _ => self.local(),
        }
    }
}

impl Explained for session::Error {
    fn explain(&self, of: Option<&Connection>) -> Failure {
        match self {
            session::Error::ConnectionStopped(why) => self.connection_stopped(why, of),
            session::Error::RemoteEnded => self.closed("session", None),
            session::Error::RemoteEndedWithError(error) => self.closed("session", Some(error)),
            _ => self.local(),
        }
    }
}
