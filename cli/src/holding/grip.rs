//! The state of what COMMAND holds: whether it is still held, and what changed since the last look.

use core::future::pending;
use core::mem;
use core::time::Duration;
use std::fs::File;
use std::io;

use election_tokio::lock::ReleaseError;
use election_tokio::once::NotDue;
use election_tokio::{ConnectionState, Token, Updates};
use tokio::time::{Instant, timeout};

use super::event::{By, HoldingEvent};
use crate::contender::Departure;
use crate::event::{Recorder, ms_until};
use crate::exit::{CommandExit, Exit};
use crate::failure::Failure;
use crate::future::now;
use crate::supervision::{Held, Hold};

/// Holds a lock, a permit, or the like until it is released, dropped or lost.
pub(crate) trait Guard {
    /// Returns the token for fencing, if there is one.
    fn token(&self) -> Option<Token>;

    /// Returns the znode by which it is held.
    fn znode(&self) -> String;

    /// Returns variables for COMMAND's environment, besides the contender's name and the path.
    fn environment(&self) -> Vec<(&'static str, String)>;

    /// Returns COMMAND's input, if the holding has one.
    fn input(&self) -> io::Result<Option<File>> {
        Ok(None)
    }

    /// Returns until when no other client can have it, if no server says anything more.
    fn valid_until(&self) -> Option<Instant>;

    /// Waits until it is lost, and returns why.
    ///
    /// Cancel safe.
    async fn lost(&self) -> String;

    /// Waits until another client asks for it.
    ///
    /// Cancel safe.
    async fn revoke_requested(&self);

    /// Does what has to be done between the end of COMMAND and the release.
    ///
    /// Cancel safe: if dropped, it releases.
    async fn conclude(self, _: CommandExit) -> Conclusion<Self>
    where
        Self: Sized,
    {
        Conclusion::Held(self)
    }

    /// Releases, and waits until the znode is gone.
    async fn release(self) -> Released;
}

/// The result of the work after COMMAND's end.
pub(crate) enum Conclusion<G> {
    /// It has to be released.
    Held(G),
    /// Nothing is held any more, as intended.
    Over {
        how: &'static str,
    },
    /// It was lost before.
    Lost {
        reason: String,
    },
    Failed(Failure),
}

/// The result of a release.
pub(crate) struct Released {
    pub(crate) how: String,
    pub(crate) departure: Departure,
}

impl From<Result<(), ReleaseError>> for Released {
    fn from(released: Result<(), ReleaseError>) -> Self {
        let (how, departure) = match released {
            Ok(()) => ("released".to_owned(), Departure::Confirmed),
            Err(ReleaseError::AlreadyLost { lost, .. }) => (lost.to_string(), Departure::Confirmed),
            Err(error) => (error.to_string(), Departure::Unconfirmed),
        };
        Self { how, departure }
    }
}

/// The reaction when another client asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnRevokeRequest {
    Ignore,
    LetGo,
}

pub(super) struct Grip<G> {
    on_request: OnRevokeRequest,
    connection: Updates<ConnectionState>,
    recorder: Recorder,
    place: GripState<G>,
}

/// The state that was recorded last.
enum GripState<G> {
    Outside,
    Holding(G),
    Suspended(G),
    /// Another client asks for it.
    Requested(G),
    Lost {
        reason: String,
    },
    /// It was released normally.
    Over {
        how: &'static str,
    },
}

/// The state at the last look.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Holding,
    Suspended,
    Requested,
}

impl<G: Guard> Grip<G> {
    pub(super) fn new(
        connection: Updates<ConnectionState>,
        recorder: Recorder,
        on_request: OnRevokeRequest,
    ) -> Self {
        Self { on_request, connection, recorder, place: GripState::Outside }
    }

    /// Returns whether another client asks for it, and the contender complies.
    pub(super) fn is_requested(&self) -> bool {
        matches!(self.place, GripState::Requested(_))
    }

    pub(super) fn take(&mut self, guard: G) {
        let (by, valid_for_ms) = (by(&guard), valid_for_ms(&guard));
        self.recorder.record(&HoldingEvent::Acquired { by, valid_for_ms });
        self.place = GripState::Holding(guard);
    }

    /// Records that COMMAND has run already, and when it is due.
    pub(super) fn not_due(&mut self, not_due: &NotDue) {
        self.recorder.record(&HoldingEvent::of_not_due(not_due));
    }

