//! A driver of one nominee, and the link between it and the server.

use std::collections::VecDeque;

use election_core::{
    Applied, Cause, Change, Children, End, Event, Failure, Format, Hold, NomineeId, Notice, Output,
    Phase, Recipe, Reply, Role, Sequence, SessionId, Ticket, Token,
};

use super::machine::{Machine, News, Wish};
use super::server::{Answer, Author, Data, Kind, Name, Request, UNTOLD};

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

/// What the notices amount to so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Told {
    NotLeading,
    Leading,
    Suspended,
    Ended,
}

impl Told {
    /// Which notice may follow which; `verified` is the own znode, as told on this connection.
    pub fn after(self, notice: Notice, verified: Option<Token>) -> Result<Self, String> {
        match (self, notice) {
            (
                Self::NotLeading,
                Notice::Following
                | Notice::FollowingUnwatched
                | Notice::FollowingPersistent
                | Notice::Obstructed(_)
                | Notice::ForeignChild
                | Notice::CandidateLost(_),
            ) => Ok(Self::NotLeading),
            (Self::NotLeading, Notice::Elected(token))
            | (Self::Suspended, Notice::Resumed(token)) => {
                if verified == Some(token) {
                    Ok(Self::Leading)
                } else {
                    Err(format!("leads with {token}, but verified is {verified:?}"))
                }
            }
            (Self::Leading, Notice::Suspended) => Ok(Self::Suspended),
            (Self::Leading | Self::Suspended, Notice::Lost(_)) => Ok(Self::NotLeading),
            (Self::NotLeading | Self::Leading | Self::Suspended, Notice::Ended(_)) => {
                Ok(Self::Ended)
            }
            (told, notice) => Err(format!("{notice:?} comes while {told:?}")),
        }
    }
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
    /// What the server of this connection has applied.
    pub applied: usize,
    /// What the session has seen for certain: it goes to no server that is behind.
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

    /// Another process goes on with the session; what was on its way to this one is lost.
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

    /// Also while suspended.
    pub fn leads(&self) -> bool {
        matches!(self.nominee.role(), Role::Leading { .. } | Role::Suspended { .. })
    }

    /// Over, and nothing of it is left on its way.
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

    /// Feeds an event and queues the command that follows; the error is a broken rule.
    pub fn feed(&mut self, event: Event<'_>) -> Result<Option<News>, String> {
        let output = self.nominee.handle_event(event);
        let (request, notice) = owned(&output);
        self.take_in(request, notice)
    }

    pub fn withdraw(&mut self) -> Result<Option<News>, String> {
        self.withdrawn = true;
        self.downgrade = Downgrade::NotWanted;
        if self.told != Told::Ended {
            self.told = Told::NotLeading;
        }
        let output = self.nominee.withdraw();
        let (request, notice) = owned(&output);
        self.take_in(request, notice)
    }

    /// The time has passed that the user gave for the lock.
    pub fn pass_deadline(&mut self) -> Result<Option<News>, String> {
        let led = self.leads();
        self.withdrawn |= !led && self.nominee.is_lock();
        let told = self.feed(Event::Deadline)?;
        if !self.nominee.is_lock() && self.leads() {
            return Err("leads on, and was to step down".into());
        }
        Ok(told)
    }

    /// Whether it is a session of this client, now or before.
    pub fn has_had(&self, session: SessionId) -> bool {
        session.get() / SESSIONS == self.session.get() / SESSIONS
    }

    /// Its user wants to go on as a reader.
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

    /// The token of what is held by a znode with this `czxid`.
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

    /// Of what it writes.
    pub fn author(&self) -> Author {
        Author { client: self.index, session: self.session, kind: self.kind() }
    }

    /// Delivers the answer to a read on this connection.
    pub fn deliver_read(&mut self, ticket: Ticket, answer: Answer) -> Result<Option<News>, String> {
        let shown = match &answer {
            Answer::Read(name, stat, data) => Some((name, stat, *data)),
            Answer::Exists(name, stat) => Some((name, stat, Data::Own)),
            _ => None,
        };
        if let Some((name, stat, data)) = shown
            && stat.owner == Some(self.session)
            && (self.candidate().is_none() || self.may_hold_by(*name))
        {
            self.verified = Some(stat.token);
            self.shown_request =
                (data == Data::RevokeRequest).then(|| (stat.token, stat.version.get()));
        }
        let told = self.deliver(Delivery::Reply(ticket, answer));
        self.shown_request = None;
        told
    }

