//! Long random runs: of drivers that keep the contract, in worlds larger than the explorer's, and
//! of events in any order at all.

mod bench;

use crate::contest::laws::is_awaited;
use crate::contest::machine::News;
use crate::contest::script::Record;
use crate::contest::{Budget, Contender, NO_FAULTS, World};
use bench::{Bench, any_input};
use election_core::election::{ElectionNode, NodeKind, OnLoss, Policy};
use election_core::lock::{LockOptions, WhenBusy};
use election_core::{Event, Failure, Recipe};
use proptest::prelude::*;
use proptest::sample::{Index, select};

const BUDGET: Budget = Budget {
    losses: 6,
    expiries: 2,
    swaps: 1,
    withdrawals: 1,
    lapses: 2,
    deletions: 2,
    writes: 2,
    wipes: 1,
    bars: 1,
    lost_watches: 2,
    looks: 3,
    throttles: 2,
    refusals: 1,
    handovers: 1,
    stragglers: 2,
    ends: 2,
    killed_operators: 1,
    reopens: 1,
    hand_overs: 1,
    ..NO_FAULTS
};

const WRITE: LockOptions = LockOptions::write();
const READ: LockOptions = LockOptions::read();
const TRY: LockOptions = LockOptions { when_busy: WhenBusy::GiveUp, ..WRITE };

/// An operator neither deletes the lock's node nor hides znodes.
const LOCK_BUDGET: Budget = Budget {
    wipes: 0,
    bars: 0,
    refusals: 0,
    handovers: 0,
    deadlines: 1,
    own_downgrades: 2,
    requests: 3,
    ends: 0,
    killed_operators: 0,
    reopens: 0,
    hand_overs: 0,
    ..BUDGET
};

fn policy() -> impl Strategy<Value = Policy> {
    let on_loss = prop_oneof![4 => Just(OnLoss::StandAgain), 1 => Just(OnLoss::End)];
    let election_node = prop_oneof![4 => Just(ElectionNode::Create(NodeKind::Persistent)), 1 => Just(ElectionNode::MustExist)];
    (on_loss, election_node).prop_map(|(on_loss, election_node)| Policy {
        on_loss,
        election_node,
        ..Policy::default()
    })
}

#[derive(Clone, Copy, Debug)]
enum Start {
    /// The client is not connected, and the server counts from here.
    Fresh(i32),
    /// One leads, two follow.
    Settled,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Every rule holds at every step; once the faults stop, a nominee leads; and no nominee
    /// creates more znodes than it lost (Curator's latches did, each reset by the other's:
    /// CURATOR-644).
    #[test]
    fn a_random_run_keeps_every_rule_and_ends_with_a_leader(
        picks in prop::collection::vec(any::<Index>(), 0..300),
        policy in policy(),
        start in select(vec![Start::Fresh(0), Start::Fresh(i32::MAX - 2), Start::Settled]),
    ) {
        let mut world = match start {
            Start::Fresh(next) => World::with_policy(3, BUDGET, policy).counting_from(next),
            Start::Settled => World::with_policy(3, NO_FAULTS, policy).settled().facing(BUDGET),
        }
        .lagging(100);
        world.model.record = Some(Record::default());
        comes_to_rest(&mut world, &picks)?;
        for client in world.clients.iter() {
            let lost = u32::from(BUDGET.losses - world.budget.losses);
            let wipes = u32::from(BUDGET.wipes - world.model.budget.wipes);
            let throttled = u32::from(BUDGET.throttles - world.budget.throttles);
            let allowed = client.machine().incarnation().get() + 1 + lost + 4 * wipes + throttled;
            let creates = world.creates(usize::from(client.index));
            prop_assert!(creates <= usize::try_from(allowed).expect("few"), "{creates} creates");
        }
    }

    /// The same for contenders for a lock: some become readers, are asked to let go, or pass their deadlines.
    #[test]
    fn a_random_run_of_a_lock_keeps_every_rule_and_comes_to_rest(
        picks in prop::collection::vec(any::<Index>(), 0..300),
        options in prop::collection::vec(select(vec![WRITE, WRITE, READ, TRY]), 1..4),
    ) {
        let mut world = World::locks(&options, LOCK_BUDGET).lagging(100);
        comes_to_rest(&mut world, &picks)?;
        prop_assert_eq!(world.check_contest_at_rest(), Ok(()));
    }

    /// Whatever comes in whatever order: no panic, at most one create outstanding, leadership only
    /// by a verified own znode, one end, and no request without a stimulus.
    #[test]
    fn no_sequence_of_events_breaks_the_nominee(
        events in prop::collection::vec(any_input(), 0..120),
        policy in policy(),
    ) {
        let mut bench = Bench::new(policy);
        for input in events {
            bench.feed(input)?;
        }
    }
}

/// Takes the picked steps, and then calm ones until nothing happens any more; checks every rule at each
/// picked step, and at rest.
fn comes_to_rest(world: &mut World, picks: &[Index]) -> Result<(), TestCaseError> {
    let mut taken = Vec::new();
    for pick in picks {
        let steps = world.steps();
        if steps.is_empty() {
            break;
        }
        let (step, _) = *pick.get(&steps);
        world.take(step);
        taken.push(step);
        world.check().map_err(|fault| TestCaseError::fail(format!("{fault}, after {taken:?}")))?;
        for client in world.clients.iter() {
            a_lost_connection_is_the_same_however_it_is_told(client)?;
        }
    }
    let at_end = world.settled_calmly(&mut taken).and_then(|()| world.check());
    at_end.map_err(|fault| TestCaseError::fail(format!("{fault}, after {taken:?}")))
}

/// Checks that `Disconnected`, the loss of the reply, and both in either order lead to the same
/// state.
fn a_lost_connection_is_the_same_however_it_is_told(
    client: &Contender,
) -> Result<(), TestCaseError> {
    if !client.is_up() {
        return Ok(());
    }
    let sent = client.requests.iter().filter(|sent| is_awaited(client, &sent.request));
    let due = client.due.iter().map(|due| due.ticket);
    let mut unanswered = due.chain(sent.map(|sent| sent.ticket));
    let Some(ticket) = unanswered.find(|ticket| !ticket.is_cleanup()) else { return Ok(()) };
    let loss = || Event::Reply { ticket, result: Err(Failure::ConnectionLoss) };
    let after = |events: Vec<Event<'_>>| {
        let mut nominee = client.machine().clone();
        let notices: Vec<News> =
            events.into_iter().filter_map(|event| nominee.handle_event(event).notice).collect();
        (nominee, notices)
    };
    let told = after(vec![Event::Disconnected]);
    prop_assert_eq!(&told, &after(vec![loss()]));
    prop_assert_eq!(&told, &after(vec![Event::Disconnected, loss()]));
    prop_assert_eq!(&told, &after(vec![loss(), Event::Disconnected]));
    Ok(())
}
