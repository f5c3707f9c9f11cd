//! Servers that speak ZooKeeper's protocol and are not Apache ZooKeeper: the profiles of the embedded
//! server, which are made from the sources of those servers.

use core::time::Duration;

use election_tokio::election::{Nomination, Role};
use election_tokio::ensemble::ServerFamily;
use election_tokio::lease::{LeaseGrade, LeaseOutlook};
use election_tokio::watch::WatchMode;
use election_tokio::{Client, ErrorKind};
use zk_embedded::Profile;
use zk_jute::OpCode;

use crate::server::{Server, wait};

const ELECTION: &str = "/election";
const TIMEOUT: Duration = Duration::from_secs(30);
const PROFILES: [Profile; 3] = [Profile::Keeper, Profile::KeeperBefore2512, Profile::RaftKeeper];
const GRADES: [LeaseGrade; 3] = [LeaseGrade::Contact, LeaseGrade::Sync, LeaseGrade::Quorum];

async fn nominee(server: &Server, grade: LeaseGrade) -> (Client, Nomination) {
    let builder = server.builder().session_timeout(TIMEOUT).lease_grade(grade);
    let client = builder.connect().await.unwrap();
    let nomination = client.election(ELECTION).nominate().unwrap();
    wait(120).await;
    (client, nomination)
}

/// A member of Keeper that shuts down in order ends the sessions of its clients at once. The next
/// nominee leads while the client of the one before it finds no other member.
#[tokio::test(start_paused = true)]
async fn where_sessions_end_before_their_time_no_two_leaders_are_valid() {
    for profile in PROFILES {
        for grade in GRADES {
            let server = Server::like(profile);
            let (first, mut one) = nominee(&server, grade).await;
            let (_second, mut other) = nominee(&server, grade).await;
            let led = one.try_elected().unwrap();
            server.refuse();
            server.state().expire(first.session_id().unwrap());
            wait(1).await;
            let leads = other.try_elected().unwrap();
            let valid = [led, leads].map(|held| held.is_some_and(|held| held.is_valid()));
            assert_ne!(valid, [true, true], "{profile:?}, {grade:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_nominee_is_told_why_no_lease_holds() {
    let server = Server::new();
    let (client, mut nomination) = nominee(&server, LeaseGrade::Quorum).await;
    assert_eq!(client.server_family(), Some(ServerFamily::ZooKeeper));
    assert!(nomination.try_elected().unwrap().is_some());
    for profile in PROFILES {
        let server = Server::like(profile);
        let (client, nomination) = nominee(&server, LeaseGrade::Quorum).await;
        let family = ServerFamily::KeeperLike;
        assert_eq!(client.server_family(), Some(family), "{profile:?}");
        let role = Role::AwaitingLease { outlook: LeaseOutlook::NoLease { family } };
        assert_eq!(nomination.status().role, role, "{profile:?}");
    }
}

/// A leader of the grade `Advisory` leads, although `create2` is not known there, until its connection ends.
/// Then its candidate of the former session is deleted, and not waited for.
#[tokio::test(start_paused = true)]
async fn an_advisory_lease_ends_with_the_connection() {
    for profile in PROFILES.into_iter().chain([Profile::ZooKeeper]) {
        let server = Server::like(profile);
        let (_client, mut nomination) = nominee(&server, LeaseGrade::Advisory).await;
        let led = nomination.try_elected().unwrap().expect("it leads");
        assert!(led.is_valid(), "{profile:?}");
        wait(100).await;
        assert!(led.is_valid(), "pings keep it: {profile:?}");
        led.transaction()
            .create("/done", "", election_tokio::CreateMode::Persistent)
            .commit()
            .await
            .unwrap();
        server.refuse();
        server.cut();
        wait(1).await;
        assert!(!led.is_valid(), "{profile:?}");
        server.accept();
        wait(12).await;
        let again = nomination.try_elected().unwrap().expect("it leads again");
        assert!(again.is_valid() && again.token() >= led.token(), "{profile:?}");
        assert_eq!(server.children(ELECTION).len(), 1, "{profile:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_operation_over_which_connections_end_is_not_asked_for_for_ever() {
    for profile in [Profile::KeeperBefore2512, Profile::RaftKeeper] {
        let server = Server::like(profile);
        let (client, _nomination) = nominee(&server, LeaseGrade::Advisory).await;
        wait(3600).await;
        assert_eq!(server.requests(OpCode::CREATE2), 2, "{profile:?}");
        let mut kinds = Vec::new();
        for _ in 0..3 {
            let watched = client.add_watch("/", WatchMode::Persistent).await;
            kinds.push(watched.expect_err("it is not known").kind());
            wait(60).await;
        }
        assert!(matches!(kinds[2], ErrorKind::Unsupported { .. }), "{profile:?}: {kinds:?}");
        assert_eq!(server.requests(OpCode::ADD_WATCH), 2, "{profile:?}");
        assert!(server.state().accepted < 12, "{profile:?}: {}", server.state().accepted);
    }
}
