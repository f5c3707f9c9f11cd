//! The clients of one server, and what they see.

use core::net::SocketAddr;
use std::io;

use bytes::Bytes;
use zk_test_kit::opcode::Opcode;

use crate::differential::fields::{Fields, Short};
use crate::differential::keeper;
use crate::differential::link::{Handshake, Incoming, Link};
use crate::differential::request::{Place, Request, Return, Step, put_buffer};
use crate::differential::seen::{Context, Seen, Zxid};

/// The clients under test.
pub(crate) const CLIENTS: usize = 4;
/// One more, which looks after the episode's znode and may do everything.
const KEEPER: usize = CLIENTS;
/// The keeper's secret, and what the servers are told of it.
pub(crate) const SUPER: (&[u8], &str) = (b"super:secret", "super:lK75jTNcA+U9vtVEw5vB51mj/w4=");

/// The observations of one client in a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) client: usize,
    pub(crate) seen: Vec<Seen>,
}

/// All clients of one server.
#[derive(Debug)]
pub(crate) struct Player {
    server: SocketAddr,
    context: Context,
    clients: [Client; CLIENTS + 1],
    home: String,
}

#[derive(Debug, Default)]
struct Client {
    session: Option<Handshake>,
    link: Option<Link>,
    last_xid: i32,
}

const NO_PASSWORD: [u8; 16] = [0; 16];
const NO_SESSION: Handshake = Handshake { last_zxid: 0, session: 0, password: NO_PASSWORD };

impl Player {
    pub(crate) fn new(server: SocketAddr) -> Self {
        let context = Context::default();
        Self { server, context, clients: Default::default(), home: String::new() }
    }

    /// Makes the episode's znode.
    pub(crate) fn begin(&mut self, home: &str) -> io::Result<Vec<Seen>> {
        home.clone_into(&mut self.home);
        self.context.base = i64::MAX;
        // After a difference, one keeper may have had more to delete than the other.
        self.clients[KEEPER].last_xid = 0;
        let mut seen = self.keeper(&[keeper::authenticate()])?;
        seen.extend(self.keeper(&keeper::create_home())?);
        self.context.base = self.clients[KEEPER].session.map_or(0, |session| session.last_zxid);
        Ok(seen)
    }

