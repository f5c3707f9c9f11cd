//! The costs of slots, as docs/slots.md has them: 1,000 and 10,000 slots of ten members that join, leave and die, and that
//! rest.

use std::collections::BTreeMap;

use election_tokio::Client;
use election_tokio::slots::SlotPlan;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use zk_jute::OpCode;

use crate::server::{Server, wait};

const PATH: &str = "/app/shards";

struct Member {
    client: Client,
    run: JoinHandle<()>,
    leave: oneshot::Sender<()>,
}

async fn join(server: &Server, name: String, count: u32) -> Member {
    let client = server.client().await;
    let slots = client.slots(PATH, count);
    let (leave, left) = oneshot::channel();
    let run = tokio::spawn(async move {
        let work = |guard: std::sync::Arc<election_tokio::slots::SlotGuard>| async move {
            guard.give_up_requested().await;
        };
        slots.run(&name, left, work).await.expect("it goes on until it leaves");
    });
    Member { client, run, leave }
}

fn plan(server: &Server) -> SlotPlan {
    let data = server.data(&format!("{PATH}/plan")).expect("a plan");
    SlotPlan::decode(&data).expect("a plan")
}

/// The slots with another owner, that have one in both.
fn moved(before: &SlotPlan, after: &SlotPlan) -> usize {
    let now = after.owners();
    before.owners().into_iter().filter(|(slot, owner)| now.get(slot) != Some(owner)).count()
}

/// The requests since, but for those that prove leases.
fn requests(server: &Server, since: usize) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for opcode in server.requested().iter().skip(since) {
        if ![OpCode::PING].contains(opcode) {
            *counts.entry(opcode.to_string()).or_default() += 1;
        }
    }
    counts
}

fn held(server: &Server) -> usize {
    let locks = server.children(&format!("{PATH}/slots"));
    locks.iter().map(|slot| server.children(&format!("{PATH}/slots/{slot}")).len()).sum()
}

#[tokio::test(start_paused = true)]
async fn a_thousand_slots_of_ten_members() {
    slots_of_ten_members(1_000).await;
}

#[tokio::test(start_paused = true)]
#[ignore = "long form: a minute of a debug build"]
async fn ten_thousand_slots_of_ten_members() {
    slots_of_ten_members(10_000).await;
}

async fn slots_of_ten_members(count: u32) {
    let slots = usize::try_from(count).expect("it is small");
    let server = Server::new();
    let mut members = Vec::new();
    for at in 0..10 {
        members.push(join(&server, format!("m{at}"), count).await);
    }
    wait(20).await;
    let ten = plan(&server);
    assert_eq!(held(&server), slots);
    assert!(ten.members().values().all(|member| member.slots.len() == slots / 10));
    // One for each slot that is held, two for the planner's views, and for each member the plan, its candidate and the
    // one before it.
    let at_most = slots + 2 + 3 * 10;
    assert!(server.watches() <= at_most, "{} watches", server.watches());
    println!("start: {:?}, {} watches", requests(&server, 0), server.watches());

    let since = server.requested().len();
    members.push(join(&server, "m10".to_owned(), count).await);
    wait(20).await;
    let eleven = plan(&server);
    println!("join: {} moved, {:?}", moved(&ten, &eleven), requests(&server, since));
    assert_eq!((moved(&ten, &eleven), held(&server)), (slots / 11, slots), "a part of eleven");

    // The session of the one that plans ends, as after a death.
    let since = server.requested().len();
    let Member { client, run, .. } = members.remove(0);
    run.abort();
    client.close().await.expect("it is closed");
    wait(20).await;
    let others = plan(&server);
    println!("death: {} moved, {:?}", moved(&eleven, &others), requests(&server, since));
    assert_eq!(moved(&eleven, &others), eleven.slots_of(&"m0".parse().expect("a name")).len());
    assert_eq!(held(&server), slots);

    let since = server.requested().len();
    let Member { client, run, leave } = members.pop().expect("ten are left");
    leave.send(()).expect("it goes on");
    run.await.expect("it leaves");
    wait(20).await;
    let nine = plan(&server);
    println!("leave: {} moved, {:?}", moved(&others, &nine), requests(&server, since));
    assert_eq!(moved(&others, &nine), others.slots_of(&"m10".parse().expect("a name")).len());
    assert_eq!((held(&server), nine.members().len()), (slots, 9));
    client.close().await.expect("it is closed");

    let since = server.requested().len();
    wait(600).await;
    let rest = requests(&server, since);
    println!("ten minutes: {rest:?}, {} watches", server.watches());
    // A look every 75 s at least: of each holder at its own znode.
    let asked = |what: &str| rest.get(what).copied().unwrap_or_default();
    let looks = asked("getData");
    assert!(slots * 4 < looks && looks <= slots * 8 + 10 * 20, "{rest:?}");
    assert!(
        asked("multi") <= 10 * 181,
        "one heartbeat of each member in a third of 10 s: {rest:?}"
    );
    assert_eq!(plan(&server), nine);
    for Member { client, run, .. } in members {
        run.abort();
        client.close().await.expect("it is closed");
    }
}
