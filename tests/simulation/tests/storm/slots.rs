//! Sharing slots: works on those that a process holds, which end in time, too late, by themselves, or not at all.

use core::convert::Infallible;
use core::ops::Range;
use core::time::Duration;
use std::sync::Arc;

use election_tokio::election::{EndReason, NominationEnded, NominationError};
use election_tokio::lock::{LockError, LockFailure};
use election_tokio::slots::{SlotEvent, SlotGuard, Slots, SlotsError};
use election_tokio::{Client, ErrorCode, ErrorKind, TransactionError};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

use crate::laws::{Season, ledger};
use crate::life::{LONG, Life};
use crate::scene::PROCESSES;

use zk_simulation::recipes::Apart;
pub(crate) use zk_simulation::recipes::SLOTS;

/// The slots of most members; one member in some runs has another one on its list.
const COUNT: u32 = 9;
const MOST: u32 = COUNT + 1;
/// The first ledger of slots: behind those of elections and locks.
const FIRST_LEDGER: usize = 5;

/// Returns the numbers of the ledgers that the works write to, one of each slot.
pub(crate) fn ledgers_of_slots() -> Range<usize> {
    FIRST_LEDGER..FIRST_LEDGER + usize::try_from(MOST).unwrap_or_default()
}

/// Returns the name of a process among the members.
pub(crate) fn member(process: usize) -> String {
    format!("m{process}")
}

/// The terms on which a process shares slots.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub(crate) list: u32,
    pub(crate) weight: u32,
    pub(crate) gather: Duration,
    pub(crate) spread: Duration,
    pub(crate) give_up_within: Duration,
    pub(crate) apart: Apart,
}

impl Terms {
    /// Draws those of all processes: in half of the runs each has its own pauses, in a quarter one has another list.
    /// All have the same groups, which come from numbers of their own.
    pub(crate) fn draw(rng: &mut fastrand::Rng, rng_of_groups: &mut fastrand::Rng) -> Vec<Self> {
        let groups = Apart::draw(rng_of_groups, COUNT);
        let are_alike = rng.bool();
        let other = (rng.u8(..4) == 0).then(|| rng.usize(..PROCESSES));
        let mut one = Self::draw_one(rng);
        let each = |process| {
            if !are_alike {
                one = Self::draw_one(rng);
            }
            one.weight = if rng.u8(..4) == 0 { 2 } else { 1 };
            one.list = if Some(process) == other { MOST } else { COUNT };
            one.apart.clone_from(&groups);
            one.clone()
        };
        (0..PROCESSES).map(each).collect()
    }

    fn draw_one(rng: &mut fastrand::Rng) -> Self {
        let mut millis = |of: [u64; 3]| Duration::from_millis(of[rng.usize(..3)]);
        Self {
            list: COUNT,
            weight: 1,
            gather: millis([0, 200, 1000]),
            spread: millis([200, 1000, 3000]),
            give_up_within: millis([50, 500, 2000]),
            apart: Apart::default(),
        }
    }

    pub(crate) fn slots(&self, client: &Client) -> Slots {
        let groups = self.apart.groups().iter().map(|group| group.iter().map(ToString::to_string));
        let slots = client.slots(SLOTS, self.list).weight(self.weight);
        let slots = slots.apart(groups).expect("each slot is in one group");
        slots.gather_for(self.gather).spread_after(self.spread).give_up_within(self.give_up_within)
    }
}

impl Life {
    /// Joins again and again: by `run` or by the stream of events; leaves in order, or stops, or stays.
    pub(crate) async fn share_slots(self, terms: Terms, mut rng: fastrand::Rng) {
        let (slots, name) = (terms.slots(&self.client), member(self.number));
        while self.connected().await.is_some() {
            let shared = if rng.bool() {
                let stay = self.stay(&mut rng);
                let work = |guard| self.clone().work_on(guard, rng.fork());
                slots.run(&name, stay, work).await
            } else {
                self.share_by_events(&slots, &name, &mut rng).await
            };
            match shared {
                Ok(()) => self.laws.tell(|| format!("{name} has left")),
                Err(error) if is_closed(&error) => return,
                Err(error) if is_throttled(&error) => {
                    self.laws.tell(|| format!("{name} failed: {error}"));
                }
                Err(error) => return self.laws.broken(format!("{name}: {error}")),
            }
            sleep(Duration::from_millis(rng.u64(0..600))).await;
        }
    }

