//! A server of one connection, which answers each request as soon as it is let.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::{Bytes, BytesMut};
use zk_jute::records::{
    AddWatchRequest, ConnectRequest, ConnectResponse, CreateMode, CreateRequest, CreateResponse,
    DeleteRequest, EventType, ExistsRequest, ExistsResponse, GetChildren2Response,
    GetChildrenRequest, GetChildrenResponse, GetDataRequest, GetDataResponse, KeeperState, MultiOp,
    MultiRequest, MultiResponse, MultiResult, RemoveWatchesRequest, SetDataRequest,
    SetDataResponse, Stat, SyncRequest, SyncResponse, WatcherEvent,
};
use zk_jute::{
    Decode, Encode, ErrorCode, OpCode, ReplyHeader, RequestHeader, SessionId, Vector, Version,
    Writer, Xid, Zxid,
};

pub(crate) const TIMEOUT_MILLIS: i32 = 6000;

/// The server's behaviour at its next handshakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Working,
    /// Cut off from its ensemble.
    ReadOnly,
    /// Refuses connections.
    Away,
}

/// The server's treatment of its answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answers {
    Sent,
    Held,
}

pub(crate) struct Server {
    pub(crate) mode: Mode,
    pub(crate) answers: Answers,
    znodes: BTreeMap<String, Znode>,
    zxid: i64,
    /// The connection's session, and how many there were.
    pub(crate) session: Option<SessionId>,
    sessions: i64,
    alive: BTreeSet<SessionId>,
    data_watches: BTreeSet<String>,
    child_watches: BTreeSet<String>,
    /// Requests that it does not know: it closes the connection behind its answer.
    pub(crate) unknown: Vec<OpCode>,
    /// A container that the server deletes as soon as it was created, since it is empty.
    pub(crate) reaped: Option<&'static str>,
    /// The requests, with their paths, without pings.
    pub(crate) requests: Vec<(OpCode, String)>,
    outbox: VecDeque<Bytes>,
}

#[derive(Clone, Debug)]
struct Znode {
    data: Vec<u8>,
    stat: Stat,
}

impl Server {
    pub(crate) fn new() -> Self {
        let mut server = Self {
            mode: Mode::Working,
            answers: Answers::Sent,
            znodes: BTreeMap::new(),
            zxid: 0,
            session: None,
            sessions: 0x100,
            alive: BTreeSet::new(),
            data_watches: BTreeSet::new(),
            child_watches: BTreeSet::new(),
            unknown: Vec::new(),
            reaped: None,
            requests: Vec::new(),
            outbox: VecDeque::new(),
        };
        server
            .znodes
            .insert(String::new(), Znode { data: Vec::new(), stat: stat(0, SessionId::NONE) });
        server
    }

    /// Takes the next frame for the client.
    pub(crate) fn answer(&mut self) -> Option<Bytes> {
        if self.answers == Answers::Held { None } else { self.outbox.pop_front() }
    }

    pub(crate) fn disconnect(&mut self) {
        self.session = None;
        self.data_watches.clear();
        self.child_watches.clear();
        self.outbox.clear();
    }

    pub(crate) fn expire_all(&mut self) {
        let alive = core::mem::take(&mut self.alive);
        let owned = |znode: &Znode| alive.contains(&znode.stat.ephemeral_owner);
        let gone: Vec<_> = self.znodes.iter().filter(|(_, znode)| owned(znode)).collect();
        let gone: Vec<_> = gone.into_iter().map(|(path, _)| path.clone()).collect();
        for path in gone {
            self.delete(&path, Version::ANY).expect("it is there");
        }
    }

    /// Returns the znodes below a path, by name.
    pub(crate) fn children(&self, parent: &str) -> Vec<&str> {
        let names = self.znodes.keys().filter_map(|path| path.strip_prefix(parent));
        let names = names.filter_map(|name| name.strip_prefix('/'));
        names.filter(|name| !name.contains('/')).collect()
    }

    pub(crate) fn data(&self, path: &str) -> Option<&str> {
        self.znodes.get(path).and_then(|znode| core::str::from_utf8(&znode.data).ok())
    }

