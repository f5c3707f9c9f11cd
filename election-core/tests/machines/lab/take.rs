//! What a step does.

use election_core::children::Children;
use election_core::{
    Applied, Change as Fired, Event, Failure, Phase, Recipe as _, Reply, Ticket, Watch,
};

use super::budget::spend;
use super::client::{Actor, Client, Due, Late, Link, Rights, Sent, Watcher};
use super::server::{Answer, Done, Effect, Position, Request, Znode};
use super::{Commit, Lab, Model, Step};

const NO_AUTH: i32 = -102;

impl<M: Model> Lab<M> {
    pub fn take(&mut self, step: Step<M>) {
        match step {
            Step::Connect(i) => self.connect(i),
            Step::Execute(i) => self.execute(i),
            Step::Apply(i) => {
                let next = self.clients[i].next_heard(&self.server);
                self.apply_until(i, next.unwrap_or_else(|| self.server.end()));
            }
            Step::ReadAt(i, commits) => {
                self.apply_until(i, commits);
                self.execute(i);
            }
            Step::LearnExpiry(i) => self.learn_expiry(i),
            Step::Bury(k) => {
                let ghost = self.ghosts.remove(k);
                self.end_session(ghost.session);
            }
            Step::Permit(i) => self.clients[i].rights = Rights::Restored,
            Step::Look(i) => {
                self.look(i);
            }
            Step::ApplyInDoubt(i) => {
                let request = self.clients[i].in_doubt.pop_front().expect("a write");
                self.commit(Some(i), None, &request);
            }
            Step::ApplyGhost(k) => {
                let request = self.ghosts[k].writes.pop_front().expect("a write");
                let author = usize::from(self.ghosts[k].author);
                self.commit(Some(author), None, &request);
            }
            Step::Act(act) => M::act(self, act),
            fault => {
                self.suffer(fault);
                M::suffered(self, &fault);
            }
        }
        self.bound_the_lag();
        M::taken(self);
    }

    /// Looks are so far apart that the client's server has caught up.
    fn look(&mut self, i: usize) {
        if !self.needs_look(i) {
            spend(&mut self.budget.looks);
        }
        let is_idle = self.clients[i].is_idle();
        if is_idle && self.clients[i].next_heard(&self.server).is_none() {
            self.apply_until(i, self.server.end());
            let client = &mut self.clients[i];
            client.is_deaf = false;
            let tip = &self.server.tip;
            client.hidden.retain(|name| tip.get(name).is_some_and(Znode::is_barred));
        }
        self.feed_all(i, || Event::Look);
    }

    /// Whether only a look makes a client go on.
    pub fn needs_look(&self, i: usize) -> bool {
        self.clients[i].needs_look(&self.server) || M::needs_look(self, i)
    }

