//! Nominees of one client in one election share their lists.

use core::time::Duration;

use election_tokio::Client;
use election_tokio::election::{Nomination, Role};
use zk_jute::OpCode;

use crate::server::{Server, settle, wait};

const ELECTION: &str = "/election";
const NOMINEES: usize = 60;

fn nominate(client: &Client, count: usize) -> Vec<Nomination> {
    let nominate = |_| client.election(ELECTION).nominate().expect("a nomination");
    (0..count).map(nominate).collect()
}

/// Whether one leads and each other one follows the next lower candidate.
fn are_in_place(server: &Server, nominations: &[Nomination]) -> bool {
    let mut names = server.children(ELECTION);
    names.sort_by_key(|name| name[name.len() - 10..].to_owned());
    let place = |nomination: &Nomination| {
        let status = nomination.status();
        let own = status.candidate.as_ref().map_or_else(String::new, ToString::to_string);
        let ahead = names.iter().position(|name| *name == own)?;
        match (ahead, status.role) {
            (0, Role::Leading { .. }) => Some(own),
            (_, Role::Following { predecessor, .. }) => {
                (predecessor == **names.get(ahead.checked_sub(1)?)?).then_some(own)
            }
            _ => None,
        }
    };
    let mut placed: Vec<_> = nominations.iter().filter_map(place).collect();
    placed.sort();
    placed.dedup();
    placed.len() == nominations.len() && names.len() == placed.len()
}

/// Each list has a name for each nominee: one for each nominee would be as many names squared.
#[tokio::test(start_paused = true)]
async fn a_list_serves_all_nominees_that_asked_before_it_was_sent() {
    let server = Server::new();
    let client = server.client().await;
    let nominations = nominate(&client, NOMINEES);
    settle().await;
    assert!(are_in_place(&server, &nominations));
    let lists = server.requests(OpCode::GET_CHILDREN);
    assert!(lists <= 4, "{lists} lists for {NOMINEES} nominees");
}

/// Each election has a list of its own; and no nominee is forgotten when nominations and elections
/// come and go.
#[tokio::test(start_paused = true)]
async fn elections_have_lists_of_their_own() {
    let server = Server::new();
    let client = server.client().await;
    let nominations = nominate(&client, 5);
    let mut elsewhere = client.election("/elsewhere").nominate().unwrap();
    elsewhere.elected().await.unwrap();
    settle().await;
    assert!(are_in_place(&server, &nominations));
    let mut left = nominations;
    while !left.is_empty() {
        let removed = left.remove(left.len() / 2);
        removed.withdraw().await.unwrap();
        settle().await;
        assert!(are_in_place(&server, &left), "{} left", left.len());
    }
}

/// A connection that is lost at any point, also while some wait for a list and others for the next.
#[tokio::test(start_paused = true)]
async fn nominees_that_wait_for_a_list_survive_a_lost_connection() {
    for steps in 0..60 {
        let server = Server::new();
        let client = server.client().await;
        server.read_only_next(steps);
        let nominations = nominate(&client, 8);
        settle().await;
        server.cut();
        server.read_freely();
        wait(5).await;
        assert!(are_in_place(&server, &nominations), "{steps}");
    }
}

/// The same for one that is dropped while the others wait with it.
#[tokio::test(start_paused = true)]
async fn nominees_that_leave_while_they_wait_for_a_list_leave_the_others_alone() {
    for steps in 0..60 {
        let server = Server::new();
        let client = server.client().await;
        server.read_only_next(steps);
        let mut nominations = nominate(&client, 8);
        settle().await;
        nominations.drain(2..5);
        server.read_freely();
        wait(5).await;
        assert!(are_in_place(&server, &nominations), "{steps}");
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(are_in_place(&server, &nominations), "{steps}");
    }
}
