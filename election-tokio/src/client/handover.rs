//! Handing a session from one process to another.

use zk_jute::{OpCode, Version};
use zk_session::SessionTicket;

use super::Client;
use crate::hub::Hub;
use crate::{Error, ErrorKind};

/// The client has no session to hand over: no server has granted one yet, or only a read-only
/// server, or it is over. The client goes on as before, and is closed with its last clone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no session to hand over")]
pub struct NoSession;

impl Client {
    /// Gives the session up, for all clones, without closing it. Its ephemeral znodes stay, and for
    /// the session timeout the process with the ticket may [continue](crate::ClientBuilder::resume)
    /// it. This call closes the client without waiting: operations in flight fail with
    /// [`ErrorKind::ConnectionLoss`](crate::ErrorKind::ConnectionLoss) and may still happen, and
    /// watches are lost.
    ///
    /// Leaderships and nominations end with this call, but their candidates stay, and no other
    /// nominee can lead meanwhile. Note [`Nomination::id`](crate::election::Nomination::id) for
    /// [`Election::take_over`](crate::election::Election::take_over), and keep the nomination until after
    /// this call: dropping it before deletes the candidate. If a candidate's deletion is not
    /// answered yet, because its nomination was dropped or has failed, the candidate stays with the
    /// session; the next holder finds it by [`Client::delete_ephemerals`].
    ///
    /// # Errors
    ///
    /// [`NoSession`].
    pub fn detach(self) -> Result<SessionTicket, NoSession> {
        self.shared().with(Hub::detach).ok_or(NoSession)
    }

    /// Returns a ticket of the session, which this client goes on with: for a process that survives this
    /// one, and then closes the session at once, so that no other client has to wait for its timeout.
    ///
    /// That process must not act on the session while this one lives, since the use of a ticket
    /// disconnects this client, and a closed session ends its leaderships and locks before their leases. What
    /// this process has done by then stays done: have it cease before the session is closed. `zkelect run`
    /// does so by a process that kills COMMAND first. Keep the ticket in memory:
    /// [`SessionTicket::expose`] has the password.
    ///
    /// # Errors
    ///
    /// [`NoSession`]; the client goes on.
    pub fn ticket(&self) -> Result<SessionTicket, NoSession> {
        self.shared().lock().ticket().ok_or(NoSession)
    }

    /// Deletes this session's ephemeral znodes at paths that begin with `prefix`, if they are
    /// `unwanted`, and returns their paths, in no order. It is for the znodes of a resumed session
    /// that its process does not need any more. For the prefix see [`Client::get_ephemerals`].
    ///
    /// Cancel safe: earlier deletions stay.
    ///
    /// # Errors
    ///
    /// Those of [`Client::get_ephemerals`] and of [`Client::delete`]; earlier deletions stay. A
    /// znode that has gone meanwhile is no error. `ConnectionLoss`, too, if the client changed its
    /// server while it asked for the znodes: call it again. A server that is cut off from its
    /// ensemble does not answer.
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

    /// Returns the session's znodes with certainty. A server may not know yet what the session has
    /// created elsewhere; a server that has lost its ensemble never will.
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