    /// Returns once the member is to leave; in the calm it stays.
    fn stay(&self, rng: &mut fastrand::Rng) -> impl Future<Output = ()> + use<> {
        let stays = self.laws.season_of_slots() == Season::Calm || rng.u8(..3) > 0;
        let time = Duration::from_millis(rng.u64(0..8_000));
        async move {
            if stays {
                core::future::pending::<()>().await;
            }
            sleep(time).await;
        }
    }

    async fn share_by_events(
        &self,
        slots: &Slots,
        name: &str,
        rng: &mut fastrand::Rng,
    ) -> Result<(), SlotsError> {
        let mut member = slots.join(name)?;
        let mut stay = core::pin::pin!(self.stay(rng));
        let (mut works, mut is_leaving) = (JoinSet::new(), false);
        loop {
            tokio::select! {
                biased;
                () = &mut stay, if !is_leaving => {
                    is_leaving = true;
                    if rng.u8(..4) == 0 {
                        return Ok(());
                    }
                    member.leave();
                }
                event = member.next() => match event {
                    Some(Ok(SlotEvent::Gained(guard))) => {
                        works.spawn(self.clone().work_on(Arc::new(guard), rng.fork()));
                    }
                    // Its guard tells it.
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return Err(error),
                    None => return Ok(()),
                },
            }
        }
    }

    async fn work_on(self, guard: Arc<SlotGuard>, mut rng: fastrand::Rng) {
        self.laws.slot_is_gained(self.number, &guard);
        let is_short = self.laws.season_of_slots() == Season::Storm && rng.u8(..8) == 0;
        let term = Duration::from_millis(rng.u64(0..4_000));
        let rng_of_writes = rng.fork();
        tokio::select! {
            biased;
            lost = guard.lost() => {
                self.laws.tell(|| format!("{}: {} is lost: {lost}", self.number, guard.slot()));
                if guard.is_valid() {
                    let law = format!("{} holds {} after it was lost", self.number, guard.slot());
                    self.laws.broken(law);
                }
            }
            by = guard.give_up_requested() => {
                let time = by.saturating_duration_since(Instant::now());
                if rng.u8(..4) == 0 {
                    // Too late, unless the slot is lost by then, as it is to be.
                    self.laws.count(|tally| tally.slots_overdue += 1);
                    let late = timeout_at(by + LONG, guard.lost()).await;
                    self.laws.tell(|| format!("{}: a work ends late: {late:?}", self.number));
                } else {
                    sleep(time.mul_f64(rng.f64())).await;
                }
            }
            () = sleep(term), if is_short => {}
            never = self.keep_slots_ledger(&guard, rng_of_writes) => match never {},
        }
    }

    /// Writes the token of the guard now and then, until the calm.
    async fn keep_slots_ledger(&self, guard: &SlotGuard, mut rng: fastrand::Rng) -> Infallible {
        let slot: usize = guard.slot().parse().expect("slots have numbers");
        let path = ledger(FIRST_LEDGER + slot);
        while self.laws.season_of_slots() == Season::Storm {
            match self.guarded_write(&path, guard.token(), guard.transaction()).await {
                Some(Ok(())) => self.laws.count(|tally| tally.guarded_writes += 1),
                // The news of it may still be on its way.
                Some(Err(TransactionError::NotHeld)) => break,
                Some(Err(_)) | None => {}
            }
            sleep(Duration::from_millis(rng.u64(100..800))).await;
        }
        core::future::pending().await
    }
}

fn is_closed(error: &SlotsError) -> bool {
    match error {
        SlotsError::Ended(NominationEnded { reason: EndReason::ClientClosed(_), .. })
        | SlotsError::Lock(LockError::ClientClosed { .. }) => true,
        SlotsError::Request { error, .. } => matches!(error.kind(), ErrorKind::Closed),
        _ => false,
    }
}

/// Whether a server with too much to do has refused it; a service joins again.
fn is_throttled(error: &SlotsError) -> bool {
    const THROTTLED: i32 = ErrorCode::THROTTLED_OP.get();
    match error {
        SlotsError::Ended(NominationEnded {
            reason: EndReason::Failed(NominationError::Rejected(code)),
            ..
        })
        | SlotsError::Lock(LockError::Failed { failure: LockFailure::Rejected(code), .. }) => {
            *code == THROTTLED
        }
        SlotsError::Request { error, .. } => {
            matches!(error.kind(), ErrorKind::Refused(code) if code.get() == THROTTLED)
        }
        _ => false,
    }
}
