//! Observers of an election, and third parties that ask whether a token leads.

use election_tokio::election::{
    Acknowledgement, Follow, ForeignZnode, Leadership, Nomination, Observation, Observer, Verdict,
};
use election_tokio::{Client, CreateMode, Token, Version};
use zk_jute::OpCode;

use crate::cancellation::{DropAfter, at_every_await_point, run_until};
use crate::server::{Server, settle, wait};

async fn leader(client: &Client) -> (Nomination, Leadership) {
    let mut nomination = client.election("/election").data("host-1").nominate().unwrap();
    let leadership = nomination.elected().await.unwrap();
    (nomination, leadership)
}

async fn sees(observer: &mut Observer, token: Token) -> Observation {
    let sees = |seen: &Observation| seen.leader().is_some_and(|leader| leader.token == token);
    observer.wait_for(sees).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_observer_sees_who_leads_and_what_it_says() {
    let server = Server::new();
    let (client, other) = (server.client().await, server.client().await);
    let election = other.election("/election");
    let mut observer = election.observe(Follow::LeaderAndAcknowledgement).unwrap();
    assert_eq!(observer.latest(), Observation::Unknown);
    assert_eq!(observer.next().await, Some(Observation::Vacant), "there is no election node");
    let (nomination, leadership) = leader(&client).await;
    let Observation::Led(seen) = sees(&mut observer, leadership.token()).await else { panic!() };
    assert_eq!(
        (seen.candidate.to_string(), &seen.data[..]),
        (leadership.candidate().to_string(), &b"host-1"[..])
    );
    assert_eq!(Some(seen.session), nomination.status().session);
    assert_eq!(seen.acknowledgement, Acknowledgement::Awaited);
    wait(2).await;
    leadership.acknowledge(b"ready").await.unwrap();
    let Some(Observation::Led(ready)) = observer.next().await else { panic!() };
    assert_eq!(ready.acknowledgement, Acknowledgement::Given("ready".into()));
    assert_eq!(ready.since, seen.since);

    // The acknowledgement of an earlier leader is not one of this leader.
    let path = format!("/election/{}", leadership.candidate());
    let follower = other.election("/election").nominate().unwrap();
    settle().await;
    other.delete(&path, Version::ANY).await.unwrap();
    let token = follower
        .updates()
        .wait_for(|it| matches!(it.role, election_tokio::election::Role::Leading { .. }))
        .await;
    let election_tokio::election::Role::Leading { token } = token.unwrap().role else { panic!() };
    let Observation::Led(next) = sees(&mut observer, token).await else { panic!() };
    assert_eq!(next.acknowledgement, Acknowledgement::Awaited);
    assert!(next.since > seen.since);
}

/// A nominee that joins or withdraws is nothing to an observer, however many there are; the end of a
/// leader costs each of them a list and a read.
#[tokio::test(start_paused = true)]
async fn observers_are_woken_by_the_leaders_end_alone() {
    let server = Server::new();
    let (client, other) = (server.client().await, server.client().await);
    let (nomination, leadership) = leader(&client).await;
    let follower = client.election("/election").nominate().unwrap();
    settle().await;
    let watches = server.watches();
    let election = other.election("/election");
    let mut observers: Vec<_> =
        (0..10).map(|_| election.observe(Follow::Leader).unwrap()).collect();
    settle().await;
    // One for each observer, of which one client needs the server to keep but one.
    assert_eq!(server.watches(), watches + 1);
    let asked = |server: &Server| {
        (server.requests(OpCode::GET_DATA), server.requests(OpCode::GET_CHILDREN))
    };
    let joined = client.election("/election").nominate().unwrap();
    settle().await;
    joined.withdraw().await.unwrap();
    settle().await;
    for observer in &mut observers {
        let seen = sees(observer, leadership.token()).await;
        assert_eq!(seen.leader().unwrap().acknowledgement, Acknowledgement::Unknown);
    }
    let (reads, _) = asked(&server);
    follower.withdraw().await.unwrap();
    settle().await;
    assert_eq!(asked(&server).0, reads);
    nomination.withdraw().await.unwrap();
    for observer in &mut observers {
        assert_eq!(observer.next().await, Some(Observation::Vacant));
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_goes_on_over_lost_connections_and_expired_sessions() {
    let server = Server::new();
    let client = server.client().await;
    let mut observer = client.election("/election").observe(Follow::Leader).unwrap();
    let (mut nomination, leadership) = leader(&client).await;
    sees(&mut observer, leadership.token()).await;
    server.cut();
    wait(3).await;
    let path = format!("/election/{}", leadership.candidate());
    client.set_data(&path, "written", Version::ANY).await.unwrap();
    let Some(Observation::Led(written)) = observer.next().await else { panic!() };
    assert_eq!((written.token, &written.data[..]), (leadership.token(), &b"written"[..]));
    server.expire();
    wait(3).await;
    let next = nomination.elected().await.unwrap();
    assert!(next.token() > leadership.token());
    sees(&mut observer, next.token()).await;
    client.close().await.unwrap();
    while observer.next().await.is_some() {}
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_is_dropped_anywhere_leaves_no_watch() {
    for follow in [Follow::Leader, Follow::LeaderAndAcknowledgement] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            client.create("/election", "", CreateMode::Persistent).await.unwrap();
            let seen = run_until(&server, end, async {
                client.election("/election").observe(follow).unwrap().next().await
            })
            .await;
            wait(3).await;
            // A watch that the client still wanted would be set anew.
            server.cut();
            wait(3).await;
            assert_eq!(server.watches(), 0, "{end:?}");
            assert_eq!(server.requests(OpCode::SET_WATCHES), 0, "{end:?}");
            client.exists("/election").await.unwrap();
            seen.is_some()
        })
        .await;
    }
}

/// A candidate that is to lead may be known to a third party before it does.
#[tokio::test(start_paused = true)]
async fn a_token_is_verified_behind_a_quorum() {
    let server = Server::new();
    let (client, other) = (server.client().await, server.client().await);
    let election = other.election("/election");
    assert_eq!(election.verify(Token::new(1)).await, Ok(Verdict::Over { leader: None }));
    let (_nomination, leadership) = leader(&client).await;
    let token = leadership.token();
    let multis = server.requests(OpCode::MULTI);
    assert_eq!(election.verify(token).await, Ok(Verdict::Leads));
    assert!(server.requests(OpCode::MULTI) > multis, "a quorum was not asked");
    let greater = Token::new(token.get() + 1);
    assert_eq!(election.verify(greater).await, Ok(Verdict::NotYet { leader: token }));
    leadership.step_down().await.unwrap();
    settle().await;
    let Ok(Verdict::Over { leader: Some(next) }) = election.verify(token).await else { panic!() };
    assert!(next > token);
}

/// The nominee waits for the end of a participant of another format, whichever of its session's or of none it passes
/// over.
#[tokio::test(start_paused = true)]
async fn a_token_that_was_handed_to_no_nominee_is_not_verified() {
    let server = Server::new();
    let (client, other) = (server.client().await, server.client().await);
    other.create("/election", "", CreateMode::Persistent).await.unwrap();
    let foreign = "/election/x__lock__0000000000";
    other.create("/election/a__lock__0000000001", "", CreateMode::Persistent).await.unwrap();
    other.create(foreign, "", CreateMode::Ephemeral).await.unwrap();
    let election = client.election("/election");
    let mut nomination = election.clone().nominate().unwrap();
    settle().await;
    let mut observer = election.observe(Follow::LeaderAndAcknowledgement).unwrap();
    let seen = observer.wait_for(|seen| *seen != Observation::Unknown).await.unwrap();
    let Observation::Blocked { first, by } = seen else { panic!("{seen:?}") };
    assert_eq!(by, ForeignZnode::Named("x__lock__0000000000".to_owned()));
    assert_eq!(nomination.try_elected().unwrap().map(|it| it.token()), None);
    assert_eq!(election.verify(first.token).await, Ok(Verdict::Blocked { by }));
    let less = Token::new(first.token.get() - 1);
    assert_eq!(
        election.verify(less).await,
        Ok(Verdict::Over { leader: Some(first.token) }),
        "a token before it"
    );
    other.delete(foreign, Version::ANY).await.unwrap();
    let leadership = nomination.elected().await.unwrap();
    assert_eq!(leadership.token(), first.token);
    sees(&mut observer, first.token).await;
    assert_eq!(election.verify(first.token).await, Ok(Verdict::Leads));

    // A leader that has acknowledged leads, whatever comes beside it.
    leadership.acknowledge(b"ready").await.unwrap();
    other.create(foreign, "", CreateMode::Ephemeral).await.unwrap();
    let mut late = election.observe(Follow::LeaderAndAcknowledgement).unwrap();
    let seen = late.wait_for(|seen| *seen != Observation::Unknown).await.unwrap();
    assert_eq!(seen.leader().map(|leader| leader.token), Some(first.token), "{seen:?}");

    let forged = "/other/a-latch-0000000000";
    other.create("/other", "", CreateMode::Persistent).await.unwrap();
    other.create(forged, "", CreateMode::Persistent).await.unwrap();
    let token = Token::new(other.exists(forged).await.unwrap().unwrap().czxid.get());
    assert_eq!(client.election("/other").verify(token).await, Ok(Verdict::NotEphemeral));
}

#[tokio::test(start_paused = true)]
async fn a_verification_dropped_anywhere_leaves_nothing() {
    at_every_await_point(async |end| {
        let server = Server::new();
        let client = server.client().await;
        let (nomination, leadership) = leader(&client).await;
        let token = leadership.token();
        let verdict = run_until(&server, end, client.election("/election").verify(token)).await;
        assert!(matches!(verdict, None | Some(Ok(Verdict::Leads))), "{end:?} {verdict:?}");
        nomination.withdraw().await.unwrap();
        wait(2).await;
        assert_eq!(server.watches(), 0, "{end:?}");
        let is_polled = !matches!(end, DropAfter::Polls(0));
        is_polled && verdict.is_some()
    })
    .await;
}
