//! Double barriers: so many participants begin together, and end together.

mod entered;
mod error;
mod face;
mod participation;

use core::fmt;
use core::num::NonZeroU32;

use bytes::Bytes;
use election_core::{DoubleBarrierOptions, ElectionNode, NodeKind, NomineeId, WhenUnderWay};
use election_session::AclList;
use tokio::time::{Instant, timeout_at};

pub use entered::Entered;
pub use error::{EnterError, LeaveError};

use self::participation::{Outcome, Participation};
use crate::acl::Acls;
use crate::barrier::{BarrierError, checked_path};
use crate::client::Client;
use crate::site::{random, site};
use crate::telemetry::recipe_metrics::BarrierMeter;
use crate::telemetry::{Asked, OperationSpan};

/// A double barrier at a path; made by [`Client::double_barrier`]. Those that enter it go on once
/// enough have entered; those that leave it go on once all have left.
///
/// From the moment at which enough have entered until all of them have left or are gone, a *round* is
/// under way. A participant that arrives during it takes no part in it: it waits for its end and enters
/// the next one, or is refused ([`DoubleBarrier::when_under_way`]). Those that arrive before it is
/// opened all take part: the number of participants is the least one. What a round leaves behind whose
/// participants have all died is removed by the next one, which does not pass by it.
#[derive(Clone)]
#[must_use = "a double barrier does nothing until it is entered"]
pub struct DoubleBarrier {
    client: Client,
    path: String,
    data: Bytes,
    acls: Acls,
    options: DoubleBarrierOptions,
}

impl Client {
    /// A double barrier for so many participants; 0 counts as 1. All of them have to name the same
    /// number.
    pub fn double_barrier(&self, path: &str, participants: u32) -> DoubleBarrier {
        let participants = NonZeroU32::new(participants).unwrap_or(NonZeroU32::MIN);
        let options =
            DoubleBarrierOptions { participants, when_under_way: WhenUnderWay::default() };
        let (path, data) = (path.to_owned(), Bytes::new());
        DoubleBarrier { client: self.clone(), path, data, acls: Acls::open(), options }
    }
}

impl DoubleBarrier {
    /// The data of the participant's znode, for others to see: by convention its name.
    pub fn data(mut self, data: impl Into<Bytes>) -> Self {
        self.data = data.into();
        self
    }

    /// The access list of the participant's znode and of `ready`, and of the barrier's node and its
    /// ancestors where they have to be created (default: every client may do everything).
    pub fn acls(mut self, acls: Acls) -> Self {
        self.acls = acls;
        self
    }

    /// What follows when a round is under way (default: the participant waits for its end).
    pub fn when_under_way(mut self, when_under_way: WhenUnderWay) -> Self {
        self.options.when_under_way = when_under_way;
        self
    }

    /// Enters, and waits until enough have entered: at one moment since the last round ended, so many
    /// participants stood in the barrier. Lost connections and expired sessions do not end the wait;
    /// after an expired session the participant enters anew.
    ///
    /// Cancel safe: dropping the future gives it up, and leaves nothing behind. One that had the luck to
    /// complete the round at that very moment was one of its participants: the others go on, and do not
    /// wait for it when they leave.
    ///
    /// # Errors
    ///
    /// [`EnterError`]: what waiting does not repair, or is not waited for.
    pub async fn enter(&self) -> Result<Entered, EnterError> {
        let meter = BarrierMeter::start("enter");
        let client = &self.client.shared().span;
        let mut span = OperationSpan::open(Asked::Barrier, "enter", &self.path, client);
        let entered = span.within(self.participate()).await;
        let failed = entered.as_ref().err().map(|error| match error {
            EnterError::RoundUnderWay => "under_way",
            EnterError::Barrier(_) => "failed",
        });
        span.finished(failed.unwrap_or("done"));
        meter.finished(failed);
        entered
    }

    async fn participate(&self) -> Result<Entered, EnterError> {
        let path = checked_path(&self.path)?;
        let acl = AclList::new(&self.acls.checked().map_err(BarrierError::from)?);
        let node = ElectionNode::Create(NodeKind::Persistent);
        let site = site(&self.client, &path, self.data.clone(), acl, node);
        loop {
            let id = NomineeId::from_bytes(random().map_err(BarrierError::Randomness)?);
            let participant = election_core::DoubleBarrier::new(id, self.options);
            let mut participation = Participation::begin(&self.client, &site, participant);
            match participation.outcome().await? {
                Outcome::Inside => return Ok(Entered::new(participation, id)),
                // Before its user was told that it is inside.
                Outcome::Lost => {}
            }
        }
    }

    /// As [`DoubleBarrier::enter`], until the deadline has passed at most: then `None`.
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

impl fmt::Debug for DoubleBarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, options, .. } = self;
        f.debug_struct("DoubleBarrier")
            .field("path", path)
            .field("options", options)
            .finish_non_exhaustive()
    }
}
