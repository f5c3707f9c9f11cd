//! Hands a session, with its nominations, from one process to the next.

use election_core::election::Nominee;
use election_core::{NomineeId, Phase};
use election_session::{IfGone, Resumption};
use zk_session::{Instant, SessionTicket};

use super::users::Nomination;
use super::{Client, Observed, Settings};
use crate::checker::Entry;

/// The estate that a process leaves to the next one.
#[derive(Debug)]
pub(crate) struct Detached {
    ticket: SessionTicket,
    nominations: Vec<(Nomination, Standing)>,
    /// The contenders for locks, of which the znodes stay with the session.
    pub(crate) contenders: Vec<NomineeId>,
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
    pub(crate) fn detach(&mut self, now: Instant) -> Option<Detached> {
        let standing = |phase| match phase {
            Phase::Standing => Some(Standing::Stays),
            Phase::Leaving => Some(Standing::Leaves),
            Phase::CleaningUp => Some(Standing::Owes),
            Phase::Over => None,
        };
        let nominations = self.queued().filter_map(|(key, queued)| {
            Some((self.seen.get(&key)?.stand.nomination()?, standing(queued.phase)?))
        });
        let nominations = nominations.collect();
        let contenders = self.contenders().collect();
        let ticket = self.host.detach(now)?;
        self.told.push(Observed::Entry(Entry::Closing));
        Some(Detached { ticket, nominations, contenders })
    }

    /// Starts a process that goes on with the session, and the nominations, of another. It
    /// withdraws the nominations that the other was about to delete.
    pub(crate) fn resume(settings: &Settings, detached: Detached, now: Instant) -> Self {
        let Detached { ticket, nominations, .. } = detached;
        let resumption = Resumption { ticket, if_gone: IfGone::StartAnew };
        let mut client = Self::with(settings, Some(resumption), now);
        for (nomination, standing) in nominations {
            let Nomination { id, policy, .. } = nomination;
            let nominee = Nominee::returning(id, client.random.u32(..), policy);
            let key = client.stand(now, nominee, nomination);
            if standing != Standing::Stays {
                client.host.withdraw(now, key);
            }
        }
        client
    }
}

impl Detached {
    /// Returns the nominees that had told their end, and will once more.
    pub(crate) fn owing(&self) -> impl Iterator<Item = NomineeId> {
        let owing = self.nominations.iter().filter(|(_, standing)| *standing == Standing::Owes);
        owing.map(|(nomination, _)| nomination.id)
    }
}
