//! Members that cannot hear each other, are paused, or end.

use core::time::Duration;

use zk_jute::ErrorCode;
use zk_jute::records::CreateMode;
use zk_simulation::ensemble::{MemberId, MemberRole};

use crate::network::{Network, SYNC_LIMIT, TICK};

const STEP: Duration = Duration::from_millis(1);

fn followers_of(network: &Network, leader: MemberId) -> Vec<MemberId> {
    network.ids().into_iter().filter(|id| *id != leader).collect()
}

/// Returns the leader of the others, whatever the old one says.
fn new_leader(network: &Network, old: MemberId) -> Option<MemberId> {
    let leads = |id: &MemberId| {
        let member = network.member(*id);
        member.role() == MemberRole::Leading && member.is_serving()
    };
    followers_of(network, old).into_iter().find(leads)
}

/// Why a lease cannot rest on `sync`: a leader without its quorum answers it, until it notices.
#[test]
fn a_deposed_leader_answers_sync_until_it_notices() {
    let mut deceived = 0;
    for seed in 0..100 {
        let mut network = Network::new(3, seed);
        let old = network.settle();
        let client = network.established(old);
        network.isolate(old);
        let begin = network.now();
        while !network[client].is_closed() {
            assert!(network.now() < begin + TICK * (SYNC_LIMIT + 1), "it never notices");
            network.sync(client);
            let answered = network.reply(client).map(|reply| reply.error);
            assert_eq!(answered, Some(ErrorCode::OK), "at once, and with no quorum");
            if new_leader(&network, old).is_some() {
                deceived += 1;
            }
            network.pass(STEP);
        }
        assert_eq!(network.member(old).role(), MemberRole::Looking);
        assert!(network.now() > begin + TICK * (SYNC_LIMIT - 1));
    }
    assert!(deceived > 100, "{deceived} answers while the others had a leader");
}

/// A deposed leader answers no client with its decisions, and has lost them when it is back.
#[test]
fn a_deposed_leader_commits_nothing() {
    for seed in 0..100 {
        let mut network = Network::new(3, seed);
        let old = network.settle();
        let client = network.established(old);
        network.isolate(old);
        network.create(client, "/lost", CreateMode::PERSISTENT);
        network.sync(client);
        let new = network.wait(TICK * 10, "another leader", |network| new_leader(network, old));
        network.wait(TICK * 10, "the old one notices", |network| {
            network[client].is_closed().then_some(())
        });
        assert_eq!(network.reply(client), None, "not even the sync behind the write");
        assert_eq!(network.member(old).log().len(), 2, "the write is in its log");
        let other = network.established(new);
        network.create(other, "/kept", CreateMode::PERSISTENT);
        assert_eq!(network.answer(other).error, ErrorCode::OK);
        network.heal();
        network.settle();
        for member in network.members() {
            assert!(member.database().znode("/lost").is_none());
            assert!(member.database().znode("/kept").is_some());
            assert_eq!(member.log(), network.member(new).log());
        }
    }
}

#[test]
fn clients_of_a_member_that_loses_its_leader_are_dropped() {
    for seed in 0..50 {
        let mut network = Network::new(3, seed);
        let leader = network.settle();
        let followers = followers_of(&network, leader);
        let clients: Vec<_> = followers.iter().map(|member| network.established(*member)).collect();
        network.crash(leader);
        let gone = network.now();
        network.wait(TICK, "they are dropped", |network| {
            clients.iter().all(|client| network[*client].is_closed()).then_some(())
        });
        assert!(network.now() < gone + Duration::from_millis(10));
        for (client, member) in clients.iter().zip(&followers) {
            network.connect(*client, *member);
            assert!(network[*client].is_closed(), "nobody is served without a leader");
        }
        network.wait(TICK * 3, "another leader", Network::leader);
        network.pass(TICK);
        for (client, member) in clients.iter().zip(&followers) {
            network.connect(*client, *member);
            network.pass(TICK);
            assert!(network[*client].session().is_some());
        }
    }
}

