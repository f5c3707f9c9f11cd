//! The shared counter: a number in a znode, to be read, or changed depending on its value.

mod format;
#[cfg(test)]
mod tests;

use thiserror::Error;

use self::format::Digits;
use crate::command::{
    Command, Create, CreateMode, ExpectedVersion, NewZnode, Op, Output, Payload, Watch, Write,
    Znode,
};
use crate::event::{Event, Failure, Reply};
use crate::id::Version;
use crate::line::{Line, Lost};
use crate::recipe::{Phase, Recipe};
use crate::ticket::Ticket;
pub use format::{CounterFormat, CounterOverflow, NotANumber};

/// A read of a counter, or a change to it.
///
/// A change reads the number, and writes with the version that it has read. If another client was
/// faster, it begins again. If the reply to the write is lost, it sends the same write again: if
/// that succeeds, the first one was not executed, and never will be. If it is refused, it cannot be
/// known whether the change was made: the change ends with [`CounterEnd::Unknown`]. No change is made
/// twice.
///
/// A counter without a znode, or with an empty one, is at zero. A change creates the znode with the
/// number; if its parent is missing, too, empty at first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CounterChange {
    format: CounterFormat,
    op: CounterOp,
    stage: CounterStage,
    line: Line<()>,
}

/// The operation on a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CounterOp {
    /// Reads it.
    Get,
    /// Adds this number, which may be negative.
    Add(i64),
    /// Replaces one number by another, if it is the expected one.
    CompareAndSet {
        /// The expected number.
        expected: i64,
        /// The new number.
        new: i64,
    },
}

/// The outcome. Reported once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CounterEnd {
    /// The counter was read.
    Value(i64),
    /// Only this change has changed the counter.
    Changed {
        /// The number before.
        before: i64,
        /// The number after it.
        after: i64,
    },
    /// The counter is not at the expected number, and was not changed.
    Differs {
        /// The number.
        actual: i64,
    },
    /// The counter was changed to this, or not: the reply was lost, and another client has written
    /// since.
    Unknown {
        /// The number that it was to have.
        after: i64,
    },
    /// The change was given up. If its write was on its way, it may still be made.
    Withdrawn,
    /// It failed, and the counter is unchanged.
    Failed(CounterFailure),
}

