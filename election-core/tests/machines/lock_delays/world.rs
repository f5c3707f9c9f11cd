//! Nominees, the trees, and what is so of leaders.

use std::collections::BTreeSet;

use election_core::{Change, Event, Hold, Notice, OnLoss, Recipe, SessionId, Token};

use super::client::{Client, Due, Link};
use super::server::{Answer, Mark, Request, Tree, named, with_reply};
use super::step::{Budget, Step};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    trees: Vec<Tree>,
    zxid: i64,
    next_number: i64,
    clients: Vec<Client>,
    budget: Budget,
    /// The tokens with which nominees were told that they lead.
    led: BTreeSet<Token>,
    /// Tokens of nominees that have said that they ended, and that deleted their candidates by
    /// that.
    ended: BTreeSet<Token>,
    /// Tokens of leaders for which a nominee has let the delay pass, and has taken their mark's
    /// place.
    waited_for: BTreeSet<Token>,
    /// Tokens of leaderships that their users have ended.
    given_up: BTreeSet<Token>,
    /// An operator has deleted the mark.
    was_erased: bool,
    fault: Option<String>,
}

impl World {
    pub fn new(nominees: u8) -> Self {
        Self::with_policy(nominees, OnLoss::StandAgain)
    }

    pub fn with_policy(nominees: u8, on_loss: OnLoss) -> Self {
        Self {
            trees: vec![Tree::default()],
            zxid: 100,
            next_number: 0,
            clients: (0..nominees).map(|index| Client::new(index, on_loss)).collect(),
            budget: Budget::default(),
            led: BTreeSet::new(),
            ended: BTreeSet::new(),
            waited_for: BTreeSet::new(),
            given_up: BTreeSet::new(),
            was_erased: false,
            fault: None,
        }
    }

    /// Connects the clients one after another, and brings them to rest.
    pub fn settled(mut self) -> Self {
        for index in 0..self.clients.len() {
            self.take(Step::Connect(index));
            while let Some(step) = self
                .steps()
                .into_iter()
                .find(|step| matches!(step, Step::Execute(_) | Step::Hear(_)))
            {
                self.take(step);
            }
        }
        self.check().expect("nothing went wrong");
        self
    }

    pub fn facing(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    fn end(&self) -> usize {
        self.trees.len() - 1
    }

    fn tip(&self) -> &Tree {
        &self.trees[self.end()]
    }

    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (i, client) in self.clients.iter().enumerate() {
            self.steps_of(i, client, &mut steps);
        }
        if self.budget.evictions > 0 && !self.tip().candidates.is_empty() {
            steps.push(Step::Evict);
        }
        if self.budget.erasures > 0 && self.tip().mark.is_some() {
            steps.push(Step::Erase);
        }
        steps
    }

    fn steps_of(&self, i: usize, client: &Client, steps: &mut Vec<Step>) {
        let budget = self.budget;
        let mut offer = |is_possible: bool, step| {
            if is_possible {
                steps.push(step);
            }
        };
        let (is_over, lives) = (client.is_over(), client.session_lives);
        match client.link {
            Link::Unconnected => offer(!is_over, Step::Connect(i)),
            Link::Down if lives => offer(!is_over, Step::Connect(i)),
            Link::Down => offer(!is_over, Step::LearnExpiry(i)),
            Link::Up => {
                let hears = client.applied < self.end() || !client.due.is_empty();
                offer(hears && (!is_over || !client.due.is_empty()), Step::Hear(i));
                offer(!client.requests.is_empty() && lives, Step::Execute(i));
                offer(budget.losses > 0 && !is_over || !lives, Step::Disconnect(i));
            }
        }
        for k in 0..client.in_doubt.len() {
            offer(true, Step::ApplyInDoubt(i, k));
        }
        offer(!client.in_doubt.is_empty(), Step::DropInDoubt(i));
        offer(client.nominee.awaits_delay().is_some(), Step::PassDelay(i));
        let has_session = client.link != Link::Unconnected && lives;
        offer(has_session && budget.expiries > 0 && !is_over, Step::Expire(i));
        offer(!client.is_withdrawn && !is_over && budget.withdrawals > 0, Step::Withdraw(i));
        let leads = client.nominee.hold() != Hold::None;
        offer(leads && budget.steps_down > 0, Step::GiveUp(i));
        offer(leads && budget.lapses > 0, Step::Lapse(i));
        offer(leads && budget.unclean > 0, Step::EndUncleanly(i));
    }

