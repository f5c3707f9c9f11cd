//! One leader's transactions applied by several replicas: what an ensemble is made of.

use core::time::Duration;
use std::collections::VecDeque;

use bytes::{Buf as _, BytesMut};
use zk_embedded::replication::{
    Answer, Decision, Leader, Replica, ReplicaId, ServerMode, Ticket, Txn,
};
use zk_embedded::{Config, ConnectionId, Database, Instant, Transmit};
use zk_jute::records::{
    ConnectResponse, CreateMode, DeleteRequest, ExistsRequest, Ping, SyncRequest,
};
use zk_jute::{Decode, Encode, ErrorCode, OpCode, ReplyHeader, RequestHeader, Xid, Zxid};

use crate::requests::{create, create_as, exists, get_data, set_data};
use crate::world::{frame, new_session};

/// A leader and its replicas, which are told of what it decided when the test says so.
struct Ensemble {
    leader: Leader,
    /// Everything decided, committed or not: what the next decision is made on.
    decided: Database,
    members: Vec<Member>,
    now: Instant,
}

struct Member {
    replica: Replica,
    /// The leader's messages that the replica has not seen.
    inbox: VecDeque<Message>,
}

#[derive(Clone)]
enum Message {
    Commit(Txn, Option<Ticket>),
    Answer(Ticket, Answer),
}

struct Peer {
    member: usize,
    id: ConnectionId,
    received: BytesMut,
    is_closed: bool,
}

impl Ensemble {
    fn new() -> Self {
        let now = Instant::ORIGIN;
        let decided = Database::new();
        let member = |number| {
            let mut config = Config::default();
            config.server_id = number;
            let mode = if number == 1 { ServerMode::Leader } else { ServerMode::Follower };
            let replica = Replica::new(&config, Database::new(), mode);
            Member { replica, inbox: VecDeque::new() }
        };
        let first_epoch = Zxid::new(1 << 32);
        let leader = Leader::new(now, &Config::default(), &decided, first_epoch);
        Self { leader, decided, members: (1..=3).map(member).collect(), now }
    }

    /// Lets the leader decide on what `from` forwarded.
    fn decide(&mut self, from: usize) {
        while let Some((ticket, forward)) = self.members[from].replica.poll_forward() {
            let number = ReplicaId(u8::try_from(from).expect("a small number"));
            match self.leader.decide(self.now, &self.decided, number, &forward) {
                Decision::Propose(txn) => self.propose(&txn, Some((from, ticket))),
                Decision::Answer(answer) => {
                    self.members[from].inbox.push_back(Message::Answer(ticket, answer));
                }
            }
        }
    }

    fn propose(&mut self, txn: &Txn, origin: Option<(usize, Ticket)>) {
        self.decided.apply(txn).expect("just decided");
        for (index, member) in self.members.iter_mut().enumerate() {
            let ticket = origin.filter(|(from, _)| *from == index).map(|(_, ticket)| ticket);
            member.inbox.push_back(Message::Commit(txn.clone(), ticket));
        }
    }

    fn expire_due(&mut self) {
        while let Some(txn) = self.leader.poll_due(self.now, &self.decided) {
            self.propose(&txn, None);
        }
    }

    /// Lets a replica see all that the leader sent it.
    fn deliver(&mut self, to: usize) {
        let Member { replica, inbox } = &mut self.members[to];
        for message in inbox.drain(..) {
            match message {
                Message::Commit(txn, ticket) => replica.commit(&txn, ticket).expect("in order"),
                Message::Answer(ticket, answer) => replica.answer(ticket, answer),
            }
        }
    }

    fn settle(&mut self) {
        for index in 0..self.members.len() {
            self.decide(index);
        }
        for index in 0..self.members.len() {
            self.deliver(index);
        }
    }

    fn open(&mut self, member: usize) -> Peer {
        let address = "127.0.0.1:1".parse().expect("an address");
        let id = self.members[member].replica.open(self.now, address).expect("below the limits");
        Peer { member, id, received: BytesMut::new(), is_closed: false }
    }

    fn client(&mut self, member: usize) -> Peer {
        let mut peer = self.open(member);
        peer.send(self, &(), &new_session());
        self.settle();
        peer.next(self).expect("a session");
        peer
    }

    fn databases(&self) -> Vec<&Database> {
        self.members.iter().map(|member| member.replica.database()).collect()
    }
}

