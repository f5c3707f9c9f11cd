//! One nominee of the demo, with a session of its own.

use core::time::Duration;

use election_tokio::election::{Nomination, Status};
use election_tokio::{Client, ConnectionState};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::mortal::{Life, MortalConnector};
use crate::args::{Servers, TlsArgs};
use crate::connection;
use crate::failure::Failure;

/// A nominee's place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seat(pub(super) usize);

/// A change of a nominee's status.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) seat: Seat,
    /// Tells the present nominee from an earlier one at the same place.
    pub(super) life: u32,
    pub(super) at: Instant,
    pub(super) status: Status,
}

/// The settings that all nominees share.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) servers: Servers,
    pub(super) tls: TlsArgs,
    pub(super) session_timeout: Duration,
    pub(super) connect_timeout: Duration,
    pub(super) path: String,
    pub(super) changes: mpsc::UnboundedSender<Change>,
}

/// Stands for election. Dropping it withdraws.
pub(super) struct Nominee {
    client: Client,
    nomination: Nomination,
    connection: Life,
}

impl Nominee {
    pub(super) async fn stand(
        setting: &Setting,
        seat: Seat,
        life: u32,
        name: &str,
    ) -> Result<Self, Failure> {
        let connection = Life::default();
        let builder = setting
            .tls
            .apply(Client::builder(setting.servers.connect_string()))
            .session_timeout(setting.session_timeout)
            .connector(MortalConnector { life: connection.clone() });
        let client =
            connection::connect(builder, &setting.servers, setting.connect_timeout).await?;
        let nomination = client.election(&setting.path).data(name.to_owned()).nominate()?;
        let mut status = nomination.updates();
        let changes = setting.changes.clone();
        tokio::spawn(async move {
            while let Some(status) = status.next().await {
                let change = Change { seat, life, at: Instant::now(), status };
                if changes.send(change).is_err() {
                    return;
                }
            }
        });
        Ok(Self { client, nomination, connection })
    }

    /// Returns the timeout that the server granted, while there is a connection.
    pub(super) fn session_timeout(&self) -> Option<Duration> {
        match self.client.connection_updates().latest() {
            ConnectionState::Connected { timeout, .. } => Some(timeout),
            _ => None,
        }
    }

    /// Resigns or withdraws.
    pub(super) async fn resign(self) {
        // Even without a confirmation the candidate goes with the session, which is closed here.
        let _ = self.nomination.withdraw().await;
        let _ = self.client.close().await;
    }

    /// Disappears without sending anything, so the server has to notice.
    pub(super) fn crash(self) {
        self.connection.end();
    }
}
