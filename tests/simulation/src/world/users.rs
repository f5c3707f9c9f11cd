//! The actions of users, and the world's reaction to the observations of clients.

use core::time::Duration;

use election_core::NomineeId;
use election_core::election::{End, NominationError, Notice};
use election_core::format::Access;
use zk_session::Instant;

use super::faults::Undo;
use super::trouble::Afflicted;
use super::{Event, Process, World};
use crate::addition::Addition;
use crate::checker::{Broken, Change, Entry, ServerKind, name, nominee_id, queue_of};
use crate::client::{Nomination, Observed};
use crate::ending::{Ending, Moment};
use crate::ensemble::MemberRole;
use crate::links::NodeId;
use crate::outcome::Law;
use crate::plan::Calls;
use crate::queue::{Kind, Queue};

/// Nominees of one client in one election.
const MOST_NOMINEES: usize = 3;

/// The calls of a client that makes none in this run, but at its end.
const FEW_CALLS: usize = 4;

impl World<'_> {
    pub(super) fn start_process(&mut self, client: usize) {
        let now = self.now;
        if let Some(process) = self.processes.get_mut(client) {
            process.start(now);
            self.conduct.started(client);
            let node = process.node;
            self.agenda.add(now, Event::Wake(node));
        }
    }

    /// Lets a client stand in all the elections that it is meant for.
    pub(super) fn stand(&mut self, client: usize) -> Result<(), Broken> {
        let plan = self.plan;
        let ballots = plan.nominees.get(client).map(|standing| &standing.ballots);
        let mut ballots = ballots.into_iter().flatten();
        ballots.try_for_each(|queue| self.nominate(client, *queue))
    }

    /// Starts the client's process if need be.
    pub(super) fn nominate(&mut self, client: usize, queue: Queue) -> Result<(), Broken> {
        if self.is_leaving() {
            return Ok(());
        }
        if self.processes.get(client).is_none_or(Process::is_over) {
            self.start_process(client);
        }
        let when_asked = self.when_asked(client);
        let Some(process) = self.processes.get_mut(client).filter(|process| process.is_up()) else {
            return Ok(());
        };
        if process.nominees_in(queue) >= MOST_NOMINEES {
            return Ok(());
        }
        process.nominees += 1;
        let id = nominee_id(client, process.nominees, queue, Access::Exclusive);
        let now = process.now(self.now);
        let policy = self.plan.nominees.get(client).map(|standing| standing.policy);
        let (policy, when_asked) = (policy.unwrap_or_default(), when_asked);
        let nomination = Nomination { id, queue, policy, when_asked };
        if let Some(operated) = &mut self.operated {
            operated.nominated(self.now, id);
        }
        if let Some(running) = &mut process.client {
            running.nominate(now, nomination);
        }
        let node = process.node;
        let who = self.name(node);
        self.tell(&who, || format!("nominates {}", name(id)));
        self.settle_client(client)
    }

    /// Withdraws all nominations of a client, those that lead resign.
    pub(super) fn withdraw(&mut self, client: usize) -> Result<(), Broken> {
        if self.processes.get(client).is_some_and(Process::is_up) {
            self.note_withdrawal(client);
        }
        let Some(process) = self.processes.get_mut(client).filter(|process| process.is_up()) else {
            return Ok(());
        };
        let now = process.now(self.now);
        if let Some(running) = &mut process.client {
            let standing: Vec<_> = running.standing().collect();
            for key in standing {
                running.withdraw(now, key);
            }
        }
        self.settle_client(client)
    }

    /// Closes the client's session; its successor starts it again.
    pub(super) fn close_client(&mut self, client: usize) -> Result<Vec<Undo>, Broken> {
        let Some(process) = self.processes.get_mut(client).filter(|process| process.is_up()) else {
            return Ok(Vec::new());
        };
        let now = process.now(self.now);
        if let Some(running) = &mut process.client {
            running.close(now);
        }
        let node = process.node;
        self.settle_client(client)?;
        Ok(vec![Undo::Restart(node)])
    }

    /// Ends the client, now or when it next hears from a server; its successor starts it again.
    pub(super) fn end_client(
        &mut self,
        client: usize,
        ending: Ending,
        moment: Moment,
    ) -> Result<Vec<Undo>, Broken> {
        let Some(process) = self.processes.get_mut(client).filter(|process| process.is_up()) else {
            return Ok(Vec::new());
        };
        let node = process.node;
        match moment {
            Moment::Now => {
                self.end(client, ending);
                self.settle_client(client)?;
            }
            Moment::OnArrival => process.ending = Some(ending),
        }
        Ok(vec![Undo::Keep(client), Undo::Restart(node)])
    }

    /// Ends the client. The host's remaining events wait.
    pub(super) fn end(&mut self, client: usize, ending: Ending) {
        let when_asked = self.when_asked(client);
        let Some(process) = self.processes.get_mut(client) else {
            return;
        };
        let standing = self.plan.nominees.get(client);
        let queue = standing.and_then(|standing| standing.ballots.first()).copied();
        let queue = queue.unwrap_or(Queue::FIRST);
        let policy = standing.map(|standing| standing.policy).unwrap_or_default();
        process.nominees += 1;
        let id = nominee_id(client, process.nominees, queue, Access::Exclusive);
        let most = self.plan.calls.as_ref().map_or(FEW_CALLS, |calls| calls.most);
        let now = process.now(self.now);
        if let Some(running) = &mut process.client {
            running.end(now, (ending, Nomination { id, queue, policy, when_asked }, most));
        }
    }

    /// Makes a call, as the user of a client.
    pub(super) fn call(&mut self, client: usize) -> Result<(), Broken> {
        let calls = self.plan.calls.as_ref().filter(|_| self.now < self.plan.calm_at);
        let Some(&Calls { every, most, .. }) = calls else {
            return Ok(());
        };
        self.agenda.add(self.now + every, Event::Call(client));
        let Some(process) = self.processes.get_mut(client).filter(|process| process.is_up()) else {
            return Ok(());
        };
        let now = process.now(self.now);
        if let Some(running) = &mut process.client {
            running.call(now, most);
        }
        self.settle_client(client)
    }

    pub(super) fn crash_for_good(&mut self, client: usize) {
        let node = NodeId(self.hosts.len() + client);
        self.crash(node);
    }

    pub(super) fn work(&mut self, client: usize) -> Result<(), Broken> {
        let Some(interval) = self.plan.work_every.filter(|_| self.now < self.plan.calm_at) else {
            return Ok(());
        };
        self.agenda.add(self.now + interval, Event::Work(client));
        let Some(process) = self.processes.get_mut(client).filter(|process| process.is_up()) else {
            return Ok(());
        };
        let now = process.now(self.now);
        let longest = u64::try_from(self.plan.write_waits.as_millis()).unwrap_or(0);
        let wait = Duration::from_millis(self.rng.u64(0..=longest));
        if let Some(running) = &mut process.client {
            running.work(now, wait);
            if self.plan.addition == Some(Addition::HeldMachines) {
                running.confirm(now);
            }
            if self.plan.writes_in_epochs() {
                running.work_in_epochs(now);
            }
        }
        self.settle_client(client)
    }

    pub(super) fn observe(&mut self, client: usize, what: &Observed) -> Result<(), Broken> {
        self.tell_observed(client, what);
        if let Some(process) = self.processes.get_mut(client) {
            process.observe(self.now, what);
        }
        self.observe_locks(client, what)?;
        self.observe_operating(client, what)?;
        self.observe_confirmation(client, what)?;
        self.observe_tree(client, what)?;
        self.observe_share(client, what)?;
        self.observe_write(client, what);
        match what {
            Observed::Announced { nominee, until, .. } => {
                self.stats.announced += 1;
                self.check_announced(client, *nominee, *until)?;
                self.check_granted_in_time(client, *nominee)?;
            }
            Observed::Entry(entry) => self.count(*entry),
            Observed::Told(id, told) => self.observe_use(client, *id, told)?,
            Observed::Won(round) => {
                if let Some(other) = self.winners.won(*round, client) {
                    return Err((
                        Law::OneWinner,
                        format!("clients {other} and {client}, {round:?}"),
                    ));
                }
            }
            Observed::LeaseLapsed(leaders) => self.check_lapsed(client, leaders)?,
            Observed::Ended(zk_session::SessionEnd::Expired(_)) => self.stats.expiries += 1,
            // Where answers take long, there is not always the time for another one.
            Observed::HeartbeatRefused if !self.plan.is_near() => {
                self.troubles.note(self.now, Afflicted::Client(client));
            }
            Observed::Notice { nominee, notice: Notice::Ended(_) }
            | Observed::EndedWithClient { nominee }
                if queue_of(*nominee).kind() == Kind::Election =>
            {
                if let Observed::Notice { notice: Notice::Ended(End::Failed(error)), .. } = what
                    && *error == NominationError::SequenceExhausted
                {
                    self.exhausted.insert(queue_of(*nominee));
                }
                // The user wants this service to have a leader, and stands again.
                let at = self.now + self.a_while();
                self.agenda.add(at, Event::Nominate(client, queue_of(*nominee)));
                self.note_change();
            }
            Observed::Notice { .. }
            | Observed::EndedWithClient { .. }
            | Observed::Connected { .. }
            | Observed::Disconnected(_) => {
                self.note_change();
            }
            _ => {}
        }
        let process = self.processes.get(client);
        let session = process.and_then(Process::session);
        let connected_at = process.and_then(|process| process.connected_at);
        self.conduct.take_in((client, session, connected_at), what, &mut self.candidates)
    }

    fn observe_write(&mut self, client: usize, what: &Observed) {
        match what {
            Observed::Writes { call, queue, token } => {
                self.chronicle.writes(self.now, (client, *call), (*queue, token.get()));
            }
            Observed::Wrote { call, token, written } => {
                self.chronicle.wrote(self.now, (client, *call), (token.get(), *written));
            }
            _ => {}
        }
    }

    fn count(&mut self, entry: Entry) {
        let count = match entry {
            Entry::Submitted(..) => &mut self.stats.calls,
            Entry::NoRoom => &mut self.stats.calls_refused,
            Entry::Fired(_) | Entry::Told(_) | Entry::Lost(_) => &mut self.stats.watches_told,
            Entry::Connected(ServerKind::ReadOnly) => &mut self.stats.read_only_connections,
            _ => return,
        };
        *count += 1;
    }

    fn check_announced(
        &self,
        client: usize,
        nominee: NomineeId,
        until: Option<Instant>,
    ) -> Result<(), Broken> {
        let now = self.processes.get(client).map(|process| process.now(self.now));
        if until > now { Ok(()) } else { Err((Law::AnnouncedValid, name(nominee))) }
    }

    fn tell_observed(&mut self, client: usize, what: &Observed) {
        if !self.story.is_recorded() {
            return;
        }
        let Some(process) = self.processes.get(client) else {
            return;
        };
        let who = self.name(process.node);
        let until = process.valid_until().map_or("-".to_owned(), |until| until.to_string());
        let server =
            process.line.and_then(|line| self.network.way(crate::network::PipeId::Up(line)));
        let server = server.map_or(0, |way| way.to.0 + 1);
        let text = match what {
            Observed::Connected { session, timeout } => format!(
                "connected to server {server}, session {session} of {} ms",
                timeout.as_millis()
            ),
            Observed::Disconnected(end) => format!("disconnected: {end}; lease until {until}"),
            Observed::ConnectFailed
            | Observed::Fired
            | Observed::WatchLost
            | Observed::Completed
            | Observed::HandedOver { .. }
            | Observed::OutOfTerms { .. }
            | Observed::AsksToConfirm { .. }
            | Observed::Confirmed(_)
            | Observed::CacheShows(..)
            | Observed::SlotContenderOver
            | Observed::Writes { .. }
            | Observed::Wrote { .. }
            | Observed::Entry(_) => return,
            Observed::FoundBusy { contender } => format!("{}: found it busy", name(*contender)),
            Observed::TimedOut { contender } => format!("{}: timed out", name(*contender)),
            Observed::LeaseLapsed(_) => "lease lapsed".to_owned(),
            Observed::HeartbeatRefused => "heartbeat refused".to_owned(),
            Observed::RolledBack => "says that the ensemble has lost transactions".to_owned(),
            Observed::Ended(end) => format!("session ended: {end}"),
            Observed::Renewed => "begins another session".to_owned(),
            Observed::Notice { nominee, notice } => format!("{}: {notice:?}", name(*nominee)),
            Observed::Announced { nominee, token, .. } => {
                format!("{} LEADS or HOLDS with {token:?}, lease until {until}", name(*nominee))
            }
            Observed::EndedWithClient { nominee } => format!("{}: ended", name(*nominee)),
            Observed::Woken { nominee, .. } => format!("{}: woken", name(*nominee)),
            Observed::Won(round) => format!("wins {round:?}"),
            Observed::Told(id, told) => format!("use {id}: {told:?}"),
            Observed::StoodBehind { nominee, place } => {
                format!("{}: gives up place {place}, for one behind it", name(*nominee))
            }
            Observed::StepsDown { leader, to } => {
                format!("{}: steps down for {to}", name(leader.nominee))
            }
            Observed::Condemns { queue, candidates } => {
                format!("deletes what stands in {queue}: {candidates:?}")
            }
            Observed::EndAcknowledged(queue) => format!("has ended {queue}"),
            Observed::ElectionDeleted => "has deleted an election".to_owned(),
            of_slots_or_trees => thing_told(of_slots_or_trees),
        };
        self.story.tell(self.now, || (who, text));
    }

    /// Takes in what a server shows after a step.
    pub(super) fn note_progress(&mut self, node: NodeId) -> Result<(), Broken> {
        let Some(host) = self.hosts.get(node.0) else {
            return Ok(());
        };
        let role = host.role();
        if let Some(known) = self.roles.get_mut(node.0)
            && core::mem::replace(known, role) != role
        {
            self.stats.epochs += u64::from(role == Some(MemberRole::Leading));
            self.troubles.note(self.now, Afflicted::Everybody);
            let who = self.name(node);
            self.tell(&who, || match role {
                Some(MemberRole::Leading) => "leads the ensemble".to_owned(),
                Some(MemberRole::Following(leader)) => format!("follows server {}", leader.0),
                Some(MemberRole::Looking) | None => "looks for a leader".to_owned(),
            });
        }
        let mut changes = Vec::new();
        let Some(host) = self.hosts.get(node.0) else {
            return Ok(());
        };
        let result = self.candidates.take_in(self.now, host.database(), &mut changes);
        let booked = self.uses.as_mut().map_or(Ok(()), |book| book.books.take_in(host.database()));
        if let Some(trees) = &mut self.trees {
            trees.book().take_in(node.0, host.database());
        }
        let shared = self.slots.as_mut().map_or(Ok(()), |book| book.take_in(host.database()));
        let result = result.and(shared);
        let result = result.and(booked.map_err(|detail| (Law::NotTooEarly, detail)));
        let operated = self.operated.as_mut().map_or(Ok(()), |operated| {
            let sessions: Vec<_> = self.processes.iter().filter_map(Process::session).collect();
            let database = host.database();
            operated.take_in(self.now, database, (&changes, &sessions), &self.candidates)
        });
        let result = result.and(operated);
        if !changes.is_empty() {
            self.note_change();
        }
        for change in changes {
            let who = self.name(node);
            self.tell(&who, || match change {
                Change::Created(candidate) => format!(
                    "candidate of {} created in {:?} by session {}",
                    name(candidate.nominee),
                    candidate.czxid,
                    candidate.owner
                ),
                Change::Deleted(candidate) => format!(
                    "candidate of {} (created in {:?}) deleted",
                    name(candidate.nominee),
                    candidate.czxid
                ),
            });
        }
        result
    }

    pub(super) fn name(&self, node: NodeId) -> String {
        match self.client_of(node) {
            Some(client) if client == self.operator() => "operator".to_owned(),
            Some(client) => format!("client {}", client + 1),
            None => format!("server {}", node.0 + 1),
        }
    }
}

/// Returns what the story says of slots and cached trees.
fn thing_told(what: &Observed) -> String {
    match what {
        Observed::SlotGained(slot, token) => format!("gains slot {slot} by {token}"),
        Observed::SlotLost(slot) => format!("loses slot {slot}"),
        Observed::SlotToGiveUp(slot, within) => {
            format!("is to give slot {slot} up within {} ms", within.as_millis())
        }
        Observed::CacheBegins(part) => format!("keeps {part:?} of the tree"),
        Observed::CacheEnds => "drops its cache".to_owned(),
        Observed::Cached(change) => format!("its cache tells {change:?}"),
        _ => String::new(),
    }
}