impl Peer {
    fn send(&self, ensemble: &mut Ensemble, header: &impl Encode, body: &impl Encode) {
        ensemble.members[self.member].replica.receive(self.id, &frame(header, body));
    }

    fn ask(&self, ensemble: &mut Ensemble, xid: i32, opcode: OpCode, body: &impl Encode) {
        self.send(ensemble, &RequestHeader { xid: Xid::new(xid), opcode }, body);
    }

    fn next(&mut self, ensemble: &mut Ensemble) -> Option<Vec<u8>> {
        let replica = &mut ensemble.members[self.member].replica;
        while !self.is_closed {
            let before = self.received.len();
            self.is_closed = replica.poll_transmit(self.id, &mut self.received) == Transmit::Close;
            if self.received.len() == before {
                break;
            }
        }
        let length = self.received.first_chunk::<4>().map(|head| u32::from_be_bytes(*head))?;
        self.received.advance(4);
        Some(self.received.split_to(length as usize).to_vec())
    }

    fn next_header(&mut self, ensemble: &mut Ensemble) -> Option<(i32, i64, ErrorCode)> {
        let frame = self.next(ensemble)?;
        let header = ReplyHeader::decode_prefix(&frame).expect("a header");
        Some((header.xid.get(), header.zxid.get(), header.error))
    }
}

const EPOCH: i64 = 1 << 32;

#[test]
fn replicas_that_apply_the_same_log_are_equal() {
    let mut ensemble = Ensemble::new();
    let mut clients: Vec<Peer> = (0..3).map(|member| ensemble.client(member)).collect();
    for (index, client) in clients.iter().enumerate() {
        let path = format!("/e{index}");
        client.ask(&mut ensemble, 1, OpCode::CREATE, &create_as(&path, CreateMode::EPHEMERAL));
        client.ask(&mut ensemble, 2, OpCode::CREATE, &create("/same"));
        client.ask(&mut ensemble, 3, OpCode::SET_DATA, &set_data("/same", path.as_bytes()));
    }
    ensemble.settle();
    let [first, second, third] = ensemble.databases()[..] else { panic!("three") };
    assert_eq!(first, second);
    assert_eq!(first, third);
    assert_eq!(first, &ensemble.decided);
    assert_eq!(first.last_zxid(), Zxid::new(EPOCH + 3 + 9));
    let codes: Vec<_> = (0..3).map(|_| clients[1].next_header(&mut ensemble)).collect();
    let expected = [(1, 7, ErrorCode::OK), (2, 8, ErrorCode::NODE_EXISTS), (3, 9, ErrorCode::OK)];
    assert_eq!(codes, expected.map(|(xid, zxid, code)| Some((xid, EPOCH + zxid, code))));
}

/// A write is answered once it is applied here, and what follows it waits for that.
#[test]
fn replies_keep_the_order_of_the_requests() {
    let mut ensemble = Ensemble::new();
    let mut client = ensemble.client(1);
    client.ask(&mut ensemble, 1, OpCode::EXISTS, &exists("/a", false));
    client.ask(&mut ensemble, 2, OpCode::CREATE, &create("/a"));
    client.ask(&mut ensemble, 3, OpCode::EXISTS, &exists("/a", false));
    client.ask(&mut ensemble, -2, OpCode::PING, &Ping);
    client.ask(&mut ensemble, 4, OpCode::SYNC, &SyncRequest { path: "/" });
    client.ask(&mut ensemble, 5, OpCode::CREATE, &create("/b"));
    let before = (1, EPOCH + 1, ErrorCode::NO_NODE);
    assert_eq!(client.next_header(&mut ensemble), Some(before));
    assert_eq!(client.next_header(&mut ensemble), None);
    assert!(!ensemble.members[1].replica.wants_input(client.id));
    for _ in 0..3 {
        ensemble.settle();
    }
    let after = [(2, 2), (3, 2), (-2, 2), (4, 2), (5, 3)];
    for (xid, zxid) in after {
        let expected = (xid, EPOCH + zxid, ErrorCode::OK);
        assert_eq!(client.next_header(&mut ensemble), Some(expected));
    }
    assert!(ensemble.members[1].replica.wants_input(client.id));
}

