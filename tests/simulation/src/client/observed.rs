//! The observations of a client from outside.

use core::time::Duration;
use std::sync::Arc;

use election_core::election::{Cause, Notice, Role};
use election_core::lock::{GaveUp, LockEnd, LockNotice};
use election_core::name::Sequence;
use election_core::{NomineeId, Phase, Recipe as _, Token};
use election_session::cache::{CacheChange, CachedNode};
use election_session::slots::SlotName;
use election_session::{Event, GrantChange, RecipeEnd, Step, Wake};
use zk_jute::records::EventType;
use zk_jute::{SessionId, Zxid};
use zk_session::{Completion, ConnectionEnd, Failure, Instant, SessionEnd};

use super::queued::{Queued, notice_of};
use super::standing::{Standing, StandingNotice};
use super::users::Stand;
use super::using::Told;
use super::writing::Written;
use super::{CallId, Client, Leader, Question};
use crate::checker::{Entry, ServerKind};
use crate::queue::Queue;
use crate::recipes::Part;
use crate::round::Round;
use crate::toy;

/// An act of a client, as a close observer sees it.
#[derive(Debug)]
pub(crate) enum Observed {
    Connected {
        session: SessionId,
        timeout: Duration,
    },
    ConnectFailed,
    Disconnected(ConnectionEnd),
    /// With the leaderships that were announced.
    LeaseLapsed(Vec<(NomineeId, Token)>),
    HeartbeatRefused,
    /// The client says that the ensemble has lost transactions.
    RolledBack,
    /// A watch of a nominee or of the user.
    Fired,
    /// A watch of the user.
    WatchLost,
    Completed,
    Ended(SessionEnd),
    /// The session ended and another begins.
    Renewed,
    Notice {
        nominee: NomineeId,
        notice: Notice,
    },
    /// With the lease deadline at that moment.
    Announced {
        nominee: NomineeId,
        token: Token,
        until: Option<Instant>,
    },
    /// The nomination is over, because the client is.
    EndedWithClient {
        nominee: NomineeId,
    },
    /// A follower heard of its predecessor's end, in a transaction.
    Woken {
        nominee: NomineeId,
        candidate: String,
        zxid: Zxid,
    },
    /// A contender was the next when its lock was let go of, and holds it.
    HandedOver {
        contender: NomineeId,
    },
    /// A contender gave up since its lock was not free.
    FoundBusy {
        contender: NomineeId,
    },
    /// A contender gave up when its deadline came.
    TimedOut {
        contender: NomineeId,
    },
    /// A contender does what it was not told to.
    OutOfTerms {
        contender: NomineeId,
        what: &'static str,
    },
    /// A player has won this round.
    Won(Round),
    /// A notice of a use of a barrier, of a queue, or of the counter.
    Told(NomineeId, Box<Told>),
    /// A nominee gives up this place, and stands again behind the candidate that is to lead next.
    StoodBehind {
        nominee: NomineeId,
        place: Sequence,
    },
    /// The user of a leader has it step down, since this candidate is the next.
    StepsDown {
        leader: Leader,
        to: String,
    },
    /// An operator that ends an election deletes these candidates.
    Condemns {
        queue: Queue,
        candidates: Vec<String>,
    },
    /// An operator has ended an election.
    EndAcknowledged(Queue),
    /// An operator has deleted an election.
    ElectionDeleted,
    /// A leader asks a quorum whether it leads.
    AsksToConfirm {
        question: Question,
        queue: Queue,
        candidate: String,
    },
    /// A quorum has confirmed that a leader leads.
    Confirmed(Question),
    /// A client holds a slot.
    SlotGained(SlotName, Token),
    /// A client has lost one that it held.
    SlotLost(SlotName),
    /// The user of a client is to end the work on a slot within that time by its clock.
    SlotToGiveUp(SlotName, Duration),
    /// A contender for a slot, or a member, is over.
    SlotContenderOver,
    /// A client begins to keep this part of the tree.
    CacheBegins(Part),
    /// A client has dropped its cache.
    CacheEnds,
    /// What a cache tells.
    Cached(CacheChange),
    /// What a cache has at a moment that it names.
    CacheShows(Part, Zxid, Vec<(Arc<str>, Arc<CachedNode>)>),
    /// A leader, or the holder of a lock, sends a write under its guard.
    Writes {
        call: CallId,
        queue: Queue,
        token: Token,
    },
    /// It is answered.
    Wrote {
        call: CallId,
        token: Token,
        written: Written,
    },
    /// What passes between the client's host and its user.
    Entry(Entry),
}

