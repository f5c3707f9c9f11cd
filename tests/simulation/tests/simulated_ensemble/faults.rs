//! Anything that can go wrong, drawn from a seed; and what holds nevertheless.

use core::time::Duration;
use std::collections::BTreeMap;

use zk_jute::records::CreateMode;
use zk_jute::{ErrorCode, Xid, Zxid};
use zk_simulation::ensemble::MemberId;

use crate::client::ClientId;
use crate::network::{Network, SYNC_LIMIT, TICK};

const CLIENTS: usize = 4;

/// Clients that write as often as they can, while things go wrong.
struct Storm {
    network: Network,
    clients: Vec<Writer>,
    /// The acknowledged writes: the path, and the transaction.
    acknowledged: BTreeMap<String, Zxid>,
    faults: usize,
    /// One in so many moments brings a fault.
    calmness: u8,
}

struct Writer {
    id: ClientId,
    /// The requests under way.
    asked: BTreeMap<Xid, Asked>,
    writes: usize,
}

enum Asked {
    Create(String),
    /// The last zxid that any member had committed before.
    Sync(Zxid),
}

impl Storm {
    fn new(size: u8, seed: u64) -> Self {
        let mut network = Network::with_bad_clocks(size, seed);
        let slow = [5, 20, 60][network.random.usize(0..3)];
        for (from, to) in network.pairs() {
            let slowest = network.random.u64(1..=slow);
            network.delay(from, to, 0..=slowest);
        }
        if network.random.bool() {
            network.let_stragglers_arrive();
        }
        let writer = |id| Writer { id, asked: BTreeMap::new(), writes: 0 };
        let clients = (0..CLIENTS).map(|_| writer(network.client(10))).collect();
        let calmness = network.random.u8(1..=8);
        Self { network, clients, acknowledged: BTreeMap::new(), faults: 0, calmness }
    }

    fn rage(&mut self, span: Duration) {
        let end = self.network.now() + span;
        while self.network.now() < end {
            let pause = self.network.random.u64(1..=60);
            self.network.pass(Duration::from_millis(pause));
            for index in 0..CLIENTS {
                self.act(index);
            }
            if self.network.random.u8(0..self.calmness) == 0 {
                self.faults += 1;
                self.go_wrong();
            }
        }
    }

    fn act(&mut self, index: usize) {
        self.take_replies(index);
        let writer = &mut self.clients[index];
        let network = &mut self.network;
        if network[writer.id].is_closed() {
            // A request without an answer may have happened, or not.
            writer.asked.clear();
            let member = some(network);
            if network.is_running(member) {
                network.connect(writer.id, member);
            }
        } else if network[writer.id].session().is_some() {
            let path = format!("/{index}-{}", writer.writes);
            writer.writes += 1;
            let before = network.agreement.last();
            let xid = network.create(writer.id, &path, CreateMode::PERSISTENT);
            writer.asked.insert(xid, Asked::Create(path));
            let xid = network.sync(writer.id);
            writer.asked.insert(xid, Asked::Sync(before));
        }
        self.take_replies(index);
    }

    fn take_replies(&mut self, index: usize) {
        let writer = &mut self.clients[index];
        while let Some(reply) = self.network.reply(writer.id) {
            assert_eq!(reply.error, ErrorCode::OK);
            match writer.asked.remove(&reply.xid) {
                Some(Asked::Create(path)) => {
                    assert_eq!(reply.path(), path);
                    assert!(reply.zxid <= self.network.agreement.last(), "not committed");
                    self.acknowledged.insert(path, reply.zxid);
                }
                Some(Asked::Sync(before)) if self.faults == 0 => {
                    assert!(reply.zxid >= before, "sync to {} shows {}", before, reply.zxid);
                }
                Some(Asked::Sync(_)) => {}
                None => assert!(self.network[writer.id].is_closed(), "nobody asked"),
            }
        }
    }

    fn go_wrong(&mut self) {
        let network = &mut self.network;
        let [one, other] = [some(network), some(network)];
        match network.random.u8(0..10) {
            0 => network.crash(one),
            1 => network.fail(one),
            2 => network.pause(one),
            3 => network.isolate(one),
            4 => network.cut_one_way(one, other),
            5 if one != other => network.break_connection(one, other),
            6 => network.heal(),
            _ => network.resume(one),
        }
    }

    /// Ends the faults; every acknowledged write is there, and all members agree.
    fn calm(&mut self) {
        let network = &mut self.network;
        network.heal();
        for member in network.ids() {
            network.resume(member);
        }
        // Until then a member may hold on to a leader that is none any more.
        network.pass(TICK * (SYNC_LIMIT + 1));
        let leader = network.wait(TICK * 40, "a leader after the faults", Network::settled);
        let client = network.established(leader);
        network.create(client, "/calm", CreateMode::PERSISTENT);
        assert_eq!(network.answer(client).error, ErrorCode::OK);
        network.wait(TICK * 10, "the same everywhere", |network| {
            let last = network.agreement.last();
            network.members().all(|member| member.committed() == last).then_some(())
        });
        let database = network.member(leader).database();
        assert!(network.members().all(|member| member.database() == database));
        for (path, zxid) in &self.acknowledged {
            let znode = database.znode(path).unwrap_or_else(|| panic!("{path} is lost"));
            assert_eq!(znode.stat().czxid, *zxid, "{path}");
        }
    }
}

fn some(network: &mut Network) -> MemberId {
    let ids = network.ids();
    ids[network.random.usize(0..ids.len())]
}

/// The members agree on every transaction at every step ([`Network`] looks), every acknowledged write stays, and once
/// the faults end there is one leader within a bound.
#[test]
fn whatever_goes_wrong_what_was_acknowledged_stays() {
    let acknowledged: usize = (0..250).map(weather).sum();
    assert!(acknowledged > 10_000, "{acknowledged}");
}

/// The same for longer: with `--release`, about three minutes.
#[test]
#[ignore = "long"]
fn whatever_goes_wrong_for_very_long() {
    let acknowledged: usize = (250..20_000).map(weather).sum();
    assert!(acknowledged > 800_000, "{acknowledged}");
}

/// Runs a storm and the calm after it; returns the number of acknowledged writes.
fn weather(seed: u64) -> usize {
    let size = [3, 5, 3, 4][usize::try_from(seed % 4).expect("small")];
    eprintln!("seed {seed}, {size} members");
    let mut storm = Storm::new(size, seed);
    storm.rage(TICK * 30);
    storm.calm();
    storm.acknowledged.len()
}
