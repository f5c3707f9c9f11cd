//! A session that outlives its process.

use super::Session;
use super::state::{Granted, Identity};
use crate::config::Config;
use crate::event::SessionEnd;
use crate::ticket::{SessionTicket, Timeouts};
use crate::time::Instant;

impl<R, W: Clone> Session<R, W> {
    /// Goes on with a session that [`detach`](Self::detach) has given up. The first attempt to
    /// connect begins at once; the configured timeout is asked for.
    ///
    /// Its ephemeral znodes stand as they did, its watches do not, and its lease has to be proved
    /// anew: it counts with the least timeout that the ticket knows of, or less if less is granted
    /// now. If the session is gone, the end is [`SessionEnd::Expired`]. A session whose password is
    /// wrong counts as gone, too, and the connection that it has elsewhere is closed by that: use a
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

    /// Gives the session up without closing it: it ends here with [`SessionEnd::Detached`], and
    /// lives on at the servers for its timeout. What is in flight ends as it does with a lost
    /// connection, and may still be executed.
    ///
    /// `None`, and nothing is changed, if there is no session to give: none was granted yet, or only
    /// by a read-only server, or it is closing, or over.
    pub fn detach(&mut self, now: Instant) -> Option<SessionTicket> {
        self.check_lease(now);
        if self.is_closing() {
            return None;
        }
        let granted = self.identity.granted()?;
        let ticket = SessionTicket::new(
            granted.session,
            granted.password.clone(),
            Timeouts { last: granted.timeout, least: granted.least_timeout },
            self.seen,
        );
        self.end(SessionEnd::Detached);
        Some(ticket)
    }
}