    pub(crate) fn watches(&self) -> Vec<&str> {
        self.data_watches.iter().chain(&self.child_watches).map(String::as_str).collect()
    }

    /// Puts a znode, as another client.
    pub(crate) fn put(&mut self, path: &str, data: &str) {
        let znode = self.znodes.get(path).map(|_| ());
        let done = match znode {
            Some(()) => self.write(path, data.as_bytes(), Version::ANY).map(drop),
            None => self.create(path, data.as_bytes(), CreateMode::PERSISTENT).map(drop),
        };
        done.expect("the parent is there");
    }

    pub(crate) fn delete(&mut self, path: &str, version: Version) -> Result<(), ErrorCode> {
        self.check(path, version)?;
        if !self.children(path).is_empty() {
            return Err(ErrorCode::NOT_EMPTY);
        }
        self.zxid += 1;
        self.znodes.remove(path);
        self.fire(path, EventType::NODE_DELETED);
        self.child_changed(path);
        Ok(())
    }

    fn create(&mut self, path: &str, data: &[u8], mode: CreateMode) -> Result<String, ErrorCode> {
        let (parent, _) = path.rsplit_once('/').expect("an absolute path");
        let cversion = self.znodes.get(parent).ok_or(ErrorCode::NO_NODE)?.stat.cversion.get();
        let number = if mode.is_sequential() { format!("{cversion:010}") } else { String::new() };
        let path = format!("{path}{number}");
        if self.znodes.contains_key(&path) {
            return Err(ErrorCode::NODE_EXISTS);
        }
        self.zxid += 1;
        let owner = self.session.filter(|_| mode.is_ephemeral()).unwrap_or(SessionId::NONE);
        let stat = stat(self.zxid, owner);
        self.znodes.insert(path.clone(), Znode { data: data.to_vec(), stat });
        self.fire(&path, EventType::NODE_CREATED);
        self.child_changed(&path);
        Ok(path)
    }

    fn write(&mut self, path: &str, data: &[u8], version: Version) -> Result<Stat, ErrorCode> {
        self.check(path, version)?;
        self.zxid += 1;
        let znode = self.znodes.get_mut(path).ok_or(ErrorCode::NO_NODE)?;
        znode.data = data.to_vec();
        znode.stat.version = Version::new(znode.stat.version.get() + 1);
        let stat = znode.stat;
        self.fire(path, EventType::NODE_DATA_CHANGED);
        Ok(stat)
    }

    fn check(&self, path: &str, version: Version) -> Result<(), ErrorCode> {
        let znode = self.znodes.get(path).ok_or(ErrorCode::NO_NODE)?;
        let is_right = version == Version::ANY || version == znode.stat.version;
        if is_right { Ok(()) } else { Err(ErrorCode::BAD_VERSION) }
    }

    fn child_changed(&mut self, path: &str) {
        let (parent, _) = path.rsplit_once('/').expect("an absolute path");
        if let Some(parent) = self.znodes.get_mut(parent) {
            parent.stat.cversion = Version::new(parent.stat.cversion.get() + 1);
        }
        self.fire(parent, EventType::NODE_CHILDREN_CHANGED);
    }

    fn fire(&mut self, path: &str, kind: EventType) {
        let is_watched = match kind {
            EventType::NODE_CHILDREN_CHANGED => self.child_watches.remove(path),
            EventType::NODE_DELETED => {
                self.data_watches.remove(path) | self.child_watches.remove(path)
            }
            _ => self.data_watches.remove(path),
        };
        if is_watched {
            let state = KeeperState::SYNC_CONNECTED;
            let event = WatcherEvent { kind, state, path };
            self.put_frame(Xid::NOTIFICATION, ErrorCode::OK, &event);
        }
    }

    fn put_frame(&mut self, xid: Xid, error: ErrorCode, body: &impl Encode) {
        let mut frame = BytesMut::new();
        ReplyHeader { xid, zxid: Zxid::new(self.zxid), error }.encode(&mut frame);
        body.encode(&mut frame);
        self.outbox.push_back(frame.freeze());
    }

