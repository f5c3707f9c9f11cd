//! The floor: the same work by hand, on a socket that blocks.

use core::time::Duration;
use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Instant;

use super::load::{FEW, WINDOW, median};
use super::wire::{self, Connection};
use super::{answer, nanos};
use crate::outcome::{Outcome, failed};
use crate::responder::{ANSWER, LARGE_ANSWER, LIST_ANSWER};

/// How the next one learns that it leads.
#[derive(Clone, Copy)]
pub(super) enum Successor {
    /// The deletion of its predecessor is enough.
    ByEvent,
    /// It lists the candidates once more.
    ListsAgain,
}

/// Within the session timeouts of elections, so that other clients may take their time to stand.
const PING_INTERVAL: Duration = Duration::from_secs(10);

pub(super) fn serve(successor: Successor) -> Outcome<()> {
    let mut worker =
        Worker { successor, place: None, deleting: None, watching: None, queue: Queue::default() };
    let (sender, orders) = channel();
    thread::spawn(move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    loop {
        match orders.recv_timeout(PING_INTERVAL) {
            Ok(line) => {
                let words: Vec<&str> = line.split_whitespace().collect();
                answer(worker.obey(&words))?;
            }
            Err(RecvTimeoutError::Timeout) => worker.ping()?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

struct Worker {
    successor: Successor,
    place: Option<(String, Duration)>,
    deleting: Option<Connection>,
    watching: Option<Connection>,
    queue: Queue,
}

#[derive(Default)]
struct Queue {
    node: String,
    names: VecDeque<String>,
}

impl Worker {
    fn obey(&mut self, words: &[&str]) -> Outcome<Vec<u64>> {
        match words {
            ["connect", servers, timeout] => {
                let timeout = Duration::from_millis(timeout.parse()?);
                self.deleting = Some(Connection::open(servers, timeout)?);
                self.place = Some(((*servers).to_owned(), timeout));
                Ok(Vec::new())
            }
            ["tasks" | "futures", count] => {
                self.pipelined(&wire::get_data("/election"), WINDOW, ANSWER, count.parse()?)
            }
            ["large", count] => {
                self.pipelined(&wire::get_data("/large"), FEW, LARGE_ANSWER, count.parse()?)
            }
            ["list", count] => {
                self.pipelined(&wire::list("/election"), 1, LIST_ANSWER, count.parse()?)
            }
            ["one", count] => self.one_at_a_time(count.parse()?),
            ["stand", node, count, sessions] => self.stand(node, count.parse()?, sessions),
            ["turn"] => self.turn(),
            ["idle", count] => self.idle(count.parse()?),
            _ => failed(format!("no such order: {words:?}")),
        }
    }

    fn ping(&mut self) -> io::Result<()> {
        for connection in self.deleting.iter_mut().chain(&mut self.watching) {
            connection.call(&wire::ping())?;
        }
        Ok(())
    }

    /// Sends a window of requests in one write, and so on.
    fn pipelined(
        &mut self,
        request: &[u8],
        window: usize,
        answer: usize,
        count: usize,
    ) -> Outcome<Vec<u64>> {
        let connection = self.deleting.as_mut().ok_or("not connected")?;
        let requests = request.repeat(window);
        let mut answers = vec![0; answer * window];
        let start = Instant::now();
        for _ in 0..count / window {
            connection.exchange(&requests, &mut answers)?;
        }
        Ok(vec![nanos(start.elapsed())])
    }

    fn one_at_a_time(&mut self, count: usize) -> Outcome<Vec<u64>> {
        let connection = self.deleting.as_mut().ok_or("not connected")?;
        let request = wire::get_data("/election");
        let mut answer = [0; ANSWER];
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            let start = Instant::now();
            connection.exchange(&request, &mut answer)?;
            times.push(start.elapsed());
        }
        Ok(vec![nanos(median(times))])
    }

    /// Sends all creates at once, one list, and a watch on each. On sessions of their own: one
    /// session creates and deletes, and another one watches.
    fn stand(&mut self, node: &str, count: usize, sessions: &str) -> Outcome<Vec<u64>> {
        let (servers, timeout) = self.place.as_ref().ok_or("not connected")?;
        if sessions == "own" {
            self.watching = Some(Connection::open(servers, *timeout)?);
        }
        let connection = self.deleting.as_mut().ok_or("not connected")?;
        connection.call(&wire::create(node))?;
        connection.call_all(&vec![wire::create_candidate(node); count])?;
        // After the head of 16 bytes and the number of the names.
        let mut names = wire::names(&connection.call(&wire::list(node))?, 20);
        names.sort_unstable_by_key(|name| name.rsplit('-').next().map(str::to_owned));
        let watches: Vec<_> =
            names.iter().map(|name| wire::watch(&format!("{node}/{name}"))).collect();
        self.watching.as_mut().unwrap_or(connection).call_all(&watches)?;
        self.queue = Queue { node: node.to_owned(), names: names.into() };
        Ok(Vec::new())
    }

    fn turn(&mut self) -> Outcome<Vec<u64>> {
        let deleting = self.deleting.as_mut().ok_or("not connected")?;
        let watching = self.watching.as_mut().ok_or("no candidates")?;
        let node = &self.queue.node;
        let leader = self.queue.names.pop_front().ok_or("no candidates")?;
        let (delete, list) = (wire::delete(&format!("{node}/{leader}")), wire::list(node));
        let start = Instant::now();
        deleting.send(&delete)?;
        watching.event()?;
        if let Successor::ListsAgain = self.successor {
            let names = wire::names(&watching.call(&list)?, 20);
            let lowest = names.iter().map(|name| name.rsplit('-').next()).min();
            let next = self.queue.names.front().and_then(|name| name.rsplit('-').next());
            if lowest.flatten() != next {
                return failed("another one leads");
            }
        }
        let time = start.elapsed();
        deleting.answer()?;
        let created = wire::names(&deleting.call(&wire::create_candidate(node))?, 16);
        let name = created.first().and_then(|path| path.rsplit('/').next()).ok_or("no name")?;
        // Now, not before its turn: a request just before the deletion would wake the server's threads for it alone.
        watching.call(&wire::watch(&format!("{node}/{name}")))?;
        self.queue.names.push_back(name.to_owned());
        Ok(vec![nanos(time)])
    }

    /// Pings each session in turn, by one thread.
    fn idle(&mut self, count: usize) -> Outcome<Vec<u64>> {
        let (servers, timeout) = self.place.as_ref().ok_or("not connected")?;
        let mut connections = Vec::with_capacity(count);
        for _ in 0..count {
            connections.push(Connection::open_with_buffer(servers, *timeout, 64)?);
        }
        let pause = *timeout / 3 / u32::try_from(count)?;
        thread::spawn(move || -> io::Result<()> {
            let ping = wire::ping();
            loop {
                for connection in &mut connections {
                    connection.call(&ping)?;
                    thread::sleep(pause);
                }
            }
        });
        Ok(Vec::new())
    }
}
