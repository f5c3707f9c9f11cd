//! Waiting for a connection, to go on where it was lost.

use core::time::Duration;

use zk_jute::ErrorCode;

use super::Client;
use crate::error::{Error, ErrorKind};
use crate::state::ConnectionState;

/// After a server had too much to do.
const PAUSE: Duration = Duration::from_millis(100);

/// What an error means to a request that is made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// There was no connection: it was not executed.
    NotConnected,
    /// It may have been executed.
    ConnectionLoss,
    /// The server did not look at it.
    Throttled,
}

impl Obstacle {
    /// Why the request did not come through, if making it again may help.
    pub(crate) fn of(error: &Error) -> Option<Self> {
        match error.kind() {
            ErrorKind::ConnectionLoss => Some(Self::ConnectionLoss),
            ErrorKind::NotConnected | ErrorKind::ReadOnlyServer => Some(Self::NotConnected),
            ErrorKind::Refused(ErrorCode::THROTTLED_OP) => Some(Self::Throttled),
            _ => None,
        }
    }
}

impl Client {
    /// Waits until making a request again may help. Where there will be no connection any more, the
    /// next request says so.
    pub(crate) async fn pass(&self, obstacle: Obstacle) {
        if obstacle == Obstacle::Throttled {
            return tokio::time::sleep(PAUSE).await;
        }
        let mut states = self.connection_updates();
        let is_decided = |state: &ConnectionState| {
            matches!(
                state,
                ConnectionState::Connected { read_only: false, .. }
                    | ConnectionState::Closed { .. }
            )
        };
        // The state that was the last one is looked at, too.
        let _ = states.wait_for(is_decided).await;
    }
}
