//! A recipe that none of the published crates knows, on real servers: `Client::stand` takes it as it
//! is.

#[path = "../../../../election-session/tests/toy/mod.rs"]
mod toy;

use election_tokio::recipe::{RecipeEnd, RecipeUpdate, Standing};
use election_tokio::{Client, CreateMode, Version};
use toy::{Notice, Player};
use zk_test_kit::election::soon;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::server::ServerKind;

const NAMES: [&str; 3] = ["anna", "bert", "carl"];

on_both_servers! {
    #[tokio::test]
    the_first_to_write_wins_each_round,
    a_player_that_is_dropped_takes_its_znode_along;
}

/// Returns the notices of a player until it is over.
async fn play(mut player: Standing<Notice>) -> Vec<Notice> {
    let mut notices = Vec::new();
    while let Some(told) = player.next().await {
        match told {
            RecipeUpdate::Notice(notice) => notices.push(notice),
            RecipeUpdate::Over(end) => assert_eq!(end, RecipeEnd::Finished),
            // It holds nothing.
            other => unreachable!("{other:?}"),
        }
    }
    notices
}

async fn client(server: ServerKind, chroot: &str) -> Result<Client, TestFailure> {
    let connect_string = format!("{}{chroot}", server.shared()?.connect_string());
    Ok(Client::builder(&connect_string).connect().await?)
}

async fn the_first_to_write_wins_each_round(server: ServerKind) -> TestResult {
    let chroot = server.shared()?.fresh_chroot("rounds")?;
    let clients = [
        client(server, &chroot).await?,
        client(server, &chroot).await?,
        client(server, &chroot).await?,
    ];
    for round in 0..5 {
        let path = format!("/round-{round}");
        let players = clients.iter().zip(NAMES).map(|(client, name)| {
            let player = client.stand(&path, Player::new(name, NAMES.len()));
            tokio::spawn(play(player.expect("the path is right")))
        });
        let players: Vec<_> = players.collect();
        let [referee, ..] = &clients;
        referee.create(&format!("{path}.go"), "", CreateMode::Persistent).await?;
        let mut winners = Vec::new();
        for (player, name) in players.into_iter().zip(NAMES) {
            let end = soon(&format!("{name} has played"), player).await??.pop();
            assert!(matches!(end, Some(Notice::Won | Notice::Lost)), "{name}: {end:?}");
            winners.extend((end == Some(Notice::Won)).then_some(name));
        }
        assert_eq!(winners.len(), 1, "round {round} was won by {winners:?}");
        let winner = winners.concat();
        let (signature, stat) = referee.get_data(&path).await?;
        assert_eq!((&*signature, stat.version), (winner.as_bytes(), Version::new(1)));
        assert_eq!(referee.get_children(&path).await?.iter().count(), 0, "nothing stays behind");
    }
    Ok(())
}

async fn a_player_that_is_dropped_takes_its_znode_along(server: ServerKind) -> TestResult {
    let chroot = server.shared()?.fresh_chroot("rounds")?;
    let client = client(server, &chroot).await?;
    let mut player = client.stand("/round", Player::new("anna", 2))?;
    assert_eq!(player.next().await, Some(RecipeUpdate::Notice(Notice::AwaitsGo)));
    let (joined, gone) = client.exists_and_watch("/round/anna").await?;
    assert!(joined.is_some());
    drop(player);
    gone.await?;
    Ok(())
}
