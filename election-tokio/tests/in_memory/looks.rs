//! Looks, by which a nominee finds out what a server has kept from it.

use core::time::Duration;

use election_tokio::election::{Nomination, Role};
use election_tokio::lease::LeaseGrade;
use election_tokio::{Client, ErrorCode};
use tokio::time::timeout;
use zk_jute::OpCode;

use crate::lies::Lie;
use crate::server::{Server, settle, wait};

const ELECTION: &str = "/election";
const INTERVAL: Duration = Duration::from_secs(60);

async fn client(server: &Server) -> Client {
    server.builder().session_timeout(Duration::from_secs(6)).connect().await.expect("a session")
}

async fn in_place(client: &Client, election: &str) -> Nomination {
    let nomination = client.election(election).nominate().expect("a nomination");
    let stands = |role: &Role| matches!(role, Role::Following { .. } | Role::Leading { .. });
    nomination.updates().wait_for(|status| stands(&status.role)).await.expect("a place");
    nomination
}

fn candidate(nomination: &Nomination) -> String {
    let candidate = nomination.status().candidate.expect("it stands");
    format!("{ELECTION}/{candidate}")
}

#[tokio::test(start_paused = true)]
async fn a_follower_that_is_told_nothing_leads_after_its_next_look() {
    let server = Server::new();
    let (first, second) = (client(&server).await, client(&server).await);
    let leader = in_place(&first, ELECTION).await;
    let mut follower = in_place(&second, ELECTION).await;
    server.delete_silently(&candidate(&leader));
    let before = tokio::time::Instant::now();
    let elected = timeout(INTERVAL * 10, follower.elected()).await;
    elected.expect("it finds out").unwrap();
    let taken = before.elapsed();
    assert!(taken <= INTERVAL * 5 / 4 + Duration::from_secs(3), "{taken:?}");
}

#[tokio::test(start_paused = true)]
async fn the_interval_of_looks_can_be_chosen() {
    let server = Server::new();
    let second = server.builder().look_interval(Duration::from_secs(4)).connect().await.unwrap();
    let first = client(&server).await;
    let leader = in_place(&first, ELECTION).await;
    let mut follower = in_place(&second, ELECTION).await;
    server.delete_silently(&candidate(&leader));
    let before = tokio::time::Instant::now();
    let elected = timeout(INTERVAL * 10, follower.elected()).await;
    elected.expect("it finds out").unwrap();
    assert!(before.elapsed() <= Duration::from_secs(6), "{:?}", before.elapsed());
}

/// All look at the same moment, and share the list. Leaders read their candidates.
#[tokio::test(start_paused = true)]
async fn a_look_costs_one_list_an_election() {
    let server = Server::new();
    let (first, second) = (client(&server).await, client(&server).await);
    let _leaders = [in_place(&first, ELECTION).await, in_place(&first, "/other").await];
    let mut followers = Vec::new();
    for _ in 0..20 {
        followers.push(in_place(&second, ELECTION).await);
        followers.push(in_place(&second, "/other").await);
    }
    // At its first look, each follower that is not next to lead begins to watch its own candidate.
    tokio::time::sleep(INTERVAL * 2).await;
    let requests = || [OpCode::GET_CHILDREN, OpCode::GET_DATA].map(|kind| server.requests(kind));
    let before = requests();
    tokio::time::sleep(INTERVAL * 20).await;
    let [lists, reads] = requests();
    assert!((2 * 16..=2 * 26).contains(&(lists - before[0])), "{} lists", lists - before[0]);
    assert!((2 * 16..=2 * 26).contains(&(reads - before[1])), "{} reads", reads - before[1]);
}

/// No client looks without a nominee: an idle client costs what keeps its session and its lease.
#[tokio::test(start_paused = true)]
async fn a_client_without_nominees_does_not_look() {
    let server = Server::new();
    let client = client(&server).await;
    in_place(&client, ELECTION).await.withdraw().await.unwrap();
    wait(200).await;
    let looks = || [OpCode::GET_CHILDREN, OpCode::GET_DATA].map(|kind| server.requests(kind));
    let before = looks();
    wait(2000).await;
    assert_eq!(looks(), before);
    let nomination = in_place(&client, ELECTION).await;
    let before = server.requests(OpCode::GET_DATA);
    wait(200).await;
    assert!(server.requests(OpCode::GET_DATA) > before, "it looks again");
    drop(nomination);
}

