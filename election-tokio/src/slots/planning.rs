//! Planning: what the member does that leads the election among them.

use core::future::pending;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use election_session::slots::{SlotDecision, SlotName, SlotPlan, SlotPlanner};
use election_session::{GroupView, MemberData};
use futures_util::future::{Either, select};
use tokio::sync::watch;
use tokio::time::sleep_until;
use tracing::warn;
use zk_jute::records::Stat;
use zk_jute::{ErrorCode, OpCode, Version};

use super::{Slots, SlotsError};
use crate::client::{CreateMode, Obstacle, TransactionError};
use crate::config::ConfigValue;
use crate::election::{Leadership, Nomination};
use crate::group::GroupWatch;
use crate::{Error, ErrorKind};

/// The target of logs of slots.
pub(super) const SLOTS: &str = "election_tokio::slots";
/// The step that errors name.
const PLAN: &str = "plan";

/// The planning of one member.
#[derive(Debug)]
pub(super) struct Planning {
    slots: Slots,
    /// The last plan that the member has seen, and how often a watch has shown anything.
    plans: watch::Receiver<Option<Arc<SlotPlan>>>,
}

impl ConfigValue for SlotPlan {
    type Error = election_session::slots::SlotPlanError;

    fn decode(data: &Bytes) -> Result<Self, Self::Error> {
        Self::decode(data)
    }

    fn encode(&self) -> Result<Bytes, Self::Error> {
        Ok(self.encode().into())
    }
}

impl Planning {
    pub(super) fn new(slots: &Slots, plans: watch::Receiver<Option<Arc<SlotPlan>>>) -> Self {
        Self { slots: slots.clone(), plans }
    }

    /// Returns the data of a member's candidate.
    pub(super) fn data(member: &SlotName, weight: u32) -> String {
        format!("{member} {weight}")
    }

    fn parse(data: &MemberData) -> Option<(SlotName, u32)> {
        let MemberData::Is(data) = data else { return None };
        let (name, weight) = core::str::from_utf8(data).ok()?.split_once(' ')?;
        Some((name.parse().ok()?, weight.parse().ok()?))
    }

    /// Plans in each term in which this member leads. Returns why it ends.
    pub(super) async fn plan(self, mut nomination: Nomination) -> SlotsError {
        loop {
            let leadership = match nomination.elected().await {
                Ok(leadership) => leadership,
                Err(ended) => return SlotsError::Ended(ended),
            };
            if let Ok(error) = leadership.guard(self.term(&leadership)).await {
                return error;
            }
        }
    }

    async fn term(&self, leadership: &Leadership) -> SlotsError {
        match self.lead(leadership).await {
            Ok(never) => match never {},
            Err(error) => error,
        }
    }

    async fn lead(&self, leadership: &Leadership) -> Result<core::convert::Infallible, SlotsError> {
        let Slots { client, list, apart, pauses, .. } = &self.slots;
        let known = self.plans.borrow().as_deref().cloned();
        let planner = SlotPlanner::new(list.names().to_vec(), *pauses, known);
        let mut planner = planner.apart(apart);
        let mut plans = self.plans.clone();
        let paths = [self.slots.members_path(), self.slots.drained_path()];
        let [mut members, mut drained] = paths.each_ref().map(|path| client.group(path).watch());
        let [members_path, drained_path] = &paths;
        let failed = |error| self.failed(error);
        let mut there = next_view(&mut members, members_path).await.map_err(failed)?;
        let mut idle = next_view(&mut drained, drained_path).await.map_err(failed)?;
        loop {
            plans.mark_unchanged();
            let stored = self.stored().await.map_err(failed)?;
            let clock = &client.shared().clock;
            let (plan, version) = stored.unzip();
            let plan = plan.flatten();
            match planner.decide(clock.now(), &present(&there, &idle), plan.as_ref()) {
                SlotDecision::Write(plan) => self.write(leadership, &plan, version).await?,
                SlotDecision::Rest(until) => {
                    let until = until.map(|until| clock.to_tokio(until));
                    let timer = Box::pin(async {
                        match until {
                            Some(until) => sleep_until(until).await,
                            None => pending().await,
                        }
                    });
                    // The sender lives in the member's driver, which owns this future.
                    let changed = Box::pin(async {
                        if plans.changed().await.is_err() {
                            pending::<()>().await;
                        }
                    });
                    let quiet = select(timer, changed);
                    let members = Box::pin(next_view(&mut members, members_path));
                    let drained = Box::pin(next_view(&mut drained, drained_path));
                    match select(quiet, select(members, drained)).await {
                        Either::Left(_) => {}
                        Either::Right((Either::Left((view, _)), _)) => {
                            there = view.map_err(failed)?;
                        }
                        Either::Right((Either::Right((view, _)), _)) => {
                            idle = view.map_err(failed)?;
                        }
                    }
                }
            }
        }
    }