    pub fn deliver(&mut self, delivery: Delivery) -> Result<Option<News>, String> {
        let (ticket, answer) = match delivery {
            Delivery::Changed(ticket, change) => {
                return self.feed(Event::Changed { ticket, change });
            }
            Delivery::Reply(ticket, answer) => (ticket, answer),
        };
        match answer {
            Answer::Created(name, stat) => {
                let owned = stat.filter(|stat| stat.owner == Some(self.session));
                self.verified = owned.map(|stat| stat.token).or(self.verified);
                self.reply(ticket, Ok(Reply::Created { name: &name.text(), stat }))
            }
            Answer::ElectionNodeCreated => self.reply(ticket, Ok(Reply::NodeCreated)),
            Answer::BarrierPassed => self.reply(ticket, Ok(Reply::BarrierPassed)),
            Answer::Children(names, foreign, next) => {
                let number = |name: Name| Sequence::new(u32::try_from(name.sequence).ok()?);
                let mark =
                    next.and_then(number).and_then(|to| Format::curator_latch().hand_over_mark(to));
                let mark = mark.map(|mark| mark.to_string());
                let names: Vec<String> = names.into_iter().map(Name::text).chain(mark).collect();
                let names = foreign.iter().copied().chain(names.iter().map(String::as_str));
                self.reply(ticket, Ok(Reply::Children(Children::listed(&mut { names }))))
            }
            Answer::Read(_, stat, data) => {
                self.reply(ticket, Ok(Reply::Read { stat, data: data.bytes() }))
            }
            Answer::Exchanged(reader) => {
                let name = reader.text();
                let parts = [Applied::Created { name: &name }, Applied::Deleted];
                self.reply(ticket, Ok(Reply::Committed(&mut parts.iter().copied())))
            }
            Answer::Exists(_, stat) | Answer::EndMark(stat) => {
                self.reply(ticket, Ok(Reply::Exists(stat)))
            }
            Answer::Deleted => self.reply(ticket, Ok(Reply::Deleted)),
            Answer::Failed(failure) => self.reply(ticket, Err(failure)),
        }
    }

    /// The driver takes down what is no longer waited for, a watch whose read is still in flight
    /// too. A change may be on its way all the same, and must not matter.
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

    /// Whatever happens after the end, nothing is asked for or told any more.
    pub fn is_silent_after_its_end(&self) -> bool {
        let session = SessionId::new(self.session.get() + 1);
        let known = Event::Connected { session: self.session };
        let events = [
            Event::Disconnected,
            known,
            Event::LeaseLapsed,
            Event::Look,
            Event::SessionExpired,
            Event::Connected { session },
        ];
        let mut nominee = self.nominee.clone();
        let mut is_silent = |event| {
            let output = nominee.handle_event(event);
            (output.command, output.notice) == (None, None)
        };
        let is_silent = events.into_iter().all(&mut is_silent);
        let output = nominee.withdraw();
        is_silent && (output.command, output.notice) == (None, None)
    }

    fn reply(
        &mut self,
        ticket: Ticket,
        result: Result<Reply<'_>, Failure>,
    ) -> Result<Option<News>, String> {
        self.feed(Event::Reply { ticket, result })
    }

    fn take_in(
        &mut self,
        request: Option<(Ticket, Request)>,
        news: Option<News>,
    ) -> Result<Option<News>, String> {
        if let Some((ticket, request)) = request {
            self.queue(ticket, request)?;
        }
        match news {
            None => {}
            Some(News::Noticed(notice)) => {
                let verified = self.verified.map(|czxid| self.token_of(czxid));
                self.told = self.told.after(notice, verified)?;
                if let Some(log) = &mut self.log {
                    log.push(notice);
                }
                if let Notice::Lost(_) | Notice::Ended(_) = notice {
                    self.downgrade = Downgrade::NotWanted;
                }
            }
            Some(News::RevokeRequested) => self.revoke_requested()?,
            Some(News::Downgraded) => self.downgraded()?,
            Some(News::NotDowngraded(failure)) => {
                return Err(format!("not downgraded: {failure}"));
            }
        }
        self.compare_role_with_notices()?;
        Ok(news)
    }

    /// Once, and by what is at the own znode.
    fn revoke_requested(&mut self) -> Result<(), String> {
        match self.shown_request {
            None => Err("is told of a request that is not there".into()),
            shown if shown == self.told_request => Err("is told of a request again".into()),
            shown => {
                self.told_request = shown;
                Ok(())
            }
        }
    }

    /// By a znode that was read on this connection, and with the token that it had: contenders that wait
    /// have greater ones.
    fn downgraded(&mut self) -> Result<(), String> {
        let held = matches!(self.told, Told::Leading | Told::Suspended);
        match (self.verified, self.nominee.hold().token()) {
            (Some(czxid), Some(token)) if held && self.is_downgrading() => {
                self.kept = Some((czxid, token));
            }
            (verified, token) => {
                return Err(format!("a reader with {token:?}, and {verified:?} is verified"));
            }
        }
        self.downgrade = Downgrade::NotWanted;
        self.told = Told::Leading;
        Ok(())
    }

    fn queue(&mut self, ticket: Ticket, request: Request) -> Result<(), String> {
        if !self.is_up() {
            return Err(format!("{request:?} is asked for while the link is down"));
        }
        if !ticket.is_cleanup() && self.unanswered().any(|ticket| self.is_awaited(ticket)) {
            return Err(format!("{request:?} is asked for while another request is in flight"));
        }
        if matches!(request, Request::Create(_)) {
            self.creates = self.creates.saturating_add(1);
            if self.in_doubt.iter().any(|lost| {
                matches!(lost.request, Request::Create(_)) && lost.session == self.session
            }) {
                return Err("creates again while a create is in doubt".into());
            }
        }
        if matches!(request, Request::Exchange { .. })
            && self.in_doubt.iter().any(|lost| lost.request == request)
        {
            return Err("exchanges again while an exchange is in doubt".into());
        }
        self.requests.push_back((ticket, request));
        Ok(())
    }

    /// The requests whose replies did not come yet.
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

    /// The end that was announced, if any.
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

fn owned(output: &Output<'_, News>) -> (Option<(Ticket, Request)>, Option<News>) {
    let request = output.command.map(|command| (command.ticket, Request::of(&command.op)));
    (request, output.notice)
}
