//! Handing a session to another process.

use super::Session;
use super::state::{Granted, Identity};
use crate::config::Config;
use crate::event::SessionEnd;
use crate::ticket::{SessionTicket, Timeouts};
use crate::time::Instant;

impl<R, W: Clone> Session<R, W> {
    /// Continues a session that [`detach`](Self::detach) has given up. The first attempt to connect
    /// begins at once, and asks for the configured timeout.
    ///
    /// The session keeps its ephemeral znodes but not its watches. Its lease has to be proved anew:
    /// it counts with the least timeout that the ticket knows of, or less if less is granted now.
    /// If the session is gone, the end is [`SessionEnd::Expired`]. A session with a wrong password
    /// counts as gone, too, and the server then closes the connection that it has elsewhere: use a
    /// ticket once.
    pub fn resume(ticket: &SessionTicket, config: Config, seed: u64, now: Instant) -> Self {
        let identity = Identity::Granted(Granted {
            session: ticket.session(),
            password: ticket.password().clone(),
            timeout: ticket.timeout(),
            least_timeout: ticket.least_timeout(),
            last_received: now,
        });
        let mut session = Self::beginning_as(identity, config, seed, now);
        session.seen = ticket.last_zxid();
        session.delivered = ticket.last_zxid();
        session
    }

    /// Gives the session up without closing it. It ends here with [`SessionEnd::Detached`], and the
    /// servers keep it for its timeout. Requests in flight end as with a lost connection, and may
    /// still be executed.
    ///
    /// Returns `None`, and changes nothing, if there is no session to give: no server has granted
    /// one, or only a read-only server, or it is closing, or has ended.
    pub fn detach(&mut self, now: Instant) -> Option<SessionTicket> {
        self.check_lease(now);
        let ticket = self.ticket()?;
        self.end(SessionEnd::Detached);
        Some(ticket)
    }

    /// Returns a ticket of the session, which goes on here: for a process that closes it should this
    /// one die. Its use disconnects this session.
    ///
    /// Returns `None` where [`detach`](Self::detach) does.
    pub fn ticket(&self) -> Option<SessionTicket> {
        if self.is_closing() {
            return None;
        }
        let granted = self.identity.granted()?;
        Some(SessionTicket::new(
            granted.session,
            granted.password.clone(),
            Timeouts { last: granted.timeout, least: granted.least_timeout },
            self.seen,
        ))
    }
}