    /// Reads the plan's znode: its plan, if it has one, and its version.
    async fn stored(&self) -> Result<Option<(Option<SlotPlan>, Version)>, Error> {
        let (client, path) = (&self.slots.client, self.slots.plan_path());
        let Some((data, Stat { version, .. })) = client.find_data(&path).await? else {
            return Ok(None);
        };
        let plan = SlotPlan::decode(&data);
        if let Err(error) = &plan {
            warn!(target: SLOTS, path, %error, "the plan is overwritten: it is written again");
        }
        Ok(Some((plan.ok(), version)))
    }

    /// Makes the error of a request of the planner.
    fn failed(&self, error: Error) -> SlotsError {
        SlotsError::Request { at: self.slots.place(PLAN), error }
    }

    /// Writes a plan in the place of this version. A write that is overtaken, or in doubt, is left:
    /// the plan is read again before the next one.
    async fn write(
        &self,
        leadership: &Leadership,
        plan: &SlotPlan,
        version: Option<Version>,
    ) -> Result<(), SlotsError> {
        let (path, data) = (self.slots.plan_path(), plan.encode());
        let guarded = leadership.transaction();
        let guarded = match version {
            Some(version) => guarded.set_data(&path, data, version),
            None => guarded.create_with_acl(&path, data, CreateMode::Persistent, &self.slots.acls),
        };
        match guarded.commit().await {
            Ok(_)
            | Err(TransactionError::Refused {
                code: ErrorCode::BAD_VERSION | ErrorCode::NODE_EXISTS | ErrorCode::NO_NODE,
                ..
            }) => Ok(()),
            // The term is over, which drops this.
            Err(TransactionError::NotHeld) => pending().await,
            Err(TransactionError::Request(error)) => {
                let obstacle = Obstacle::of(&error).ok_or_else(|| self.failed(error))?;
                self.slots.client.pass(obstacle).await;
                Ok(())
            }
            Err(error) => Err(SlotsError::Plan { at: self.slots.place(PLAN), error }),
        }
    }
}

/// Returns the members that are present, with their weights; those that are drained have none. Of two
/// processes of one name the later one counts: the other is on its way out.
fn present(members: &GroupView, drained: &GroupView) -> BTreeMap<SlotName, u32> {
    let mut by_age: Vec<_> = members.members.values().collect();
    by_age.sort_by_key(|member| member.token());
    let drained: BTreeSet<&str> = drained.members.keys().map(|name| &**name).collect();
    let weighed = by_age.into_iter().filter_map(|member| Planning::parse(&member.data));
    weighed
        .map(|(name, weight)| {
            let weight = if drained.contains(&*name) { 0 } else { weight };
            (name, weight)
        })
        .collect()
}

/// Returns the next view, which there is until the watch has failed.
async fn next_view(watch: &mut GroupWatch, path: &str) -> Result<GroupView, Error> {
    let closed = || Err(Error::new(OpCode::GET_CHILDREN2, path, ErrorKind::Closed));
    watch.next().await.unwrap_or_else(closed)
}
