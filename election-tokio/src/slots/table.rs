//! An observer's table: which member is to hold which slot, and which one holds it.

use election_session::slots::{SlotName, SlotPlan};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use zk_jute::SessionId;

use super::{Slots, SlotsError};
use crate::lock::Turn;
use crate::{Error, Token};

/// All slots of the plan, and the members that hold them; made by [`Slots::table`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlotTable {
    /// The plan: members with their weights, and their slots. `None` if there is none, or it is
    /// overwritten; then no slot is shown.
    pub plan: Option<SlotPlan>,
    /// The slots, by name, and by number where names are numbers.
    pub slots: Vec<SlotHolding>,
}

/// A slot, by the plan and by its lock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlotHolding {
    /// The slot.
    pub slot: SlotName,
    /// The member that is to hold it.
    pub planned: Option<SlotName>,
    /// The member whose session is the first in the queue of its lock. Its process may not know yet.
    pub holder: Option<String>,
    /// The fencing token of that holding.
    pub token: Option<Token>,
    /// The session of that holder.
    pub session: Option<SessionId>,
    /// How many others wait for the lock.
    pub waiting: usize,
}

/// The most locks that are looked at at a time.
const WINDOW: usize = 64;

impl Slots {
    /// Reads the plan, and the lock of each of its slots: a list for each, and a read for each
    /// contender, 64 slots at a time. Slots that change hands meanwhile may be shown as before or
    /// after.
    ///
    /// Cancel safe: nothing is changed.
    ///
    /// # Errors
    ///
    /// The path is invalid, or a request failed.
    pub async fn table(&self) -> Result<SlotTable, SlotsError> {
        self.checked()?;
        let failed = |error| SlotsError::Request { at: self.place("table"), error };
        let (client, path) = (&self.client, self.plan_path());
        let plan = match client.repeated(|| client.get_data(&path)).await {
            Ok((data, _)) => SlotPlan::decode(&data).ok(),
            Err(error) if error.is_no_node() => None,
            Err(error) => return Err(failed(error)),
        };
        let owners = plan.iter().flat_map(SlotPlan::owners);
        let mut owners: Vec<_> =
            owners.map(|(slot, owner)| (slot.clone(), owner.cloned())).collect();
        owners.sort_by_key(|(slot, _)| (slot.parse::<u64>().unwrap_or(u64::MAX), slot.clone()));
        let rows = owners.into_iter().map(|(slot, planned)| self.holding(slot, planned));
        let slots = stream::iter(rows).buffered(WINDOW).try_collect().await.map_err(failed)?;
        Ok(SlotTable { plan, slots })
    }

    async fn holding(
        &self,
        slot: SlotName,
        planned: Option<SlotName>,
    ) -> Result<SlotHolding, Error> {
        let lock = self.lock(&slot);
        let contenders = self.client.repeated(|| lock.contenders()).await?;
        let holder = contenders.iter().find(|contender| contender.turn == Turn::Holds);
        Ok(SlotHolding {
            slot,
            planned,
            holder: holder.map(|holder| String::from_utf8_lossy(&holder.data).into_owned()),
            token: holder.map(|holder| holder.token),
            session: holder.map(|holder| holder.session),
            waiting: contenders.len().saturating_sub(1),
        })
    }
}
