//! Double barriers: a number of participants begin together, and end together.

mod entered;
mod error;
mod face;
mod participation;

use core::fmt;
use core::num::NonZeroU32;

use bytes::Bytes;
use election_core::barrier::{DoubleBarrierOptions, WhenUnderWay};
use tokio::time::{Instant, timeout_at};

pub use entered::Entered;
pub use error::{EnterError, LeaveError};

use self::participation::{Outcome, Participation};
use crate::acl::Acls;
use crate::barrier::BarrierError;
use crate::client::Client;
use crate::spot::Spot;
use crate::telemetry::Asked;
use crate::telemetry::recipe_metrics::BarrierMeter;

/// The step of entering, which errors name.
const ENTER: &str = "enter";

/// A double barrier at a path; made by [`Client::double_barrier`]. Participants that enter go on
/// once enough have entered; participants that leave go on once all have left.
///
/// A *round* lasts from the moment at which enough participants have entered until all of them have
/// left or are gone. A participant that arrives during a round takes no part in it: it waits for
/// the end and enters the next one, or is refused ([`DoubleBarrier::when_under_way`]). All that
/// arrive before the round opens take part: the number of participants is the least one. If all
/// participants of a round have died, the next round removes what they left, and does not take it
/// for its own beginning.
#[derive(Clone)]
#[must_use = "a double barrier does nothing until it is entered"]
pub struct DoubleBarrier {
    spot: Spot,
    options: DoubleBarrierOptions,
}

impl Client {
    /// Returns a double barrier for this many participants; 0 counts as 1. All of them have to give
    /// the same number.
    pub fn double_barrier(&self, path: &str, participants: u32) -> DoubleBarrier {
        let participants = NonZeroU32::new(participants).unwrap_or(NonZeroU32::MIN);
        let options =
            DoubleBarrierOptions { participants, when_under_way: WhenUnderWay::default() };
        DoubleBarrier { spot: Spot::new(self.clone(), "double barrier", path), options }
    }
}

impl DoubleBarrier {
    /// Enters, and waits until enough participants have entered: at one moment since the last round
    /// ended, this many participants stood in the barrier. Lost connections and expired sessions do
    /// not end the wait; after an expired session the participant enters anew.
    ///
    /// Cancel safe: dropping the future gives up, and leaves nothing behind. If the participant
    /// completes the round at that very moment, it was one of its participants: the others go on,
    /// and do not wait for it when they leave.
    ///
    /// # Errors
    ///
    /// [`EnterError`]: waiting does not repair it, or was not wanted.
    pub async fn enter(&self) -> Result<Entered, EnterError> {
        let meter = BarrierMeter::start(ENTER);
        let mut span = self.spot.span(Asked::Barrier, ENTER);
        let entered = span.within(self.participate()).await;
        let failed = entered.as_ref().err().map(|error| match error {
            EnterError::RoundUnderWay { .. } => "under_way",
            EnterError::Barrier(_) => "failed",
        });
        span.finished(failed.unwrap_or("done"));
        meter.finished(failed);
        entered
    }

    async fn participate(&self) -> Result<Entered, EnterError> {
        let Spot { client, .. } = &self.spot;
        let site = self.spot.site(ENTER).map_err(BarrierError::from)?;
        loop {
            let failed = |error| BarrierError::Randomness { at: self.spot.place(ENTER), error };
            let id = client.shared().ids.nominee().map_err(failed)?;
            let participant = election_core::barrier::DoubleBarrier::new(id, self.options);
            let mut participation = Participation::begin(client, site, participant);
            match participation.outcome().await? {
                Outcome::Inside => return Ok(Entered::new(participation, id)),
                // The user was not told yet that the participant was inside.
                Outcome::Lost => {}
            }
        }
    }

    /// Enters like [`DoubleBarrier::enter`], until the deadline at most; then returns `None`.
    ///
    /// # Errors
    ///
    /// Those of [`DoubleBarrier::enter`].
    pub async fn enter_until(&self, deadline: Instant) -> Result<Option<Entered>, EnterError> {
        match timeout_at(deadline, self.enter()).await {
            Ok(entered) => entered.map(Some),
            Err(_) => Ok(None),
        }
    }
}

/// Settings.
impl DoubleBarrier {
    /// Sets the data of the participant's znode: by convention its name.
    pub fn data(mut self, data: impl Into<Bytes>) -> Self {
        self.spot.set_data(data.into());
        self
    }

    /// Sets the access list of the participant's znode and of `ready`, and of the barrier's node
    /// and its ancestors if they have to be created (default: every client may do everything).
    pub fn acls(mut self, acls: Acls) -> Self {
        self.spot.set_acls(acls);
        self
    }

    /// Sets what happens if a round is under way (default: the participant waits for its end).
    pub fn when_under_way(mut self, when_under_way: WhenUnderWay) -> Self {
        self.options.when_under_way = when_under_way;
        self
    }
}

impl fmt::Debug for DoubleBarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { spot: Spot { path, .. }, options } = self;
        f.debug_struct("DoubleBarrier")
            .field("path", path)
            .field("options", options)
            .finish_non_exhaustive()
    }
}
