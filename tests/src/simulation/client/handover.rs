//! Handing a session, with the nominations in it, from one process to the next.

use zk_session::{Instant, SessionTicket};

use super::nomination::Nomination;
use super::users::Stand;
use super::{Client, Observed, Session, Settings, config};

/// What a process leaves to the next one.
#[derive(Debug)]
pub(in crate::simulation) struct Detached {
    ticket: SessionTicket,
    nominations: Vec<(Stand, Standing)>,
    cleanups: Vec<String>,
}

/// Whether a nomination goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Stays,
    Leaves,
}

impl Client {
    /// Gives the session up. `None` if there is none to give.
    pub(in crate::simulation) fn detach(&mut self, now: Instant) -> Option<Detached> {
        let ticket = self.session.detach(now)?;
        let nominations = core::mem::take(&mut self.nominations).into_values();
        let nominations = nominations.filter(|nomination| !nomination.is_over());
        let nominations = nominations.map(|nomination| {
            let standing =
                if nomination.is_leaving() { Standing::Leaves } else { Standing::Stays };
            (nomination.stand(), standing)
        });
        let nominations = nominations.collect();
        let cleanups = self.cleanups.owed().map(str::to_owned).collect();
        Some(Detached { ticket, nominations, cleanups })
    }

    /// A process that goes on with the session, and the nominations, of another.
    pub(in crate::simulation) fn resume(
        settings: Settings,
        detached: Detached,
        now: Instant,
        observed: &mut Vec<Observed>,
    ) -> Self {
        let Detached { ticket, nominations, cleanups } = detached;
        let session = Session::resume(&ticket, config(&settings), settings.seed, now);
        let mut client = Self::with_session(settings, session);
        client.cleanups.take_over(cleanups);
        for (stand, standing) in nominations {
            let key = client.next_key();
            client.nominations.insert(key, Nomination::returning(key, stand));
            if standing == Standing::Leaves {
                client.withdraw(now, key, observed);
            }
        }
        client
    }
}