/// An observation of a nomination.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) stand: Stand,
    /// The leadership that its user was told of, and not of its end.
    announced: Option<Token>,
    /// Its own candidate, and the predecessor that it followed, after its last step.
    following: Option<(String, String)>,
    /// It has waited for another one.
    has_waited: bool,
    /// It has been told that it holds.
    pub(super) has_held: bool,
    /// Its user has withdrawn it.
    pub(super) was_withdrawn: bool,
}

impl Seen {
    pub(super) const fn new(stand: Stand) -> Self {
        Self {
            stand,
            announced: None,
            following: None,
            has_waited: false,
            has_held: false,
            was_withdrawn: false,
        }
    }
}

impl Client {
    pub(super) fn see(
        &mut self,
        now: Instant,
        event: Event<Standing, CallId, CallId>,
        observed: &mut Vec<Observed>,
    ) {
        match event {
            Event::Completed { tag, outcome } => self.see_answer(now, (tag, outcome), observed),
            Event::Requested { .. } => {
                observed.push(Observed::Completed);
                observed.push(Observed::Entry(Entry::Requested));
            }
            Event::Stepped(step) => self.see_step(now, step, observed),
            Event::Over { key, recipe, end, .. } => {
                observed.push(Observed::Entry(Entry::Over(key, end)));
                self.rounds.remove(&key);
                observed.extend(self.see_use_over((key, &recipe), end));
                if matches!(&*recipe, Standing::SlotMember(_) | Standing::SlotLock(_)) {
                    observed.push(Observed::SlotContenderOver);
                    self.see_share_over(now, key);
                }
                self.seen.remove(&key);
                // Those that have told their end say nothing more.
                if let (RecipeEnd::HostEnded(_), Phase::Standing | Phase::Leaving, Some(queued)) =
                    (end, recipe.phase(), recipe.queued())
                {
                    observed.push(Observed::EndedWithClient { nominee: queued.id });
                }
            }
            Event::Connected { session, timeout, read_only } => {
                let server = if read_only { ServerKind::ReadOnly } else { ServerKind::TakesWrites };
                observed.push(Observed::Entry(Entry::Connected(server)));
                observed.push(Observed::Connected { session, timeout });
            }
            Event::ConnectFailed { .. } => observed.push(Observed::ConnectFailed),
            Event::Disconnected { end, .. } => {
                observed.push(Observed::Entry(Entry::Disconnected));
                observed.push(Observed::Disconnected(end));
            }
            Event::LeaseLapsed => {
                let told = self.seen.values();
                let told = told.filter_map(|seen| Some((seen.stand.id, seen.announced?)));
                observed.push(Observed::LeaseLapsed(told.collect()));
            }
            Event::HeartbeatRefused { .. } => observed.push(Observed::HeartbeatRefused),
            Event::RolledBack(_) => observed.push(Observed::RolledBack),
            Event::Renewed { expiry, .. } => {
                observed.push(Observed::Entry(Entry::Renewed));
                observed.push(Observed::Ended(SessionEnd::Expired(expiry)));
                observed.push(Observed::Renewed);
            }
            Event::Ended { end, .. } => {
                observed.push(Observed::Entry(Entry::Ended(end)));
                observed.push(Observed::Ended(end));
            }
            Event::Fired { .. }
            | Event::Changed { .. }
            | Event::ChangesMissed { .. }
            | Event::WatchLost { .. } => self.see_watch(event, observed),
        }
    }

    fn see_watch(&mut self, event: Event<Standing, CallId, CallId>, observed: &mut Vec<Observed>) {
        match event {
            Event::Fired { watcher, kind, zxid } => {
                self.cache_fired(watcher, kind, zxid);
                observed.push(Observed::Fired);
                observed.push(Observed::Entry(Entry::Fired(watcher)));
            }
            Event::Changed { watcher, path, kind, zxid } => {
                self.cache_changed(watcher, (&path, kind, zxid));
                observed.push(Observed::Fired);
                observed.push(Observed::Entry(Entry::Told(watcher)));
            }
            Event::ChangesMissed { watcher } => {
                self.cache_missed(watcher);
                observed.push(Observed::Fired);
                observed.push(Observed::Entry(Entry::Told(watcher)));
            }
            Event::WatchLost { watcher } => {
                self.cache_lost(watcher);
                observed.push(Observed::WatchLost);
                observed.push(Observed::Entry(Entry::Lost(watcher)));
            }
            _ => {}
        }
    }

    fn see_answer(
        &mut self,
        now: Instant,
        (call, outcome): (CallId, Result<Completion, Failure>),
        observed: &mut Vec<Observed>,
    ) {
        observed.push(Observed::Completed);
        observed.extend(self.see_put(call, &outcome));
        observed.extend(self.see_write(call, &outcome));
        observed.push(Observed::Entry(Entry::Completed(
            call,
            outcome.as_ref().map(|_| ()).map_err(|failure| *failure),
        )));
        self.procedure_answered(now, call, &outcome);
        self.cache_answered(now, call, &outcome);
        self.plan_answered(call);
        observed.append(&mut self.told);
    }