    /// Returns variables for COMMAND; none if nothing is held.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        self.guard().map(Guard::environment).unwrap_or_default()
    }

    /// Returns COMMAND's input, if the holding has one.
    pub(super) fn input(&self) -> io::Result<Option<File>> {
        self.guard().map_or(Ok(None), Guard::input)
    }

    /// Handles the end of COMMAND by itself.
    ///
    /// Cancel safe: if dropped, it releases.
    pub(super) async fn conclude(&mut self, exit: CommandExit) -> Result<Exit, Failure> {
        self.look();
        let guard = match mem::replace(&mut self.place, GripState::Outside) {
            GripState::Holding(guard)
            | GripState::Suspended(guard)
            | GripState::Requested(guard) => guard,
            place @ (GripState::Outside | GripState::Lost { .. } | GripState::Over { .. }) => {
                self.place = place;
                return Ok(Exit::Command(exit));
            }
        };
        let by = by(&guard);
        match guard.conclude(exit).await {
            Conclusion::Held(guard) => self.place = GripState::Holding(guard),
            Conclusion::Over { how } => {
                self.recorder.record(&HoldingEvent::Released { by });
                self.place = GripState::Over { how };
            }
            Conclusion::Lost { reason } => {
                self.recorder.record(&HoldingEvent::Lost { by, reason: reason.clone() });
                self.place = GripState::Lost { reason };
                return Ok(Exit::InDoubt);
            }
            Conclusion::Failed(failure) => return Err(failure),
        }
        Ok(Exit::Command(exit))
    }

    /// Releases, and returns whether the znode is gone. The reason is that of the end, if there is
    /// another one.
    pub(super) async fn let_go(mut self, bound: Duration, reason: Option<String>) -> Departure {
        self.look();
        let Self { recorder, place, .. } = self;
        let (own_reason, departure) = match place {
            GripState::Outside => ("gave up".to_owned(), Departure::Confirmed),
            GripState::Lost { reason } => (reason, Departure::Confirmed),
            GripState::Over { how } => (how.to_owned(), Departure::Confirmed),
            GripState::Holding(guard)
            | GripState::Suspended(guard)
            | GripState::Requested(guard) => {
                recorder.record(&HoldingEvent::Released { by: by(&guard) });
                match timeout(bound, guard.release()).await {
                    Ok(Released { how, departure }) => (how, departure),
                    Err(_) => {
                        ("released, without a server's answer".to_owned(), Departure::Unconfirmed)
                    }
                }
            }
        };
        recorder.record(&HoldingEvent::Ended { reason: reason.unwrap_or(own_reason) });
        departure
    }

    fn guard(&self) -> Option<&G> {
        match &self.place {
            GripState::Holding(guard)
            | GripState::Suspended(guard)
            | GripState::Requested(guard) => Some(guard),
            GripState::Outside | GripState::Lost { .. } | GripState::Over { .. } => None,
        }
    }
}

impl<G: Guard> Held for Grip<G> {
    fn look(&mut self) -> Hold {
        let state = self.connection.latest_and_update();
        let is_connected = matches!(state, ConnectionState::Connected { .. });
        let (guard, before) = match mem::replace(&mut self.place, GripState::Outside) {
            GripState::Holding(guard) => (guard, Before::Holding),
            GripState::Suspended(guard) => (guard, Before::Suspended),
            GripState::Requested(guard) => (guard, Before::Requested),
            place @ (GripState::Outside | GripState::Lost { .. } | GripState::Over { .. }) => {
                self.place = place;
                return Hold::Nothing;
            }
        };
        let by = by(&guard);
        if let Some(reason) = now(guard.lost()) {
            self.recorder.record(&HoldingEvent::Lost { by, reason: reason.clone() });
            self.place = GripState::Lost { reason };
            return Hold::Nothing;
        }
        let is_requested = before == Before::Requested
            || (self.on_request == OnRevokeRequest::LetGo
                && now(guard.revoke_requested()).is_some());
        if is_requested {
            if before != Before::Requested {
                self.recorder.record(&HoldingEvent::RevokeRequested { by });
            }
            let until = guard.valid_until();
            self.place = GripState::Requested(guard);
            return Hold::Requested { until };
        }
        let valid_for_ms = valid_for_ms(&guard);
        match (is_connected, guard.valid_until()) {
            (true, Some(until)) => {
                if before == Before::Suspended {
                    self.recorder.record(&HoldingEvent::Resumed { by, valid_for_ms });
                }
                self.place = GripState::Holding(guard);
                Hold::Valid { until }
            }
            (_, until) => {
                if before != Before::Suspended {
                    self.recorder.record(&HoldingEvent::Suspended { by, valid_for_ms });
                }
                self.place = GripState::Suspended(guard);
                Hold::InDoubt { until }
            }
        }
    }

    /// Does nothing: COMMAND has no descriptor to write such a line to.
    fn heed_line(&mut self, _: String) {}

    async fn changed(&mut self) {
        let lost = async {
            match &self.place {
                GripState::Holding(guard)
                | GripState::Suspended(guard)
                | GripState::Requested(guard) => {
                    drop(guard.lost().await);
                }
                GripState::Outside | GripState::Lost { .. } | GripState::Over { .. } => {
                    pending::<()>().await;
                }
            }
        };
        let on_request = self.on_request;
        let requested = async {
            match &self.place {
                GripState::Holding(guard) | GripState::Suspended(guard)
                    if on_request == OnRevokeRequest::LetGo =>
                {
                    guard.revoke_requested().await;
                }
                _ => pending().await,
            }
        };
        let connection_changed = async {
            if self.connection.next().await.is_none() {
                // The last state stands, and the next look finds it.
                pending::<()>().await;
            }
        };
        tokio::select! {
            () = lost => {}
            () = requested => {}
            () = connection_changed => {}
        }
    }
}

fn by(guard: &impl Guard) -> By {
    By { znode: guard.znode(), token: guard.token().map(Token::get) }
}

fn valid_for_ms(guard: &impl Guard) -> u64 {
    guard.valid_until().map_or(0, ms_until)
}