    pub fn feed_all<'e>(&mut self, i: usize, event: impl Fn() -> Event<'e>) {
        let actors: Vec<Actor> = self.clients[i].machines.numbers();
        for actor in actors {
            self.feed(i, actor, event());
        }
    }

    pub(super) fn connect(&mut self, i: usize) {
        let client = &mut self.clients[i];
        if client.link == Link::New && self.has_local_sessions {
            client.seen = self.server.end().saturating_sub(self.max_lag);
            client.applied = Position::after(client.seen);
        }
        let is_new = client.link == Link::New;
        client.link = Link::Up;
        let session = client.session;
        if is_new {
            M::begun(self, i);
        }
        self.feed_all(i, || Event::Connected { session });
    }

    pub fn disconnect(&mut self, i: usize) {
        let late = self.late(i);
        let client = &mut self.clients[i];
        let unanswered = client.requests.iter().map(|sent| (sent.actor, sent.ticket));
        let unanswered = client.due.iter().map(|due| (due.actor, due.ticket)).chain(unanswered);
        let unanswered: Vec<(Actor, Ticket)> = unanswered.collect();
        client.lose_link();
        client.late.extend(late);
        if self.budget.stragglers == 0 {
            client.late.clear();
        }
        M::disconnected(self, i);
        self.feed_all(i, || Event::Disconnected);
        for (actor, ticket) in unanswered {
            let result = Err(Failure::ConnectionLoss);
            self.feed(i, actor, Event::Reply { ticket, result });
        }
    }

    /// Returns what a client's server may have sent, beside the answer to a write, before its connection is lost.
    fn late(&self, i: usize) -> Vec<Late<M::Name>> {
        let client = &self.clients[i];
        let mut late = Vec::new();
        if self.budget.stragglers == 0 {
            return late;
        }
        if let Some(Sent { actor, ticket, request }) =
            client.requests.front().filter(|sent| sent.request.reads() && client.due.is_none())
        {
            let answer = self.server.read::<M>(client.applied, request, client.session);
            late.push(Late::Answer(*actor, *ticket, answer));
        }
        let later = self.server.log[client.applied.commits..].iter().flatten();
        for watch in &client.watches {
            let mut fired = later.clone().filter_map(Effect::event);
            let fired = fired.find_map(|event| watch.fired_by::<M>(event));
            late.extend(fired.map(|change| Late::Changed(watch.actor, watch.ticket, change)));
        }
        late
    }

    fn execute(&mut self, i: usize) {
        let client = &mut self.clients[i];
        let sent = client.requests.pop_front().expect("a request");
        let (actor, ticket, request) = (sent.actor, sent.ticket, sent.request);
        if let Some(part) = client.forbidden_part(&request).filter(|_| client.session_lives) {
            return self.refuse(i, Sent { actor, ticket, request }, part);
        }
        if request.reads() {
            let answer = self.server.read::<M>(client.applied, &request, client.session);
            client.seen = client.applied.commits;
            client.watches.extend(watch_of(actor, ticket, &request, &answer));
            let wants_watch = match request {
                Request::Exists(name, watch) | Request::Read(name, watch) => {
                    (watch != Watch::None).then_some(name)
                }
                _ => None,
            };
            if answer == Answer::Failed(Failure::NoAuth) {
                client.hidden.extend(wants_watch);
            }
            // That of a read in flight, too.
            self.take_down_watches(i);
            M::answered(self, i, &request, &answer);
            return self.deliver(i, actor, ticket, &answer);
        }
        if !client.session_lives {
            return self.disconnect(i);
        }
        // It is executed behind what the session sent before.
        client.in_doubt.clear();
        let answer = self.commit(Some(i), Some(actor), &request);
        self.answer_once_applied(i, actor, ticket, answer);
    }

    fn answer_once_applied(
        &mut self,
        i: usize,
        actor: Actor,
        ticket: Ticket,
        answer: Answer<M::Name>,
    ) {
        let position = self.server.end();
        self.clients[i].due = Some(Due { position, actor, ticket, answer });
        self.deliver_due(i);
    }

    /// Refuses a request for want of permission. A quorum commits that, too.
    pub(super) fn refuse(&mut self, i: usize, sent: Sent<M::Name>, part: usize) {
        let Sent { actor, ticket, request } = sent;
        let before: Vec<Ticket> = self.clients[i].requests.iter().map(|sent| sent.ticket).collect();
        let failure = match request {
            Request::Multi(_) => Failure::Aborted { part, code: NO_AUTH },
            _ => Failure::NoAuth,
        };
        if request.reads() {
            self.deliver(i, actor, ticket, &Answer::Failed(failure));
        } else {
            self.clients[i].in_doubt.clear();
            self.answer_once_applied(i, actor, ticket, Answer::Failed(failure));
        }
        let client = &self.clients[i];
        let owes = client.machines.get(actor).is_some_and(|one| one.phase() == Phase::CleaningUp);
        let is_again = |sent: &Sent<M::Name>| {
            sent.actor == actor && sent.request == request && !before.contains(&sent.ticket)
        };
        if owes && client.requests.iter().any(is_again) {
            self.break_with(format!("{i}: asks at once for what was refused"));
        }
    }

    /// Commits it, and shows it to the laws.
    pub fn commit(
        &mut self,
        author: Option<usize>,
        actor: Option<Actor>,
        request: &Request<M::Name>,
    ) -> Answer<M::Name> {
        let (before, end) = (self.server.tip.clone(), self.server.end());
        let answer = self.server.write::<M>(request);
        if self.server.end() > end {
            let after = self.server.tip.clone();
            M::committed(self, &Commit { author, actor, request, before: &before, after: &after });
        }
        answer
    }

    fn deliver_due(&mut self, i: usize) {
        let client = &mut self.clients[i];
        if let Some(due) = client.due.take_if(|due| due.position <= client.applied.commits) {
            client.seen = client.applied.commits;
            M::replied(self, i, &due.answer);
            self.deliver(i, due.actor, due.ticket, &due.answer);
        }
    }

    pub(super) fn deliver(
        &mut self,
        i: usize,
        actor: Actor,
        ticket: Ticket,
        answer: &Answer<M::Name>,
    ) {
        let mut texts: Vec<String> = Vec::new();
        if let Answer::Children(children) = answer {
            texts.extend(children.iter().map(|name| M::text(*name)));
            texts.extend(M::STRAYS.iter().map(|stray| (*stray).to_owned()));
        }
        let done = if let Answer::Committed(done) = answer { &done[..] } else { &[] };
        let text = |one: &Done<M::Name>| match one {
            Done::Created(name) => M::text(*name),
            _ => String::new(),
        };
        let created: Vec<String> = done.iter().map(text).collect();
        let mut parts = done.iter().zip(&created).map(|(one, name)| match one {
            Done::Checked => Applied::Checked,
            Done::Created(_) => Applied::Created { name },
            Done::Written(stat) => Applied::Written(*stat),
            Done::Deleted => Applied::Deleted,
        });
        let mut names = texts.iter().map(String::as_str);
        let (name, data);
        let result = match answer {
            Answer::Exists(stat) => Ok(Reply::Exists(*stat)),
            Answer::Read(stat, byte) => {
                data = M::bytes(*byte);
                Ok(Reply::Read { stat: *stat, data: &data })
            }
            Answer::Children(_) => Ok(Reply::Children(Children::listed(&mut names))),
            Answer::BarrierPassed => Ok(Reply::BarrierPassed),
            Answer::NodeCreated => Ok(Reply::NodeCreated),
            Answer::Created(created, stat) => {
                name = M::text(*created);
                Ok(Reply::Created { name: &name, stat: M::knows_create2(self, i).then_some(*stat) })
            }
            Answer::Written(stat) => Ok(Reply::Written(*stat)),
            Answer::Deleted => Ok(Reply::Deleted),
            Answer::Committed(_) => Ok(Reply::Committed(&mut parts)),
            Answer::Failed(failure) => Err(*failure),
        };
        self.feed(i, actor, Event::Reply { ticket, result });
    }

    fn apply_until(&mut self, i: usize, commits: usize) {
        while self.clients[i].is_up() && self.clients[i].applied.commits < commits {
            self.apply(i);
        }
    }

    /// Has a client's server apply the next commit, or the rest of it.
    fn apply(&mut self, i: usize) {
        let Position { commits, parts } = self.clients[i].applied;
        for _ in parts..self.server.log[commits].len() {
            if self.clients[i].is_up() {
                self.apply_part(i);
            }
        }
        // Events may have had it disconnect; none of this world's do.
        self.clients[i].applied = Position::after(commits + 1);
        self.deliver_due(i);
        if self.clients[i].closed_after.is_some_and(|after| after <= commits + 1) {
            self.disconnect(i);
        }
    }

    pub(super) fn apply_part(&mut self, i: usize) {
        let at = self.clients[i].applied;
        let tree = self.server.at(at);
        let effect = self.server.log[at.commits][at.parts];
        self.clients[i].applied.parts += 1;
        self.clients[i].is_deaf |= self.clients[i].needs_looks;
        let Some((name, change)) = effect.event() else { return };
        let asker = self.clients[i].session;
        let is_hidden = tree.get(&name).is_some_and(|znode| znode.hides_from::<M>(asker));
        let fired = |watch: &mut Watcher<M::Name>| watch.fired_by::<M>((name, change)).is_some();
        let fired: Vec<_> = self.clients[i].watches.extract_if(.., fired).collect();
        for watch in fired {
            if watch.name == name && is_hidden {
                self.clients[i].hidden.insert(name);
                continue;
            }
            let change = if watch.name == name { change } else { Fired::Children };
            self.feed(i, watch.actor, Event::Changed { ticket: watch.ticket, change });
        }
    }

    fn bound_the_lag(&mut self) {
        for i in 0..self.clients.len() {
            while self.clients[i].applied.commits + self.max_lag < self.server.end() {
                if self.clients[i].is_up() && !self.clients[i].is_done() {
                    self.apply(i);
                } else {
                    let client = &mut self.clients[i];
                    client.applied = Position::after(client.applied.commits + 1);
                    client.seen = client.applied.commits;
                }
            }
        }
        let end = self.server.end();
        let at_end = (Position::after(end), end, None);
        let is_behind = |client: &Client<M>| {
            let has_watches = client.is_done() && !client.watches.is_empty();
            let at = (client.applied, client.seen, client.closed_after);
            client.has_no_server() && (at != at_end || has_watches)
        };
        self.clients.change(is_behind, |client| {
            (client.applied, client.seen, client.closed_after) = at_end;
            if client.is_done() {
                client.watches.clear();
            }
        });
        // No server is farther behind.
        let oldest = end.saturating_sub(self.max_lag);
        let is_older = |client: &Client<M>| M::APPLIES_WHAT_MATTERS && client.seen < oldest;
        self.clients.change(is_older, |client| client.seen = oldest);
        let live = self.clients.iter().filter(|client| client.link != Link::Dead);
        let least = live.map(|client| client.seen.min(client.applied.commits)).min();
        let mut least = least.unwrap_or(self.server.end());
        if self.has_local_sessions {
            least = least.min(self.server.end().saturating_sub(self.max_lag));
        }
        self.server.fold::<M>(least);
        self.clients.change(
            |_| least > 0,
            |client| {
                client.applied.commits = client.applied.commits.saturating_sub(least);
                client.seen = client.seen.saturating_sub(least);
                if let Some(due) = &mut client.due {
                    due.position -= least;
                }
                if let Some(after) = &mut client.closed_after {
                    *after -= least;
                }
            },
        );
    }
}

fn watch_of<N: Copy>(
    actor: Actor,
    ticket: Ticket,
    request: &Request<N>,
    answer: &Answer<N>,
) -> Option<Watcher<N>> {
    let watcher = |name, of_children| Some(Watcher { actor, ticket, name, of_children });
    match (request, answer) {
        (Request::Exists(_, Watch::None) | Request::Read(_, Watch::None), _) => None,
        (Request::List(_, Watch::None), _) => None,
        (Request::Exists(..), Answer::Failed(Failure::NoAuth)) => None,
        (Request::Exists(name, _), _) => watcher(*name, false),
        (_, Answer::Failed(_)) => None,
        (Request::Read(name, _), _) => watcher(*name, false),
        (Request::List(name, _), _) => watcher(*name, true),
        _ => None,
    }
}
