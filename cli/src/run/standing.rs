//! The state of a nomination for `run`: what changed since the last look, and whether COMMAND may
//! run.

use core::future::pending;
use core::mem;
use core::time::Duration;

use election_tokio::Updates;
use election_tokio::election::{
    Blocker, CandidateName, EndReason, Leadership, LostReason, Nomination, Role, Status,
    WithdrawError,
};
use election_tokio::health::NomineeHealth;
use election_tokio::lease::LeaseOutlook;
use tokio::time::Instant;

use super::announcer::Announcer;
use super::event::{By, ElectionEvent};
use super::lead::{Lead, LeadNews, OnStepDownRequest};
use super::part::{CommandState, Part};
use super::words::in_words;
use crate::console;
use crate::contender::Departure;
use crate::event::Recorder;
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
    /// The nomination is over.
    Ended(EndReason),
}

pub(super) struct Nominee {
    nomination: Nomination,
    status: Updates<Status>,
    place: Place,
    recorder: Recorder,
    on_request: OnStepDownRequest,
    announcer: Announcer,
    command: CommandState,
}

/// The state that was recorded last.
enum Place {
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
        nomination: Nomination,
        recorder: Recorder,
        on_request: OnStepDownRequest,
        announcer: Announcer,
    ) -> Self {
        Self {
            status: nomination.updates(),
            nomination,
            place: Place::Outside,
            recorder,
            on_request,
            announcer,
            command: CommandState::Absent,
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
            Place::Leading(lead) => Some(lead.leadership()),
            _ => None,
        }
    }

    /// Steps down as requested, and waits until the nominee stands behind the others.
    ///
    /// Cancel safe: once polled, the leadership is over.
    pub(super) async fn step_down(&mut self) {
        match mem::replace(&mut self.place, Place::Outside) {
            Place::Leading(lead) | Place::Suspended(lead) => {
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
        self.announcer.show(match &self.place {
            Place::Outside => Part::Outside,
            Place::Following { predecessor, .. } => {
                Part::Following { predecessor: predecessor.to_string() }
            }
            Place::Blocked { by, .. } => Part::Blocked { by: by.to_string() },
            Place::AwaitingLockDelay { .. } => Part::AwaitingLockDelay,
            Place::AwaitingLease { .. } => Part::AwaitingLease,
            Place::Leading(lead) => Part::Leading { term: lead.term(), command: self.command },
            Place::Suspended(lead) => Part::Suspended { term: lead.term() },
            Place::Ended => Part::Ending,
        });
    }

    fn heed_status(&mut self) -> Standing {
        let status = self.status.latest_and_update();
        self.record_loss();
        if let NomineeHealth::Blocked { by, .. } = self.nomination.health().nominee {
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
            Role::Ended(reason) => {
                self.record_end(reason.to_string());
                Standing::Ended(reason)
            }
            _ => {
                // What blocked it has gone, and it has not found its new place yet.
                if let Place::Blocked { .. } = self.place {
                    self.place = Place::Outside;
                }
                Standing::Waiting
            }
        }
    }

    /// Returns whether the nominee stands in a place of which no change of its status may tell.
    pub(super) fn is_to_be_looked_at(&self) -> bool {
        matches!(self.place, Place::Outside | Place::Blocked { .. })
    }

    /// Keeps the lock delay for the next leader although this one resigns: COMMAND works on.
    pub(super) fn leaves_work_behind(&self) {
        if let Place::Leading(lead) | Place::Suspended(lead) = &self.place {
            lead.leadership().keep_lock_delay();
        }
    }

    /// Resigns or withdraws, and returns whether the candidate's znode is gone.
    pub(super) async fn leave(mut self, bound: Duration) -> Departure {
        self.standing();
        if let Place::Leading(lead) | Place::Suspended(lead) = &self.place {
            let leadership = lead.leadership();
            let event = ElectionEvent::Resigned { by: by(leadership) };
            self.recorder.record(&event);
        }
        let Self { nomination, mut recorder, place, mut announcer, .. } = self;
        announcer.show(Part::Ending);
        let left = tokio::time::timeout(bound, nomination.withdraw()).await;
        let (reason, departure) = match left {
            Ok(Ok(_)) => (left_reason(&place).to_owned(), Departure::Confirmed),
            Ok(Err(WithdrawError::AlreadyEnded(reason))) => {
                (reason.to_string(), Departure::Confirmed)
            }
            Ok(Err(error)) => (error.to_string(), Departure::Unconfirmed),
            Err(_) => (
                format!("{}, without a server's answer", left_reason(&place)),
                Departure::Unconfirmed,
            ),
        };
        if !matches!(place, Place::Ended) {
            recorder.record(&ElectionEvent::Ended { reason });
        }
        departure
    }

    /// Records a loss. Since the last look a leadership may have been lost and won again, with the
    /// same token.
    fn record_loss(&mut self) {
        let (Place::Leading(lead) | Place::Suspended(lead)) = &self.place else {
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
        self.place = Place::Outside;
    }

    fn leads(&mut self, certainty: Certainty) -> Standing {
        let place = mem::replace(&mut self.place, Place::Outside);
        let (mut lead, suspended) = match place {
            Place::Leading(lead) => (lead, false),
            Place::Suspended(lead) => (lead, true),
            _ => match now(self.nomination.elected()) {
                Some(Ok(leadership)) => {
                    self.record_lead(&leadership, LeadEvent::Elected);
                    (Lead::new(leadership, self.on_request), false)
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
                self.place = Place::Leading(lead);
            }
            (Certainty::Certain | Certainty::InDoubt, _) => {
                if !suspended {
                    self.record_lead(lead.leadership(), LeadEvent::Suspended);
                }
                self.place = Place::Suspended(lead);
            }
        }
        match (certainty, until) {
            _ if is_asked => Standing::AskedToStepDown { until },
            (Certainty::Certain, Some(until)) => Standing::Leading { until },
            (Certainty::Certain | Certainty::InDoubt, until) => Standing::InDoubt { until },
        }
    }

    fn record_news(&mut self, lead: &mut Lead) {
        while let Some(news) = lead.news() {
            let by = by(lead.leadership());
            self.recorder.record(&match news {
                LeadNews::StepDownRequested(request) => ElectionEvent::StepDownRequested {
                    by,
                    asker: request.by,
                    reason: request.reason,
                },
                LeadNews::Acknowledged(line) => ElectionEvent::Acknowledged { by, line },
                LeadNews::NotAcknowledged(error) => {
                    console::warn(format_args!(
                        "others do not see that COMMAND has taken over: {error}"
                    ));
                    continue;
                }
            });
        }
    }

    fn record_lead(&mut self, leadership: &Leadership, event: LeadEvent) {
        let by = by(leadership);
        let valid_for = leadership
            .valid_until()
            .map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
        let valid_for_ms = u64::try_from(valid_for.as_millis()).unwrap_or(u64::MAX);
        self.recorder.record(&match event {
            LeadEvent::Elected => ElectionEvent::Elected { by, valid_for_ms },
            LeadEvent::Suspended => ElectionEvent::Suspended { by, valid_for_ms },
            LeadEvent::Resumed => ElectionEvent::Resumed { by, valid_for_ms },
        });
    }

    fn follows(&mut self, candidate: Option<CandidateName>, predecessor: CandidateName) {
        if let Place::Following { candidate: recorded, predecessor: recorded_predecessor } =
            &self.place
            && *recorded == candidate
            && *recorded_predecessor == predecessor
        {
            return;
        }
        self.recorder.record(&ElectionEvent::Following {
            candidate: candidate.as_ref().map_or_else(String::new, ToString::to_string),
            predecessor: predecessor.to_string(),
        });
        self.place = Place::Following { candidate, predecessor };
    }

    fn is_blocked(&mut self, candidate: Option<CandidateName>, by: Blocker) {
        if let Place::Blocked { candidate: recorded, by: recorded_by } = &self.place
            && *recorded == candidate
            && *recorded_by == by
        {
            return;
        }
        self.recorder.record(&ElectionEvent::Blocked {
            candidate: candidate.as_ref().map_or_else(String::new, ToString::to_string),
            blocker: by.to_string(),
        });
        self.place = Place::Blocked { candidate, by };
    }

    fn awaits_lease(&mut self, candidate: Option<CandidateName>, outlook: LeaseOutlook) {
        if let Place::AwaitingLease { candidate: recorded, outlook: recorded_outlook } = &self.place
            && *recorded == candidate
            && *recorded_outlook == outlook
        {
            return;
        }
        self.recorder.record(&ElectionEvent::AwaitingLease {
            candidate: candidate.as_ref().map_or_else(String::new, ToString::to_string),
            reason: in_words(outlook),
        });
        self.place = Place::AwaitingLease { candidate, outlook };
    }

    /// Records that the nominee waits. Its end is known once the mark of the previous leader was
    /// read.
    fn awaits_delay(&mut self, candidate: Option<CandidateName>, until: Option<Instant>) {
        if let Place::AwaitingLockDelay { candidate: recorded, until: recorded_until } = &self.place
            && *recorded == candidate
            && *recorded_until == until
        {
            return;
        }
        if let Some(until) = until {
            let remaining = until.saturating_duration_since(Instant::now());
            self.recorder.record(&ElectionEvent::AwaitingLockDelay {
                candidate: candidate.as_ref().map_or_else(String::new, ToString::to_string),
                remaining_ms: u64::try_from(remaining.as_millis()).unwrap_or(u64::MAX),
            });
        }
        self.place = Place::AwaitingLockDelay { candidate, until };
    }

    fn record_end(&mut self, reason: String) {
        if !matches!(self.place, Place::Ended) {
            self.recorder.record(&ElectionEvent::Ended { reason });
            self.place = Place::Ended;
        }
    }
}

impl Held for Nominee {
    fn look(&mut self) -> Hold {
        match self.standing() {
            Standing::Leading { until } => Hold::Valid { until },
            Standing::InDoubt { until } => Hold::InDoubt { until },
            Standing::AskedToStepDown { until } => Hold::Requested { until },
            Standing::Waiting | Standing::Ended(_) => Hold::Nothing,
        }
    }

    fn heed_line(&mut self, line: String) {
        if let Place::Leading(lead) | Place::Suspended(lead) = &mut self.place {
            lead.acknowledge(line);
        }
        self.command_is(CommandState::Ready);
    }

    async fn changed(&mut self) {
        let news = async {
            match &mut self.place {
                Place::Leading(lead) | Place::Suspended(lead) => lead.changed().await,
                _ => pending().await,
            }
        };
        tokio::select! {
            // The last status stands, and the next look finds it.
            Some(_) = self.status.next() => {}
            () = news => {}
            else => pending().await,
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

#[derive(Clone, Copy)]
enum LeadEvent {
    Elected,
    Suspended,
    Resumed,
}

fn left_reason(place: &Place) -> &'static str {
    match place {
        Place::Leading(_) | Place::Suspended(_) => "resigned",
        Place::Outside
        | Place::Following { .. }
        | Place::Blocked { .. }
        | Place::AwaitingLease { .. }
        | Place::AwaitingLockDelay { .. }
        | Place::Ended => "withdrew",
    }
}
