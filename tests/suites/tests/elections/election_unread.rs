//! Elections with znodes that a client may not read, so that the server does not let it look at them
//! either (since ZooKeeper 3.8.4 and 3.9.2).

use core::time::Duration;

use election_tokio::acl::{Acls, Permissions};
use election_tokio::election::Election;
use election_tokio::format::Format;
use election_tokio::health::NomineeHealth;
use election_tokio::{Client, CreateMode, Version};
use zk_test_kit::election::{Arena, ELECTION, LASTING, leads};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::{Cut, Opcode, Proxy};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    a_create_in_doubt_is_found_below_a_candidate_that_may_not_be_read,
    a_stranger_that_may_not_be_read_ends_no_nomination;
}

/// How often a nominee looks without being told.
const LOOK: Duration = Duration::from_secs(1);

async fn client_of(servers: &str, credential: &[u8]) -> Result<Client, TestFailure> {
    let builder = Client::builder(servers).auth("digest", credential).look_interval(LOOK);
    Ok(builder.session_timeout(LASTING).connect_timeout(SOON).connect().await?)
}

/// Candidates without ids, which only their creators may read.
fn election(client: &Client) -> Election {
    client.election(ELECTION).format(Format::leader_election_support()).acls(Acls::creator_all())
}

/// The nominee has to find its candidate, although the reply to the create was lost: the candidate stands
/// before all others.
async fn a_create_in_doubt_is_found_below_a_candidate_that_may_not_be_read(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "unread").await?;
    arena.create_election_node().await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let one = client_of(&arena.servers_by(&proxy), b"one:secret").await?;
    let other = client_of(&arena.servers(), b"other:secret").await?;
    proxy.refuse();
    let cut = proxy.cut_when(Cut::instead_of_reply_to(Opcode::CREATE2));
    let mut first = election(&one).nominate()?;
    cut.wait(SOON)?;
    arena.wait_for_children(1).await?;
    let mut second = election(&other).nominate()?;
    arena.wait_for_children(2).await?;
    proxy.accept()?;
    let leadership = leads(&mut first).await?;
    arena.wait_for_children(2).await?;
    leadership.resign().await?;
    leads(&mut second).await?;
    Ok(())
}

/// Otherwise a client that may create children could end each nominee that is about to lead.
async fn a_stranger_that_may_not_be_read_ends_no_nomination(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "stranger").await?;
    arena.create_election_node().await?;
    let (path, mode) = (format!("{ELECTION}/n_"), CreateMode::PersistentSequential);
    let unread = Acls::new().digest_password(Permissions::ALL, "another", "secret");
    let stranger = arena.admin.create_with_acl(&path, "", mode, &unread).await?;
    let client = client_of(&arena.servers(), b"one:secret").await?;
    let mut nominee = client.election(ELECTION).nominate()?;
    arena.wait_for_children(2).await?;
    eventually_async(SOON, "the nominee has looked at the stranger", async || {
        use NomineeHealth::{Blocked, Ended, Leading};
        matches!(nominee.health().nominee, Blocked { .. } | Leading { .. } | Ended(_))
    })
    .await?;
    arena.admin.delete(&stranger.path, Version::ANY).await?;
    leads(&mut nominee).await?;
    Ok(())
}
