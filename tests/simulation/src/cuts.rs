//! Connections that are cut at requests, many in a row.

use core::fmt;

use zk_jute::{Decode, OpCode, RequestHeader};

/// How the connections of a client are cut at its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cuts {
    /// How many connections are cut.
    pub times: u8,
    /// How many requests a connection carries at most before it is cut at the next one.
    pub spared: u8,
    /// The part that is lost with each connection.
    pub lost: Lost,
}

/// The part of an exchange that is lost with its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The request.
    Request,
    /// The reply: the server has done what it was asked for.
    Reply,
    /// Now the one, now the other.
    Either,
}

/// The cuts of a client's connections that are still to come.
#[derive(Debug)]
pub(super) struct Cutting {
    cuts: Cuts,
    rng: fastrand::Rng,
    /// How many requests pass before the next cut.
    pass: usize,
}

/// A cut that is made now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    BeforeRequest,
    BeforeReply,
}

impl Cuts {
    pub(super) fn draw(rng: &mut fastrand::Rng) -> Self {
        Self {
            times: rng.choice([3, 8, 20, 60]).unwrap_or(3),
            spared: rng.choice([0, 0, 1, 4]).unwrap_or(0),
            lost: rng.choice([Lost::Request, Lost::Reply, Lost::Either]).unwrap_or(Lost::Either),
        }
    }
}

impl Cutting {
    pub(super) fn new(cuts: Cuts, seed: u64) -> Self {
        let mut cutting = Self { cuts, rng: fastrand::Rng::with_seed(seed), pass: 0 };
        cutting.spare();
        cutting
    }

    fn spare(&mut self) {
        self.pass = usize::from(self.rng.u8(0..=self.cuts.spared));
    }

    /// Returns the cut that is made where the client sends these frames, if one is. Pings pass.
    pub(super) fn cut<'a>(&mut self, frames: impl Iterator<Item = &'a [u8]>) -> Option<Cut> {
        let opcodes = frames.filter_map(|frame| RequestHeader::decode_prefix(frame).ok());
        let requests = opcodes.filter(|header| header.opcode != OpCode::PING).count();
        if requests == 0 || self.cuts.times == 0 {
            return None;
        }
        if requests <= self.pass {
            self.pass -= requests;
            return None;
        }
        self.cuts.times -= 1;
        self.spare();
        let is_reply = match self.cuts.lost {
            Lost::Request => false,
            Lost::Reply => true,
            Lost::Either => self.rng.bool(),
        };
        Some(if is_reply { Cut::BeforeReply } else { Cut::BeforeRequest })
    }
}

impl fmt::Display for Cuts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { times, spared, lost } = self;
        let lost = match lost {
            Lost::Request => "requests",
            Lost::Reply => "replies",
            Lost::Either => "requests or replies",
        };
        write!(f, "{times} connections cut, within {} requests each: {lost} are lost", spared + 1)
    }
}
