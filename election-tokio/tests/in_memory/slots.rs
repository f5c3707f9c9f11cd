//! The costs of slots, as docs/slots.md has them: 1,000 slots of ten members that join, leave and die, and that rest.

use std::collections::BTreeMap;

use election_tokio::Client;
use election_tokio::slots::SlotPlan;
use tokio::task::JoinHandle;
use zk_jute::OpCode;

use crate::server::{Server, wait};

const SLOTS: u32 = 1_000;
const PATH: &str = "/app/shards";

struct Member {
    client: Client,
    run: JoinHandle<()>,
}

async fn join(server: &Server, name: String) -> Member {
    let client = server.client().await;
    let slots = client.slots(PATH, SLOTS);
    let run = tokio::spawn(async move {
        let work = |guard: std::sync::Arc<election_tokio::slots::SlotGuard>| async move {
            guard.give_up_requested().await;
        };
        slots.run(&name, core::future::pending::<()>(), work).await.expect("it goes on");
    });
    Member { client, run }
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
    let server = Server::new();
    let mut members = Vec::new();
    for at in 0..10 {
        members.push(join(&server, format!("m{at}")).await);
    }
    wait(20).await;
    let ten = plan(&server);
    assert_eq!(held(&server), 1_000);
    assert!(ten.members().values().all(|member| member.slots.len() == 100));
    // One for each slot that is held, two for the planner's views, and for each member the plan, its candidate and the
    // one before it.
    let at_most = 1_000 + 2 + 3 * 10;
    assert!(server.watches() <= at_most, "{} watches", server.watches());
    println!("start: {:?}, {} watches", requests(&server, 0), server.watches());

    let since = server.requested().len();
    members.push(join(&server, "m10".to_owned()).await);
    wait(20).await;
    let eleven = plan(&server);
    println!("join: {} moved, {:?}", moved(&ten, &eleven), requests(&server, since));
    assert_eq!((moved(&ten, &eleven), held(&server)), (90, 1_000), "1,000 / 11");

    // The session of the one that plans ends, as after a death.
    let since = server.requested().len();
    let Member { client, run } = members.remove(0);
    run.abort();
    client.close().await.expect("it is closed");
    wait(20).await;
    let others = plan(&server);
    println!("death: {} moved, {:?}", moved(&eleven, &others), requests(&server, since));
    assert_eq!(moved(&eleven, &others), eleven.slots_of(&"m0".parse().expect("a name")).len());
    assert_eq!(held(&server), 1_000);

    let since = server.requested().len();
    wait(600).await;
    let rest = requests(&server, since);
    println!("ten minutes: {rest:?}, {} watches", server.watches());
    // A look every 75 s at least: of each holder at its own znode.
    assert!(rest["getData"] <= 1_000 * 8 + 10 * 20, "{rest:?}");
    assert!(rest["multi"] <= 10 * 181, "one heartbeat of each member in a third of 10 s: {rest:?}");
    assert_eq!(plan(&server), others);
    for Member { client, run } in members {
        run.abort();
        client.close().await.expect("it is closed");
    }
}
