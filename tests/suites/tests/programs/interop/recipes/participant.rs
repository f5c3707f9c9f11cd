//! One participant process, of any library.

use core::time::Duration;
use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Instant;

use zk_test_kit::failure::TestFailure;
use zk_test_kit::wait::SOON;

use super::programs::Library;

/// A participant process. Dropped: it is killed.
#[derive(Debug)]
pub(super) struct Participant {
    pub(super) library: Library,
    child: Child,
    orders: ChildStdin,
    said: Receiver<String>,
    given: usize,
    progress: BTreeMap<usize, Progress>,
}

/// The answers to an order so far.
#[derive(Clone, Debug, Default)]
struct Progress {
    order: String,
    items: Vec<String>,
    end: Option<Result<String, String>>,
}

/// An order that was given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order(usize);

/// An order that was not carried out, or not in time.
#[derive(Debug, thiserror::Error)]
#[error("{library:?}: {order}: {why}")]
pub(super) struct NotCarriedOut {
    library: Library,
    order: String,
    pub(super) why: String,
}

impl Participant {
    /// Starts one, and waits until it has a session.
    pub(super) fn start(
        library: Library,
        servers: &str,
        session_timeout: Duration,
    ) -> Result<Self, TestFailure> {
        let timeout = session_timeout.as_millis().to_string();
        let mut command = library.command(&[servers, &timeout])?;
        // Its logs are of use where a test fails, and too much elsewhere.
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let piped = || io::Error::from(io::ErrorKind::BrokenPipe);
        let orders = child.stdin.take().ok_or_else(piped)?;
        let output = child.stdout.take().ok_or_else(piped)?;
        let (sender, said) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let progress = BTreeMap::new();
        let participant = Self { library, child, orders, said, given: 0, progress };
        match participant.said.recv_timeout(SOON) {
            Ok(line) if line == "ready" => Ok(participant),
            said => Err(participant.failure("start", format!("{said:?}")).into()),
        }
    }

    /// Gives an order, and does not wait for it.
    pub(super) fn begin(&mut self, order: &str) -> Result<Order, TestFailure> {
        let number = self.given;
        self.given += 1;
        let order = order.to_owned();
        writeln!(self.orders, "{number} {order}")?;
        self.progress.insert(number, Progress { order, ..Progress::default() });
        Ok(Order(number))
    }

    /// Has an order carried out.
    pub(super) fn run(&mut self, order: &str) -> Result<String, TestFailure> {
        let order = self.begin(order)?;
        self.end(order)
    }

    /// Waits until an order is carried out.
    pub(super) fn end(&mut self, order: Order) -> Result<String, TestFailure> {
        self.end_before(order, Instant::now() + SOON)
    }

    /// Waits until then at most.
    pub(super) fn end_before(
        &mut self,
        order: Order,
        until: Instant,
    ) -> Result<String, TestFailure> {
        while self.progress_of(order).end.is_none() && self.hear(until) {}
        let Progress { order, end, items } = self.progress_of(order).clone();
        match end {
            Some(Ok(value)) => Ok(value),
            Some(Err(why)) => Err(self.failure(&order, why).into()),
            None => {
                let why = format!("not in time, with {} items", items.len());
                Err(self.failure(&order, why).into())
            }
        }
    }

    /// Waits until an order has failed: why.
    pub(super) fn fails(&mut self, order: &str) -> Result<String, TestFailure> {
        match self.run(order) {
            Ok(value) => Err(self.failure(order, format!("succeeds: {value}")).into()),
            Err(error) => match error.downcast_ref::<NotCarriedOut>() {
                Some(failure) => Ok(failure.why.clone()),
                None => Err(error),
            },
        }
    }

    /// Asserts that an order is not carried out for a while: the event that it waits for has not
    /// come.
    pub(super) fn waits(&mut self, order: Order, span: Duration) -> Result<(), TestFailure> {
        let until = Instant::now() + span;
        while self.progress_of(order).end.is_none() && self.hear(until) {}
        let Progress { order, end, .. } = self.progress_of(order).clone();
        match end {
            None => Ok(()),
            Some(end) => Err(self.failure(&order, format!("too early: {end:?}")).into()),
        }
    }

    /// Whether an order is carried out, well or in vain, before so long.
    pub(super) fn ends_within(&mut self, order: Order, span: Duration) -> bool {
        let until = Instant::now() + span;
        while self.progress_of(order).end.is_none() && self.hear(until) {}
        matches!(self.progress_of(order).end, Some(Ok(_)))
    }

    /// Waits until an order has given so many items.
    pub(super) fn gives(&mut self, order: Order, count: usize) -> Result<(), TestFailure> {
        let until = Instant::now() + SOON;
        let is_done = |progress: &Progress| progress.items.len() >= count || progress.end.is_some();
        while !is_done(self.progress_of(order)) {
            if !self.hear(until) {
                return Err(self.failure("items", format!("fewer than {count}")).into());
            }
        }
        Ok(())
    }

    /// Waits until the last item that an order has given is this one.
    pub(super) fn gives_last(&mut self, order: Order, wanted: &str) -> Result<(), TestFailure> {
        let until = Instant::now() + SOON;
        loop {
            let Progress { order, items, end } = self.progress_of(order).clone();
            let is_it = items.last().is_some_and(|last| last == wanted);
            if is_it && end.is_none() {
                return Ok(());
            }
            if end.is_some() || !self.hear(until) {
                let why = format!("not {wanted:?}, but {:?} in the end, {end:?}", items.last());
                return Err(self.failure(&order, why).into());
            }
        }
    }

    /// Returns the items that an order has given so far.
    pub(super) fn items(&mut self, order: Order) -> Vec<String> {
        self.progress_of(order).items.clone()
    }

    /// Kills it (`SIGKILL`). Its earlier lines are still heard.
    pub(super) fn kill(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        while self.hear(Instant::now() + SOON) {}
        Ok(())
    }

    fn progress_of(&mut self, order: Order) -> &Progress {
        self.progress.entry(order.0).or_default()
    }

    /// Takes what it says; false if it says nothing until then, or nothing any more.
    fn hear(&mut self, until: Instant) -> bool {
        let bound = until.saturating_duration_since(Instant::now());
        let line = match self.said.recv_timeout(bound) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return false,
        };
        let mut words = line.splitn(3, ' ');
        let number = words.next().and_then(|number| number.parse().ok()).unwrap_or(usize::MAX);
        let (word, rest) = (words.next(), words.next().unwrap_or_default().to_owned());
        let progress = self.progress.entry(number).or_default();
        match word {
            Some("item") => progress.items.push(rest),
            Some("ok") => progress.end = Some(Ok(rest)),
            _ => progress.end = Some(Err(rest)),
        }
        true
    }

    fn failure(&self, order: &str, why: String) -> NotCarriedOut {
        NotCarriedOut { library: self.library, order: order.to_owned(), why }
    }
}

impl Drop for Participant {
    fn drop(&mut self) {
        // It may have ended already; it must not live on.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
