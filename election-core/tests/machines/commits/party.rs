//! A party: what its client does, and what the laws hear of it.

use election_core::commit::{CommitChild, CommitSiteNotice, CommitState, CommitTask, SitePresence};
use election_core::{Phase, Recipe as _, Znode as Place};

use super::laws::{
    Course, DROPPED, Errand, Laws, Machine, Name, Role, STATES, Told, id, joins, site_text,
    standing,
};
use crate::lab::{Actor, Change, Client, Commit, EitherNotice, Lab, Link, Model, Request, Sent};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Act {
    GiveUp(usize),
    BeginAgain(usize),
}

fn go_on(lab: &mut Lab<Laws>, i: usize, next: usize) {
    let first = lab.clients[i].role.errand_actor();
    lab.renumber(i, first, None);
    let Some(errand) = lab.clients[i].role.errands.get(next) else {
        lab.clients[i].notes = Course::Done;
        if first == 1 {
            lab.withdraw(i, 0);
        }
        return;
    };
    let machine = errand.machine();
    lab.clients[i].notes = Course::At(next);
    begin(lab, i);
    lab.begin(i, first, machine);
}

fn begin(lab: &mut Lab<Laws>, i: usize) {
    let id = lab.clients[i].id();
    lab.model.begin(i, id, &lab.server.tip);
}

impl Model for Laws {
    type Name = Name;
    type Machine = Machine;
    type Role = Role;
    type Notes = Course;
    type Act = Act;

    const NODE: Name = Name::Node;
    const WATCHES: usize = 1;

    fn name(place: Place<'_>) -> Name {
        let text = match place {
            Place::Node => return Name::Node,
            Place::Child(name) => name.to_string(),
            other => panic!("no two-phase commit asks for {other:?}"),
        };
        let number = |site: &str| site.as_bytes()[0] - b'a';
        match CommitChild::parse(&text).expect("a child") {
            CommitChild::State(state, id) => {
                let state = STATES.iter().position(|one| *one == state).expect("a state");
                Name::State(u8::try_from(state).expect("three"), id.to_bytes()[0])
            }
            CommitChild::Site(state, site) => Name::Site(state, number(site)),
            CommitChild::Presence(SitePresence::Live, site) => Name::Live(number(site)),
            CommitChild::Presence(SitePresence::Bound, site) => Name::Bound(number(site)),
        }
    }

    fn text(name: Name) -> String {
        let child = match name {
            Name::Node => return String::new(),
            Name::State(state, number) => {
                CommitChild::State(STATES[usize::from(state)], id(number))
            }
            Name::Site(state, site) => CommitChild::Site(state, site_text(site)),
            Name::Live(site) => CommitChild::Presence(SitePresence::Live, site_text(site)),
            Name::Bound(site) => CommitChild::Presence(SitePresence::Bound, site_text(site)),
        };
        child.to_string()
    }

    fn parent(name: Name) -> Option<Name> {
        (name != Name::Node).then_some(Name::Node)
    }

    /// Users give up a client as a whole.
    fn has_user(_: &Client<Self>) -> bool {
        false
    }

    /// That of a participant that leaves, or of one that does nothing but to join.
    fn may_be_refused(lab: &Lab<Self>, i: usize, sent: &Sent<Name>) -> bool {
        let client = &lab.clients[i];
        let only_joins = client.role.errands.len() == 1;
        let may_fail = match sent.actor {
            DROPPED => true,
            0 if client.role.site.is_some() => {
                only_joins || client.machine().phase() != Phase::Standing
            }
            _ => false,
        };
        may_fail && !matches!(sent.request, Request::Exists(..) | Request::Barrier)
    }

    fn restarted(lab: &mut Lab<Self>, i: usize) -> Option<Machine> {
        lab.clients[i].notes = Course::At(0);
        Some(lab.clients[i].role.first())
    }

