//! Waiting for a connection, to continue where it was lost.

use core::time::Duration;

use bytes::Bytes;
use zk_jute::ErrorCode;
use zk_jute::records::Stat;

use super::Client;
use crate::state::ConnectionState;
use crate::{Error, ErrorKind};

/// The pause after a server had too much to do.
const PAUSE: Duration = Duration::from_millis(100);

/// The meaning of an error for a request that is made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The client was not connected, so the request was not executed.
    NotConnected,
    /// It may have been executed.
    ConnectionLoss,
    /// The server did not handle it.
    Throttled,
}

impl Obstacle {
    /// Returns why the request failed, if making it again may help.
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
    /// Waits until making the request again may help. If there will be no connection any more, the
    /// next request reports that.
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
        // The last state counts, too.
        let _ = states.wait_for(is_decided).await;
    }

    /// Makes a request, over as many connections as it takes. It may be executed more than once.
    pub(crate) async fn repeated<T, F: Future<Output = Result<T, Error>>>(
        &self,
        mut request: impl FnMut() -> F,
    ) -> Result<T, Error> {
        loop {
            let error = match request().await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            match Obstacle::of(&error) {
                Some(obstacle) => self.pass(obstacle).await,
                None => return Err(error),
            }
        }
    }

    /// Reads the data of a znode, over as many connections as it takes; `None` if it does not exist.
    pub(crate) async fn find_data(&self, path: &str) -> Result<Option<(Bytes, Stat)>, Error> {
        match self.repeated(|| self.get_data(path)).await {
            Ok(read) => Ok(Some(read)),
            Err(error) if error.is_no_node() => Ok(None),
            Err(error) => Err(error),
        }
    }
}
