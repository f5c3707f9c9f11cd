//! One connection through the proxy, and its traffic.

use alloc::collections::VecDeque;
use std::io;
use std::net::{Shutdown, TcpStream};

use super::frame::{self, Direction, FrameKind};
use crate::opcode::Opcode;

/// A connection through a proxy, numbered in the order of acceptance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub(super) u64);

/// The place of a request among those of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestNumber(u64);

#[derive(Debug)]
pub(super) struct Connection {
    client: TcpStream,
    server: TcpStream,
    requests: u64,
    in_flight: VecDeque<(i32, Opcode, RequestNumber)>,
    ended: Option<Direction>,
}

/// How much of a connection has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    One,
    Both,
}

/// A frame, or bytes that are none, on its way.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) direction: Direction,
    pub(super) label: Label,
    pub(super) bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Label {
    ConnectRequest,
    ConnectResponse,
    Request { opcode: Opcode, number: RequestNumber },
    Reply { opcode: Opcode, number: RequestNumber },
    Notification,
    StrayReply,
    Opaque,
}

impl Frame {
    pub(super) const fn kind(&self) -> FrameKind {
        match self.label {
            Label::ConnectRequest => FrameKind::ConnectRequest,
            Label::ConnectResponse => FrameKind::ConnectResponse,
            Label::Request { opcode, .. } => FrameKind::Request(opcode),
            Label::Reply { opcode, .. } => FrameKind::Reply(opcode),
            Label::Notification => FrameKind::Notification,
            Label::StrayReply => FrameKind::StrayReply,
            Label::Opaque => FrameKind::Opaque(self.direction),
        }
    }
}

impl Connection {
    pub(super) fn new(client: &TcpStream, server: &TcpStream) -> io::Result<Self> {
        Ok(Self {
            client: client.try_clone()?,
            server: server.try_clone()?,
            requests: 0,
            in_flight: VecDeque::new(),
            ended: None,
        })
    }

    /// Passes the end of one direction on; says whether that was the second.
    pub(super) fn end(&mut self, direction: Direction) -> Ends {
        let destination = match direction {
            Direction::ToServer => &self.server,
            Direction::ToClient => &self.client,
        };
        // An error means that it has ended already.
        let _ = destination.shutdown(Shutdown::Write);
        match self.ended.replace(direction) {
            None => Ends::One,
            Some(_) => Ends::Both,
        }
    }

    /// Errors are ignored: a socket that cannot be shut down is shut down.
    pub(super) fn close(&self) {
        self.close_client();
        let _ = self.server.shutdown(Shutdown::Both);
    }

    pub(super) fn close_client(&self) {
        let _ = self.client.shutdown(Shutdown::Both);
    }

    /// Returns the kind of a frame that has arrived and is not the first of its direction.
    pub(super) fn label(&mut self, direction: Direction, bytes: &[u8]) -> Label {
        const NOTIFICATION: i32 = -1;
        match (direction, frame::xid(bytes), frame::opcode(bytes)) {
            (Direction::ToServer, Some(xid), Some(opcode)) => {
                let number = RequestNumber(self.requests);
                self.requests += 1;
                self.in_flight.push_back((xid, opcode, number));
                Label::Request { opcode, number }
            }
            (Direction::ToClient, Some(NOTIFICATION), _) => Label::Notification,
            (Direction::ToClient, Some(xid), _) => {
                // Not always the first: `auth` is answered out of order.
                let place = self.in_flight.iter().position(|(sent, ..)| *sent == xid);
                match place.and_then(|place| self.in_flight.remove(place)) {
                    Some((_, opcode, number)) => Label::Reply { opcode, number },
                    None => Label::StrayReply,
                }
            }
            _ => Label::Opaque,
        }
    }
}
