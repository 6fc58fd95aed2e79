//! What the errors of links of fe2o3-amqp mean.

use crate::contract::Failure;
use crate::errors::Explained;
use crate::owners::Connection;
use fe2o3_amqp::link::*;

impl Explained for SenderAttachError {
    fn explain(&self, of: Option<&Connection>) -> Failure {
        match self {
            SenderAttachError::SessionStopped(why) => self.session_stopped(why, of),
            SenderAttachError::RemoteClosedWithError(error) => self.closed("link", Some(error)),
            _ => self.local(),
        }
    }
}

impl Explained for ReceiverAttachError {
    fn explain(&self, of: Option<&Connection>) -> Failure {
        match self {
            ReceiverAttachError::SessionStopped(why) => self.session_stopped(why, of),
            ReceiverAttachError::RemoteClosedWithError(error) => self.closed("link", Some(error)),
            _ => self.local(),
        }
    }
}

impl Explained for DetachError {
    fn explain(&self, of: Option<&Connection>) -> Failure {
        match self {
            DetachError::SessionStopped(why) => self.session_stopped(why, of),
            DetachError::RemoteDetachedWithError(error)
            | DetachError::RemoteClosedWithError(error) => self.closed("link", Some(error)),
            DetachError::ClosedByRemote => self.closed("link", None),
            _ => self.local(),
        }
    }
}

impl Explained for LinkStateError {
    fn explain(&self, of: Option<&Connection>) -> Failure {
        match self {
            LinkStateError::SessionStopped(why) => self.session_stopped(why, of),
            LinkStateError::RemoteDetachedWithError(error)
            | LinkStateError::RemoteClosedWithError(error) => self.closed("link", Some(error)),
            LinkStateError::RemoteDetached | LinkStateError::RemoteClosed => {
                self.closed("link", None)
            }
            _ => self.local(),
        }
    }
}

impl Explained for IllegalLinkStateError {
    fn explain(&self, of: Option<&Connection>) -> Failure {
        match self {
            IllegalLinkStateError::SessionStopped(why) => self.session_stopped(why, of),
            _ => self.local(),
        }
    }
}

impl Explained for SendError {
    fn explain(&self, of: Option<&Connection>) -> Failure {
        match self {
            SendError::LinkStateError(error) => error.explain(of),
            SendError::Detached(error) => error.explain(of),
            _ => self.local(),
        }
    }
}

impl Explained for RecvError {
    fn explain(&self, of: Option<&Connection>) -> Failure {
        match self {
            RecvError::LinkStateError(error) => error.explain(of),
            _ => self.local(),
        }
    }
}
