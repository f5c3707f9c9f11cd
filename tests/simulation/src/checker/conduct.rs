//! Compares the observations of clients about their sessions and nominations with what clients may
//! observe.

use std::collections::{BTreeMap, BTreeSet};

use election_core::NomineeId;
use election_core::election::{Departure, End, Notice};
use election_core::format::Access;
use zk_jute::{SessionId, Zxid};

use super::contract::{Contract, Entry};
use super::election_node::nominee_of;
use super::{Broken, Candidates, access_of, excludes, name};
use crate::client::Observed;
use crate::clock::Time;
use crate::outcome::Law;
use crate::reasons::Reasons;

/// The conduct of all clients.
#[derive(Debug)]
pub(crate) struct Conduct {
    automata: Vec<Automaton>,
    contracts: Vec<Contract>,
    /// How many calls of each client may be in flight.
    most_calls: Vec<usize>,
    ended: BTreeSet<NomineeId>,
    reasons: Reasons,
    /// The nominee that the deletion of a candidate in a transaction woke.
    woken: BTreeMap<(String, Zxid), NomineeId>,
}

/// The state of a session's events on their automaton, which the documentation of
/// [`zk_session::Event`] draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Automaton {
    Apart,
    Together,
    End,
}

impl Conduct {
    /// Makes the book of clients of which so many calls may be in flight.
    pub(crate) fn new(most_calls: Vec<usize>, reasons: Reasons) -> Self {
        Self {
            reasons,
            automata: vec![Automaton::Apart; most_calls.len()],
            contracts: most_calls.iter().map(|most| Contract::new(*most)).collect(),
            most_calls,
            ended: BTreeSet::new(),
            woken: BTreeMap::new(),
        }
    }

    /// Notes that a client's process starts.
    pub(crate) fn started(&mut self, client: usize) {
        if let Some(automaton) = self.automata.get_mut(client) {
            *automaton = Automaton::Apart;
        }
        if let (Some(contract), Some(most)) =
            (self.contracts.get_mut(client), self.most_calls.get(client))
        {
            *contract = Contract::new(*most);
        }
    }

    /// Returns the duties of a client's host.
    pub(crate) fn contract(&self, client: usize) -> Option<&Contract> {
        self.contracts.get(client)
    }

    /// Takes in what passes between the host of a client and its caller.
    pub(crate) fn enter(&mut self, client: usize, entry: Entry) -> Result<(), Broken> {
        self.contracts.get_mut(client).map_or(Ok(()), |contract| contract.take_in(entry))
    }

    pub(crate) const fn reasons(&self) -> Reasons {
        self.reasons
    }

    pub(crate) const fn reasons_mut(&mut self) -> &mut Reasons {
        &mut self.reasons
    }

    /// Notes that another process takes these nominees over, to delete what they have left.
    pub(crate) fn handed_over(&mut self, nominees: impl Iterator<Item = NomineeId>) {
        for nominee in nominees {
            self.ended.remove(&nominee);
        }
    }

    pub(crate) fn take_in(
        &mut self,
        (client, session, connected_at): (usize, Option<SessionId>, Option<Time>),
        observed: &Observed,
        candidates: &mut Candidates,
    ) -> Result<(), Broken> {
        if let Observed::Entry(entry) = observed {
            return self.enter(client, *entry);
        }
        if let Some(automaton) = self.automata.get_mut(client) {
            *automaton = automaton
                .after(observed)
                .ok_or_else(|| (Law::EventsInOrder, format!("{observed:?} in {automaton:?}")))?;
        }
        match observed {
            Observed::Notice { nominee, notice } => {
                self.noticed((*nominee, session, connected_at), *notice, candidates)
            }
            Observed::EndedWithClient { nominee } => self.ended(*nominee),
            // Of the end of a candidate that it may not read itself, a nominee does not hear.
            Observed::Woken { nominee, .. } if candidates.was_hidden(*nominee) => Ok(()),
            // Its own candidate is gone, which it hears next: a process that was paused.
            Observed::Woken { nominee, .. } if !candidates.stands_for(*nominee) => Ok(()),
            Observed::Woken { nominee, candidate, zxid } => self.woken(*nominee, candidate, *zxid),
            _ => Ok(()),
        }
    }

