//! Elections and locks in the formats of other libraries, beside none of another format.

use core::pin::pin;
use core::task::{Context, Waker};
use core::time::Duration;

use election_tokio::election::{Departure, ElectionError, EndReason, LostReason, Role};
use election_tokio::error::OpCode;
use election_tokio::format::Format;
use election_tokio::lock::LockError;
use election_tokio::session::IfGone;
use election_tokio::{Client, CreateMode, TransactionError, Version};
use tokio::time::sleep;
use zk_jute::records::CreateMode as WireMode;

use crate::cancellation::{at_every_await_point, run_until};
use crate::server::{Server, settle, wait};
use crate::spans::Journal;

const ELECTION: &str = "/deep/election";

/// With what a name begins, and what the znode holds.
const FORMATS: [(Format, &str, &[u8]); 9] = [
    (Format::curator_latch(), "_c_", b"me"),
    (Format::curator_lock(), "_c_", b"me"),
    (Format::curator_read_write(), "_c_", b"me"),
    (Format::kazoo(), "", b"me"),
    (Format::go_zookeeper(), "_c_", b"me"),
    (Format::leader_election_support(), "n_", b"me"),
    (Format::go_leaderelection(), "le_", b"me"),
    (Format::zk_election(), "_c_", b"me"),
    (Format::zookeeper_write_lock(), "x-", &[0x12, 0x34]),
];

const WITHOUT_IDS: [Format; 3] = [
    Format::leader_election_support(),
    Format::go_leaderelection(),
    Format::zookeeper_write_lock(),
];

#[tokio::test(start_paused = true)]
async fn every_format_holds_elections_and_locks() {
    for (format, start, data) in FORMATS {
        let server = Server::new();
        let (one, other) = (server.client().await, server.client().await);
        let election = |client: &Client| client.election(ELECTION).format(format).data("me");
        let mut first = election(&one).nominate().unwrap();
        let leadership = first.elected().await.unwrap();
        let name = &*leadership.candidate().to_string();
        assert!(name.starts_with(start) && format.parse(name).is_ok(), "{format:?}: {name}");
        assert_eq!(server.children(ELECTION), [name]);
        let mut second = election(&other).nominate().unwrap();
        settle().await;
        assert!(matches!(second.status().role, Role::Following { .. }), "{format:?}");
        let shown = election(&other).candidates().await.unwrap();
        assert_eq!((shown.len(), &*shown[0].data), (2, data), "{format:?}");
        assert_eq!(first.withdraw().await, Ok(Departure::Deleted));
        assert!(second.elected().await.unwrap().token() > leadership.token());
        second.withdraw().await.unwrap();

        let lock = |client: &Client| client.lock("/lock").format(format);
        let guard = lock(&one).lock().await.unwrap();
        assert!(guard.znode().text().starts_with(start), "{format:?}");
        assert!(lock(&other).try_lock().await.unwrap().is_none(), "{format:?}");
        guard.release().await.unwrap();
        assert!(lock(&other).try_lock().await.unwrap().is_some(), "{format:?}");
    }
}

/// The server has executed so many of its requests, of which the last one's reply is lost with the
/// connection: one znode a session, and none is left behind.
#[tokio::test(start_paused = true)]
async fn a_nomination_without_ids_survives_the_loss_of_any_reply() {
    for format in WITHOUT_IDS {
        for steps in 0..8 {
            let server = Server::new();
            let (client, other) = (server.client().await, server.client().await);
            let election = |client: &Client| client.election(ELECTION).format(format);
            let mut rival = election(&other).nominate().unwrap();
            rival.elected().await.unwrap();
            settle().await;
            server.state().latency = Duration::from_millis(500);
            server.read_only_next(steps);
            let mut nomination = election(&client).nominate().unwrap();
            sleep(Duration::from_millis(400)).await;
            server.cut();
            server.state().latency = Duration::ZERO;
            server.read_freely();
            wait(3).await;
            assert_eq!(server.children(ELECTION).len(), 2, "{format:?}, {steps}");
            rival.withdraw().await.unwrap();
            nomination.elected().await.unwrap();
            assert_eq!(server.children(ELECTION).len(), 1, "{format:?}, {steps}");
            nomination.withdraw().await.unwrap();
            assert!(server.children(ELECTION).is_empty(), "{format:?}, {steps}");
        }
    }
}