    /// Takes in a frame of the client.
    pub(crate) fn take_in(&mut self, frame: &[u8]) {
        if self.session.is_none() {
            return self.shake_hands(frame);
        }
        let header = RequestHeader::decode_prefix(frame).expect("a request");
        if self.unknown.contains(&header.opcode) {
            let (zxid, error) = (Zxid::new(-1), ErrorCode::UNIMPLEMENTED);
            let mut answer = BytesMut::new();
            ReplyHeader { xid: header.xid, zxid, error }.encode(&mut answer);
            return self.outbox.push_back(answer.freeze());
        }
        let mut answer = BytesMut::new();
        let outcome = self.execute(header.opcode, frame.get(8..).expect("a body"), &mut answer);
        self.put_frame(header.xid, outcome.err().unwrap_or(ErrorCode::OK), &Raw(&answer));
    }

    fn shake_hands(&mut self, frame: &[u8]) {
        let request = ConnectRequest::decode_prefix(frame).expect("a handshake");
        let session_id = match request.session_id {
            SessionId::NONE => {
                self.sessions += 1;
                SessionId::new(self.sessions)
            }
            known if self.alive.contains(&known) => known,
            _ => SessionId::NONE,
        };
        let is_refused = session_id == SessionId::NONE;
        if !is_refused {
            self.session = Some(session_id);
            self.alive.insert(session_id);
        }
        let mut frame = BytesMut::new();
        let response = ConnectResponse {
            protocol_version: 0,
            timeout: if is_refused { 0 } else { TIMEOUT_MILLIS },
            session_id,
            password: Some(&[7; 16]),
            read_only: Some(self.mode == Mode::ReadOnly),
        };
        response.encode(&mut frame);
        self.outbox.push_back(frame.freeze());
    }

    #[expect(clippy::too_many_lines, reason = "an arm for each request")]
    fn execute(
        &mut self,
        opcode: OpCode,
        body: &[u8],
        answer: &mut BytesMut,
    ) -> Result<(), ErrorCode> {
        let mut asked = |path: &str| self.requests.push((opcode, path.to_owned()));
        match opcode {
            OpCode::PING => {}
            OpCode::AUTH => asked(""),
            // It has too much to do for those.
            OpCode::ADD_WATCH => {
                asked(AddWatchRequest::decode_exact(body).expect("a persistent watch").path);
                return Err(ErrorCode::THROTTLED_OP);
            }
            OpCode::CLOSE_SESSION => {
                asked("");
                self.expire_all();
            }
            OpCode::SYNC => {
                let path = SyncRequest::decode_exact(body).expect("a sync").path;
                asked(path);
                SyncResponse { path }.encode(answer);
            }
            OpCode::CREATE | OpCode::CREATE2 => {
                let request = CreateRequest::decode_exact(body).expect("a create");
                asked(request.path);
                let data = request.data.unwrap_or_default();
                let path = &*self.create(request.path, data, request.mode)?;
                CreateResponse { path }.encode(answer);
                if opcode == OpCode::CREATE2 {
                    self.znodes.get(path).expect("it was created").stat.encode(answer);
                }
                if self.reaped == Some(path) {
                    self.delete(path, Version::ANY)?;
                }
            }
            OpCode::DELETE => {
                let request = DeleteRequest::decode_exact(body).expect("a delete");
                asked(request.path);
                self.delete(request.path, request.version)?;
            }
            OpCode::SET_DATA => {
                let request = SetDataRequest::decode_exact(body).expect("a write");
                asked(request.path);
                let data = request.data.unwrap_or_default();
                let stat = self.write(request.path, data, request.version)?;
                SetDataResponse { stat }.encode(answer);
            }
            OpCode::EXISTS => {
                let ExistsRequest { path, watch } = ExistsRequest::decode_exact(body).expect("one");
                asked(path);
                if watch {
                    self.data_watches.insert(path.to_owned());
                }
                let stat = self.znodes.get(path).ok_or(ErrorCode::NO_NODE)?.stat;
                ExistsResponse { stat }.encode(answer);
            }
            OpCode::GET_DATA => {
                let GetDataRequest { path, watch } = GetDataRequest::decode_exact(body).expect("");
                asked(path);
                let Znode { data, stat } = self.znodes.get(path).ok_or(ErrorCode::NO_NODE)?;
                GetDataResponse { data: Some(data), stat: *stat }.encode(answer);
                if watch {
                    self.data_watches.insert(path.to_owned());
                }
            }
            OpCode::GET_CHILDREN | OpCode::GET_CHILDREN2 => {
                let request = GetChildrenRequest::decode_exact(body).expect("a list");
                asked(request.path);
                let stat = self.znodes.get(request.path).ok_or(ErrorCode::NO_NODE)?.stat;
                let names = self.children(request.path);
                let children = Vector::new(&names);
                if opcode == OpCode::GET_CHILDREN {
                    GetChildrenResponse { children }.encode(answer);
                } else {
                    GetChildren2Response { children, stat }.encode(answer);
                }
                if request.watch {
                    self.child_watches.insert(request.path.to_owned());
                }
            }
            OpCode::REMOVE_WATCHES => {
                let request = RemoveWatchesRequest::decode_exact(body).expect("a removal");
                asked(request.path);
                let removed = self.data_watches.remove(request.path)
                    | self.child_watches.remove(request.path);
                return if removed { Ok(()) } else { Err(ErrorCode::NO_WATCHER) };
            }
            OpCode::MULTI => self.multi(body, answer),
            other => unreachable!("{other} is not asked for"),
        }
        Ok(())
    }

