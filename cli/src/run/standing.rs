//! The state of a nomination for `run`: what changed since the last look, and whether COMMAND may
//! run.

mod records;
mod unwell;

use core::future::pending;
use core::mem;
use core::time::Duration;

use election_tokio::election::{
    Blocker, CandidateName, EndReason, GaveWay, Leadership, LostReason, Nomination,
    NominationEnded, PreferBetter, Role, WithdrawError,
};
use election_tokio::health::NomineeHealth;
use election_tokio::lease::LeaseOutlook;
use tokio::time::Instant;

use super::announcer::Announcer;
use super::candidacy::{Candidacy, Withdrawal};
use super::event::{By, ElectionEvent};
use super::lead::{Lead, OnStepDownRequest};
use super::part::{CommandState, Part};
use super::wellness::{State, Wellness};
use crate::console;
use crate::contender::Departure;
use crate::event::Recorder;
use crate::exit::CommandExit;
use crate::future::now;
use crate::supervision::{Held, Hold};

/// The nominee's rights at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// COMMAND must not run.
    Waiting,
    /// COMMAND may run until then; the moment usually moves on.
    Leading { until: Instant },
    /// The nominee leads as far as it knows, but the connection is lost or the lease not proved.
    InDoubt {
        /// Until when no other nominee can lead; `None` if that has passed.
        until: Option<Instant>,
    },
    /// COMMAND has to end, and the nominee to step down: a client asks for it.
    AskedToStepDown {
        /// As of [`Standing::InDoubt`].
        until: Option<Instant>,
    },
    /// The nominee stands, leads not, and is not well: it has to withdraw.
    Unwell,
    /// The nominee does not stand, and is well: it has to stand.
    Well,
    /// The checks cannot be started.
    Unusable(CommandExit),
    /// The nomination is over.
    Ended(EndReason),
}

pub(super) struct Nominee {
    candidacy: Candidacy,
    wellness: Wellness,
    /// The state of the nominee's checks that was recorded last.
    state: State,
    place: NomineeState,
    recorder: Recorder,
    on_request: OnStepDownRequest,
    prefer: PreferBetter,
    announcer: Announcer,
    command: CommandState,
}

/// The state that was recorded last.
enum NomineeState {
    Outside,
    Following { candidate: Option<CandidateName>, predecessor: CandidateName },
    Blocked { candidate: Option<CandidateName>, by: Blocker },
    AwaitingLease { candidate: Option<CandidateName>, outlook: LeaseOutlook },
    AwaitingLockDelay { candidate: Option<CandidateName>, until: Option<Instant> },
    Leading(Lead),
    Suspended(Lead),
    Ended,
}

impl Nominee {
    pub(super) fn new(
        wellness: Wellness,
        recorder: Recorder,
        (on_request, prefer): (OnStepDownRequest, PreferBetter),
        announcer: Announcer,
    ) -> Self {
        // One that is not checked has been well always.
        let state = match wellness {
            Wellness::Unasked => State::Well,
            Wellness::Asked { .. } => State::Unchecked,
        };
        Self {
            candidacy: Candidacy::Aside,
            wellness,
            state,
            place: NomineeState::Outside,
            recorder,
            on_request,
            prefer,
            announcer,
            command: CommandState::Absent,
        }
    }

    /// Begins to stand.
    pub(super) fn stand(&mut self, nomination: Nomination) {
        let status = nomination.updates();
        self.candidacy = Candidacy::Standing { nomination, status };
    }

    /// Withdraws, and waits until the candidate is gone, so that it never stands beside the next one.
    ///
    /// Cancel safe: once polled, the nomination is over.
    pub(super) async fn withdraw(&mut self) {
        if let NomineeState::Leading(lead) | NomineeState::Suspended(lead) = &self.place {
            self.recorder.record(&ElectionEvent::SteppedDown { by: by(lead.leadership()) });
        }
        self.place = NomineeState::Outside;
        let candidacy = mem::replace(&mut self.candidacy, Candidacy::Aside);
        self.announce();
        if let Candidacy::Standing { nomination, .. } = candidacy
            && let Err(WithdrawError::AlreadyEnded { reason, .. }) = nomination.withdraw().await
        {
            self.candidacy = Candidacy::Ended(reason);
        }
    }

    /// Records the state of COMMAND.
    pub(super) fn command_is(&mut self, command: CommandState) {
        self.command = command;
        self.announce();
    }

    /// Returns the leadership under which COMMAND is to run.
    pub(super) fn leadership(&self) -> Option<&Leadership> {
        match &self.place {
            NomineeState::Leading(lead) => Some(lead.leadership()),
            _ => None,
        }
    }

