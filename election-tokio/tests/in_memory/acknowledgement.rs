//! Leaders that say that they are ready.

use core::pin::pin;

use election_tokio::CreateMode;

use crate::server::{IDLE, Server, settle};

const ACKNOWLEDGEMENT: &str = "/election.acknowledged";

/// The acknowledgement of an earlier leader, whose session ends just now, is in nobody's way.
#[tokio::test(start_paused = true)]
async fn an_acknowledgement_replaces_one_that_goes_at_any_moment() {
    for steps in 0..4 {
        let server = Server::new();
        let earlier = server.client().await;
        let session = *server.state().sessions.keys().next().expect("its session");
        earlier.create(ACKNOWLEDGEMENT, b"", CreateMode::Ephemeral).await.unwrap();
        let client = server.client().await;
        let mut nomination = client.election("/election").nominate().unwrap();
        let leadership = nomination.elected().await.unwrap();
        settle().await;

        server.read_only_next(steps);
        let mut acknowledged = pin!(leadership.acknowledge(b"ready"));
        let early = tokio::time::timeout(IDLE, &mut acknowledged).await;
        server.state().end_session(session);
        server.read_freely();
        let acknowledged = match early {
            Ok(early) => early,
            Err(_) => acknowledged.await,
        };
        assert_eq!(acknowledged, Ok(()), "{steps}");
        let (data, stat) = client.get_data(ACKNOWLEDGEMENT).await.unwrap();
        assert!(data.ends_with(b"\n\nready"), "{steps}");
        assert_ne!(stat.ephemeral_owner, session, "{steps}");
    }
}
