//! What `lock` and `semaphore` hold: whether it is still held, and what changed since the last look.

use core::future::pending;
use core::time::Duration;

use election_tokio::{CandidateName, ConnectionState, ReleaseError, Token, Updates};
use tokio::time::{Instant, timeout};

use super::event::HoldingEvent;
use crate::contender::Departure;
use crate::event::Recorder;
use crate::future::now;
use crate::supervision::{Held, Hold};

/// Holds something until it is released, dropped or lost.
pub(crate) trait Guard {
    fn token(&self) -> Token;

    fn znode(&self) -> &CandidateName;

    /// Until when no other client can have it, if nothing more is heard from a server.
    fn valid_until(&self) -> Option<Instant>;

    /// Waits until it is lost, and tells why.
    ///
    /// Cancel safe.
    async fn lost(&self) -> String;

    /// Waits until another client asks for it.
    ///
    /// Cancel safe.
    async fn revoke_requested(&self);

    /// Lets go, and waits until the znode is gone.
    async fn release(self) -> Result<(), ReleaseError>;
}

/// What follows when another client asks for what is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnRevokeRequest {
    Ignore,
    LetGo,
}

pub(super) struct Grip<G> {
    on_request: OnRevokeRequest,
    connection: Updates<ConnectionState>,
    recorder: Recorder,
    place: Place<G>,
}

/// What was recorded last.
enum Place<G> {
    Outside,
    Holding(G),
    Suspended(G),
    /// Another client asks for it.
    Requested(G),
    Lost {
        reason: String,
    },
}

/// The place at the last look.
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
        Self { on_request, connection, recorder, place: Place::Outside }
    }

    /// Whether another client asks for what is held, and that is heeded.
    pub(super) fn is_requested(&self) -> bool {
        matches!(self.place, Place::Requested(_))
    }

    pub(super) fn take(&mut self, guard: G) {
        let (token, znode) = (guard.token().get(), guard.znode().to_string());
        let valid_for_ms = valid_for_ms(&guard);
        self.recorder.record(&HoldingEvent::Acquired { znode, token, valid_for_ms });
        self.place = Place::Holding(guard);
    }

    /// What COMMAND is told; nothing if nothing is held.
    pub(super) fn token_and_znode(&self) -> [String; 2] {
        self.guard().map_or_else(Default::default, |guard| {
            [guard.token().get().to_string(), guard.znode().to_string()]
        })
    }

    /// Releases what is held, and tells whether its znode is gone. The reason is that of the end, if there
    /// is another one.
    pub(super) async fn let_go(mut self, bound: Duration, reason: Option<String>) -> Departure {
        self.look();
        let Self { mut recorder, place, .. } = self;
        let (own_reason, departure) = match place {
            Place::Outside => ("gave up".to_owned(), Departure::Confirmed),
            Place::Lost { reason } => (reason, Departure::Confirmed),
            Place::Holding(guard) | Place::Suspended(guard) | Place::Requested(guard) => {
                let (token, znode) = (guard.token().get(), guard.znode().to_string());
                recorder.record(&HoldingEvent::Released { znode, token });
                match timeout(bound, guard.release()).await {
                    Ok(Ok(())) => ("released".to_owned(), Departure::Confirmed),
                    Ok(Err(ReleaseError::AlreadyLost(reason))) => {
                        (reason.to_string(), Departure::Confirmed)
                    }
                    Ok(Err(error)) => (error.to_string(), Departure::Unconfirmed),
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
            Place::Holding(guard) | Place::Suspended(guard) | Place::Requested(guard) => {
                Some(guard)
            }
            Place::Outside | Place::Lost { .. } => None,
        }
    }
}

impl<G: Guard> Held for Grip<G> {
    fn look(&mut self) -> Hold {
        let state = self.connection.latest_and_update();
        let is_connected = matches!(state, ConnectionState::Connected { .. });
        let (guard, before) = match core::mem::replace(&mut self.place, Place::Outside) {
            Place::Holding(guard) => (guard, Before::Holding),
            Place::Suspended(guard) => (guard, Before::Suspended),
            Place::Requested(guard) => (guard, Before::Requested),
            place @ (Place::Outside | Place::Lost { .. }) => {
                self.place = place;
                return Hold::Nothing;
            }
        };
        let (token, znode) = (guard.token().get(), guard.znode().to_string());
        if let Some(reason) = now(guard.lost()) {
            self.recorder.record(&HoldingEvent::Lost { znode, token, reason: reason.clone() });
            self.place = Place::Lost { reason };
            return Hold::Nothing;
        }
        let is_requested = before == Before::Requested
            || (self.on_request == OnRevokeRequest::LetGo
                && now(guard.revoke_requested()).is_some());
        if is_requested {
            if before != Before::Requested {
                self.recorder.record(&HoldingEvent::RevokeRequested { znode, token });
            }
            let until = guard.valid_until();
            self.place = Place::Requested(guard);
            return Hold::InDoubt { until };
        }
        let valid_for_ms = valid_for_ms(&guard);
        match (is_connected, guard.valid_until()) {
            (true, Some(until)) => {
                if before == Before::Suspended {
                    self.recorder.record(&HoldingEvent::Resumed { znode, token, valid_for_ms });
                }
                self.place = Place::Holding(guard);
                Hold::Valid { until }
            }
            (_, until) => {
                if before != Before::Suspended {
                    self.recorder.record(&HoldingEvent::Suspended { znode, token, valid_for_ms });
                }
                self.place = Place::Suspended(guard);
                Hold::InDoubt { until }
            }
        }
    }

    async fn changed(&mut self) {
        let lost = async {
            match &self.place {
                Place::Holding(guard) | Place::Suspended(guard) | Place::Requested(guard) => {
                    drop(guard.lost().await);
                }
                Place::Outside | Place::Lost { .. } => pending().await,
            }
        };
        let on_request = self.on_request;
        let requested = async {
            match &self.place {
                Place::Holding(guard) | Place::Suspended(guard)
                    if on_request == OnRevokeRequest::LetGo =>
                {
                    guard.revoke_requested().await;
                }
                _ => pending().await,
            }
        };
        let connection_changed = async {
            if self.connection.next().await.is_none() {
                // The last state stands, and is found by the next look.
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

fn valid_for_ms(guard: &impl Guard) -> u64 {
    let until = guard.valid_until();
    let left =
        until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
    u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
}