    /// Steps down, and waits until the nominee stands behind the others, or, if it is not well, until its
    /// candidate is gone.
    ///
    /// Leads on if it is for a better candidate, and that has gone.
    ///
    /// Cancel safe: the nominee may lead on.
    pub(super) async fn step_down(&mut self) {
        if let State::Unwell(_) = self.state {
            return self.withdraw().await;
        }
        match mem::replace(&mut self.place, NomineeState::Outside) {
            NomineeState::Leading(lead) | NomineeState::Suspended(lead) => {
                if lead.give_way().await == GaveWay::CandidateGone {
                    console::note(
                        "the better candidate has gone meanwhile: this one leads on, and COMMAND starts again",
                    );
                    return;
                }
                self.recorder.record(&ElectionEvent::SteppedDown { by: by(lead.leadership()) });
                // The next look finds how the nomination ended.
                let _ = lead.step_down().await;
            }
            place => self.place = place,
        }
    }

    /// Records and publishes changes, and returns what the nominee may do now.
    pub(super) fn standing(&mut self) -> Standing {
        let standing = self.heed_status();
        self.announce();
        standing
    }

    fn announce(&mut self) {
        if let State::Unwell(reason) = &self.state {
            let term = match &self.place {
                NomineeState::Leading(lead) | NomineeState::Suspended(lead) => Some(lead.term()),
                _ => None,
            };
            self.announcer.show(Part::Unwell { term, reason: reason.clone() });
            return;
        }
        self.announcer.show(match &self.place {
            NomineeState::Outside => Part::Outside,
            NomineeState::Following { predecessor, .. } => {
                Part::Following { predecessor: predecessor.to_string() }
            }
            NomineeState::Blocked { by, .. } => Part::Blocked { by: by.to_string() },
            NomineeState::AwaitingLockDelay { .. } => Part::AwaitingLockDelay,
            NomineeState::AwaitingLease { .. } => Part::AwaitingLease,
            NomineeState::Leading(lead) => {
                Part::Leading { term: lead.term(), command: self.command }
            }
            NomineeState::Suspended(lead) => Part::Suspended { term: lead.term() },
            NomineeState::Ended => Part::Ending,
        });
    }

    fn heed_status(&mut self) -> Standing {
        self.heed_wellness();
        let Candidacy::Standing { nomination, status } = &mut self.candidacy else {
            return self.stands_aside();
        };
        let (health, status) = (nomination.health().nominee, status.latest_and_update());
        self.record_loss();
        if self.state != State::Well {
            return self.heed_unwell(&status.role);
        }
        if let NomineeHealth::Blocked { by, .. } = health {
            self.is_blocked(status.candidate, by);
            return Standing::Waiting;
        }
        match status.role {
            Role::Leading { .. } => self.leads(Certainty::Certain),
            Role::Suspended { .. } => self.leads(Certainty::InDoubt),
            Role::Following { predecessor, .. } => {
                self.follows(status.candidate, predecessor);
                Standing::Waiting
            }
            Role::AwaitingLease { outlook } => {
                self.awaits_lease(status.candidate, outlook);
                Standing::Waiting
            }
            Role::AwaitingLockDelay { until } => {
                self.awaits_delay(status.candidate, until);
                Standing::Waiting
            }
            Role::Ended(reason) => self.ended(reason),
            _ => {
                // What blocked it has gone, and it has not found its new place yet.
                if let NomineeState::Blocked { .. } = self.place {
                    self.place = NomineeState::Outside;
                }
                Standing::Waiting
            }
        }
    }

    /// Returns whether a leadership was recorded that is not over.
    const fn has_led(&self) -> bool {
        matches!(self.place, NomineeState::Leading(_) | NomineeState::Suspended(_))
    }

    fn ended(&mut self, reason: EndReason) -> Standing {
        self.record_end(reason.to_string());
        Standing::Ended(reason)
    }

    /// Returns whether the nominee stands in a place of which no change of its status may tell.
    pub(super) fn is_to_be_looked_at(&self) -> bool {
        matches!(self.candidacy, Candidacy::Standing { .. })
            && matches!(self.place, NomineeState::Outside | NomineeState::Blocked { .. })
    }

    /// Keeps the lock delay for the next leader although this one resigns: COMMAND works on.
    pub(super) fn leaves_work_behind(&self) {
        if let NomineeState::Leading(lead) | NomineeState::Suspended(lead) = &self.place {
            lead.leadership().keep_lock_delay();
        }
    }

    /// Resigns or withdraws, and returns whether the candidate's znode is gone.
    pub(super) async fn leave(mut self, bound: Duration) -> Departure {
        self.standing();
        if let NomineeState::Leading(lead) | NomineeState::Suspended(lead) = &self.place {
            let leadership = lead.leadership();
            let event = ElectionEvent::Resigned { by: by(leadership) };
            self.recorder.record(&event);
        }
        let Self { candidacy, wellness, recorder, place, mut announcer, .. } = self;
        drop(wellness);
        announcer.show(Part::Ending);
        let (reason, departure) = match candidacy.leave(bound).await {
            Ok(Withdrawal::Now) => (left_reason(&place).to_owned(), Departure::Confirmed),
            Ok(Withdrawal::Before(reason)) => (reason.to_string(), Departure::Confirmed),
            Ok(Withdrawal::Unconfirmed(error)) => (error.to_string(), Departure::Unconfirmed),
            Err(_) => (
                format!("{}, without a server's answer", left_reason(&place)),
                Departure::Unconfirmed,
            ),
        };
        if !matches!(place, NomineeState::Ended) {
            recorder.record(&ElectionEvent::Ended { reason });
        }
        departure
    }

