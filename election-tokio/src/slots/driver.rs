//! Does what a member's holder asks for: its locks, its plan, and the events of its user.

use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::{Context, Poll};
use std::collections::BTreeMap;
use std::sync::Arc;

use election_session::slots::{GuardEnd, SlotHolder, SlotName, SlotPlan, SlotTask};
use futures_core::Stream as _;
use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::FuturesUnordered;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::sleep_until;
use tracing::warn;

use super::guard::SlotOrder;
use super::planning::{Planning, SLOTS};
use super::{SlotEvent, SlotGuard, Slots, SlotsError};
use crate::Error;
use crate::config::{ConfigWatch, Configured};
use crate::election::Nomination;
use crate::lock::{LockError, LockGuard};
use crate::standing::RecipeHandle;

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The outcome of waiting for a slot's lock: `None` if it was abandoned.
type Acquired = (SlotName, Option<Result<LockGuard, LockError>>);

pub(super) struct Driver {
    slots: Slots,
    holder: SlotHolder,
    known: watch::Sender<Option<Arc<SlotPlan>>>,
    plans: ConfigWatch<SlotPlan>,
    acquiring: FuturesUnordered<Boxed<Acquired>>,
    waits: BTreeMap<SlotName, AbortHandle>,
    held: BTreeMap<SlotName, Handed>,
    ended: mpsc::UnboundedReceiver<(SlotName, GuardEnd)>,
    ends: mpsc::UnboundedSender<(SlotName, GuardEnd)>,
    events: mpsc::UnboundedSender<Result<SlotEvent, SlotsError>>,
    stance: Stance,
}

/// A guard that the user has.
struct Handed {
    releaser: RecipeHandle,
    told: watch::Sender<SlotOrder>,
}

/// A member's part in the planning, if it has one still.
enum Stance {
    Staying { planning: Boxed<SlotsError>, leave: oneshot::Receiver<()> },
    Leaving,
}

enum Heard {
    Plan(Configured<SlotPlan>),
    PlanFailed(Error),
    Acquired(Acquired),
    Ended(SlotName, GuardEnd),
    Leave,
    PlanningFailed(SlotsError),
    Time,
}

impl Driver {
    pub(super) fn new(
        slots: &Slots,
        member: SlotName,
        events: mpsc::UnboundedSender<Result<SlotEvent, SlotsError>>,
    ) -> Self {
        let (ends, ended) = mpsc::unbounded_channel();
        let plans = ConfigWatch::begin(&slots.client, &slots.plan_path());
        Self {
            holder: SlotHolder::new(member, slots.give_up_within),
            slots: slots.clone(),
            known: watch::Sender::new(None),
            plans,
            acquiring: FuturesUnordered::new(),
            waits: BTreeMap::new(),
            held: BTreeMap::new(),
            ended,
            ends,
            events,
            stance: Stance::Leaving,
        }
    }

    /// Runs until the member has left, or has failed for good.
    pub(super) async fn run(mut self, nomination: Nomination, leave: oneshot::Receiver<()>) {
        let planning = Planning::new(&self.slots, self.known.subscribe());
        self.stance = Stance::Staying { planning: Box::pin(planning.plan(nomination)), leave };
        while !(matches!(self.stance, Stance::Leaving) && self.holder.is_idle()) {
            if let Err(error) = self.turn().await {
                self.tell(Err(error));
                return;
            }
        }
    }

    async fn turn(&mut self) -> Result<(), SlotsError> {
        let clock = self.slots.client.shared().clock.clone();
        let until = self.holder.poll_timeout().map(|until| clock.to_tokio(until));
        let mut timer = pin!(async {
            match until {
                Some(until) => sleep_until(until).await,
                None => core::future::pending().await,
            }
        });
        let heard = poll_fn(|cx| match self.poll_heard(cx) {
            Poll::Ready(heard) => Poll::Ready(heard),
            Poll::Pending => timer.as_mut().poll(cx).map(|()| Heard::Time),
        })
        .await;
        let now = clock.now();
        match heard {
            Heard::Plan(plan) => self.planned(&plan),
            Heard::PlanFailed(error) => {
                return Err(SlotsError::Request { at: self.slots.place("hold"), error });
            }
            Heard::Acquired((slot, acquired)) => self.acquired(slot, acquired)?,
            Heard::Ended(slot, end) => {
                self.held.remove(&slot);
                self.holder.handle_dropped(now, &slot, end);
            }
            Heard::Leave => {
                // Its candidate goes, and the others plan without it.
                self.stance = Stance::Leaving;
                self.holder.leave(now);
            }
            Heard::PlanningFailed(error) => return Err(error),
            Heard::Time => self.holder.handle_timeout(now),
        }
        self.carry_out();
        Ok(())
    }

