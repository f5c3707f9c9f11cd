//! Elections are ended, reopened, and handed over; leaders give the leadership up.

use core::time::Duration;

use election_core::NomineeId;
use election_core::election::{Role, WhenAsked};
use election_core::format::Format;

use super::faults::Undo;
use super::{Event, World};
use crate::checker::{Asked, Broken, Operated, Word, mark_of, name, queue_of};
use crate::client::{Chore, Client, Goal, Leader, Observed, sign_of};
use crate::clock::Time;
use crate::incident::{Place, What};
use crate::operating::{Ends, GivingUp};
use crate::outcome::Law;
use crate::queue::{Kind, Queue};
use crate::server::Host;

/// How often somebody looks whether those make way that are asked to.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// What it takes besides, from a look to the end of a candidate.
const BESIDES: Duration = Duration::from_secs(3);

impl World<'_> {
    /// What is done to an election as a whole, or to the leadership of it.
    pub(super) fn operate_election(&mut self, what: What) -> Result<Vec<Undo>, Broken> {
        let election = |number| Queue::election(number, self.plan.elections);
        match what {
            What::EndElection(number) => return self.end_election(election(number), Goal::Ended),
            What::DeleteElection(number) => {
                let goal = match self.plan.operating.map(|operating| operating.ends) {
                    Some(Ends::ByDeletion { quiet }) => Goal::Deleted(quiet),
                    Some(Ends::BySign) | None => Goal::Ended,
                };
                return self.end_election(election(number), goal);
            }
            What::HandLeadOver(place) => self.hand_lead_over(place)?,
            What::GiveUpLead(number, how) => self.give_up_lead(election(number), how)?,
            _ => {}
        }
        Ok(Vec::new())
    }

    /// The operator ends an election, and may delete it; what follows reopens it.
    fn end_election(&mut self, queue: Queue, goal: Goal) -> Result<Vec<Undo>, Broken> {
        self.conduct.reasons_mut().election_ended();
        *self.ends.entry(queue).or_default() += 1;
        if let Some(operated) = &mut self.operated {
            operated.is_to_end(queue);
        }
        self.bring_about(queue, goal)?;
        Ok(vec![Undo::Reopen(queue)])
    }

    /// The operator reopens an election, unless it is to be ended for another reason, too.
    pub(super) fn reopen(&mut self, queue: Queue) -> Result<(), Broken> {
        let ends = self.ends.entry(queue).or_default();
        *ends = ends.saturating_sub(1);
        if *ends > 0 {
            return Ok(());
        }
        if let Some(operated) = &mut self.operated {
            operated.reopens(queue);
        }
        self.bring_about(queue, Goal::Open)
    }

    fn bring_about(&mut self, queue: Queue, goal: Goal) -> Result<(), Broken> {
        let operator = self.operator();
        if let Some(process) = self.processes.get_mut(operator) {
            let now = process.now(self.now);
            if let Some(client) = &mut process.client {
                client.bring_about(now, queue, goal);
            }
        }
        self.settle_client(operator)
    }

    /// The signs that are left although no election is to be ended: a create that was in doubt.
    pub(super) fn signs_left(&self) -> Vec<Chore> {
        let signs = self.operated.iter().flat_map(Operated::signs);
        let is_open = |queue: &Queue| self.ends.get(queue).is_none_or(|ends| *ends == 0);
        signs.filter(is_open).map(|queue| Chore::Delete(sign_of(queue))).collect()
    }

    /// The marks of hand-overs in sessions that another process goes on with: that knows nothing of them.
    pub(super) fn hand_over_marks_left(&self) -> Vec<Chore> {
        let (Some(newest), Some(_)) = (Host::newest(&self.hosts), &self.operated) else {
            return Vec::new();
        };
        let heirs = self.processes.iter().filter(|process| process.was_handed_over);
        let heirs = heirs.filter_map(|process| process.client.as_ref());
        let heirs = heirs.filter(|client| !client.hands_over()).filter_map(Client::session);
        let paths = heirs.flat_map(|session| newest.ephemerals_of(session));
        let is_mark = |path: &&str| {
            let name = path.rsplit_once('/').map_or(*path, |(_, name)| name);
            Format::curator_latch().parse_hand_over_mark(name).is_some()
        };
        paths.filter(is_mark).map(|path| Chore::Delete(path.to_owned())).collect()
    }

    pub(super) fn erase_mark(&mut self, queue: Queue) -> Chore {
        if let Some(operated) = &mut self.operated {
            operated.erases(queue);
        }
        Chore::Delete(mark_of(queue))
    }

    /// The leader of an election, if its process can do something, with its client.
    fn leader_of(&self, queue: Queue) -> Option<(usize, Leader)> {
        let clients = self.processes.iter().enumerate().filter(|(_, process)| process.is_up());
        let mut leaders = clients.filter_map(|(client, process)| {
            let leader = process.client.as_ref()?.leader_of(queue)?;
            let is_valid = |valid| valid == (leader.nominee, leader.token);
            process.valid(self.now).any(is_valid).then_some((client, leader))
        });
        leaders.next()
    }

    /// The leader of an election begins to hand the leadership over.
    fn hand_lead_over(&mut self, Place { election, number }: Place) -> Result<(), Broken> {
        let queue = Queue::election(election, self.plan.elections);
        let Some((client, leader)) = self.leader_of(queue) else {
            return Ok(());
        };
        let place_of = |name: &str| Some(Format::curator_latch().parse(name).ok()?.sequence());
        let candidates = self.candidates.in_order(queue).into_iter();
        let numbered = candidates.filter_map(|name| Some((name.to_owned(), place_of(name)?)));
        let behind: Vec<_> = numbered.filter(|(_, place)| leader.place() < *place).collect();
        let Some(to) = behind.get(usize::from(number) % behind.len().max(1)).cloned() else {
            return Ok(());
        };
        let within = self.plan.look_every * self.rng_of_operating.u32(1..40) / 10;
        if let Some(process) = self.processes.get_mut(client) {
            let now = process.now(self.now);
            if let Some(running) = &mut process.client {
                running.hand_lead_over(now, leader, to, now + within);
            }
        }
        self.settle_client(client)
    }

    /// The leader of an election gives the leadership up.
    fn give_up_lead(&mut self, queue: Queue, how: GivingUp) -> Result<(), Broken> {
        let Some((client, leader)) = self.leader_of(queue) else {
            return Ok(());
        };
        let word = if how == GivingUp::ResignUncleanly { Word::GoesOn } else { Word::Ended };
        if let Some(operated) = &mut self.operated {
            operated.given_up(&leader, word);
        }
        if let Some(process) = self.processes.get_mut(client) {
            let now = process.now(self.now);
            if let Some(running) = &mut process.client {
                match how {
                    GivingUp::Resign => running.resign(now, &leader),
                    GivingUp::ResignUncleanly => running.resign_uncleanly(now, &leader),
                    GivingUp::StepDown => running.step_down(now, &leader),
                }
            }
        }
        self.settle_client(client)
    }

    /// All nominees of a client are about to be withdrawn.
    pub(super) fn note_withdrawal(&mut self, client: usize) {
        let (Some(operated), Some(process)) = (&mut self.operated, self.processes.get(client))
        else {
            return;
        };
        for (nominee, _) in process.client.iter().flat_map(Client::nominees) {
            operated.withdrawn(nominee);
        }
        for leader in process.client.iter().flat_map(Client::leaders) {
            let is_valid = |valid| valid == (leader.nominee, leader.token);
            let is_valid = process.valid(self.now).any(is_valid);
            operated.given_up(&leader, if is_valid { Word::Ended } else { Word::EndedLate });
        }
    }

    pub(super) fn observe_operating(
        &mut self,
        client: usize,
        what: &Observed,
    ) -> Result<(), Broken> {
        let latest = self.longest + self.plan.look_every * 2;
        let (now, drift) = (self.now, self.plan.drift);
        let when_asked = self.when_asked(client);
        let Some(operated) = &mut self.operated else {
            return Ok(());
        };
        match what {
            Observed::Notice { nominee, notice } if queue_of(*nominee).kind() == Kind::Election => {
                operated.noticed((now, drift), (*nominee, *notice), &self.candidates)
            }
            Observed::Announced { nominee, token, .. }
                if queue_of(*nominee).kind() == Kind::Election =>
            {
                operated.announced((now, latest), *nominee, *token)
            }
            Observed::StoodBehind { nominee, place } => {
                let stays = when_asked == WhenAsked::Stays;
                let detail = || format!("{} gives up its place, and was to stay", name(*nominee));
                if stays {
                    return Err((Law::MakesWay, detail()));
                }
                operated.stood_behind(*nominee, *place)
            }
            Observed::StepsDown { leader, to } => {
                operated.given_up(leader, Word::Ended);
                operated.stepped_down(leader, to.clone());
                Ok(())
            }
            Observed::Condemns { queue, candidates } => {
                for candidate in candidates {
                    self.candidates.condemn(*queue, candidate);
                }
                Ok(())
            }
            Observed::ElectionDeleted => {
                operated.deleted();
                Ok(())
            }
            Observed::EndAcknowledged(queue) => {
                operated.end_acknowledged(now, *queue, &self.candidates)
            }
            _ => Ok(()),
        }
    }

    /// What the nominees of a client do in a hand-over.
    pub(super) fn when_asked(&self, client: usize) -> WhenAsked {
        self.plan.operating.map_or(WhenAsked::default(), |operating| operating.when_asked(client))
    }

    /// Nominees of a client that wait for the lock delay from now on.
    pub(super) fn check_waiting(&mut self, client: usize) -> Result<(), Broken> {
        let (Some(operated), Some(process)) = (&mut self.operated, self.processes.get(client))
        else {
            return Ok(());
        };
        let waiting = process.client.iter().flat_map(Client::awaiting_lock_delay);
        let waiting: Vec<NomineeId> = waiting.collect();
        self.delayed.retain(|(of, nominee)| *of != client || waiting.contains(nominee));
        for nominee in waiting {
            if self.delayed.insert((client, nominee)) {
                operated.awaits(nominee, &self.candidates)?;
            }
        }
        Ok(())
    }

    /// Somebody looks whether those make way that a hand-over asks to.
    pub(super) fn check_way(&mut self) -> Result<(), Broken> {
        if self.now >= self.plan.calm_at {
            for process in &mut self.processes {
                let now = process.now(self.now);
                if let Some(client) = &mut process.client {
                    client.give_hand_overs_up(now);
                }
            }
            return (0..self.processes.len()).try_for_each(|client| self.settle_client(client));
        }
        self.agenda.add(self.now + LOOK_EVERY, Event::CheckWay);
        // Looks are drawn around their interval, by clocks that may be slow.
        let slack = BESIDES + self.plan.latency * 20 + self.plan.lateness * 8;
        let longest = self.plan.look_every * 3 / 2 + slack;
        let asked = self.operated.iter().flat_map(Operated::hand_overs);
        let asked = asked.filter(|asked| self.now > asked.since + longest);
        for Asked { queue, to, since } in asked {
            for nominee in self.candidates.ahead_of(queue, to) {
                let [client, ..] = nominee.to_bytes();
                if self.is_to_make_way(usize::from(client), nominee, since) {
                    let detail = format!("{} stands in the way of {to} in {queue}", name(nominee));
                    return Err((Law::MakesWay, detail));
                }
            }
        }
        Ok(())
    }

    /// It follows, consents, and was well all the time.
    fn is_to_make_way(&self, client: usize, nominee: NomineeId, since: Time) -> bool {
        let Some(process) = self.processes.get(client) else {
            return false;
        };
        let mut nominees = process.client.iter().flat_map(Client::nominees);
        let follows = |(id, role): (NomineeId, Role<'_>)| {
            id == nominee && matches!(role, Role::Following { .. })
        };
        process.is_up()
            && self.when_asked(client) == WhenAsked::StandsBehind
            && process.connected_at.is_some_and(|at| at < since)
            && self.troubles.spare_since(client, since)
            && !self.candidates.was_hidden(nominee)
            && nominees.any(follows)
    }

    /// Once all is well: the marks of leaders are theirs.
    pub(super) fn check_marks(&self) -> Result<(), Broken> {
        let Some(operated) = &self.operated else {
            return Ok(());
        };
        Queue::ELECTIONS.into_iter().try_for_each(|queue| {
            let mut valid = self.processes.iter().flat_map(|process| process.valid(self.now));
            let leader = valid.find(|(nominee, _)| queue_of(*nominee) == queue);
            operated.check_at_rest(queue, leader.map(|(_, token)| token))
        })
    }

    /// A mark of a hand-over, although none goes on.
    pub(super) fn hand_over_left(&self) -> Option<String> {
        let mut left = self.operated.iter().flat_map(Operated::hand_overs);
        left.next().map(|left| format!("the mark of a hand-over is left: {left:?}"))
    }

    /// Marks of hand-overs whose leaders are gone.
    pub(super) fn hand_overs_left(&self) -> usize {
        self.operated.iter().flat_map(Operated::hand_overs).count()
    }
}
