//! A nominee with its link.

use core::time::Duration;
use std::collections::VecDeque;

use election_core::{
    Event, Nominee, NomineeId, Notice, OnLoss, Output, Phase, Policy, Recipe, Ticket,
};

use super::server::{Answer, IsWatched, Request};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Link {
    Unconnected,
    Up,
    Down,
}

/// A reply that comes once the client's server has applied so many trees.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Due {
    pub position: usize,
    pub ticket: Ticket,
    pub answer: Answer,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    pub nominee: Nominee,
    pub link: Link,
    pub session: i64,
    pub session_lives: bool,
    /// The tree that its server has applied.
    pub applied: usize,
    /// Sent, and not executed; an answer that is not awaited any more may stand before the next.
    pub requests: VecDeque<(Ticket, Request)>,
    pub due: VecDeque<Due>,
    pub watches: Vec<(Ticket, String)>,
    /// Requests of lost connections, with the session that sent them.
    pub in_doubt: Vec<(i64, Request)>,
    /// Whether the delay has passed for this candidate.
    pub has_waited: bool,
    /// The work of its present leadership goes on after its end.
    pub is_unclean: bool,
    /// It was told that its present leadership is over, by its user or another one.
    pub is_withdrawn: bool,
}

impl Client {
    pub fn new(index: u8, on_loss: OnLoss) -> Self {
        let policy = Policy { on_loss, lock_delay: Duration::from_secs(40), ..Policy::default() };
        let id = NomineeId::from_bytes([0x11 * (index + 1); 16]);
        Self {
            nominee: Nominee::new(id, policy),
            link: Link::Unconnected,
            session: i64::from(index + 1) * 1000,
            session_lives: true,
            applied: 0,
            requests: VecDeque::new(),
            due: VecDeque::new(),
            watches: Vec::new(),
            in_doubt: Vec::new(),
            has_waited: false,
            is_unclean: false,
            is_withdrawn: false,
        }
    }

    pub fn is_up(&self) -> bool {
        self.link == Link::Up
    }

    pub fn is_over(&self) -> bool {
        self.nominee.phase() == Phase::Over
    }

    pub fn feed(&mut self, event: Event<'_>) -> Option<Notice> {
        let before = self.nominee.incarnation();
        let output = self.nominee.handle_event(event);
        let (asked, notice) = owned(&output);
        self.after(before, asked);
        notice
    }

    pub fn withdraw(&mut self) -> Option<Notice> {
        self.is_withdrawn = true;
        let before = self.nominee.incarnation();
        let output = self.nominee.withdraw();
        let (asked, notice) = owned(&output);
        self.after(before, asked);
        notice
    }

    fn after(&mut self, before: election_core::Incarnation, asked: Option<(Ticket, Request)>) {
        if self.nominee.incarnation() != before {
            self.has_waited = false;
            self.is_unclean = false;
        }
        self.requests.extend(asked.filter(|_| self.is_up()));
        assert!(self.requests.len() + self.due.len() < 3, "three requests in flight");
        let Self { nominee, watches, .. } = self;
        watches.retain(|(ticket, _)| nominee.awaits_change(*ticket));
    }

    /// Notes the answer to a read: the read may have left a watch.
    pub fn read_answered(&mut self, ticket: Ticket, request: &Request, answer: &Answer) {
        if let (Request::Read(name, IsWatched::Yes), Answer::Read(_)) = (request, answer) {
            self.watches.push((ticket, name.clone()));
        }
    }
}

fn owned(output: &Output<'_>) -> (Option<(Ticket, Request)>, Option<Notice>) {
    let asked = output.command.map(|command| (command.ticket, Request::of(&command.op)));
    (asked, output.notice)
}