    /// Records a loss. Since the last look a leadership may have been lost and won again, with the
    /// same token.
    fn record_loss(&mut self) {
        let (NomineeState::Leading(lead) | NomineeState::Suspended(lead)) = &self.place else {
            return;
        };
        let leadership = lead.leadership();
        let Some(reason) = now(leadership.lost()) else {
            return;
        };
        let event = ElectionEvent::Lost { by: by(leadership), reason: reason.to_string() };
        if reason != LostReason::Resigned {
            self.recorder.record(&event);
        }
        self.place = NomineeState::Outside;
    }

    fn leads(&mut self, certainty: Certainty) -> Standing {
        let place = mem::replace(&mut self.place, NomineeState::Outside);
        let (mut lead, suspended) = match place {
            NomineeState::Leading(lead) => (lead, false),
            NomineeState::Suspended(lead) => (lead, true),
            _ => match self.elected() {
                Some(Ok(leadership)) => {
                    self.record_lead(&leadership, LeadEvent::Elected);
                    (Lead::new(leadership, self.on_request, self.prefer.clone()), false)
                }
                // Its loss is about to be reported.
                Some(Err(_)) | None => return Standing::Waiting,
            },
        };
        self.record_news(&mut lead);
        let until = lead.leadership().valid_until();
        let is_asked = lead.is_asked_to_step_down();
        match (certainty, until) {
            (Certainty::Certain, Some(_)) => {
                if suspended {
                    self.record_lead(lead.leadership(), LeadEvent::Resumed);
                }
                self.place = NomineeState::Leading(lead);
            }
            (Certainty::Certain | Certainty::InDoubt, _) => {
                if !suspended {
                    self.record_lead(lead.leadership(), LeadEvent::Suspended);
                }
                self.place = NomineeState::Suspended(lead);
            }
        }
        match (certainty, until) {
            _ if is_asked => Standing::AskedToStepDown { until },
            (Certainty::Certain, Some(until)) => Standing::Leading { until },
            (Certainty::Certain | Certainty::InDoubt, until) => Standing::InDoubt { until },
        }
    }

    fn elected(&mut self) -> Option<Result<Leadership, NominationEnded>> {
        match &mut self.candidacy {
            Candidacy::Standing { nomination, .. } => now(nomination.elected()),
            Candidacy::Aside | Candidacy::Ended(_) => None,
        }
    }

    fn record_end(&mut self, reason: String) {
        if !matches!(self.place, NomineeState::Ended) {
            self.recorder.record(&ElectionEvent::Ended { reason });
            self.place = NomineeState::Ended;
        }
    }
}

impl Held for Nominee {
    fn look(&mut self) -> Hold {
        match self.standing() {
            Standing::Leading { until } => Hold::Valid { until },
            Standing::InDoubt { until } => Hold::InDoubt { until },
            Standing::AskedToStepDown { until } => Hold::Requested { until },
            Standing::Waiting
            | Standing::Unwell
            | Standing::Well
            | Standing::Unusable(_)
            | Standing::Ended(_) => Hold::Nothing,
        }
    }

    fn heed_line(&mut self, line: String) {
        if let NomineeState::Leading(lead) | NomineeState::Suspended(lead) = &mut self.place {
            lead.acknowledge(line);
        }
        self.command_is(CommandState::Ready);
    }

    async fn changed(&mut self) {
        let news = async {
            match &mut self.place {
                NomineeState::Leading(lead) | NomineeState::Suspended(lead) => lead.changed().await,
                _ => pending().await,
            }
        };
        tokio::select! {
            () = self.candidacy.changed() => {}
            () = news => {}
            () = self.wellness.changed() => {}
        }
    }
}

fn by(leadership: &Leadership) -> By {
    By { candidate: leadership.candidate().to_string(), token: leadership.token().get() }
}

#[derive(Clone, Copy)]
enum Certainty {
    Certain,
    InDoubt,
}

impl Certainty {
    const fn of(role: &Role) -> Self {
        match role {
            Role::Leading { .. } => Self::Certain,
            _ => Self::InDoubt,
        }
    }
}

#[derive(Clone, Copy)]
enum LeadEvent {
    Elected,
    Suspended,
    Resumed,
}

fn left_reason(place: &NomineeState) -> &'static str {
    match place {
        NomineeState::Leading(_) | NomineeState::Suspended(_) => "resigned",
        NomineeState::Outside
        | NomineeState::Following { .. }
        | NomineeState::Blocked { .. }
        | NomineeState::AwaitingLease { .. }
        | NomineeState::AwaitingLockDelay { .. }
        | NomineeState::Ended => "withdrew",
    }
}