    fn acts(lab: &Lab<Self>) -> Vec<(Act, bool)> {
        let mut acts = Vec::new();
        for (i, client) in lab.clients.iter().enumerate() {
            let dropped = client.machines.get(DROPPED);
            if client.notes == Course::GivenUp
                && dropped.is_none_or(|dropped| dropped.phase() == Phase::Over)
            {
                acts.push((Act::BeginAgain(i), true));
            }
            let is_busy = !client.is_over() && client.link != Link::New;
            if lab.model.withdrawals > 0 && is_busy && matches!(client.notes, Course::At(_)) {
                acts.push((Act::GiveUp(i), false));
            }
        }
        acts
    }

    fn act(lab: &mut Lab<Self>, act: Act) {
        match act {
            Act::GiveUp(i) => {
                lab.model.withdrawals -= 1;
                lab.clients[i].notes = Course::GivenUp;
                let actors: Vec<Actor> = lab.clients[i].machines.numbers();
                for actor in actors {
                    lab.withdraw(i, actor);
                }
            }
            Act::BeginAgain(i) => {
                lab.renumber(i, DROPPED, None);
                let is_left = lab.clients[i].machine().phase() != Phase::Over;
                lab.renumber(i, 0, is_left.then_some(DROPPED));
                lab.renumber(i, 1, None);
                lab.clients[i].notes = Course::At(0);
                let machine = lab.clients[i].role.first();
                begin(lab, i);
                lab.begin(i, 0, machine);
            }
        }
    }

    fn begun(lab: &mut Lab<Self>, i: usize) {
        if lab.clients[i].notes == Course::At(0) {
            begin(lab, i);
        }
    }

    fn committed(lab: &mut Lab<Self>, commit: &Commit<'_, Self>) {
        let Commit { before, after, .. } = commit;
        let author = commit.author.and_then(|i| lab.clients[i].role.site);
        if let Some(fault) = lab.model.committed(author, before, after) {
            lab.break_with(fault);
        }
        let deletes_live =
            matches!(commit.request, Request::Single(Change::Delete(Name::Live(_), _)));
        if let (Some(i), Some(DROPPED), true) = (commit.author, commit.actor, deletes_live) {
            let client = &lab.clients[i];
            let takes_part = client.role.site.is_some()
                && client.machines.get(1).is_some()
                && matches!(client.notes, Course::At(_));
            if takes_part && matches!(standing(before), Some((CommitState::Open, _))) {
                lab.break_with(format!("{i}: deletes the znode of its next one"));
            }
        }
    }

    /// Notes a machine's notice, and takes the client's next errand.
    fn told(lab: &mut Lab<Self>, i: usize, actor: Actor, told: Told) {
        let client = &lab.clients[i];
        let joins = joins(client, actor);
        if !lab.model.is_true(client, actor, client.id(), told) {
            lab.fault.get_or_insert(format!("{i}: {told:?} of {actor} is not so"));
        }
        let Course::At(at) = client.notes else { return };
        if actor == DROPPED {
            return;
        }
        let next = match (joins, told) {
            (true, EitherNotice::Other(CommitSiteNotice::Joined(_))) => 0,
            (true, _) if client.machines.get(1).is_some() => return,
            _ => client.after(at, told),
        };
        go_on(lab, i, next);
    }

    fn check(_: &Lab<Self>) -> Result<(), String> {
        Ok(())
    }

    fn check_rest(lab: &Lab<Self>) -> Result<(), String> {
        for client in lab.clients.iter() {
            let i = client.index;
            if client.notes != Course::Done || !client.is_over() {
                return Err(format!("{i}: is forgotten at {:?}", client.notes));
            }
            if lab.tip().values().any(|znode| znode.owner == Some(client.session)) {
                return Err(format!("{i}: its znode is left"));
            }
        }
        let finishes = |errand: &Errand| matches!(errand, Errand::Task(CommitTask::Finish, _));
        let mut last = lab.clients.iter().filter_map(|client| client.role.errands.last());
        let begins = |errand: &Errand| matches!(errand, Errand::Begin(..));
        let all_is_over = last.clone().any(finishes) && !last.any(begins);
        if all_is_over && !lab.tip().is_empty() {
            return Err("something is left".into());
        }
        Ok(())
    }
}