/// A nomination dropped at any point leaves nothing that blocks others while its session lives.
#[tokio::test(start_paused = true)]
async fn a_nomination_without_ids_dropped_anywhere_leaves_no_znode() {
    for format in WITHOUT_IDS {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            let elected = run_until(&server, end, async {
                let election = client.election(ELECTION).format(format);
                election.nominate().unwrap().elected().await.unwrap();
            })
            .await;
            server.cut();
            wait(3).await;
            assert!(server.children(ELECTION).is_empty(), "{format:?}, {end:?}");
            assert_eq!(server.sessions().len(), 1, "{format:?}, {end:?}");
            elected.is_some()
        })
        .await;
    }
}

/// Nothing would tell their znodes apart.
#[tokio::test(start_paused = true)]
async fn a_client_stands_once_at_a_path_without_ids() {
    for format in WITHOUT_IDS {
        let server = Server::new();
        let (client, other) = (server.client().await, server.client().await);
        let election = client.election(ELECTION).format(format);
        let mut first = election.nominate().unwrap();
        let refused = election.nominate().unwrap_err();
        let path = ELECTION.to_owned();
        assert_eq!(refused, ElectionError::AlreadyStanding { path: path.clone() });
        assert!(refused.to_string().contains("stands at /deep/election already"), "{refused}");
        let lock = client.lock(ELECTION).format(format);
        let contending = LockError::AlreadyContending { path };
        assert_eq!(lock.lock().await.map(drop), Err(contending.clone()));
        let elsewhere = client.election("/elsewhere").format(format).nominate().unwrap();
        first.elected().await.unwrap();
        let behind = other.election(ELECTION).format(format).nominate().unwrap();

        drop(first);
        assert!(election.nominate().is_err(), "its znode is not gone yet");
        settle().await;
        let second = election.nominate().unwrap();
        drop((elsewhere, behind, second));
        settle().await;
        let guard = lock.lock().await.unwrap();
        assert_eq!(lock.try_lock().await.map(drop), Err(contending));
        guard.release().await.unwrap();
        assert!(lock.try_lock().await.unwrap().is_some());
        // In a format with ids it stands as often as it likes.
        let with_ids = client.election(ELECTION);
        drop((with_ids.nominate().unwrap(), with_ids.nominate().unwrap()));
    }
}

/// A session that is handed over brings its candidate along, whatever the nomination's id is.
#[tokio::test(start_paused = true)]
async fn a_leadership_without_ids_is_handed_over_with_its_session() {
    for format in WITHOUT_IDS {
        let server = Server::new();
        let client = server.client().await;
        let mut nomination = client.election(ELECTION).format(format).nominate().unwrap();
        let leadership = nomination.elected().await.unwrap();
        let id = nomination.id();
        let ticket = client.detach().expect("a session");
        let next = server.builder().resume(ticket, IfGone::Fail).connect().await.unwrap();
        let election = next.election(ELECTION).format(format);
        let mut taken_over = election.take_over(id).unwrap();
        assert!(election.take_over(id).is_err());
        assert_eq!(taken_over.elected().await.unwrap().token(), leadership.token());
        assert_eq!(server.children(ELECTION).len(), 1);
        taken_over.withdraw().await.unwrap();
        assert!(server.children(ELECTION).is_empty());
    }
}

/// It is told of once, and its end is noticed.
#[tokio::test(start_paused = true)]
async fn none_leads_beside_a_participant_of_another_format() {
    let (journal, _guard) = Journal::begin();
    let server = Server::new();
    let (client, other) = (server.client().await, server.client().await);
    for node in ["/deep", ELECTION] {
        client.create(node, "", CreateMode::Persistent).await.unwrap();
    }
    let foreign = format!("{ELECTION}/n_");
    other.create(&foreign, "", CreateMode::EphemeralSequential).await.unwrap();
    let mut nomination = client.election(ELECTION).nominate().unwrap();
    settle().await;
    assert_eq!(nomination.status().role, Role::Standing);
    let requests = server.requested().len();
    wait(5).await;
    assert_eq!(server.requested().len(), requests, "it waits in silence");
    let told = journal.of("event a sequential znode of another format");
    assert!(told.len() == 1 && told[0].contains("foreign=n_0000000000"), "{told:?}");
    assert_eq!(journal.of("event blocked").len(), 1);
    wait(600).await;
    assert!(journal.of("event blocked").len() > 1, "each look tells of it again");
    assert_eq!(journal.of("event a sequential znode of another format").len(), 1);

    let lock = client.lock(ELECTION).try_lock().await;
    assert!(matches!(lock, Err(LockError::OtherFormat { .. })), "{lock:?}");
    other.close().await.unwrap();
    settle().await;
    nomination.elected().await.unwrap();
}

