//! The costs of putting and taking an item of a queue, and of changing a counter, on Apache ZooKeeper: this library,
//! kazoo, Curator and the floor, in turns; and the time in which several takers empty a queue. `benches/README.md`
//! says how to run it.
#![forbid(unsafe_code)]

#[path = "../../tests/programs/kazoo/environment.rs"]
mod environment;
#[path = "../../tests/programs/interop/recipes/participant.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod participant;
#[path = "../../tests/programs/interop/programs.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod programs;
#[path = "../elections/raw.rs"]
#[expect(dead_code, reason = "the other benchmarks use more of it")]
mod raw;
mod single;
mod throughput;

use core::time::Duration;

use tokio::runtime::Builder;
use zk_test_kit::failure::TestResult;
use zk_test_kit::server::ServerKind;

use participant::Participant;
use programs::Library;

/// Long enough for the whole of it.
const SESSION_TIMEOUT: Duration = Duration::from_secs(30);

/// The processes of other libraries.
struct Peers {
    kazoo: Participant,
    curator: Participant,
}

/// How much is measured.
#[derive(Clone, Copy)]
struct Extent {
    rounds: usize,
    turns: u32,
    /// Lengths of queues that are emptied.
    shorter: usize,
    longer: usize,
}

fn main() -> TestResult {
    let is_smoke = std::env::args().any(|argument| argument == "--test");
    let extent = if is_smoke {
        Extent { rounds: 1, turns: 5, shorter: 20, longer: 40 }
    } else {
        let longer = std::env::var("QUEUE_ITEMS").map_or(Ok(5_000), |items| items.parse())?;
        Extent { rounds: 15, turns: 200, shorter: longer.min(1_000), longer }
    };
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let server = ServerKind::Apache.shared()?;
    let servers = server.connect_string();
    let peer = |library| Participant::start(library, &servers, SESSION_TIMEOUT);
    let mut peers = Peers { kazoo: peer(Library::Kazoo)?, curator: peer(Library::Curator)? };
    single::measure(&runtime, server, &mut peers, extent)?;
    throughput::measure(&runtime, &servers, &mut peers, extent)
}