/// Why a counter was not read or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum CounterFailure {
    /// The chroot of the client does not exist.
    #[error(
        "the client's chroot does not exist: create it, or correct it in the client's list of servers"
    )]
    NoChroot,
    /// The data of the znode is not a number in this format.
    #[error(transparent)]
    NotANumber(#[from] NotANumber),
    /// The number would be too large for its format.
    #[error(transparent)]
    Overflow(#[from] CounterOverflow),
    /// The znode was written so often that its version is -1. With this version a server writes
    /// whatever the real version is. One more write, by any client, ends that.
    #[error("the version of the counter is -1, which no write can ask for")]
    VersionUnusable,
    /// The server refused a request, with this error code.
    #[error("the server refused a request of the counter, with error code {0}")]
    Rejected(i32),
    /// A reply does not decode, or is larger than the driver keeps.
    #[error("a reply cannot be read, or is larger than this client keeps")]
    UnreadableReply,
    /// The driver answered a command with the reply to another one.
    #[error("the reply does not belong to the request")]
    UnexpectedReply,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum CounterStage {
    Reading,
    /// It creates the node with its parents, without data.
    CreatingNode,
    Changing {
        change: Change,
        earlier: Earlier,
    },
    Over,
}

/// An earlier sending of the same write, with a lost reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Earlier {
    None,
    Lost,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Change {
    before: i64,
    after: i64,
    data: Digits,
    at: At,
}

/// The target of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    /// A znode that does not exist yet.
    NoZnode,
    /// The znode with this version.
    Version(Version),
}

impl CounterChange {
    /// Makes an operation that has not been connected yet.
    pub const fn new(format: CounterFormat, op: CounterOp) -> Self {
        Self { format, op, stage: CounterStage::Reading, line: Line::new() }
    }

    fn answered(&mut self, result: Result<Reply<'_>, Failure>) -> Option<CounterEnd> {
        let stage = core::mem::replace(&mut self.stage, CounterStage::Reading);
        match (stage, result) {
            (CounterStage::Reading, Ok(Reply::Read { stat, data })) => {
                let before = match self.format.parse(data) {
                    Ok(number) => number.unwrap_or(0),
                    Err(error) => return self.fail(error.into()),
                };
                self.read(before, At::Version(stat.version))
            }
            (CounterStage::Reading, Err(Failure::NoNode)) => self.read(0, At::NoZnode),
            (CounterStage::CreatingNode, Ok(Reply::NodeCreated)) => None,
            (CounterStage::Changing { change, earlier }, result) => {
                self.changed(&change, earlier, result)
            }
            (_, result) => self.refused(&result),
        }
    }

    fn read(&mut self, before: i64, at: At) -> Option<CounterEnd> {
        let after = match self.op {
            CounterOp::Get => return self.end(CounterEnd::Value(before)),
            CounterOp::CompareAndSet { expected, .. } if expected != before => {
                return self.end(CounterEnd::Differs { actual: before });
            }
            CounterOp::CompareAndSet { new, .. } => Some(new),
            CounterOp::Add(number) => before.checked_add(number),
        };
        if at == At::Version(Version::new(ExpectedVersion::Any.number())) {
            return self.fail(CounterFailure::VersionUnusable);
        }
        match after.ok_or(CounterOverflow).and_then(|after| Ok((after, self.format.digits(after)?)))
        {
            Ok((after, data)) => {
                let change = Change { before, after, data, at };
                self.stage = CounterStage::Changing { change, earlier: Earlier::None };
                None
            }
            Err(overflow) => self.fail(overflow.into()),
        }
    }

    fn changed(
        &mut self,
        change: &Change,
        earlier: Earlier,
        result: Result<Reply<'_>, Failure>,
    ) -> Option<CounterEnd> {
        let Change { before, after, at, .. } = *change;
        match (result, earlier, at) {
            (Ok(Reply::Written(_) | Reply::Created { .. }), _, _) => {
                self.end(CounterEnd::Changed { before, after })
            }
            // The parent is missing: neither write was executed.
            (Err(Failure::NoNode), _, At::NoZnode) => {
                self.stage = CounterStage::CreatingNode;
                None
            }
            (Err(_), Earlier::Lost, _) => self.end(CounterEnd::Unknown { after }),
            // Another client was faster.
            (Err(Failure::BadVersion | Failure::NodeExists | Failure::NoNode), _, _) => None,
            (result, _, _) => self.refused(&result),
        }
    }

    fn refused(&mut self, result: &Result<Reply<'_>, Failure>) -> Option<CounterEnd> {
        self.fail(match result {
            Ok(_) => CounterFailure::UnexpectedReply,
            Err(Failure::Unreadable) => CounterFailure::UnreadableReply,
            Err(Failure::NoChroot) => CounterFailure::NoChroot,
            Err(failure) => CounterFailure::Rejected(failure.code()),
        })
    }

    fn fail(&mut self, failure: CounterFailure) -> Option<CounterEnd> {
        self.end(CounterEnd::Failed(failure))
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "it is what its callers tell, if they tell anything"
    )]
    fn end(&mut self, end: CounterEnd) -> Option<CounterEnd> {
        self.stage = CounterStage::Over;
        Some(end)
    }

    const fn link_lost(&mut self, in_flight: Option<()>) {
        if let (Some(()), CounterStage::Changing { earlier, .. }) = (in_flight, &mut self.stage) {
            *earlier = Earlier::Lost;
        }
    }

    fn request(&self) -> Option<Op<'_>> {
        Some(match &self.stage {
            CounterStage::Reading => Op::Read { znode: Znode::Node, watch: Watch::None },
            CounterStage::CreatingNode => Op::CreateNode,
            CounterStage::Changing { change, .. } => {
                let data = Payload::Bytes(&change.data);
                match change.at {
                    At::NoZnode => {
                        let (znode, mode) = (NewZnode::Named(Znode::Node), CreateMode::Persistent);
                        Op::Create(Create { znode, mode, data })
                    }
                    At::Version(version) => {
                        let version = ExpectedVersion::Exactly(version);
                        Op::Write(Write { znode: Znode::Node, version, data })
                    }
                }
            }
            CounterStage::Over => return None,
        })
    }

    fn output(&mut self, notice: Option<CounterEnd>) -> Output<'_, CounterEnd> {
        let ticket = if self.stage == CounterStage::Over { None } else { self.line.ask(()) };
        let command = ticket.zip(self.request()).map(|(ticket, op)| Command { ticket, op });
        Output { command, notice }
    }
}

impl Recipe for CounterChange {
    type Notice = CounterEnd;

    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, CounterEnd> {
        if let Some(Lost { in_flight }) = self.line.lost_by(&event) {
            self.link_lost(in_flight);
        }
        let notice = match event {
            Event::Connected { session } => {
                self.line.connected(session);
                None
            }
            Event::SessionExpired => {
                self.link_lost(self.line.in_flight().map(|(_, request)| request));
                self.line.expired();
                None
            }
            Event::Look => {
                self.line.ask_again();
                None
            }
            Event::Reply { ticket, result } => {
                let request = self.line.answered(ticket, &result);
                request.and_then(|()| self.answered(result))
            }
            _ => None,
        };
        self.output(notice)
    }

    /// Gives up at once. A write that is on its way may be executed.
    fn withdraw(&mut self) -> Output<'_, CounterEnd> {
        let notice = match self.stage {
            CounterStage::Over => None,
            _ => self.end(CounterEnd::Withdrawn),
        };
        // Its reply would tell of a second end.
        self.line.ignore();
        Output { command: None, notice }
    }

    fn phase(&self) -> Phase {
        match self.stage {
            CounterStage::Over => Phase::Over,
            _ => Phase::Standing,
        }
    }

    fn awaits_change(&self, _: Ticket) -> bool {
        false
    }

    fn waits_for_look(&self) -> bool {
        self.line.waits_for_look()
    }
}
