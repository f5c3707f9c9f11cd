//! Messages between `zkelect run` and its guard: a JSON value for each line.

use core::fmt::Debug;
use core::marker::PhantomData;
use std::io::{self, Write as _};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::net::UnixStream;

use super::boot_time::BootTime;
use super::session::HeldSession;
use crate::exit::CommandExit;

/// To the guard.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// COMMAND may live until then. It replaces the earlier moment. The first one starts COMMAND.
    ValidUntil(BootTime),
    /// COMMAND has to end: this signal now, `SIGKILL` then.
    Stop { signal: i32, kill_at: BootTime },
    /// COMMAND gets this signal. The guard does not end it for that.
    PassOn { signal: i32 },
    /// `zkelect run` has taken COMMAND's last line.
    NextLine,
    /// The session, to be closed if `zkelect run` dies.
    Session(Box<HeldSession>),
}

/// From the guard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// COMMAND wrote a line to its descriptor. The next one comes when this one was taken.
    Line { line: String },
    /// This process of COMMAND refuses signals: it has become another user. Reported once for each.
    OutOfReach { pid: i32 },
    /// COMMAND gets `SIGKILL`.
    Killed { at: KilledAt },
    /// Nothing of COMMAND is left. This is the last report.
    Ended { exit: CommandExit, ended_by: EndedBy },
}

/// Why COMMAND ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum EndedBy {
    Itself,
    /// An order to stop.
    Order,
    /// The passing of its time, without an order.
    Deadline,
}

/// The moment at which COMMAND gets `SIGKILL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum KilledAt {
    GraceOver,
    /// It was given by the last [`Order::ValidUntil`].
    LeaseDeadline,
}

/// One side of the connection.
pub(crate) struct Link<In, Out> {
    lines: Lines<BufReader<UnixStream>>,
    writer: std::os::unix::net::UnixStream,
    says: PhantomData<fn(Out) -> In>,
}

impl<In: DeserializeOwned, Out: Serialize + Debug> Link<In, Out> {
    /// Makes a link. The caller has to be in a tokio runtime.
    pub(crate) fn new(stream: std::os::unix::net::UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let writer = stream.try_clone()?;
        Ok(Self {
            lines: BufReader::new(UnixStream::from_std(stream)?).lines(),
            writer,
            says: PhantomData,
        })
    }

    /// Sends without waiting: a few dozen bytes find room unless the other side has been stopped
    /// for long.
    pub(crate) fn send(&self, message: &Out) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        (&self.writer).write_all(&line)
    }

    /// Receives the next message; `None` when the other side has gone.
    ///
    /// Cancel safe.
    pub(crate) async fn receive(&mut self) -> Option<In> {
        let line = self.lines.next_line().await.ok().flatten()?;
        serde_json::from_str(&line).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn orders_and_reports_arrive_as_they_were_sent() {
        let (here, there) = std::os::unix::net::UnixStream::pair().expect("sockets");
        let mut run: Link<Report, Order> = Link::new(here).expect("a link");
        let mut guard: Link<Order, Report> = Link::new(there).expect("a link");
        let orders = [
            Order::ValidUntil(BootTime::now()),
            Order::Stop { signal: 15, kill_at: BootTime::now() },
            Order::PassOn { signal: 10 },
            Order::NextLine,
        ];
        for order in orders {
            run.send(&order).expect("there is room");
            let received = guard.receive().await.expect("it is there");
            assert_eq!(format!("{received:?}"), format!("{order:?}"));
        }
        for report in [
            Report::OutOfReach { pid: 7 },
            Report::Killed { at: KilledAt::GraceOver },
            Report::Killed { at: KilledAt::LeaseDeadline },
            Report::Line { line: "a \"b\"".to_owned() },
            Report::Ended { exit: CommandExit::Signal(9), ended_by: EndedBy::Deadline },
        ] {
            guard.send(&report).expect("there is room");
            assert_eq!(run.receive().await, Some(report));
        }
        drop(guard);
        assert_eq!(run.receive().await, None);
    }
}