/// One connection that breaks costs one follower its clients, and no other member.
#[test]
fn a_broken_connection_costs_one_follower_its_clients() {
    for seed in 0..50 {
        let mut network = Network::new(3, seed);
        let leader = network.settle();
        let followers = followers_of(&network, leader);
        let [dropped, stays, own] =
            [followers[0], followers[1], leader].map(|member| network.established(member));
        network.break_connection(leader, followers[0]);
        network.pass(STEP * 5);
        assert!(network[dropped].is_closed());
        assert_eq!(network.settle(), leader);
        assert!([stays, own].iter().all(|client| network[*client].session().is_some()));
    }
}

/// A leader that hears a follower, and is not heard by it.
#[test]
fn one_way_partitions_end_in_one_leader() {
    for seed in 0..100 {
        for towards_leader in [false, true] {
            let mut network = Network::new(3, seed);
            let leader = network.settle();
            let follower = followers_of(&network, leader)[0];
            let (from, to) = if towards_leader { (follower, leader) } else { (leader, follower) };
            network.cut_one_way(from, to);
            network.pass(TICK * (SYNC_LIMIT + 2));
            assert_eq!(network.leader(), Some(leader), "a quorum is left");
            assert!(!network.member(follower).is_serving());
            network.heal();
            network.settle();
        }
    }
}

/// A process that stands still for a while does no harm when it goes on.
#[test]
fn a_paused_leader_wakes_up_deposed() {
    for seed in 0..100 {
        let mut network = Network::new(3, seed);
        let old = network.settle();
        let client = network.established(old);
        network.create(client, "/before", CreateMode::PERSISTENT);
        network.answer(client);
        network.pause(old);
        let new = network.wait(TICK * 10, "another leader", |network| new_leader(network, old));
        let other = network.established(new);
        network.create(other, "/meanwhile", CreateMode::PERSISTENT);
        assert_eq!(network.answer(other).error, ErrorCode::OK);
        network.resume(old);
        network.create(client, "/after", CreateMode::PERSISTENT);
        network.settle();
        assert!(network[client].is_closed());
        assert_eq!(network.reply(client), None);
        for member in network.members() {
            assert!(member.database().znode("/meanwhile").is_some());
            assert!(member.database().znode("/after").is_none());
        }
    }
}

/// It does not wait for the limit when it sees the connections end.
#[test]
fn a_leader_whose_followers_are_gone_steps_down_at_its_next_heartbeat() {
    for seed in 0..50 {
        let mut network = Network::new(3, seed);
        let leader = network.settle();
        let client = network.established(leader);
        for follower in followers_of(&network, leader) {
            network.crash(follower);
        }
        network.pass(TICK * 3 / 4);
        assert_eq!(network.member(leader).role(), MemberRole::Looking);
        assert!(network[client].is_closed());
    }
}

/// A member that stood in vain has promised more than the leader has: only a newer epoch can bring
/// them together.
#[test]
fn a_member_that_stood_in_vain_comes_back() {
    let mut stayed = 0;
    for seed in 0..50 {
        let mut network = Network::new(3, seed);
        let leader = network.settle();
        let followers = followers_of(&network, leader);
        // The followers lose the leader, which does not see that.
        for follower in &followers {
            network.cut_one_way(*follower, leader);
            network.break_connection(leader, *follower);
        }
        let stands = network.wait(TICK * 2, "one stands", |network| {
            let leads = |id: &&MemberId| network.member(**id).role() == MemberRole::Leading;
            followers.iter().find(leads).copied()
        });
        let other = followers.into_iter().find(|id| *id != stands).expect("the other one");
        // No member hears of it.
        network.break_connection(stands, other);
        network.break_connection(stands, leader);
        network.heal();
        // The leader is found again, mostly before it has missed a follower.
        network.pass(TICK / 4);
        if network.leader() == Some(leader) {
            assert_eq!(network.member(other).role(), MemberRole::Following(leader));
            stayed += 1;
            network.wait(TICK * 15, "all three together", Network::settled);
            let client = network.established(other);
            network.create(client, "/new", CreateMode::PERSISTENT);
            let epoch = network.answer(client).zxid.get() >> 32;
            assert!(epoch > 2, "who promised the second is in the epoch {epoch}");
        }
    }
    assert!(stayed > 20, "{stayed}");
}

