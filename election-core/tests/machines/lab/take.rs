//! What a step does.

use election_core::children::Children;
use election_core::{
    Applied, Change as Fired, Event, Failure, Phase, Recipe as _, Reply, Ticket, Watch,
};

use super::client::{Actor, Due, Link, Rights, Sent, Watcher};
use super::server::{Access, Answer, Done, Position, Request};
use super::{Commit, Lab, Model, Step};

const NO_AUTH: i32 = -102;

impl<M: Model> Lab<M> {
    pub fn take(&mut self, step: Step<M>) {
        match step {
            Step::Connect(i) => self.connect(i),
            Step::Execute(i) => self.execute(i),
            Step::Apply(i) => self.apply(i),
            Step::LearnExpiry(i) => self.learn_expiry(i),
            Step::Bury(k) => {
                let ghost = self.ghosts.remove(k);
                self.end_session(ghost.session);
            }
            Step::Permit(i) => self.clients[i].rights = Rights::Restored,
            Step::Look(i) => {
                if !self.clients[i].needs_look(&self.server) {
                    self.budget.looks -= 1;
                }
                let is_current = self.clients[i].applied == self.server.tip_position();
                if self.clients[i].is_idle() && is_current {
                    (self.clients[i].is_deaf, self.clients[i].hidden) = (false, None);
                }
                self.feed_all(i, || Event::Look);
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
    }

    pub fn feed_all<'e>(&mut self, i: usize, event: impl Fn() -> Event<'e>) {
        let actors: Vec<Actor> = self.clients[i].machines.keys().copied().collect();
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
        self.clients[i].lose_link();
        if self.budget.stragglers == 0 {
            self.clients[i].late.clear();
        }
        self.feed_all(i, || Event::Disconnected);
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
            client.drop_watches();
            let wants_watch = match request {
                Request::Exists(name, watch) | Request::Read(name, watch) => {
                    (watch != Watch::None).then_some(name)
                }
                _ => None,
            };
            if answer == Answer::Failed(Failure::NoAuth) {
                client.hidden = wants_watch.or(client.hidden);
            }
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
        let owes = client.machines.get(&actor).is_some_and(|one| one.phase() == Phase::CleaningUp);
        if owes && client.requests.iter().any(|sent| sent.actor == actor && sent.request == request)
        {
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
                // One of the clients has a server before 3.5.
                Ok(Reply::Created { name: &name, stat: (i == 0).then_some(*stat) })
            }
            Answer::Written(stat) => Ok(Reply::Written(*stat)),
            Answer::Deleted => Ok(Reply::Deleted),
            Answer::Committed(_) => Ok(Reply::Committed(&mut parts)),
            Answer::Failed(failure) => Err(*failure),
        };
        self.feed(i, actor, Event::Reply { ticket, result });
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
    }

    pub(super) fn apply_part(&mut self, i: usize) {
        let at = self.clients[i].applied;
        let tree = self.server.at(at);
        let effect = self.server.log[at.commits][at.parts];
        self.clients[i].applied.parts += 1;
        self.clients[i].is_deaf |= self.clients[i].needs_looks;
        let Some((name, change)) = effect.event() else { return };
        let asker = self.clients[i].session;
        let is_hidden = tree
            .get(&name)
            .is_some_and(|znode| znode.access == Access::Barred && znode.owner != Some(asker));
        let parent = M::parent(name);
        let fired = |watch: &mut Watcher<M::Name>| match (watch.of_children, change) {
            (false, _) => watch.name == name,
            (true, Fired::Data) => false,
            (true, Fired::Deleted) if watch.name == name => true,
            (true, _) => parent == Some(watch.name),
        };
        let fired: Vec<_> = self.clients[i].watches.extract_if(.., fired).collect();
        for watch in fired {
            if watch.name == name && is_hidden {
                self.clients[i].hidden = Some(name);
                continue;
            }
            let change = if watch.name == name { change } else { Fired::Children };
            self.feed(i, watch.actor, Event::Changed { ticket: watch.ticket, change });
        }
    }

    fn bound_the_lag(&mut self) {
        for i in 0..self.clients.len() {
            while self.clients[i].applied.commits + self.max_lag < self.server.end() {
                if self.clients[i].is_up() {
                    self.apply(i);
                } else {
                    let client = &mut self.clients[i];
                    client.applied = Position::after(client.applied.commits + 1);
                    client.seen = client.applied.commits;
                }
            }
        }
        let live = self.clients.iter().filter(|client| client.link != Link::Dead);
        let least = live.map(|client| client.seen.min(client.applied.commits)).min();
        let mut least = least.unwrap_or(self.server.end());
        if self.has_local_sessions {
            least = least.min(self.server.end().saturating_sub(self.max_lag));
        }
        self.server.fold::<M>(least);
        for client in &mut self.clients {
            client.applied.commits = client.applied.commits.saturating_sub(least);
            client.seen = client.seen.saturating_sub(least);
            if let Some(due) = &mut client.due {
                due.position -= least;
            }
        }
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