    fn multi(&mut self, body: &[u8], answer: &mut BytesMut) {
        let operations: Vec<_> =
            MultiRequest::decode_exact(body).expect("a multi").into_iter().collect();
        let (before, zxid) = (self.znodes.clone(), self.zxid);
        let mut done = Vec::new();
        let mut error = None;
        for operation in &operations {
            let outcome = match operation {
                MultiOp::Check(check) => {
                    self.requests.push((OpCode::MULTI, check.path.to_owned()));
                    self.check(check.path, check.version).map(|()| Done::Checked)
                }
                MultiOp::Create(create) => {
                    let data = create.data.unwrap_or_default();
                    self.create(create.path, data, create.mode).map(Done::Created)
                }
                MultiOp::SetData(write) => {
                    let data = write.data.unwrap_or_default();
                    self.write(write.path, data, write.version).map(Done::Written)
                }
                other => unreachable!("{other:?} is not asked for"),
            };
            match outcome {
                Ok(outcome) => done.push(outcome),
                Err(code) => {
                    error = Some(code);
                    break;
                }
            }
        }
        let results: Vec<_> = match error {
            None => done.iter().map(Done::result).collect(),
            Some(code) => {
                (self.znodes, self.zxid) = (before, zxid);
                let mut results = vec![MultiResult::Error(ErrorCode::OK); done.len()];
                results.push(MultiResult::Error(code));
                let behind = MultiResult::Error(ErrorCode::RUNTIME_INCONSISTENCY);
                results.resize(operations.len(), behind);
                results
            }
        };
        MultiResponse::new(&results).encode(answer);
    }
}

enum Done {
    Checked,
    Created(String),
    Written(Stat),
}

impl Done {
    fn result(&self) -> MultiResult<'_> {
        match self {
            Self::Checked => MultiResult::Check,
            Self::Created(path) => MultiResult::Create(CreateResponse { path }),
            Self::Written(stat) => MultiResult::SetData(SetDataResponse { stat: *stat }),
        }
    }
}

const fn stat(czxid: i64, ephemeral_owner: SessionId) -> Stat {
    Stat {
        czxid: Zxid::new(czxid),
        mzxid: Zxid::new(czxid),
        ctime: 0,
        mtime: 0,
        version: Version::new(0),
        cversion: Version::new(0),
        aversion: Version::new(0),
        ephemeral_owner,
        data_length: 0,
        num_children: 0,
        pzxid: Zxid::new(czxid),
    }
}

struct Raw<'a>(&'a [u8]);

impl Encode for Raw<'_> {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) {
        writer.put(self.0);
    }
}