/// Makes a nomination that fails after its create, and loses its deletion with the connection.
async fn failed(server: &Server, client: &Client) -> Nomination {
    server.lie_about(OpCode::GET_DATA, Lie::Code(ErrorCode::SYSTEM_ERROR));
    server.lie_about(OpCode::DELETE, Lie::Silence);
    let mut nomination = client.election(ELECTION).nominate().unwrap();
    nomination.elected().await.unwrap_err();
    assert_eq!(server.children(ELECTION).len(), 1, "it is left behind");
    nomination
}

/// Also where the holder has dropped it, and does not care.
#[tokio::test(start_paused = true)]
async fn what_a_failed_nomination_leaves_behind_is_deleted_in_the_end() {
    for is_dropped in [false, true] {
        let server = Server::new();
        // Behind an answer that is missing, no server gives another one: a `sync` would end the
        // connection.
        let client = server.builder().lease_grade(LeaseGrade::Contact).connect().await.unwrap();
        let mut nomination = Some(failed(&server, &client).await);
        let status = nomination.as_ref().map(Nomination::status);
        if is_dropped {
            nomination = None;
        }
        settle().await;
        for _ in 0..3 {
            server.refuse();
            server.lie_about(OpCode::DELETE, Lie::Silence);
            server.cut();
            wait(1).await;
            server.accept();
            wait(3).await;
            assert_eq!(server.children(ELECTION).len(), 1, "its deletion is lost again");
        }
        server.state().lies.clear();
        server.cut();
        wait(3).await;
        assert!(server.children(ELECTION).is_empty(), "{is_dropped}");
        assert_eq!(nomination.as_ref().map(Nomination::status), status.filter(|_| !is_dropped));
        let deletes = server.requests(OpCode::DELETE);
        server.cut();
        wait(200).await;
        assert_eq!(server.requests(OpCode::DELETE), deletes, "once is enough");
    }
}

/// The session takes along what is owed: nothing is left to do for the client that comes after it.
#[tokio::test(start_paused = true)]
async fn what_is_owed_ends_with_the_session() {
    let server = Server::new();
    let client = client(&server).await;
    let nomination = failed(&server, &client).await;
    let mut status = nomination.updates();
    assert_eq!(status.next().await, None, "the status is the last one");
    server.expire();
    wait(3).await;
    let deletes = server.requests(OpCode::DELETE);
    assert!(server.children(ELECTION).is_empty());
    server.cut();
    wait(200).await;
    assert_eq!(server.requests(OpCode::DELETE), deletes);
}

/// A server with too much to do has not looked at the request: it is made again a second later.
#[tokio::test(start_paused = true)]
async fn what_is_owed_is_asked_for_again_where_the_server_had_too_much_to_do() {
    let server = Server::new();
    let client = client(&server).await;
    server.lie_about(OpCode::GET_DATA, Lie::Code(ErrorCode::SYSTEM_ERROR));
    for _ in 0..2 {
        server.lie_about(OpCode::DELETE, Lie::Code(ErrorCode::THROTTLED_OP));
    }
    let mut nomination = client.election(ELECTION).nominate().unwrap();
    nomination.elected().await.unwrap_err();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!((server.requests(OpCode::DELETE), server.children(ELECTION).len()), (1, 1));
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!((server.requests(OpCode::DELETE), server.children(ELECTION).len()), (3, 0));
    client.close().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_nominee_is_elected_although_the_server_has_too_much_to_do_at_first() {
    let server = Server::new();
    let client = client(&server).await;
    for opcode in [OpCode::CREATE, OpCode::CREATE, OpCode::GET_DATA, OpCode::GET_CHILDREN] {
        server.lie_about(opcode, Lie::Code(ErrorCode::THROTTLED_OP));
    }
    let mut nomination = client.election(ELECTION).nominate().unwrap();
    let leadership = timeout(Duration::from_secs(10), nomination.elected()).await;
    assert!(leadership.expect("within seconds").expect("no failure").is_valid());
    assert_eq!(server.children(ELECTION).len(), 1, "each time it was asked, nothing was done");
    client.close().await.unwrap();
}
