//! The endings of a client.

use election_core::election::Nominee;
use zk_session::Instant;

use super::{Client, Nomination, Observed, Usage};
use crate::checker::Entry;
use crate::ending::Ending;

impl Client {
    /// Closes the session. Nothing is led from here on.
    pub(crate) fn close(&mut self, now: Instant) {
        self.usage = Usage::Closed;
        self.told.push(Observed::Entry(Entry::Closing));
        self.host.close(now);
    }

    /// Ends the client, perhaps before the events were handed out of what came in last. A nomination
    /// may come too late, and as many calls as there is room for.
    pub(crate) fn end(
        &mut self,
        now: Instant,
        (ending, late, most_calls): (Ending, Nomination, usize),
    ) {
        if self.usage == Usage::Closed {
            return;
        }
        match ending {
            Ending::Close => self.close(now),
            Ending::CloseAndStand => {
                self.close(now);
                self.stand(now, Nominee::new(late.id, late.policy), late);
            }
            Ending::CloseAndAbandon => {
                self.close(now);
                self.abandon(now);
            }
            Ending::Abandon => self.abandon(now),
            Ending::CallAndAbandon => {
                self.read_once_more(now, most_calls);
                self.abandon(now);
            }
        }
    }

    fn abandon(&mut self, now: Instant) {
        self.usage = Usage::Closed;
        self.told.push(Observed::Entry(Entry::Closing));
        self.host.abandon(now);
    }
}