/// Two stand for the same epoch, and a third would be the quorum of either: it promises the epoch
/// once, also when it has lost the one that it promised it to.
#[test]
fn an_epoch_is_promised_to_one_member_only() {
    let [voter, late, early] = [1, 2, 3].map(MemberId);
    for seed in 0..50 {
        let mut network = Network::new(3, seed);
        network.cut_one_way(early, late);
        network.cut_one_way(late, early);
        // They hear the third, and it hears them.
        network.pass(STEP * 8);
        network.delay(late, voter, 40..=40);
        network.delay(early, voter, 10..=10);
        network.wait(STEP * 10, "both stand", |network| {
            let stands = |id: &MemberId| network.member(*id).role() == MemberRole::Leading;
            [early, late].iter().all(stands).then_some(())
        });
        network.wait(STEP * 20, "the promise", |network| {
            (network.member(voter).role() == MemberRole::Following(early)).then_some(())
        });
        network.cut_one_way(voter, early);
        network.break_connection(early, voter);
        network.wait(STEP * 12, "the loss", |network| {
            (network.member(voter).role() == MemberRole::Looking).then_some(())
        });
        // The other's messages about its candidature are under way all this time.
        network.pass(STEP * 50);
        let to_late = network.said.iter().filter(|(_, link, _)| *link == (voter, late));
        let said: Vec<_> = to_late.map(|(_, _, message)| format!("{message:?}")).collect();
        assert!(!said.iter().any(|text| text.starts_with("join")), "{said:?}");
        network.heal();
        network.wait(TICK * 20, "all three together", Network::settled);
    }
}

/// All members end at once, and what was acknowledged is there when they start again.
#[test]
fn a_full_outage_loses_nothing() {
    for seed in 0..100 {
        let mut network = Network::new(3, seed);
        let leader = network.settle();
        let client = network.established(followers_of(&network, leader)[0]);
        for number in 0..5 {
            network.create(client, &format!("/{number}"), CreateMode::PERSISTENT);
        }
        let mut answered = 0;
        for _ in 0..network.random.u32(0..8) {
            network.pass(STEP);
            while network.reply(client).is_some() {
                answered += 1;
            }
        }
        network.ids().into_iter().for_each(|id| network.fail(id));
        network.pass(TICK);
        network.ids().into_iter().for_each(|id| network.resume(id));
        network.settle();
        for member in network.members() {
            let kept = (0..answered).all(|n| member.database().znode(&format!("/{n}")).is_some());
            assert!(kept, "{answered} were answered");
        }
    }
}

/// A member with a transaction that no other has, of an epoch that came to nothing, gives it up for
/// those that a quorum has agreed on meanwhile.
#[test]
fn a_member_gives_up_what_was_never_committed() {
    for seed in 0..50 {
        let mut network = Network::new(5, seed);
        let first = network.settle();
        let client = network.established(first);
        network.isolate(first);
        for number in 0..3 {
            network.create(client, &format!("/lost{number}"), CreateMode::PERSISTENT);
        }
        let second =
            network.wait(TICK * 10, "another leader", |network| new_leader(network, first));
        let other = network.established(second);
        network.create(other, "/kept", CreateMode::PERSISTENT);
        network.answer(other);
        network.crash(first);
        network.pass(TICK * 2);
        network.resume(first);
        network.heal();
        network.settle();
        let expected = network.member(second).log();
        assert!(network.members().all(|member| member.log() == expected));
        assert!(network.members().all(|member| member.database().znode("/lost0").is_none()));
    }
}
