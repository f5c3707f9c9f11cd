//! What `run` records of its nomination.

use election_tokio::election::{Blocker, CandidateName, Leadership};
use election_tokio::lease::LeaseOutlook;
use tokio::time::Instant;

use super::{LeadEvent, Nominee, NomineeState, by};
use crate::console;
use crate::event::ms_until;
use crate::run::event::ElectionEvent;
use crate::run::lead::{Lead, LeadNews};
use crate::run::words::in_words;

impl Nominee {
    pub(super) fn record_news(&mut self, lead: &mut Lead) {
        while let Some(news) = lead.news() {
            let by = by(lead.leadership());
            self.recorder.record(&match news {
                LeadNews::StepDownRequested(request) => ElectionEvent::StepDownRequested {
                    by,
                    asker: request.by,
                    reason: request.reason,
                },
                LeadNews::Better(better) => ElectionEvent::BetterCandidate {
                    by,
                    better: better.name,
                    preference: better.preference.get(),
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

    pub(super) fn record_lead(&mut self, leadership: &Leadership, event: LeadEvent) {
        let by = by(leadership);
        let valid_for_ms = leadership.valid_until().map_or(0, ms_until);
        self.recorder.record(&match event {
            LeadEvent::Elected => ElectionEvent::Elected { by, valid_for_ms },
            LeadEvent::Suspended => ElectionEvent::Suspended { by, valid_for_ms },
            LeadEvent::Resumed => ElectionEvent::Resumed { by, valid_for_ms },
        });
    }

    pub(super) fn follows(&mut self, candidate: Option<CandidateName>, predecessor: CandidateName) {
        if let NomineeState::Following { candidate: recorded, predecessor: recorded_predecessor } =
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
        self.place = NomineeState::Following { candidate, predecessor };
    }

    pub(super) fn is_blocked(&mut self, candidate: Option<CandidateName>, by: Blocker) {
        if let NomineeState::Blocked { candidate: recorded, by: recorded_by } = &self.place
            && *recorded == candidate
            && *recorded_by == by
        {
            return;
        }
        self.recorder.record(&ElectionEvent::Blocked {
            candidate: candidate.as_ref().map_or_else(String::new, ToString::to_string),
            blocker: by.to_string(),
        });
        self.place = NomineeState::Blocked { candidate, by };
    }

    pub(super) fn awaits_lease(&mut self, candidate: Option<CandidateName>, outlook: LeaseOutlook) {
        if let NomineeState::AwaitingLease { candidate: recorded, outlook: recorded_outlook } =
            &self.place
            && *recorded == candidate
            && *recorded_outlook == outlook
        {
            return;
        }
        self.recorder.record(&ElectionEvent::AwaitingLease {
            candidate: candidate.as_ref().map_or_else(String::new, ToString::to_string),
            reason: in_words(outlook),
        });
        self.place = NomineeState::AwaitingLease { candidate, outlook };
    }

    /// Records that the nominee waits. Its end is known once the mark of the previous leader was
    /// read.
    pub(super) fn awaits_delay(
        &mut self,
        candidate: Option<CandidateName>,
        until: Option<Instant>,
    ) {
        if let NomineeState::AwaitingLockDelay { candidate: recorded, until: recorded_until } =
            &self.place
            && *recorded == candidate
            && *recorded_until == until
        {
            return;
        }
        if let Some(until) = until {
            self.recorder.record(&ElectionEvent::AwaitingLockDelay {
                candidate: candidate.as_ref().map_or_else(String::new, ToString::to_string),
                remaining_ms: ms_until(until),
            });
        }
        self.place = NomineeState::AwaitingLockDelay { candidate, until };
    }
}
