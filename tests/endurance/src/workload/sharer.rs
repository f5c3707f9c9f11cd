//! Clients that share slots, and write under the guard of each slot that they hold.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::time::Duration;

use election_tokio::slots::SlotGuard;
use tokio::sync::Mutex;
use tokio::time::sleep;

use super::super::Record;
use super::super::laws::holds::{Hold, Want};
use super::holder::work;
use super::worker::Worker;

/// Where the slots are shared.
pub(crate) const SLOTS: &str = "/slots";
/// The locks of the slots.
pub(super) const LOCKS: [&str; 3] = ["/slots/slots/0", "/slots/slots/1", "/slots/slots/2"];
/// Longer than a connection takes to come back; shorter than an outage of the quorum.
const SPREAD: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(25);

/// Shares the slots as a member, until writers are to end.
pub(super) async fn share(worker: Worker) -> Record {
    let (client, name) = (worker.client.clone(), format!("member-{}", worker.number()));
    let (quiet, worker) = (worker.quiet(), Arc::new(Mutex::new(worker)));
    let count = u32::try_from(LOCKS.len()).unwrap_or(u32::MAX);
    let slots = client.slots(SLOTS, count).spread_after(SPREAD);
    while worker.lock().await.writes_on() {
        let shared = slots.run(&name, quiet.clone().arrived(), |guard| serve(&worker, guard)).await;
        if shared.is_err() {
            worker.lock().await.recover().await;
        }
    }
    let mut worker = reclaimed(worker).await;
    let holds = &mut worker.record().holds;
    *holds = merged(core::mem::take(holds));
    worker.finish().await
}

/// Makes one hold of those of one lock and one token: a slot is held for longer than its member works on it at a time.
fn merged(parts: Vec<Hold>) -> Vec<Hold> {
    let mut holds = BTreeMap::<_, Hold>::new();
    for part in parts {
        let hold = holds.entry((part.lock, part.token)).or_insert_with(|| part.clone());
        if part.valid_by < hold.valid_by {
            (hold.asked_at, hold.valid_by) = (part.asked_at, part.valid_by);
        }
        hold.valid_until = hold.valid_until.max(part.valid_until);
    }
    holds.into_values().collect()
}

/// Writes under the guard for as long as the slot is held. A write that has begun is noted down, also if this is
/// dropped.
fn serve(worker: &Arc<Mutex<Worker>>, guard: Arc<SlotGuard>) -> impl Future<Output = ()> + use<> {
    let worker = Arc::clone(worker);
    async move {
        let lock = guard.slot().parse().ok().and_then(|slot: usize| LOCKS.get(slot));
        let Some(lock) = lock else { return };
        while guard.is_valid() && guard.give_up_by().is_none() {
            let (worker, guard) = (Arc::clone(&worker), Arc::clone(&guard));
            let written = tokio::spawn(async move {
                let mut worker = worker.lock().await;
                if worker.writes_on() {
                    work(&mut worker, (lock, Want::Write), &guard).await;
                    worker.beat();
                }
            });
            // It has panicked only if the run fails anyway.
            let _ = written.await;
            sleep(PAUSE).await;
        }
    }
}

/// Waits for the last write, and gives the worker back.
async fn reclaimed(mut worker: Arc<Mutex<Worker>>) -> Worker {
    loop {
        match Arc::try_unwrap(worker) {
            Ok(worker) => return worker.into_inner(),
            Err(shared) => worker = shared,
        }
        sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use election_tokio::Token;

    use super::super::super::laws::holds;
    use super::*;

    fn part(token: i64, from: u64, to: u64) -> Hold {
        Hold {
            lock: LOCKS[0],
            want: Want::Write,
            holder: 1,
            token: Token::new(token),
            asked_at: Duration::from_millis(from),
            valid_by: Duration::from_millis(from + 1),
            valid_until: Duration::from_millis(to),
        }
    }

    #[test]
    fn a_slot_is_held_once_by_a_token() {
        let parts = vec![part(7, 40, 50), part(7, 10, 30), part(9, 60, 70)];
        holds::check(&parts).expect_err("one token, two holds");
        let holds = merged(parts);
        assert_eq!(holds, [part(7, 10, 50), part(9, 60, 70)]);
        assert_eq!(holds::check(&holds), Ok(()));
    }
}