    fn see_step_of_share(
        &mut self,
        now: Instant,
        step: &Step<StandingNotice>,
        observed: &mut Vec<Observed>,
    ) {
        observed.push(Observed::Entry(Entry::Stepped(step.key)));
        observed.extend(step.woken_by.map(|_| Observed::Fired));
        if let Some(GrantChange::Announced { .. }) = step.grant {
            observed.push(Observed::Entry(Entry::Announced(step.key)));
        }
        observed.extend(self.see_share(now, (step.key, step.grant)));
    }

    fn see_step(&mut self, now: Instant, step: Step<StandingNotice>, observed: &mut Vec<Observed>) {
        if let Some(&round) = self.rounds.get(&step.key) {
            observed.push(Observed::Entry(Entry::Stepped(step.key)));
            if let Some(StandingNotice::Player(toy::Notice::Won)) = step.notice {
                observed.push(Observed::Won(round));
            }
            return;
        }
        if self.is_in_use(step.key) {
            observed.push(Observed::Entry(Entry::Stepped(step.key)));
            observed.extend(step.woken_by.map(|_| Observed::Fired));
            observed.extend(step.notice.and_then(|notice| self.see_use(step.key, notice)));
            return;
        }
        if self.is_shared(step.key) {
            return self.see_step_of_share(now, &step, observed);
        }
        let queued = self.host.recipe(step.key).and_then(Standing::queued);
        let (Some(seen), Some(queued)) = (self.seen.get_mut(&step.key), queued) else {
            observed.push(Observed::Entry(Entry::Hidden(step.key)));
            return;
        };
        observed.push(Observed::Entry(Entry::Stepped(step.key)));
        if let Some(wake) = step.woken_by {
            observed.push(Observed::Fired);
            observed.extend(seen.woken(wake, queued));
        }
        seen.following = match (queued.role, queued.znode) {
            (Role::Following { predecessor, .. }, Some(own)) => {
                Some((own.to_string(), predecessor.to_string()))
            }
            _ => None,
        };
        seen.has_waited |= seen.following.is_some();
        let nominee = queued.id;
        match step.notice {
            Some(StandingNotice::Nominee(notice)) => {
                if let (Notice::CandidateLost(Cause::SteppedDown), Some(own)) =
                    (notice, queued.znode)
                {
                    let place = own.sequence();
                    observed.push(Observed::StoodBehind { nominee, place });
                }
                observed.push(Observed::Notice { nominee, notice });
            }
            Some(StandingNotice::Lock(notice)) => seen.noticed(now, (nominee, notice), observed),
            _ => {}
        }
        match step.grant {
            Some(GrantChange::Announced { token, until }) => {
                seen.announced = Some(token);
                observed.push(Observed::Entry(Entry::Announced(step.key)));
                observed.push(Observed::Announced { nominee, token, until: Some(until) });
                if seen.has_waited {
                    observed.push(Observed::HandedOver { contender: nominee });
                }
            }
            Some(GrantChange::Ended { .. }) => seen.announced = None,
            Some(GrantChange::AwaitsLease(_)) | None => {}
        }
    }
}

impl Seen {
    /// Returns the predecessor's end, if that is what woke it, and its own znode stands.
    fn woken(&self, wake: Wake, queued: Queued<'_>) -> Option<Observed> {
        let (own, predecessor) = self.following.as_ref()?;
        let stands = queued.znode.is_some_and(|znode| *znode == **own);
        (wake.kind == EventType::NODE_DELETED && stands).then(|| Observed::Woken {
            nominee: queued.id,
            candidate: predecessor.clone(),
            zxid: wake.zxid,
        })
    }

    fn noticed(
        &mut self,
        now: Instant,
        (contender, notice): (NomineeId, LockNotice),
        observed: &mut Vec<Observed>,
    ) {
        if let Some(what) = self.out_of_terms(now, notice) {
            observed.push(Observed::OutOfTerms { contender, what });
        }
        match notice {
            LockNotice::Acquired(_) => self.has_held = true,
            LockNotice::Ended(LockEnd::NotAcquired(GaveUp::Busy, _)) => {
                observed.push(Observed::FoundBusy { contender });
            }
            LockNotice::Ended(LockEnd::NotAcquired(GaveUp::TimedOut, _)) => {
                observed.push(Observed::TimedOut { contender });
            }
            _ => {}
        }
        if let Some(notice) = notice_of(notice) {
            observed.push(Observed::Notice { nominee: contender, notice });
        }
    }
}
