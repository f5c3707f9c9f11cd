//! The session of `zkelect run`, which the guard closes if `zkelect run` dies: the next leader then need
//! not wait for its timeout.

use core::fmt;
use core::time::Duration;

use election_tokio::session::{IfGone, SessionTicket};
use rustix::process::{Pid, getppid};
use serde::{Deserialize, Serialize};
use tokio::time::{sleep, timeout};

use crate::args::ServersArgs;
use crate::console;
use crate::failure::Failure;

/// How often to look whether `zkelect run` is dead, and for how long: its socket closes a moment
/// before.
const LOOK: Duration = Duration::from_millis(1);
const LOOKS: u32 = 1000;

/// A session that another process can close by it. It is in the memory of two processes, and nowhere else.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct HeldSession {
    ticket: String,
    servers: ServersArgs,
}

impl fmt::Debug for HeldSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldSession").finish_non_exhaustive()
    }
}

impl HeldSession {
    pub(crate) fn new(ticket: &SessionTicket, servers: &ServersArgs) -> Self {
        Self { ticket: ticket.expose(), servers: servers.clone() }
    }

    /// Closes the session of the `zkelect run` that was `parent`, once that is dead. Nothing of COMMAND
    /// may be left. Gives up after the session's timeout: then the session is over by itself.
    pub(super) async fn close_after(self, parent: Option<Pid>) {
        if !is_dead(parent).await {
            return console::warn("zkelect has left its guard and lives on: its session stays");
        }
        match self.close().await {
            Ok(Some(session)) => console::note(format_args!(
                "zkelect is dead, and COMMAND with it: session {session} is closed"
            )),
            Ok(None) => {
                console::warn("zkelect is dead, and COMMAND with it; no server closed its session");
            }
            Err(failure) => console::warn(format_args!(
                "zkelect is dead, and COMMAND with it; its session is left to its timeout: {failure}"
            )),
        }
    }

    async fn close(self) -> Result<Option<String>, Failure> {
        let ticket: SessionTicket = self
            .ticket
            .parse()
            .map_err(|_| Failure::Internal("the session's ticket cannot be read"))?;
        let (session, bound) = (ticket.session(), ticket.timeout());
        let client =
            self.servers.client()?.resume(ticket, IfGone::Fail).connect_timeout(bound).connect();
        let closed =
            timeout(bound, async { Ok::<_, Failure>(client.await?.close().await.is_ok()) });
        let is_closed = closed.await.unwrap_or(Ok(false))?;
        Ok(is_closed.then(|| session.to_string()))
    }
}

/// Returns whether the process that was this one's parent is dead: this one has another parent then.
async fn is_dead(parent: Option<Pid>) -> bool {
    for _ in 0..LOOKS {
        if getppid() != parent {
            return true;
        }
        sleep(LOOK).await;
    }
    false
}
