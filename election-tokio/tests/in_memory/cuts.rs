//! Connections that are cut at a request, one after another.

use zk_jute::OpCode;

/// The connections that are still to be cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cuts {
    pub(crate) place: Place,
    pub(crate) fate: Fate,
    pub(crate) left: usize,
}

/// The request at which a connection is cut. Pings do not count.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// The request of each connection that comes after so many others.
    After(usize),
    /// Each request with this opcode.
    Each(OpCode),
}

/// What becomes of the request at which the connection is cut. No client gets an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Executed,
    Lost,
}

impl Cuts {
    /// Returns the fate of a request that comes after so many others on its connection, if the
    /// connection is to be cut at it.
    pub(crate) fn next(&mut self, after: usize, opcode: OpCode) -> Option<Fate> {
        let is_here = match self.place {
            Place::After(requests) => requests == after,
            Place::Each(wanted) => wanted == opcode,
        };
        if !is_here {
            return None;
        }
        self.left = self.left.checked_sub(1)?;
        Some(self.fate)
    }
}