/// Until a `sync` (CURATOR-264).
#[test]
fn a_replica_that_lags_answers_from_the_past() {
    let mut ensemble = Ensemble::new();
    let [writer, mut reader] = [ensemble.client(0), ensemble.client(2)];
    reader.ask(&mut ensemble, 1, OpCode::GET_DATA, &get_data("/", true));
    reader.next(&mut ensemble).expect("a reply");
    writer.ask(&mut ensemble, 1, OpCode::SET_DATA, &set_data("/", b"new"));
    ensemble.decide(0);
    ensemble.deliver(0);
    reader.ask(&mut ensemble, 2, OpCode::EXISTS, &exists("/", false));
    let (_, zxid, _) = reader.next_header(&mut ensemble).expect("a reply");
    assert_eq!(zxid, EPOCH + 2);
    reader.ask(&mut ensemble, 3, OpCode::SYNC, &SyncRequest { path: "/" });
    ensemble.decide(2);
    assert_eq!(reader.next_header(&mut ensemble), None);
    ensemble.deliver(2);
    // The event comes before the reply that shows the change.
    assert_eq!(reader.next_header(&mut ensemble), Some((-1, EPOCH + 3, ErrorCode::OK)));
    assert_eq!(reader.next_header(&mut ensemble), Some((3, EPOCH + 3, ErrorCode::OK)));
}

/// The first write on the old connection closes it without an answer.
#[test]
fn a_session_that_moved_cannot_write_through_its_old_server() {
    let mut ensemble = Ensemble::new();
    let mut old = ensemble.open(0);
    old.send(&mut ensemble, &(), &new_session());
    ensemble.settle();
    let granted = old.next(&mut ensemble).expect("a session");
    let granted = ConnectResponse::decode_exact(&granted).expect("a connect response");
    let mut new = ensemble.open(1);
    let again = zk_jute::records::ConnectRequest {
        session_id: granted.session_id,
        password: granted.password,
        ..new_session()
    };
    new.send(&mut ensemble, &(), &again);
    ensemble.settle();
    let resumed = new.next(&mut ensemble).expect("the session");
    let resumed = ConnectResponse::decode_exact(&resumed).expect("a connect response");
    assert_eq!(resumed, granted);
    old.ask(&mut ensemble, 1, OpCode::EXISTS, &ExistsRequest { path: "/", watch: false });
    assert!(old.next_header(&mut ensemble).is_some(), "reads go on");
    old.ask(&mut ensemble, 2, OpCode::CREATE, &create("/old"));
    new.ask(&mut ensemble, 1, OpCode::CREATE, &create("/new"));
    ensemble.settle();
    assert_eq!(old.next_header(&mut ensemble), None);
    assert!(old.is_closed);
    assert!(new.next_header(&mut ensemble).is_some());
    assert!(ensemble.decided.znode("/old").is_none());
}

/// A request to a replica keeps a session alive only if the replica tells its leader.
#[test]
fn the_leader_ends_sessions_that_it_does_not_hear_of() {
    let mut ensemble = Ensemble::new();
    let [mut told, mut untold] = [ensemble.client(1), ensemble.client(2)];
    untold.ask(&mut ensemble, 1, OpCode::CREATE, &create_as("/e", CreateMode::EPHEMERAL));
    ensemble.settle();
    untold.next(&mut ensemble).expect("a reply");
    // Once each learner tells of a session: that it was created is in its touch table.
    for _ in 0..4 {
        ensemble.now = ensemble.now + Duration::from_secs(5);
        for peer in [&mut told, &mut untold] {
            peer.ask(&mut ensemble, -2, OpCode::PING, &Ping);
            assert!(peer.next_header(&mut ensemble).is_some(), "a replica answers by itself");
        }
        while let Some((session, timeout)) = ensemble.members[1].replica.poll_touched() {
            ensemble.leader.touch(ensemble.now, session, timeout);
        }
        ensemble.expire_due();
    }
    assert_eq!(ensemble.decided.sessions().len(), 1);
    // A write of the session that is over, before its replica knows.
    let version = zk_jute::Version::ANY;
    untold.ask(&mut ensemble, 2, OpCode::DELETE, &DeleteRequest { path: "/e", version });
    ensemble.settle();
    assert_eq!(untold.next_header(&mut ensemble), None);
    assert!(untold.is_closed);
    told.ask(&mut ensemble, 3, OpCode::EXISTS, &exists("/e", false));
    let (_, _, code) = told.next_header(&mut ensemble).expect("a reply");
    assert_eq!(code, ErrorCode::NO_NODE);
}