    pub fn is_calm(&self, step: Step) -> bool {
        match step {
            Step::Connect(_)
            | Step::LearnExpiry(_)
            | Step::Execute(_)
            | Step::Hear(_)
            | Step::ApplyInDoubt(..)
            | Step::DropInDoubt(_)
            | Step::PassDelay(_) => true,
            Step::Disconnect(i) => !self.clients[i].session_lives,
            _ => false,
        }
    }

    pub fn take(&mut self, step: Step) {
        let spent = match step {
            Step::Disconnect(i) if self.clients[i].session_lives => Some(&mut self.budget.losses),
            Step::Expire(_) => Some(&mut self.budget.expiries),
            Step::Withdraw(_) => Some(&mut self.budget.withdrawals),
            Step::GiveUp(_) => Some(&mut self.budget.steps_down),
            Step::Lapse(_) => Some(&mut self.budget.lapses),
            Step::EndUncleanly(_) => Some(&mut self.budget.unclean),
            Step::Evict => Some(&mut self.budget.evictions),
            Step::Erase => Some(&mut self.budget.erasures),
            _ => None,
        };
        if let Some(spent) = spent {
            *spent -= 1;
        }
        match step {
            Step::Connect(i) => self.connect(i),
            Step::Execute(i) => self.execute(i),
            Step::Hear(i) => self.hear(i),
            Step::ApplyInDoubt(i, k) => {
                let (session, request) = self.clients[i].in_doubt.remove(k);
                self.write(i, session, &request);
            }
            Step::DropInDoubt(i) => self.clients[i].in_doubt.clear(),
            Step::PassDelay(i) => {
                self.clients[i].has_waited = true;
                self.feed(i, Event::Deadline);
            }
            other => self.befall(other),
        }
    }

    /// Takes a step that goes wrong, or that users and operators take.
    fn befall(&mut self, step: Step) {
        match step {
            Step::LearnExpiry(i) => {
                let client = &mut self.clients[i];
                client.link = Link::Unconnected;
                client.session += 1;
                client.session_lives = true;
                self.feed(i, Event::SessionExpired);
            }
            Step::Disconnect(i) => {
                let client = &mut self.clients[i];
                client.link = Link::Down;
                let Client { session, session_lives, requests, in_doubt, .. } = client;
                let lost = requests.drain(..).map(|(_, request)| request);
                let lost = lost.filter(|lost| lost.writes() && *session_lives);
                in_doubt.extend(lost.map(|lost| (*session, lost)));
                client.due.clear();
                client.watches.clear();
                self.feed(i, Event::Disconnected);
            }
            Step::Expire(i) => {
                let client = &mut self.clients[i];
                client.session_lives = false;
                let session = client.session;
                client.in_doubt.retain(|(sent, _)| *sent != session);
                self.commit(|tree| tree.candidates.retain(|one| one.session != session));
            }
            Step::Withdraw(i) => {
                self.give_up(i);
                let notice = self.clients[i].withdraw();
                self.told(i, notice);
            }
            Step::GiveUp(i) => {
                self.give_up(i);
                self.feed(i, Event::Deadline);
            }
            Step::Lapse(i) => self.feed(i, Event::LeaseLapsed),
            Step::EndUncleanly(i) => {
                self.clients[i].is_unclean = true;
                self.clients[i].nominee.end_uncleanly();
            }
            Step::Evict => {
                self.commit(|tree| {
                    tree.candidates.remove(0);
                });
            }
            // An operator does so where nothing goes on any more.
            Step::Erase => {
                let led: Vec<Token> = self.led.iter().copied().collect();
                self.ended.extend(led);
                self.was_erased = true;
                self.commit(|tree| tree.mark = None);
            }
            _ => {}
        }
    }

    fn give_up(&mut self, i: usize) {
        let token = self.clients[i].nominee.hold().token();
        self.given_up.extend(token.filter(|_| !self.clients[i].is_unclean));
    }

    fn commit(&mut self, change: impl FnOnce(&mut Tree)) {
        self.zxid += 1;
        let mut tree = self.tip().clone();
        change(&mut tree);
        self.trees.push(tree);
    }

    /// Connects the client to a server that has applied no more than the client has seen, or, in a new session, to
    /// one that lacks nothing.
    fn connect(&mut self, i: usize) {
        let end = self.end();
        let client = &mut self.clients[i];
        if client.link == Link::Unconnected {
            client.applied = end;
        }
        client.link = Link::Up;
        let session = SessionId::new(client.session);
        self.feed(i, Event::Connected { session });
    }

