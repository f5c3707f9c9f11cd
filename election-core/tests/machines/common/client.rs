//! A driver of one nominee, and the link between it and the server.

mod deliveries;
mod feeding;
mod told;

use std::collections::VecDeque;

use election_core::election::{Cause, End, Notice, Role};
use election_core::{Change, Event, Hold, NomineeId, Phase, Recipe, SessionId, Ticket, Token};

pub use told::Told;

use super::machine::{Machine, News, Wish};
use super::server::{Answer, Author, Kind, Name, Request, UNTOLD};

/// Sessions are numbered by client, so that they are told from tokens at a glance.
pub const FIRST_SESSION: i64 = 1_000_000;
pub const SESSIONS: i64 = 1_000;
/// Of a contender that is no client of the world's.
pub const FOREIGN: SessionId = SessionId::new(9_000_000);

pub fn nominee_id(client: usize) -> NomineeId {
    NomineeId::from_bytes([u8::try_from(client).expect("few clients") + 0xa0; 16])
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Delivery {
    Reply(Ticket, Answer),
    Changed(Ticket, Change),
}

/// The reply to a write or a `sync`: it comes once the client's server has applied the log up to
/// this position.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Due {
    pub position: usize,
    pub ticket: Ticket,
    pub answer: Answer,
}

/// A watch at the client's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Watcher {
    pub ticket: Ticket,
    pub name: Name,
}

/// A request that was sent on a connection that is lost: it may still be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InDoubt {
    pub session: SessionId,
    pub request: Request,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Link {
    /// Never connected in this session.
    New,
    Up,
    Down,
}

/// What the present connection has shown of the own znode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sight {
    Nothing,
    /// A quorum has committed something: what is read now is not older.
    Barrier,
    /// Behind that, the znode with this name was the session's.
    Own(Name),
}

/// Whether the user of a writer wants it to go on as a reader, and was not told yet that it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Downgrade {
    NotWanted,
    Wanted,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Client {
    pub index: usize,
    pub nominee: Machine,
    pub wish: Wish,
    pub link: Link,
    pub session: SessionId,
    /// At the server; the client may not know yet.
    pub session_lives: bool,
    /// The last commit that the server of this connection has applied.
    pub applied: usize,
    /// The last commit that the session has seen for certain: it goes to no server that is behind.
    pub seen: usize,
    pub watchers: Vec<Watcher>,
    /// Sent, and not executed yet.
    pub requests: VecDeque<(Ticket, Request)>,
    /// Executed, and not answered yet.
    pub due: VecDeque<Due>,
    pub in_doubt: Vec<InDoubt>,
    pub stragglers: Vec<Delivery>,
    pub told: Told,
    /// The own znode, as read on this connection.
    pub verified: Option<Token>,
    /// What this connection has shown of the own znode, for a deletion by a name that may recur.
    pub sight: Sight,
    pub withdrawn: bool,
    /// Whether it was ever told that it holds.
    pub has_held: bool,
    /// The notices, oldest first; kept only where a test asks for it.
    pub log: Option<Vec<Notice>>,
    pub creates: u8,
    pub downgrade: Downgrade,
    /// The `czxid` of the reader's znode that it has instead of a writer's, and the writer's token.
    pub kept: Option<(Token, Token)>,
    /// The request to let go that it was told of last: at which znode, and in which version.
    pub told_request: Option<(Token, i32)>,
    /// The request that is at the own znode, by the read that is being delivered.
    shown_request: Option<(Token, i32)>,
}

impl Client {
    pub fn new(index: usize, wish: Wish) -> Self {
        Self {
            index,
            nominee: Machine::new(nominee_id(index), wish),
            wish,
            link: Link::New,
            session: SessionId::new(
                i64::try_from(index).expect("few clients") * SESSIONS + FIRST_SESSION,
            ),
            session_lives: true,
            applied: 0,
            seen: 0,
            watchers: Vec::new(),
            requests: VecDeque::new(),
            due: VecDeque::new(),
            in_doubt: Vec::new(),
            stragglers: Vec::new(),
            told: Told::NotLeading,
            verified: None,
            sight: Sight::Nothing,
            withdrawn: false,
            has_held: false,
            log: None,
            creates: 0,
            downgrade: Downgrade::NotWanted,
            kept: None,
            told_request: None,
            shown_request: None,
        }
    }

    /// Hands the session to another process, which goes on with it; messages on the way to this one
    /// are lost.
    pub fn hand_over(&mut self) {
        self.nominee = self.nominee.returning(self.wish);
        self.stragglers.clear();
        self.told = Told::NotLeading;
        self.creates = 0;
    }

    pub fn is_up(&self) -> bool {
        self.link == Link::Up
    }

    /// Whether a server answers it from what it has applied, now or after a reconnect.
    pub fn has_a_server(&self) -> bool {
        match self.link {
            Link::New => false,
            Link::Up => true,
            Link::Down => self.session_lives,
        }
    }

    pub fn is_ended(&self) -> bool {
        matches!(self.nominee.role(), Role::Ended(_))
    }

    /// Whether the client leads, also while suspended.
    pub fn leads(&self) -> bool {
        matches!(self.nominee.role(), Role::Leading { .. } | Role::Suspended { .. })
    }

    /// Whether the client is over, and nothing of it is left on its way.
    pub fn is_idle_for_good(&self) -> bool {
        self.nominee.phase() == Phase::Over
            && self.requests.is_empty()
            && self.due.is_empty()
            && self.in_doubt.is_empty()
            && self.stragglers.is_empty()
    }

