//! A leader that tells others that it has taken over.

use election_tokio::Client;
use election_tokio::election::{Leadership, Nomination};
use zk_jute::records::CreateMode as WireMode;

use crate::server::{Server, settle};

const PATH: &str = "/election.acknowledged";

async fn leader(client: &Client) -> (Nomination, Leadership) {
    let mut nomination = client.election("/election").nominate().unwrap();
    let leadership = nomination.elected().await.unwrap();
    (nomination, leadership)
}

#[tokio::test(start_paused = true)]
async fn an_acknowledgement_names_its_leader_and_replaces_the_last_one() {
    let server = Server::new();
    let (first, second) = (server.client().await, server.client().await);
    let (nomination, leadership) = leader(&first).await;
    leadership.acknowledge(b"one").await.unwrap();
    let token = leadership.token();
    let expected = format!("token: {token}\nnominee: {}\n\none", nomination.id());
    assert_eq!(second.get_data(PATH).await.unwrap().0, expected);
    nomination.withdraw().await.unwrap();

    let (nomination, leadership) = leader(&second).await;
    assert!(leadership.token() > token);
    for data in ["two", "three"] {
        leadership.acknowledge(data.as_bytes()).await.unwrap();
        let (content, stat) = first.get_data(PATH).await.unwrap();
        let (token, id) = (leadership.token(), nomination.id());
        assert_eq!(content, format!("token: {token}\nnominee: {id}\n\n{data}"));
        assert_eq!(Some(stat.ephemeral_owner), nomination.status().session);
    }
    second.close().await.unwrap();
    assert_eq!(first.exists(PATH).await.unwrap(), None);
}

/// That of an earlier leader goes with its session: between any two requests of the next one.
#[tokio::test(start_paused = true)]
async fn the_last_acknowledgement_may_go_at_any_moment() {
    for frames in 0..4 {
        let server = Server::new();
        let client = server.client().await;
        let (_nomination, leadership) = leader(&client).await;
        let earlier = server.raw();
        earlier.create(PATH, WireMode::EPHEMERAL).unwrap();
        server.read_only_next(frames);
        let acknowledging = tokio::spawn(async move { leadership.acknowledge(b"").await });
        settle().await;
        server.state().expire(earlier.id());
        server.read_freely();
        assert_eq!(acknowledging.await.unwrap(), Ok(()), "after {frames} frames");
        let owner = client.exists(PATH).await.unwrap().map(|stat| stat.ephemeral_owner);
        assert!(
            owner.is_some_and(|owner| owner != earlier.id()),
            "after {frames} frames: {owner:?}"
        );
    }
}