    /// Ends the sessions of all clients, and deletes what they leave.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        for client in 0..CLIENTS {
            if self.clients[client].session.is_some() {
                self.ask(client, &[Request::new(Opcode::CLOSE_SESSION, [])])?;
            }
            self.clients[client] = Client::default();
        }
        let mut level = keeper::roots().to_vec();
        let mut deletions = Vec::new();
        while !level.is_empty() {
            deletions.extend(level.iter().map(|path| keeper::delete(path)));
            let lists: Vec<_> = level.iter().map(|path| keeper::list(path)).collect();
            level = keeper::next_level(&level, &self.keeper(&lists)?);
        }
        deletions.reverse();
        self.keeper(&deletions)?;
        Ok(())
    }

    /// Asks as the keeper, and returns its observations.
    pub(crate) fn keeper(&mut self, requests: &[Request]) -> io::Result<Vec<Seen>> {
        self.ask(KEEPER, requests)
    }

    pub(crate) fn play(&mut self, step: &Step) -> io::Result<Vec<Heard>> {
        match step {
            Step::Ask { client, requests } => {
                Ok(vec![Heard { client: *client, seen: self.ask(*client, requests)? }])
            }
            Step::Close { client } => self.close(*client),
            Step::Return { client, how } => {
                // Messages on their way when the connection ends may be lost or not.
                let mut seen = self.flush(*client)?;
                seen.extend(self.come_back(*client, *how)?);
                Ok(vec![Heard { client: *client, seen }])
            }
        }
    }

    /// Returns all messages that any client has not seen yet.
    pub(crate) fn flush_all(&mut self) -> io::Result<Vec<Heard>> {
        (0..CLIENTS).map(|client| Ok(Heard { client, seen: self.flush(client)? })).collect()
    }

    /// Returns the messages that the client has not seen yet, if it is connected.
    fn flush(&mut self, client: usize) -> io::Result<Vec<Seen>> {
        if self.clients[client].link.is_none() {
            return Ok(Vec::new());
        }
        self.ask(client, &[Request::new(Opcode::PING, [])])
    }

    fn ask(&mut self, client: usize, requests: &[Request]) -> io::Result<Vec<Seen>> {
        let mut seen = self.connect(client)?;
        let mut frames = Vec::new();
        let mut awaited = Vec::new();
        for request in requests {
            let xid = self.clients[client].xid_of(request.opcode);
            let mut payload = xid.to_be_bytes().to_vec();
            payload.extend(request.opcode.0.to_be_bytes());
            let latest = self.clients[client].session.map_or(0, |session| session.last_zxid);
            let place = Place { home: &self.home, latest };
            payload.extend(request.encode(place));
            put_buffer(Some(&payload), &mut frames);
            awaited.push(request.opcode);
        }
        let Some(link) = &mut self.clients[client].link else {
            return Ok(seen);
        };
        // If the server has closed the connection, its earlier messages are still to be read.
        let _ = link.send(&frames);
        for opcode in awaited {
            self.read_until_reply(client, opcode, &mut seen)?;
        }
        Ok(seen)
    }

    /// Closes a session. The order in which its ephemeral znodes go is the server's own, so all
    /// clients are brought up to date before, and what they see of it is sorted.
    fn close(&mut self, client: usize) -> io::Result<Vec<Heard>> {
        let mut heard = self.flush_all()?;
        let mut closing = self.ask(client, &[Request::new(Opcode::CLOSE_SESSION, [])])?;
        let replies = closing.iter().position(|seen| matches!(seen, Seen::Reply { .. }));
        closing[..replies.unwrap_or_default()].sort();
        self.clients[client].session = None;
        heard.push(Heard { client, seen: closing });
        for mut after in self.flush_all()? {
            after.seen.sort();
            heard.push(after);
        }
        Ok(heard)
    }

    fn come_back(&mut self, client: usize, how: Return) -> io::Result<Vec<Seen>> {
        let former = self.clients[client].link.take();
        let Some(mut handshake) = self.clients[client].session else {
            return self.connect(client);
        };
        // Kept open until the server has answered, or not.
        let former = match how {
            Return::WhileConnected | Return::WithWrongPassword => former,
            Return::AfterCut | Return::FromTheFuture => {
                former.into_iter().for_each(Link::cut);
                None
            }
        };
        match how {
            Return::AfterCut | Return::WhileConnected => {}
            Return::WithWrongPassword => handshake.password[0] ^= 1,
            Return::FromTheFuture => handshake.last_zxid += 1_000_000,
        }
        let link = Link::open(self.server, &handshake)?;
        let mut seen = self.shake_hands(client, link)?;
        // Its end is not compared: Apache's servers may have lost track of it, when that of the
        // connection before it came late.
        former.into_iter().for_each(Link::cut);
        seen.extend(self.connect(client)?);
        Ok(seen)
    }

    /// Sees to it that the client has a connection, and a session.
    fn connect(&mut self, client: usize) -> io::Result<Vec<Seen>> {
        let mut seen = Vec::new();
        for _ in 0..2 {
            if self.clients[client].link.is_some() {
                break;
            }
            let handshake = self.clients[client].session.unwrap_or(NO_SESSION);
            let link = Link::open(self.server, &handshake)?;
            seen.extend(self.shake_hands(client, link)?);
            if seen.last() == Some(&Seen::Expired) {
                self.clients[client].session = None;
            }
        }
        Ok(seen)
    }

    fn shake_hands(&mut self, client: usize, mut link: Link) -> io::Result<Vec<Seen>> {
        let frame = match link.receive()? {
            Incoming::Frame(frame) => frame,
            Incoming::End => return Ok(vec![Seen::End]),
            Incoming::Silence => return Ok(vec![Seen::Silence]),
        };
        let mut fields = Fields::new(&frame);
        let mut read = || {
            let (version, timeout, session) = (fields.int()?, fields.int()?, fields.long()?);
            let (16, password) = (fields.int()?, fields.array::<16>()?) else {
                return Err(Short);
            };
            Ok::<_, Short>((version, timeout, session, password, fields.flag()?))
        };
        Ok(vec![match read() {
            Ok((0, 0, 0, NO_PASSWORD, false)) => Seen::Expired,
            Ok((0, timeout, session, password, read_only)) if fields.rest().is_empty() => {
                let last_zxid = self.clients[client].session.map_or(0, |known| known.last_zxid);
                self.clients[client].session = Some(Handshake { last_zxid, session, password });
                self.clients[client].link = Some(link);
                Seen::Connected { timeout, session: self.context.meet(session), read_only }
            }
            _ => Seen::Garbage(frame.into()),
        }])
    }

    fn read_until_reply(
        &mut self,
        client: usize,
        opcode: Opcode,
        seen: &mut Vec<Seen>,
    ) -> io::Result<()> {
        while let Some(link) = &mut self.clients[client].link {
            let next = match link.receive()? {
                Incoming::Frame(frame) => self.read_frame(client, opcode, &frame),
                Incoming::End => Seen::End,
                Incoming::Silence => Seen::Silence,
            };
            seen.push(next);
            match seen.last() {
                Some(Seen::Event { .. }) => {}
                // The end is read too.
                Some(Seen::Reply { zxid, error, .. }) if is_last(opcode, *zxid, *error) => {}
                Some(Seen::Reply { .. }) => return Ok(()),
                _ => self.clients[client].link = None,
            }
        }
        Ok(())
    }

    fn read_frame(&mut self, client: usize, opcode: Opcode, frame: &[u8]) -> Seen {
        const EVENT: i32 = -1;
        let mut fields = Fields::new(frame);
        let mut read = || Ok::<_, Short>((fields.int()?, fields.long()?, fields.int()?));
        let Ok((xid, zxid, error)) = read() else {
            return Seen::Garbage(Bytes::copy_from_slice(frame));
        };
        if xid == EVENT {
            return self.context.event(zxid, fields.rest());
        }
        if let Some(session) = &mut self.clients[client].session {
            session.last_zxid = session.last_zxid.max(zxid);
        }
        // The bytes behind an error mean nothing.
        let body = if error == 0 { self.context.body(opcode, fields.rest()) } else { Vec::new() };
        Seen::Reply { xid, zxid: self.context.zxid(zxid), error, body }
    }
}

impl Client {
    const fn xid_of(&mut self, opcode: Opcode) -> i32 {
        match opcode {
            Opcode::PING => -2,
            Opcode::AUTH => -4,
            _ => {
                self.last_xid += 1;
                self.last_xid
            }
        }
    }
}

/// Whether the server closes the connection after such a reply.
fn is_last(opcode: Opcode, zxid: Zxid, error: i32) -> bool {
    const AUTHENTICATION_FAILED: i32 = -115;
    const UNKNOWN_OPERATION: i32 = -6;
    match opcode {
        Opcode::CLOSE_SESSION => error == 0,
        Opcode::AUTH => error == AUTHENTICATION_FAILED,
        _ => error == UNKNOWN_OPERATION && zxid == Zxid::Special(-1),
    }
}