    fn noticed(
        &mut self,
        (nominee, session, connected_at): (NomineeId, Option<SessionId>, Option<Time>),
        notice: Notice,
        candidates: &mut Candidates,
    ) -> Result<(), Broken> {
        let Notice::Ended(end) = notice else {
            if self.ended.contains(&nominee) {
                return Err((Law::OneEnd, format!("{notice:?} of {}", name(nominee))));
            }
            return Ok(());
        };
        self.ended(nominee)?;
        match end {
            End::Resigned(Departure::Deleted | Departure::NeverCreated)
            | End::Withdrawn(Departure::Deleted | Departure::NeverCreated) => {
                candidates.departed(nominee, session)
            }
            End::Failed(error) => {
                let removals = connected_at.map_or(0, |at| candidates.removals(nominee, at));
                if self.reasons.explain(error, removals) {
                    return Ok(());
                }
                let detail = format!("{} failed: {error}; {removals} removals", name(nominee));
                Err((Law::OneEnd, detail))
            }
            // Whether the election was ended at the time, its own law asks.
            End::ElectionEnded if !self.reasons.elections_end() => {
                Err((Law::OneEnd, format!("{} is told of an end that never was", name(nominee))))
            }
            End::ElectionEnded
            | End::Resigned(Departure::WithSession)
            | End::Withdrawn(Departure::WithSession)
            | End::Lost(_) => Ok(()),
        }
    }

    fn ended(&mut self, nominee: NomineeId) -> Result<(), Broken> {
        if self.ended.insert(nominee) {
            Ok(())
        } else {
            Err((Law::OneEnd, format!("{} ended twice", name(nominee))))
        }
    }

    fn woken(&mut self, nominee: NomineeId, candidate: &str, zxid: Zxid) -> Result<(), Broken> {
        if nominee_of(candidate).is_some_and(|other| !excludes(other, nominee)) {
            let detail = format!("{} by {candidate}, which is not in its way", name(nominee));
            return Err((Law::OneWakeUp, detail));
        }
        match self.woken.insert((candidate.to_owned(), zxid), nominee) {
            Some(other) if other != nominee && !are_readers(&[other, nominee]) => {
                let detail = format!("{} and {} by {candidate}", name(other), name(nominee));
                Err((Law::OneWakeUp, detail))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Readers behind a writer wake together: that herd is meant.
fn are_readers(contenders: &[NomineeId]) -> bool {
    contenders.iter().all(|contender| access_of(*contender) == Access::Shared)
}

impl Automaton {
    fn after(self, observed: &Observed) -> Option<Self> {
        Some(match (self, observed) {
            (
                state,
                Observed::Notice { .. }
                | Observed::Announced { .. }
                | Observed::EndedWithClient { .. }
                | Observed::Woken { .. }
                | Observed::HandedOver { .. }
                | Observed::FoundBusy { .. }
                | Observed::TimedOut { .. }
                | Observed::OutOfTerms { .. }
                | Observed::Won(_)
                | Observed::Told(..)
                | Observed::StoodBehind { .. }
                | Observed::StepsDown { .. }
                | Observed::Condemns { .. }
                | Observed::EndAcknowledged(_)
                | Observed::ElectionDeleted
                | Observed::AsksToConfirm { .. }
                | Observed::Confirmed(_)
                | Observed::SlotContenderOver
                | Observed::SlotGained(..)
                | Observed::SlotLost(_)
                | Observed::SlotToGiveUp(..)
                | Observed::CacheBegins(_)
                | Observed::CacheEnds
                | Observed::Cached(_)
                | Observed::CacheShows(..)
                | Observed::Writes { .. }
                | Observed::Wrote { .. }
                | Observed::Entry(_),
            ) => state,
            (Self::Apart, Observed::ConnectFailed)
            | (Self::Together, Observed::Disconnected(_))
            | (Self::End, Observed::Renewed) => Self::Apart,
            (Self::Apart, Observed::Connected { .. })
            | (Self::Together, Observed::Fired | Observed::HeartbeatRefused) => Self::Together,
            (
                either @ (Self::Apart | Self::Together),
                Observed::Completed | Observed::WatchLost | Observed::LeaseLapsed(_),
            ) => either,
            (Self::Apart | Self::Together, Observed::Ended(_)) => Self::End,
            // Among them each rollback: no ensemble here loses what it committed.
            _ => return None,
        })
    }
}
