//! Reads of the candidates of an election, whatever participants have written.

use election_tokio::{CreateMode, ErrorKind};

use crate::server::Server;

const ELECTION: &str = "/election";

/// Ten candidates of ten kilobytes: all at once they are more than the client keeps of one reply.
#[tokio::test(start_paused = true)]
async fn the_data_of_all_candidates_is_capped_and_can_be_read_one_by_one() {
    let server = Server::new();
    let client = server.builder().max_reply(60_000).connect().await.unwrap();
    client.create(ELECTION, "", CreateMode::Persistent).await.unwrap();
    for _ in 0..10 {
        let path = format!("{ELECTION}/n-latch-");
        client.create(&path, vec![7; 10_000], CreateMode::EphemeralSequential).await.unwrap();
    }
    let election = client.election(ELECTION);
    let error = election.candidates().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ReplyTooLarge { length: 60_000 + 10_000, limit: 60_000 });
    assert_eq!(error.path(), ELECTION);

    let mut candidates = election.read_candidates().await.unwrap();
    assert_eq!(candidates.remaining(), 10);
    let mut numbers = Vec::new();
    while let Some(candidate) = candidates.next().await.unwrap() {
        assert_eq!(candidate.data.len(), 10_000);
        assert!(candidate.is_ephemeral());
        numbers.push(candidate.sequence.get());
    }
    assert_eq!(numbers, (0..10).collect::<Vec<_>>());

    client
        .delete(&format!("{ELECTION}/n-latch-0000000003"), election_tokio::Version::ANY)
        .await
        .unwrap();
    let others = server.builder().max_reply(90_000).connect().await.unwrap();
    assert_eq!(others.election(ELECTION).candidates().await.unwrap().len(), 9);
    assert_eq!(others.election("/none").candidates().await.unwrap(), []);
}

/// Such a znode blocks the candidates behind it, and is to be found.
#[tokio::test(start_paused = true)]
async fn a_candidate_whose_name_is_too_long_is_listed_in_its_place() {
    let server = Server::new();
    let client = server.client().await;
    client.create(ELECTION, "", CreateMode::Persistent).await.unwrap();
    let long = format!("{}-latch-0000000003", "x".repeat(300));
    let names = ["b-latch-0000000004", &long, "c-latch-0000000002"];
    for name in names {
        let path = format!("{ELECTION}/{name}");
        client.create(&path, name.to_owned(), CreateMode::Ephemeral).await.unwrap();
    }
    let candidates = client.election(ELECTION).candidates().await.unwrap();
    let shown: Vec<_> = candidates.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(shown, ["c-latch-0000000002", &long, "b-latch-0000000004"]);
    assert!(candidates.iter().all(|one| one.data == one.name));
}