/// The sign of go-leaderelection that the election is over.
#[tokio::test(start_paused = true)]
async fn an_election_that_is_over_ends_its_nominations() {
    let server = Server::new();
    let (client, other) = (server.client().await, server.client().await);
    let election = |client: &Client| client.election(ELECTION).format(Format::go_leaderelection());
    let mut first = election(&client).nominate().unwrap();
    let leadership = first.elected().await.unwrap();
    let mut second = election(&other).nominate().unwrap();
    settle().await;
    let watched = server.requests(OpCode::EXISTS);
    client.create(&format!("{ELECTION}/DONE"), "", CreateMode::Persistent).await.unwrap();
    settle().await;
    // For the sign; and before each deletes its znode, it looks which one its session owns.
    assert_eq!(server.requests(OpCode::EXISTS), watched + 5);
    assert_eq!(leadership.lost().await, LostReason::ElectionEnded);
    let over = EndReason::ElectionEnded;
    assert_eq!(first.elected().await.unwrap_err().reason, over);
    assert_eq!(second.elected().await.unwrap_err().reason, over);
    assert_eq!(election(&client).nominate().unwrap().elected().await.unwrap_err().reason, over);
    settle().await;
    assert_eq!(server.children(ELECTION), ["DONE"]);
}

/// A znode of another owner has the candidate's name when the server reads the confirmation.
#[tokio::test(start_paused = true)]
async fn in_a_format_without_ids_a_name_guards_no_write_and_confirms_nothing() {
    for format in WITHOUT_IDS {
        let server = Server::new();
        let client = server.client().await;
        let mut nomination = client.election(ELECTION).format(format).nominate().unwrap();
        let leadership = nomination.elected().await.unwrap();
        let write = leadership.transaction().create("/written", "", CreateMode::Persistent);
        let refused = write.commit().await.map(drop);
        assert_eq!(refused, Err(TransactionError::NamesRecur), "{format:?}");
        assert_eq!(client.exists("/written").await, Ok(None), "{format:?}");
        assert_eq!(leadership.confirm().await, Ok(()), "{format:?}");

        let candidate = format!("{ELECTION}/{}", leadership.candidate());
        server.read_only_next(0);
        let mut confirmed = pin!(leadership.confirm());
        let mut cx = Context::from_waker(Waker::noop());
        assert!(confirmed.as_mut().poll(&mut cx).is_pending());
        let raw = server.raw();
        raw.delete(&candidate).expect("it stands");
        raw.create(&candidate, WireMode::PERSISTENT).expect("there is none");
        server.read_freely();
        assert_eq!(confirmed.await, Err(TransactionError::NotHeld), "{format:?}");

        let guard = client.lock("/lock").format(format).lock().await.unwrap();
        assert_eq!(guard.confirm().await, Ok(()), "{format:?}");
        let refused = guard.transaction().commit().await.map(drop);
        assert_eq!(refused, Err(TransactionError::NamesRecur), "{format:?}");
    }
}

/// As one that was deposed, and has not heard of it.
#[tokio::test(start_paused = true)]
async fn in_a_format_without_ids_no_epoch_begins_after_that_of_a_greater_token() {
    for format in WITHOUT_IDS {
        let server = Server::new();
        let client = server.client().await;
        let mut nomination = client.election(ELECTION).format(format).nominate().unwrap();
        let leadership = nomination.elected().await.unwrap();
        let epoch = leadership.epoch().await.unwrap();
        assert_eq!(leadership.epoch().await, Ok(epoch.clone()), "{format:?}");
        leadership.acknowledge(b"ready").await.unwrap();

        let next = format!("token: {}\n", leadership.token().get() + 1);
        client.set_data(epoch.path(), next, Version::ANY).await.unwrap();
        assert_eq!(leadership.epoch().await, Err(TransactionError::NotHeld), "{format:?}");
        let late = leadership.acknowledge(b"late").await;
        assert_eq!(late, Err(TransactionError::NotHeld), "{format:?}");
    }
}
