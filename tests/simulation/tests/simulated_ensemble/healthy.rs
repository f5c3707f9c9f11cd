//! An ensemble in which nothing goes wrong.

use zk_embedded::replication::Txn;
use zk_jute::ErrorCode;
use zk_jute::records::CreateMode;
use zk_simulation::ensemble::{MemberId, MemberRole};

use crate::network::{Network, TICK};

#[test]
fn members_elect_within_two_ticks() {
    for size in [1, 2, 3, 5, 7] {
        for seed in 0..50 {
            let mut network = Network::with_bad_clocks(size, seed);
            let leader = network.wait(TICK * 2, "a leader", Network::settled);
            assert_eq!(network.member(leader).role(), MemberRole::Leading);
        }
    }
}

/// Every member takes writes, and all show the same in the end.
#[test]
fn writes_reach_every_member() {
    for seed in 0..50 {
        let mut network = Network::new(3, seed);
        network.settle();
        let clients: Vec<_> =
            network.ids().into_iter().map(|member| network.established(member)).collect();
        for round in 0..3 {
            for (index, client) in clients.iter().enumerate() {
                network.create(*client, &format!("/n{round}-{index}"), CreateMode::PERSISTENT);
            }
        }
        for client in &clients {
            for round in 0..3 {
                let reply = network.answer(*client);
                assert_eq!(reply.error, ErrorCode::OK);
                assert!(reply.path().starts_with(&format!("/n{round}-")));
            }
        }
        network.pass(TICK);
        let first = network.member(MemberId(1)).database();
        assert!(network.members().all(|member| member.database() == first));
        assert_eq!(first.sessions().len(), 3);
        // Three sessions began, nine znodes were created, in the first epoch.
        assert_eq!(first.last_zxid().get(), (1 << 32) + 12);
    }
}

/// A follower that lags answers from the past, until a `sync`.
#[test]
fn sync_shows_everything_committed_before_it() {
    for seed in 0..50 {
        let mut network = Network::new(3, seed);
        let leader = network.settle();
        let follower = network.ids().into_iter().find(|id| *id != leader).expect("a follower");
        let [writer, reader] = [leader, follower].map(|member| network.established(member));
        network.delay(leader, follower, 40..=40);
        network.create(writer, "/a", CreateMode::PERSISTENT);
        assert_eq!(network.answer(writer).error, ErrorCode::OK);
        network.exists(reader, "/a");
        assert_eq!(network.reply(reader).expect("at once").error, ErrorCode::NO_NODE);
        network.sync(reader);
        network.exists(reader, "/a");
        assert_eq!(network.reply(reader), None, "what follows a sync waits for it");
        let synced = network.answer(reader);
        assert_eq!(synced.error, ErrorCode::OK);
        assert_eq!(synced.zxid, network.agreement.last());
        assert_eq!(network.answer(reader).error, ErrorCode::OK);
    }
}

/// `sync` waits for what was proposed before it, and answers keep the order of the requests.
#[test]
fn a_sync_between_writes_is_answered_between_them() {
    let mut network = Network::new(3, 1);
    network.settle();
    for member in network.ids() {
        let client = network.established(member);
        let mut asked = Vec::new();
        for round in 0..5 {
            let path = format!("/{}-{round}", member.0);
            asked.push(network.create(client, &path, CreateMode::PERSISTENT));
            asked.push(network.sync(client));
        }
        let answered: Vec<_> = asked.iter().map(|_| network.answer(client).xid).collect();
        assert_eq!(answered, asked);
    }
}

/// Without clients only heartbeats are exchanged: two messages a follower each half tick.
#[test]
fn an_idle_ensemble_only_beats() {
    let mut network = Network::new(3, 1);
    network.settle();
    network.pass(TICK);
    network.said.clear();
    network.pass(TICK * 10);
    let beats = network.said.len();
    assert!((76..=84).contains(&beats), "{beats}: {:?}", network.said);
    let said = network.said.iter().map(|(_, _, message)| format!("{message:?}"));
    assert!(said.into_iter().all(|text| text == "heartbeat" || text == "alive, heard of"));
    assert!(network.members().all(|member| member.log() == [] as [Txn; 0]));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let mut network = Network::with_bad_clocks(5, seed);
        network.pass(TICK * 10);
        format!("{:?}", network.said)
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}