    fn execute(&mut self, i: usize) {
        let (ticket, request) = self.clients[i].requests.pop_front().expect("a request");
        if !request.writes() {
            let answer = request.read(&self.trees[self.clients[i].applied]);
            self.clients[i].read_answered(ticket, &request, &answer);
            let notice = with_reply(ticket, &answer, |event| self.clients[i].feed(event));
            self.told(i, notice);
            return;
        }
        let answer = self.write(i, self.clients[i].session, &request);
        let position = self.end();
        self.clients[i].due.push_back(Due { position, ticket, answer });
    }

    fn write(&mut self, i: usize, session: i64, request: &Request) -> Answer {
        let before = self.tip().clone();
        let at = (self.zxid + 1, self.next_number);
        let mut answer = Answer::Passed;
        let mut after = before.clone();
        if *request != Request::Barrier {
            answer = request.write(&mut after, session, at);
        }
        if after != before {
            if let Request::Create(_) = request {
                self.next_number += 1;
            }
            self.commit(|tree| *tree = after);
            if let (Request::WriteMark { .. }, Some(mark)) = (request, &before.mark)
                && self.clients[i].has_waited
            {
                self.waited_for.insert(named(mark));
            }
            if let Request::Delete(name) | Request::DeleteWithMark(name, _) = request {
                let gone = before.find(name).map(|one| Token::new(one.token));
                let said = gone.filter(|token| self.given_up.contains(token));
                self.ended.extend(said);
            }
        }
        answer
    }

    /// Takes the next tree, or the reply that stands before it.
    fn hear(&mut self, i: usize) {
        let client = &mut self.clients[i];
        if client.due.front().is_some_and(|due| due.position <= client.applied) {
            let Due { ticket, answer, .. } = client.due.pop_front().expect("a reply");
            let notice = with_reply(ticket, &answer, |event| client.feed(event));
            self.told(i, notice);
            return;
        }
        client.applied += 1;
        let (before, after) = (&self.trees[client.applied - 1], &self.trees[client.applied]);
        let is_gone = |name: &str| before.find(name).is_some() && after.find(name).is_none();
        let (fired, kept): (Vec<_>, Vec<_>) =
            client.watches.drain(..).partition(|(_, name)| is_gone(name));
        client.watches = kept;
        for (ticket, _) in fired {
            self.feed(i, Event::Changed { ticket, change: Change::Deleted });
        }
    }

    fn feed(&mut self, i: usize, event: Event<'_>) {
        let notice = self.clients[i].feed(event);
        self.told(i, notice);
    }

    fn told(&mut self, i: usize, notice: Option<Notice>) {
        let client = &self.clients[i];
        if client.nominee.awaits_delay().is_some()
            && let Some(mark) = &self.trees[client.applied].mark
            && self.ended.contains(&named(mark))
            && !self.was_erased
        {
            self.fault = Some(format!("{i}: waits for {}, which said that it ended", mark.data));
        }
        let Some(Notice::Elected(token)) = notice else {
            return;
        };
        // The lease is not proved any more, so that its user is not told.
        if !client.session_lives {
            return;
        }
        let before = self.led.last().copied();
        // An operator that deletes the mark answers for it.
        if let Some(before) = before
            && !self.was_erased
            && !self.ended.contains(&before)
            && !self.waited_for.contains(&before)
            && !client.has_waited
        {
            self.fault =
                Some(format!("{i}: leads at once, and {before} has not said that it ended"));
        }
        if before.is_some_and(|before| before >= token) {
            self.fault = Some(format!("{i}: elected with {token} after {before:?}"));
        }
        self.led.insert(token);
    }

    pub fn check(&self) -> Result<(), String> {
        self.fault.clone().map_or(Ok(()), Err)
    }

    /// Checks that one leads, by its own mark.
    pub fn check_rest(&self) -> Result<(), String> {
        let contenders: Vec<&Client> = self.clients.iter().filter(|it| !it.is_over()).collect();
        let leaders: Vec<Token> =
            contenders.iter().filter_map(|client| client.nominee.hold().token()).collect();
        if contenders.is_empty() {
            let has_ended = |mark: &&Mark| self.ended.contains(&named(mark));
            return match self.tip().mark.as_ref().filter(has_ended) {
                Some(mark) if !self.was_erased => Err(format!("{mark:?} is left")),
                _ => Ok(()),
            };
        }
        let [leader] = *leaders else {
            return Err(format!("{} lead at rest", leaders.len()));
        };
        match &self.tip().mark {
            Some(mark) if named(mark) == leader => Ok(()),
            None if self.was_erased => Ok(()),
            mark => Err(format!("{leader} leads by {mark:?}")),
        }
    }
}
