//! How the in-memory server answers.

use core::time::Duration;

use bytes::BytesMut;
use election_tokio::{ErrorCode, SessionId, Zxid, watch::EventType};
use tokio::time::Instant;
use zk_jute::records::{
    ConnectRequest, ConnectResponse, ExistsRequest, ExistsResponse, GetChildren2Request,
    GetChildren2Response, GetChildrenResponse, GetDataRequest, GetDataResponse,
    GetEphemeralsRequest, GetEphemeralsResponse, GetSaslRequest, KeeperState, MultiReadResponse,
    MultiRequest, SetSaslResponse, SetWatches, SyncRequest, SyncResponse, WatcherEvent,
};
use zk_jute::{
    Decode, DecodeError, Encode, OpCode, ReplyHeader, RequestHeader, Vector, Xid, put_frame,
};

use crate::apply::{multi, write};
use crate::server::{Lie, State};
use crate::tree::Change;

/// Whether the connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Given,
    EndConnection,
}

/// Who is told of which change.
#[derive(Debug, Default)]
pub(crate) struct Watches(Vec<(u64, Watched, String)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watched {
    Znode,
    Children,
}

impl Watches {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn drop_connection(&mut self, connection: u64) {
        self.0.retain(|(holder, ..)| *holder != connection);
    }

    fn add(&mut self, connection: u64, watched: Watched, path: &str) {
        let watch = (connection, watched, path.to_owned());
        if !self.0.contains(&watch) {
            self.0.push(watch);
        }
    }

    /// The connections to tell that something happened to a path.
    fn fire(&mut self, path: &str, kind: EventType) -> Vec<u64> {
        let concerned = |watched: Watched| match kind {
            EventType::NODE_DELETED => true,
            EventType::NODE_CHILDREN_CHANGED => watched == Watched::Children,
            _ => watched == Watched::Znode,
        };
        let mut connections: Vec<u64> = self
            .0
            .extract_if(.., |(_, watched, at)| at == path && concerned(*watched))
            .map(|(connection, ..)| connection)
            .collect();
        connections.dedup();
        connections
    }
}

impl State {
    pub(crate) fn end_session(&mut self, session: SessionId) {
        self.sessions.remove(&session);
        for change in self.tree.end_session(session) {
            self.notify(&change);
        }
    }

    pub(crate) fn answer(
        &mut self,
        connection: u64,
        session: &mut SessionId,
        frame: &[u8],
    ) -> Answer {
        if *session == SessionId::NONE {
            *session = self.shake_hands(connection, frame);
            return Answer::Given;
        }
        let header = RequestHeader::decode_prefix(frame).expect("clients send whole headers");
        let body = &frame[8..];
        if header.opcode != OpCode::PING {
            self.requests.push(header.opcode);
        }
        let lie = self.lies.iter().position(|(about, _)| *about == header.opcode);
        match lie.map(|index| self.lies.remove(index).1) {
            Some(lie) => {
                self.lie(connection, header, lie);
                if lie == Lie::TooNew {
                    return Answer::EndConnection;
                }
            }
            None => self.tell(connection, *session, header, body),
        }
        if header.opcode == OpCode::CLOSE_SESSION {
            return Answer::EndConnection;
        }
        Answer::Given
    }

    fn shake_hands(&mut self, connection: u64, frame: &[u8]) -> SessionId {
        let request = ConnectRequest::decode_prefix(frame).expect("clients send whole handshakes");
        let (session, timeout) = match (request.session_id, self.sessions.get(&request.session_id))
        {
            (SessionId::NONE, _) => {
                self.last_session += 1;
                let millis = u64::try_from(request.timeout).expect("positive");
                (SessionId::new(self.last_session), Duration::from_millis(millis))
            }
            (known, Some(timeout)) => (known, *timeout),
            (_, None) => {
                self.put(connection, &ConnectResponse::REFUSED, &());
                return SessionId::NONE;
            }
        };
        self.sessions.insert(session, timeout);
        let response = ConnectResponse {
            protocol_version: 0,
            timeout: i32::try_from(timeout.as_millis()).expect("short"),
            session_id: session,
            password: Some(&[7; 16]),
            read_only: Some(false),
        };
        self.put(connection, &response, &());
        session
    }

    fn lie(&mut self, connection: u64, header: RequestHeader, lie: Lie) {
        let reply = |xid, error| ReplyHeader { xid, zxid: Zxid::new(1), error };
        match lie {
            Lie::Code(error) => self.put(connection, &reply(header.xid, error), &()),
            Lie::TooNew => {
                let error = ErrorCode::UNIMPLEMENTED;
                let reply = ReplyHeader { xid: header.xid, zxid: Zxid::new(-1), error };
                self.put(connection, &reply, &());
            }
            Lie::WrongXid => {
                let xid = Xid::new(header.xid.get() + 77);
                self.put(connection, &reply(xid, ErrorCode::OK), &());
            }
            Lie::Stub => self.put(connection, &1_i32, &()),
            Lie::NegativeLength => self.send(connection, BytesMut::from(&[0xff; 4][..])),
            Lie::NoBody => self.put(connection, &reply(header.xid, ErrorCode::OK), &()),
            Lie::NoResults => {
                let reply = reply(header.xid, ErrorCode::OK);
                self.put(connection, &reply, &MultiReadResponse::new(&[]));
            }
            Lie::Silence => {}
        }
    }

    fn tell(&mut self, connection: u64, session: SessionId, header: RequestHeader, body: &[u8]) {
        let mut answer = BytesMut::new();
        let outcome = self.execute((connection, session), header.opcode, body, &mut answer);
        let error = outcome.expect("clients send whole requests").err().unwrap_or(ErrorCode::OK);
        let reply = ReplyHeader { xid: header.xid, zxid: Zxid::new(self.tree.zxid), error };
        self.put(connection, &reply, &Raw(&answer));
    }

    fn execute(
        &mut self,
        (connection, session): (u64, SessionId),
        opcode: OpCode,
        body: &[u8],
        answer: &mut BytesMut,
    ) -> Result<Result<(), ErrorCode>, DecodeError> {
        let zxid = self.tree.zxid;
        Ok(match opcode {
            OpCode::PING => Ok(()),
            OpCode::CLOSE_SESSION => {
                self.end_session(session);
                Ok(())
            }
            // Every token is given back.
            OpCode::SASL => {
                let token = GetSaslRequest::decode_exact(body)?.token;
                SetSaslResponse { token }.encode(answer);
                Ok(())
            }
            OpCode::SYNC => {
                let path = SyncRequest::decode_exact(body)?.path;
                SyncResponse { path }.encode(answer);
                Ok(())
            }
            OpCode::EXISTS | OpCode::GET_DATA | OpCode::GET_CHILDREN | OpCode::GET_CHILDREN2 => {
                self.read(connection, opcode, body, answer)?
            }
            OpCode::GET_EPHEMERALS => {
                let prefix = GetEphemeralsRequest::decode_exact(body)?.prefix_path.unwrap_or("/");
                let paths = self.tree.ephemerals(session, prefix);
                GetEphemeralsResponse { ephemerals: Vector::new(&paths) }.encode(answer);
                Ok(())
            }
            OpCode::SET_WATCHES => {
                self.set_watches(connection, &SetWatches::decode_exact(body)?);
                Ok(())
            }
            OpCode::MULTI => {
                let changes =
                    multi(&mut self.tree, session, MultiRequest::decode_exact(body)?, answer);
                for change in &changes {
                    self.notify(change);
                }
                Ok(())
            }
            _ => write(&mut self.tree, session, opcode, body, answer)?
                .inspect(|change| self.notify(change))
                .map(|_| debug_assert!(self.tree.zxid > zxid)),
        })
    }

    fn read(
        &mut self,
        connection: u64,
        opcode: OpCode,
        body: &[u8],
        answer: &mut BytesMut,
    ) -> Result<Result<(), ErrorCode>, DecodeError> {
        // All four have the same body.
        let GetDataRequest { path, watch } = GetDataRequest::decode_exact(body)?;
        debug_assert!(ExistsRequest::decode_exact(body).is_ok());
        debug_assert!(GetChildren2Request::decode_exact(body).is_ok());
        let outcome = match opcode {
            OpCode::GET_CHILDREN | OpCode::GET_CHILDREN2 => {
                self.tree.children(path).map(|(names, stat)| {
                    let children = Vector::new(&names);
                    if opcode == OpCode::GET_CHILDREN {
                        GetChildrenResponse { children }.encode(answer);
                    } else {
                        GetChildren2Response { children, stat }.encode(answer);
                    }
                    Watched::Children
                })
            }
            OpCode::GET_DATA => self.tree.get(path).map(|znode| {
                let (data, stat) = (znode.data.as_deref(), znode.stat);
                GetDataResponse { data, stat }.encode(answer);
                Watched::Znode
            }),
            _ => self.tree.get(path).map(|znode| {
                ExistsResponse { stat: znode.stat }.encode(answer);
                Watched::Znode
            }),
        };
        match (watch, outcome) {
            (true, Ok(watched)) => self.watches.add(connection, watched, path),
            (true, Err(_)) if opcode == OpCode::EXISTS => {
                self.watches.add(connection, Watched::Znode, path);
            }
            _ => {}
        }
        Ok(outcome.map(|_| ()))
    }

    fn set_watches(&mut self, connection: u64, request: &SetWatches<'_>) {
        let since = request.relative_zxid;
        let mut missed = Vec::new();
        for path in request.data {
            match self.tree.get(path).map(|znode| znode.stat) {
                Err(_) => missed.push((path, EventType::NODE_DELETED)),
                Ok(stat) if stat.mzxid > since => {
                    missed.push((path, EventType::NODE_DATA_CHANGED));
                }
                Ok(_) => self.watches.add(connection, Watched::Znode, path),
            }
        }
        for path in request.exist {
            match self.tree.get(path) {
                Ok(_) => missed.push((path, EventType::NODE_CREATED)),
                Err(_) => self.watches.add(connection, Watched::Znode, path),
            }
        }
        for path in request.child {
            match self.tree.get(path).map(|znode| znode.stat) {
                Err(_) => missed.push((path, EventType::NODE_DELETED)),
                Ok(stat) if stat.pzxid > since => {
                    missed.push((path, EventType::NODE_CHILDREN_CHANGED));
                }
                Ok(_) => self.watches.add(connection, Watched::Children, path),
            }
        }
        for (path, kind) in missed {
            self.put_event(connection, path, kind);
        }
    }

    fn notify(&mut self, change: &Change) {
        let (path, kind) = match change {
            Change::Created(path) => (path, EventType::NODE_CREATED),
            Change::Deleted(path) => (path, EventType::NODE_DELETED),
            Change::DataSet(path) => (path, EventType::NODE_DATA_CHANGED),
        };
        for connection in self.watches.fire(path, kind) {
            self.put_event(connection, path, kind);
        }
        if kind != EventType::NODE_DATA_CHANGED
            && let Some((parent, _)) = path.rsplit_once('/')
        {
            let children_changed = EventType::NODE_CHILDREN_CHANGED;
            for connection in self.watches.fire(parent, children_changed) {
                self.put_event(connection, parent, children_changed);
            }
        }
    }

    fn put_event(&self, connection: u64, path: &str, kind: EventType) {
        let header =
            ReplyHeader { xid: Xid::NOTIFICATION, zxid: Zxid::new(-1), error: ErrorCode::OK };
        let state = KeeperState::SYNC_CONNECTED;
        self.put(connection, &header, &WatcherEvent { kind, state, path });
    }

    fn put(&self, connection: u64, header: &impl Encode, body: &impl Encode) {
        let mut frame = BytesMut::new();
        put_frame(&mut frame, usize::MAX, header, body).expect("there is no limit");
        self.send(connection, frame);
    }

    fn send(&self, connection: u64, frame: BytesMut) {
        if let Some(outgoing) = self.connections.get(&connection) {
            let arrives = Instant::now() + self.latency;
            let _ = outgoing.send(Some((arrives, frame)));
        }
    }
}

/// Bytes that are encoded already.
struct Raw<'a>(&'a [u8]);

impl Encode for Raw<'_> {
    fn encode<W: zk_jute::Writer + ?Sized>(&self, writer: &mut W) {
        writer.put(self.0);
    }
}
