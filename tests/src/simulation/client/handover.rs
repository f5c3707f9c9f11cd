//! Handing a session, with the nominations in it, from one process to the next.

use election_core::NomineeId;
use zk_session::{Instant, SessionTicket};

use super::nomination::Nomination;
use super::users::Stand;
use super::{Client, Observed, Session, Settings, config};

/// What a process leaves to the next one.
#[derive(Debug)]
pub(in crate::simulation) struct Detached {
    ticket: SessionTicket,
    nominations: Vec<(Stand, Standing)>,
}

/// Whether a nomination goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Stays,
    /// It has not left yet.
    Leaves,
    /// It is over, and has left a candidate to be deleted.
    Owes,
}

impl Client {
    /// Gives the session up. `None` if there is none to give.
    pub(in crate::simulation) fn detach(&mut self, now: Instant) -> Option<Detached> {
        let ticket = self.session.detach(now)?;
        let nominations = core::mem::take(&mut self.nominations).into_values();
        let nominations = nominations.map(|nomination| {
            let standing = match () {
                () if nomination.is_over() => Standing::Owes,
                () if nomination.is_leaving() => Standing::Leaves,
                () => Standing::Stays,
            };
            (nomination.stand(), standing)
        });
        Some(Detached { ticket, nominations: nominations.collect() })
    }

    /// A process that goes on with the session, and the nominations, of another. What the other
    /// was about to delete, it withdraws.
    pub(in crate::simulation) fn resume(
        settings: Settings,
        detached: Detached,
        now: Instant,
        observed: &mut Vec<Observed>,
    ) -> Self {
        let Detached { ticket, nominations } = detached;
        let session = Session::resume(&ticket, config(&settings), settings.seed, now);
        let mut client = Self::with_session(settings, session, now);
        for (stand, standing) in nominations {
            let key = client.next_key();
            let attempts = client.random.u32(..);
            client.nominations.insert(key, Nomination::returning(key, stand, attempts));
            if standing != Standing::Stays {
                client.withdraw(now, key, observed);
            }
        }
        client
    }
}

impl Detached {
    /// The nominees that had told their end, and will once more.
    pub(in crate::simulation) fn owing(&self) -> impl Iterator<Item = NomineeId> {
        let owing = self.nominations.iter().filter(|(_, standing)| *standing == Standing::Owes);
        owing.map(|(stand, _)| stand.id)
    }
}
