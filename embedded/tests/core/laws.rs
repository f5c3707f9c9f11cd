//! Laws that hold for any requests of clients.

use core::time::Duration;
use std::collections::BTreeSet;

use bytes::BytesMut;
use proptest::collection::vec;
use proptest::prelude::*;
use zk_embedded::{Database, ExtendedTypes, Lifetime};
use zk_jute::records::{
    AddWatchMode, AddWatchRequest, CloseSession, CreateContainerRequest, CreateMode, MultiOp,
    MultiRequest, Ping, SetWatches,
};
use zk_jute::{ErrorCode, OpCode, Request, RequestHeader, Vector, Xid, Zxid};

use crate::requests::{
    create, create_as, create_ttl, delete, exists, get_children, get_data, set_data,
};
use crate::world::{Client, World, frame, world};

const PATHS: [&str; 8] = ["/a", "/b", "/a/x", "/a/y", "/a/x/z", "/b/n-", "/", "/zookeeper/q"];

#[derive(Clone, Debug)]
enum Action {
    Create(&'static str, i32),
    Container(&'static str),
    Ttl(&'static str, i64),
    Delete(&'static str),
    SetData(&'static str),
    /// A create and a deletion, together.
    Multi(&'static str, &'static str),
    Read(&'static str),
    Watch(&'static str, i32),
    SetWatches(&'static str, i64),
    Ping,
    Close,
    /// A second connection takes the session over.
    Resume,
    Drop,
    Wait(u64),
    /// A frame with this operation and body.
    Arbitrary(i32, Vec<u8>),
}

fn path() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(&PATHS[..])
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        6 => (path(), -1..6).prop_map(|(path, mode)| Action::Create(path, mode)),
        1 => path().prop_map(Action::Container),
        1 => (path(), 0..20_000_i64).prop_map(|(path, ttl)| Action::Ttl(path, ttl)),
        4 => path().prop_map(Action::Delete),
        3 => path().prop_map(Action::SetData),
        2 => (path(), path()).prop_map(|(one, other)| Action::Multi(one, other)),
        2 => path().prop_map(Action::Read),
        2 => (path(), 0..2).prop_map(|(path, mode)| Action::Watch(path, mode)),
        1 => (path(), 0..40_i64).prop_map(|(path, zxid)| Action::SetWatches(path, zxid)),
        1 => Just(Action::Ping),
        1 => Just(Action::Close),
        1 => Just(Action::Resume),
        1 => Just(Action::Drop),
        2 => (0..15_000_u64).prop_map(Action::Wait),
        1 => (-12..110, vec(any::<u8>(), 0..60)).prop_map(|(op, body)| Action::Arbitrary(op, body)),
    ]
}

struct Run {
    world: World,
    clients: Vec<Client>,
    /// Everything that the server sent, to compare runs by.
    transcript: Vec<u8>,
}

impl Run {
    fn new() -> Self {
        let mut world = world();
        let clients = (0..3).map(|_| world.client()).collect();
        Self { world, clients, transcript: Vec::new() }
    }

    fn act(&mut self, index: usize, action: &Action) {
        let before = self.world.zxid();
        let is_open = !self.world.server.is_closing(self.clients[index].connection.id);
        match action {
            Action::Wait(millis) => {
                self.world.advance(Duration::from_millis(*millis));
                return;
            }
            Action::Drop => {
                let id = self.clients[index].connection.id;
                self.world.server.close(id);
                return;
            }
            Action::Resume => return self.resume(index),
            Action::Close => self.ask(index, &CloseSession),
            Action::Create(path, mode) => {
                self.ask(index, &create_as(path, CreateMode::new(*mode)));
            }
            Action::Container(path) => {
                let container = CreateContainerRequest(create_as(path, CreateMode::CONTAINER));
                self.ask(index, &container);
            }
            Action::Ttl(path, ttl) => self.ask(index, &create_ttl(path, *ttl)),
            Action::Delete(path) => self.ask(index, &delete(path)),
            Action::SetData(path) => self.ask(index, &set_data(path, path.as_bytes())),
            Action::Multi(one, other) => {
                let operations = [MultiOp::Create(create(one)), MultiOp::Delete(delete(other))];
                self.ask(index, &MultiRequest::new(&operations));
            }
            Action::Read(path) => {
                self.ask(index, &get_data(path, true));
                self.ask(index, &get_children(path, true));
                self.ask(index, &exists(path, true));
                assert_eq!(self.world.zxid(), before, "a read takes no zxid");
                return;
            }
            Action::Watch(path, mode) => {
                self.ask(index, &AddWatchRequest { path, mode: AddWatchMode::new(*mode) });
                return;
            }
            Action::SetWatches(path, zxid) => {
                let paths = [*path];
                let all = Vector::new(&paths);
                let relative_zxid = Zxid::new(*zxid);
                self.ask(index, &SetWatches { relative_zxid, data: all, exist: all, child: all });
                return;
            }
            Action::Ping => return self.ask(index, &Ping),
            Action::Arbitrary(opcode, body) => {
                return self.ask_raw(index, OpCode::new(*opcode), body);
            }
        }
        // A write, accepted or refused; without a connection the server does not see it.
        assert_eq!(self.world.zxid() - before, i64::from(is_open), "{action:?}");
    }

    fn resume(&mut self, index: usize) {
        let granted = self.clients[index].granted.clone();
        let mut connection = self.world.open();
        let resumed = connection.shake_hands(&mut self.world, &granted.again()).expect("an answer");
        if resumed.session == granted.session {
            self.clients[index].connection = connection;
        } else {
            self.clients[index] = self.world.client();
        }
    }

    fn ask<R: Request>(&mut self, index: usize, request: &R) {
        let mut body = Vec::new();
        request.encode(&mut body);
        self.ask_raw(index, R::OPCODE, &body);
    }

    fn ask_raw(&mut self, index: usize, opcode: OpCode, body: &[u8]) {
        let header = RequestHeader { xid: Xid::new(5), opcode };
        let mut bytes = BytesMut::new();
        bytes.extend_from_slice(&u32::try_from(body.len() + 8).expect("short").to_be_bytes());
        bytes.extend_from_slice(&frame(&(), &header)[4..]);
        bytes.extend_from_slice(body);
        for client in &mut self.clients {
            client.connection.take(&mut self.world);
        }
        self.clients[index].connection.send(&mut self.world, &bytes);
        for client in &mut self.clients {
            client.connection.take(&mut self.world);
            self.transcript.extend(client.connection.rest());
        }
    }
}

/// Asserts the invariants of every database.
fn is_sound(database: &Database) {
    let mut ephemerals = BTreeSet::new();
    for (path, znode) in database.znodes() {
        let stat = znode.stat();
        let children: BTreeSet<&str> = znode.children().collect();
        assert_eq!(stat.num_children, i32::try_from(children.len()).expect("few"), "{path}");
        assert!(stat.czxid <= stat.mzxid && stat.czxid <= stat.pzxid, "{path}");
        assert!(stat.mzxid.max(stat.pzxid) <= database.last_zxid(), "{path}");
        for child in children {
            let child = format!("{}/{child}", path.trim_end_matches('/'));
            assert!(database.znode(&child).is_some(), "{child}");
        }
        if let Some((parent, name)) = path.rsplit_once('/').filter(|(_, name)| !name.is_empty()) {
            let parent = database.znode(parent).expect("every parent is there");
            assert!(parent.children().any(|child| child == name), "{path}");
        }
        if let Lifetime::Ephemeral(owner) = znode.lifetime() {
            assert!(database.has_session(owner), "{path}");
            assert_eq!(stat.num_children, 0, "{path}");
            ephemerals.insert(path);
        }
    }
    let owned = database.sessions().flat_map(|(session, _)| database.ephemerals_of(session));
    assert_eq!(owned.collect::<BTreeSet<_>>(), ephemerals);
}

fn run(actions: &[(usize, Action)]) -> Run {
    let mut run = Run::new();
    for (index, action) in actions {
        run.act(*index, action);
        is_sound(run.world.server.database());
    }
    run
}

proptest! {
    #[test]
    fn the_tree_stays_sound_and_the_same_again(actions in vec((0..3_usize, action()), 0..60)) {
        let first = run(&actions);
        let second = run(&actions);
        prop_assert_eq!(first.world.server.database(), second.world.server.database());
        prop_assert_eq!(first.transcript, second.transcript);
    }

    /// However many sessions end: each takes all its znodes with it in one zxid.
    #[test]
    fn a_session_ends_in_one_zxid(actions in vec((0..3_usize, action()), 0..40)) {
        let mut run = run(&actions);
        let sessions: Vec<_> =
            run.world.server.database().sessions().map(|(session, _)| session).collect();
        for session in sessions {
            let before = run.world.zxid();
            prop_assert_eq!(run.world.server.expire(run.world.now, session), Ok(()));
            prop_assert_eq!(run.world.zxid(), before + 1);
            prop_assert_eq!(run.world.server.database().ephemerals_of(session).count(), 0);
            is_sound(run.world.server.database());
        }
    }

    /// Hostile bytes cost their connection at most; others notice nothing.
    #[test]
    fn arbitrary_bytes_cost_one_connection_at_most(
        pieces in vec(vec(any::<u8>(), 0..40), 0..10),
        has_session in any::<bool>(),
    ) {
        let mut world = world();
        let mut bystander = world.client();
        let mut connection = if has_session {
            world.client().connection
        } else {
            world.open()
        };
        for piece in &pieces {
            connection.send(&mut world, piece);
        }
        prop_assert_eq!(bystander.code(&mut world, &Ping), ErrorCode::OK);
        prop_assert!(!bystander.connection.is_closed);
    }

    /// As above, but with lengths that are right, so that the bytes get further.
    #[test]
    fn arbitrary_frames_are_answered_or_cost_one_connection(
        requests in vec((-12..110_i32, vec(prop_oneof![0..5_u8, any::<u8>()], 0..60)), 0..12),
    ) {
        let mut run = Run::new();
        for (opcode, body) in &requests {
            run.ask_raw(0, OpCode::new(*opcode), body);
            is_sound(run.world.server.database());
        }
        prop_assert_eq!(run.clients[1].code(&mut run.world, &Ping), ErrorCode::OK);
    }

    /// One reply for each request, in their order, wherever the stream is cut.
    #[test]
    fn replies_come_in_the_order_of_the_requests(
        kinds in vec(0..8_u8, 1..60),
        cut in 1..200_usize,
    ) {
        let mut world = world();
        let mut client = world.client();
        let mut bytes = BytesMut::new();
        for (xid, kind) in (1..).zip(&kinds) {
            let header = |opcode| RequestHeader { xid: Xid::new(xid), opcode };
            bytes.extend_from_slice(&match kind {
                0 => frame(&header(OpCode::CREATE), &create_as("/n-", CreateMode::new(3))),
                1 => frame(&header(OpCode::SET_DATA), &set_data("/", b"x")),
                2 => frame(&header(OpCode::EXISTS), &exists("/none", true)),
                3 => frame(&header(OpCode::SYNC), &"/"),
                4 => frame(&header(OpCode::DELETE), &delete("/none")),
                // Bodies that cannot be read.
                5 => frame(&header(OpCode::SYNC), &false),
                6 => frame(&header(OpCode::CREATE), &false),
                _ => frame(&header(OpCode::GET_DATA), &get_data("/", true)),
            });
        }
        for piece in bytes.chunks(cut) {
            client.connection.send(&mut world, piece);
        }
        let replies = core::iter::from_fn(|| client.next_reply());
        let xids: Vec<i32> = replies.map(|(header, _)| header.xid.get()).collect();
        let expected: Vec<i32> = (1..).take(kinds.len()).collect();
        prop_assert_eq!(xids, expected);
    }
}

#[test]
fn times_to_live_are_allowed_in_these_runs() {
    assert_eq!(ExtendedTypes::default(), ExtendedTypes::Disabled);
    let mut run = Run::new();
    run.act(0, &Action::Ttl("/a", 1000));
    assert_eq!(run.world.paths(), ["/a"]);
}
