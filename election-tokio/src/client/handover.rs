//! Handing a session from one process to another.

use zk_jute::{OpCode, Version};
use zk_session::SessionTicket;

pub use election_session::{IfGone, OnExpiry};

use super::Client;
use crate::error::{Error, ErrorKind};
use crate::hub::Hub;

/// There is no session to hand over: no server has granted one yet, only a read-only server has, or
/// it is over. The client goes on as it was, and is closed with its last clone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no session to hand over")]
pub struct NoSession;

impl Client {
    /// Gives the session up, for all clones, without closing it: its ephemeral znodes stay, and for
    /// the session timeout the process that has the ticket may [go on](crate::ClientBuilder::resume) with
    /// it. The client is closed with this call, without waiting for anything: operations in flight
    /// fail with [`ErrorKind::ConnectionLoss`](crate::ErrorKind::ConnectionLoss) and may still
    /// happen, watches are lost.
    ///
    /// Leaderships end with this call, and nominations, too, but their candidates stay: note
    /// [`Nomination::id`](crate::Nomination::id) for
    /// [`Election::take_over`](crate::Election::take_over), and keep the nomination until after
    /// this call, since dropping it before deletes the candidate. Meanwhile nobody else can lead.
    /// A candidate whose deletion is still to be answered, since its nomination was dropped or has
    /// failed, stays with the session: [`Client::delete_ephemerals`] finds it for the next holder.
    ///
    /// # Errors
    ///
    /// [`NoSession`].
    pub fn detach(self) -> Result<SessionTicket, NoSession> {
        self.shared().with(Hub::detach).ok_or(NoSession)
    }

    /// Deletes those of this session's ephemeral znodes at paths that begin with `prefix` which are
    /// `unwanted`, and gives their paths, in no order: what a resumed session has, and nobody needs
    /// any more. For the prefix see [`Client::get_ephemerals`].
    ///
    /// Cancel safe: what was deleted until then stays so.
    ///
    /// # Errors
    ///
    /// Those of [`Client::get_ephemerals`] and of [`Client::delete`]; what was deleted before stays so.
    /// A znode that is gone meanwhile is no error. `ConnectionLoss`, too, if the client went to another
    /// server while it asked what there is: ask again. A server that is cut off from its ensemble does
    /// not answer.
    pub async fn delete_ephemerals(
        &self,
        prefix: &str,
        mut unwanted: impl FnMut(&str) -> bool,
    ) -> Result<Vec<String>, Error> {
        let mut paths = self.ephemerals_behind_barrier(prefix).await?;
        paths.retain(|path| unwanted(path));
        for path in &paths {
            match self.delete(path, Version::ANY).await {
                Err(error) if !error.is_no_node() => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(paths)
    }

    /// What the session has, with certainty: the server may not know yet what the session has created
    /// elsewhere, and one that has lost its ensemble never will.
    async fn ephemerals_behind_barrier(&self, prefix: &str) -> Result<Vec<String>, Error> {
        let connections = || self.shared().look(|hub| (hub.connections(), None));
        let before = connections();
        self.commit_nothing().await?;
        let paths = self.get_ephemerals(prefix).await?;
        if connections() == before {
            Ok(paths)
        } else {
            let kind = ErrorKind::ConnectionLoss;
            Err(Error::new(OpCode::GET_EPHEMERALS, prefix, kind))
        }
    }
}