    fn poll_heard(&mut self, cx: &mut Context<'_>) -> Poll<Heard> {
        if let Poll::Ready(Some((slot, end))) = self.ended.poll_recv(cx) {
            return Poll::Ready(Heard::Ended(slot, end));
        }
        if let Stance::Staying { planning, leave } = &mut self.stance {
            if Pin::new(leave).poll(cx).is_ready() {
                return Poll::Ready(Heard::Leave);
            }
            if let Poll::Ready(error) = planning.as_mut().poll(cx) {
                return Poll::Ready(Heard::PlanningFailed(error));
            }
            match Pin::new(&mut self.plans).poll_next(cx) {
                Poll::Ready(Some(Ok(plan))) => return Poll::Ready(Heard::Plan(plan)),
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Heard::PlanFailed(error)),
                Poll::Ready(None) | Poll::Pending => {}
            }
        }
        match Pin::new(&mut self.acquiring).poll_next(cx) {
            Poll::Ready(Some(acquired)) => Poll::Ready(Heard::Acquired(acquired)),
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }

    /// Heeds the plan. One that is missing, or nonsense, changes nothing: the planner writes it again.
    fn planned(&mut self, plan: &Configured<SlotPlan>) {
        let now = self.slots.client.shared().clock.now();
        if let Configured::Undecodable { error, .. } = plan {
            let path = self.slots.plan_path();
            warn!(target: SLOTS, path, %error, "the plan is overwritten: the last one is heeded");
        }
        let plan = match plan {
            Configured::Value { value, .. } => Some(Arc::clone(value)),
            Configured::Undecodable { .. } | Configured::Missing => None,
        };
        if let Some(plan) = &plan {
            self.holder.handle_plan(now, plan);
        }
        // The planner looks at whatever is there.
        self.known.send_modify(|known| *known = plan.or_else(|| known.take()));
    }

    fn acquired(
        &mut self,
        slot: SlotName,
        acquired: Option<Result<LockGuard, LockError>>,
    ) -> Result<(), SlotsError> {
        // Of an abandoned wait nothing is left.
        let Some(lock) = acquired.transpose()? else { return Ok(()) };
        if !self.holder.handle_held(&slot) {
            return Ok(());
        }
        self.waits.remove(&slot);
        let told = watch::Sender::new(SlotOrder::Keep);
        let (releaser, ends) = (lock.releaser(), self.ends.clone());
        let guard = SlotGuard::new(slot.clone(), lock, told.subscribe(), ends);
        self.held.insert(slot, Handed { releaser, told });
        self.tell(Ok(SlotEvent::Gained(guard)));
        Ok(())
    }

    fn carry_out(&mut self) {
        while let Some(task) = self.holder.poll_task() {
            match task {
                SlotTask::Contend(slot) => self.contend(slot),
                SlotTask::Abandon(slot) => {
                    if let Some(wait) = self.waits.remove(&slot) {
                        wait.abort();
                    }
                }
                SlotTask::GiveUp(slot, by) => {
                    let by = self.slots.client.shared().clock.to_tokio(by);
                    if let Some(handed) = self.held.get(&slot) {
                        handed.told.send_replace(SlotOrder::GiveUp(by));
                    }
                    self.tell(Ok(SlotEvent::GiveUp { slot, by }));
                }
                SlotTask::Release(slot) => {
                    warn!(target: SLOTS, %slot, "the work has not ended in time: the slot is released");
                    if let Some(handed) = self.held.get(&slot) {
                        handed.told.send_modify(|told| *told = told.overdue());
                        handed.releaser.withdraw();
                    }
                }
            }
        }
    }

    fn contend(&mut self, slot: SlotName) {
        let (handle, registration) = AbortHandle::new_pair();
        let member = self.holder.member().to_string();
        let lock = self.slots.lock(&slot).data(member);
        let waiting = Abortable::new(async move { lock.lock().await }, registration);
        self.waits.insert(slot.clone(), handle);
        self.acquiring.push(Box::pin(async move { (slot, waiting.await.ok()) }));
    }

    fn tell(&self, event: Result<SlotEvent, SlotsError>) {
        // The user may have dropped the member: then this task ends, too, and the guard within the
        // event gives the slot up.
        let _ = self.events.send(event);
    }
}