/// A forwarded write or `sync` does not postpone the end of a session, as the leader of a real
/// ensemble goes by what the replicas tell it alone.
#[test]
fn what_is_forwarded_keeps_no_session_alive() {
    let mut ensemble = Ensemble::new();
    let [told, writer, syncer] = [ensemble.client(0), ensemble.client(1), ensemble.client(2)];
    for xid in 1..4 {
        ensemble.now = ensemble.now + Duration::from_secs(5);
        told.ask(&mut ensemble, xid, OpCode::SET_DATA, &set_data("/", b""));
        writer.ask(&mut ensemble, xid, OpCode::SET_DATA, &set_data("/", b""));
        syncer.ask(&mut ensemble, xid, OpCode::SYNC, &SyncRequest { path: "/" });
        while let Some((session, timeout)) = ensemble.members[0].replica.poll_touched() {
            ensemble.leader.touch(ensemble.now, session, timeout);
        }
        ensemble.settle();
        ensemble.expire_due();
        // Timeouts of 10 s, and ticks of 2 s.
        let left = if xid < 3 { 3 } else { 1 };
        assert_eq!(ensemble.decided.sessions().len(), left, "after {} s", xid * 5);
    }
}

/// A new leader gives every session its whole timeout again.
#[test]
fn a_new_leader_restarts_the_clocks() {
    let mut ensemble = Ensemble::new();
    let client = ensemble.client(0);
    ensemble.now = ensemble.now + Duration::from_secs(9);
    let second_epoch = Zxid::new(2 << 32);
    let config = Config::default();
    ensemble.leader = Leader::new(ensemble.now, &config, &ensemble.decided, second_epoch);
    ensemble.now = ensemble.now + Duration::from_secs(9);
    ensemble.expire_due();
    client.ask(&mut ensemble, 1, OpCode::CREATE, &create("/a"));
    ensemble.settle();
    assert_eq!(ensemble.decided.last_zxid(), Zxid::new((2 << 32) + 1));
    ensemble.now = ensemble.now + Duration::from_secs(13);
    ensemble.expire_due();
    assert_eq!(ensemble.decided.sessions().len(), 0);
}

/// Writes are refused, and clients that do not ask for a read-only server get no session.
#[test]
fn a_read_only_server_answers_reads_of_those_who_ask_for_it() {
    let mut ensemble = Ensemble::new();
    let global = ensemble.client(2);
    ensemble.members[2].replica.set_mode(ServerMode::ReadOnly);
    let mut dropped = global;
    assert_eq!(dropped.next(&mut ensemble), None);
    assert!(dropped.is_closed);
    let mut refused = ensemble.open(2);
    refused.send(&mut ensemble, &(), &new_session());
    assert_eq!(refused.next(&mut ensemble), None);
    assert!(refused.is_closed);
    let mut peer = ensemble.open(2);
    let request = zk_jute::records::ConnectRequest { read_only: Some(true), ..new_session() };
    peer.send(&mut ensemble, &(), &request);
    let granted = peer.next(&mut ensemble).expect("a session");
    let granted = ConnectResponse::decode_exact(&granted).expect("a connect response");
    assert_eq!(granted.read_only, Some(true));
    assert!(!ensemble.members[2].replica.database().has_session(granted.session_id));
    peer.ask(&mut ensemble, 1, OpCode::CREATE, &create("/a"));
    peer.ask(&mut ensemble, 2, OpCode::SYNC, &SyncRequest { path: "/" });
    peer.ask(&mut ensemble, 3, OpCode::GET_DATA, &get_data("/", true));
    peer.ask(&mut ensemble, 4, OpCode::CLOSE_SESSION, &());
    let codes: Vec<_> = (0..4).filter_map(|_| peer.next_header(&mut ensemble)).collect();
    let zxid = EPOCH + 1;
    let expected = [
        (1, zxid, ErrorCode::NOT_READ_ONLY),
        (2, zxid, ErrorCode::NOT_READ_ONLY),
        (3, zxid, ErrorCode::OK),
        (4, zxid, ErrorCode::OK),
    ];
    assert_eq!(codes, expected);
    assert_eq!(ensemble.members[2].replica.poll_forward(), None);
    let mut probe = ensemble.open(2);
    ensemble.members[2].replica.receive(probe.id, b"isro");
    ensemble.members[2].replica.poll_transmit(probe.id, &mut probe.received);
    assert_eq!(probe.received, b"ro"[..]);
}