    /// Whether the client follows or has this candidate, or may come to do so by what it was told.
    pub fn may_await(&self, name: Name) -> bool {
        let follows = match self.nominee.role() {
            Role::Following { predecessor, .. } => Name::parse(&predecessor.text()) == name,
            Role::Ended(_) => return false,
            Role::Leading { .. } | Role::Promoted | Role::Suspended { .. } | Role::Leaving => false,
            // On its way, with a list that may show it.
            Role::Connecting | Role::Standing => true,
        };
        follows || self.candidate() == Some(name)
    }

    pub fn candidate(&self) -> Option<Name> {
        self.nominee.candidate().map(|name| Name::parse(&name.text()))
    }

    /// Whether it is a session of this client, now or before.
    pub fn has_had(&self, session: SessionId) -> bool {
        session.get() / SESSIONS == self.session.get() / SESSIONS
    }

    /// Asks, as the user, to go on as a reader.
    pub fn downgrade(&mut self) -> Result<Option<News>, String> {
        self.nominee.downgrade();
        self.downgrade = Downgrade::Wanted;
        self.feed(Event::Deadline)
    }

    pub fn is_downgrading(&self) -> bool {
        self.downgrade == Downgrade::Wanted
    }

    pub fn kind(&self) -> Kind {
        self.nominee.kind(self.wish)
    }

    /// Returns the token of a leadership or a lock by a znode with this `czxid`.
    pub fn token_of(&self, czxid: Token) -> Token {
        self.kept.filter(|(kept, _)| *kept == czxid).map_or(czxid, |(_, token)| token)
    }

    /// Whether this is the own znode, or may be.
    pub fn may_hold_by(&self, name: Name) -> bool {
        self.candidate().is_some_and(|own| {
            own == name
                || self.is_downgrading()
                    && (own.client, own.sequence) == (name.client, name.sequence)
        })
    }

    /// Returns the author of its writes.
    pub fn author(&self) -> Author {
        Author { client: self.index, session: self.session, kind: self.kind() }
    }

    /// Takes down, as the driver, each watch that the nominee no longer waits for, also one with a
    /// read still in flight. A change may be on its way all the same, and must not matter.
    pub fn take_down_watches(&mut self) -> Result<(), String> {
        let nominee = &self.nominee;
        let awaited = |watcher: &Watcher| nominee.awaits_change(watcher.ticket);
        for Watcher { ticket, .. } in self.watchers.iter().filter(|watcher| !awaited(watcher)) {
            for change in [Change::Deleted, Change::Data, Change::Lost] {
                let mut late = nominee.clone();
                let output = late.handle_event(Event::Changed { ticket: *ticket, change });
                let is_silent = (output.command, output.notice) == (None, None);
                if !is_silent || late != *nominee {
                    return Err(format!("{change:?} of {ticket} matters, and is not awaited"));
                }
            }
        }
        self.watchers.retain(awaited);
        for (ticket, request) in &mut self.requests {
            match *request {
                _ if nominee.awaits_change(*ticket) => {}
                Request::Read(name) => *request = Request::ReadUnwatched(name),
                Request::Exists(name) => *request = Request::LookAt(name),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the requests that have had no reply yet.
    pub fn unanswered(&self) -> impl Iterator<Item = Ticket> {
        let due = self.due.iter().map(|due| due.ticket);
        due.chain(self.requests.iter().map(|(ticket, _)| *ticket))
    }

    /// Whether the reply may matter: a nominee that leaves deletes its znode at once, also while it is
    /// being read.
    pub fn is_awaited(&self, ticket: Ticket) -> bool {
        let reads_own = |request: &Request| {
            matches!(request, Request::Read(name) | Request::ReadUnwatched(name)
                if [self.index, UNTOLD].contains(&name.client))
        };
        let mut sent = self.requests.iter().filter(|(sent, _)| *sent == ticket);
        let mut due = self.due.iter().filter(|due| due.ticket == ticket);
        let is_own_read = sent.any(|(_, request)| reads_own(request))
            || due.any(
                |due| matches!(due.answer, Answer::Read(name, ..) if [self.index, UNTOLD].contains(&name.client)),
            );
        let is_abandoned = self.nominee.role() == Role::Leaving && is_own_read;
        !(ticket.is_cleanup() || is_abandoned)
    }

    fn compare_role_with_notices(&self) -> Result<(), String> {
        let (role, hold, phase) = (self.nominee.role(), self.nominee.hold(), self.nominee.phase());
        let is_over = matches!(phase, Phase::CleaningUp | Phase::Over);
        let agrees = match role {
            Role::Leading { token } => self.told == Told::Leading && hold == Hold::Active(token),
            Role::Suspended { token } => {
                self.told == Told::Suspended && hold == Hold::Suspended(token)
            }
            Role::Ended(_) => self.told == Told::Ended && hold == Hold::None,
            Role::Connecting
            | Role::Standing
            | Role::Promoted
            | Role::Following { .. }
            | Role::Leaving => self.told == Told::NotLeading && hold == Hold::None,
        };
        if agrees && is_over == (self.told == Told::Ended) {
            Ok(())
        } else {
            Err(format!("role {role:?}, {hold:?}, {phase:?}, but told {:?}", self.told))
        }
    }

    /// Returns the end that was announced, if any.
    pub fn end(&self) -> Option<End> {
        match self.nominee.role() {
            Role::Ended(end) => Some(end),
            _ => None,
        }
    }

    /// Whether the log holds a loss for this cause.
    pub fn was_told_of(&self, cause: Cause) -> bool {
        self.log.iter().flatten().any(|notice| {
            matches!(notice, Notice::Lost(told) | Notice::CandidateLost(told) if *told == cause)
        })
    }
}
