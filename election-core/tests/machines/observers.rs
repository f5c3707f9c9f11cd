//! Every order of events for an observer of a small election, or of a mark beside it, by servers that
//! lag.
//!
//! Candidates join and go, their data is written, the election node is deleted with all in it, and made again. A
//! session goes to no server behind what it has seen, a new session goes to any. The model holds the observations
//! against all moments: each was so at one, not before what it told last, and not before the session began in which
//! it read it; and where nothing is on its way, the last is so.

use election_core::election::{Observed, Observer, ObserverEnd, Present, Subject};
use election_core::format::Format;
use election_core::{Phase, Recipe as _, SessionId, Token, Znode as Place};

use crate::lab::{
    Access, Actor, Budget, Commit, Effect, Lab, Model, NONE, Rights, Step, Tree, Znode, explore,
    explore_to_a_limit,
};

const LATCH: Subject = Subject::Leader(Format::curator_latch());
/// The leader of a format with names that recur in another election node.
const NAMELESS: Subject = Subject::Leader(Format::leader_election_support());
const MARK: Subject = Subject::Mark(".acknowledged");

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Name {
    Node,
    Mark,
    /// Its number, and that in its id, if the format has one.
    Candidate(u32, u32),
    /// A child of another format.
    Foreign(u32),
}

/// That of all candidates.
const CANDIDATES: SessionId = SessionId::new(900);
/// That of a nominee of another format.
const FOREIGN: SessionId = SessionId::new(901);

/// The data that an observer keeps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Data(Vec<u8>);

impl From<&[u8]> for Data {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

/// What stands at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Moment {
    /// The first candidate, or the mark.
    first: Option<(Token, i32, Access)>,
    /// The children of another format for the end of which a nominee waits.
    blockers: Vec<Name>,
    /// Whether the first candidate was not blocked at this moment, or an earlier one.
    may_lead: bool,
}

#[derive(Clone, Debug, Hash)]
struct World {
    subject: Subject,
    joins: u8,
    /// Children of another format that come, each of another session, of none, or of that of the candidates.
    strangers: u8,
    wipes: u8,
    next: u32,
    next_id: u32,
    /// From the first one that the last observation can be of.
    moments: Vec<Moment>,
    told: Option<Observed<Data>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    Join,
    Intrude(Option<SessionId>),
    /// The election node is deleted with all that is in it.
    Wipe,
}

impl World {
    fn is_true_at(&self, moment: &Moment, rights: Rights) -> bool {
        let is = |present: &Present<Data>, (token, version, _): (Token, i32, Access)| {
            present.token == token && present.version.get() == version
        };
        match (&self.told, moment.first) {
            (Some(Observed::Absent), None) => true,
            (Some(Observed::Hidden), first) => {
                rights != Rights::All || first.is_some_and(|first| first.2 == Access::Barred)
            }
            (Some(Observed::Present(present)), Some(first)) => {
                is(present, first) && moment.may_lead
            }
            (Some(Observed::Blocked { first: present, by: Some(by) }), Some(first)) => {
                let mut blockers = moment.blockers.iter();
                is(present, first) && blockers.any(|name| Self::text(*name) == by.as_str())
            }
            _ => false,
        }
    }
}

/// Notes what stands in a tree as the next moment.
fn note(model: &mut World, tree: &Tree<Name>) {
    let is_first = |(name, _): &(&Name, &Znode)| matches!(name, Name::Mark | Name::Candidate(..));
    let first = tree.iter().find(is_first).map(|(_, it)| (it.token, it.version, it.access));
    let blocks = |(name, it): &(&Name, &Znode)| {
        let is_anothers = it.owner.is_some_and(|owner| owner != CANDIDATES);
        matches!(name, Name::Foreign(_)) && (it.access == Access::Barred || is_anothers)
    };
    let blockers: Vec<Name> = tree.iter().filter(blocks).map(|(name, _)| *name).collect();
    let token = first.map(|first| first.0);
    let last = model.moments.last();
    let did = last.is_some_and(|it| it.may_lead && it.first.map(|first| first.0) == token);
    let may_lead = blockers.is_empty() || did;
    model.moments.push(Moment { first, blockers, may_lead });
}

impl Model for World {
    type Name = Name;
    type Machine = Observer<Data>;
    type Role = ();
    type Notes = ();
    type Act = Act;

    const NODE: Name = Name::Node;
    const WATCHES: usize = 2;

    fn name(place: Place<'_>) -> Name {
        let number = |digits: &str| digits.parse().expect("a number");
        match place {
            Place::Node => Name::Node,
            Place::Sibling(_) => Name::Mark,
            Place::Child(name) => {
                let name = name.to_string();
                let last = number(&name[name.len() - 10..]);
                match name.split_once(['_', '-']) {
                    Some(("foreign", _)) => Name::Foreign(last),
                    Some(("n", _)) => Name::Candidate(last, 0),
                    _ => Name::Candidate(last, number(&name[27..39])),
                }
            }
            other @ Place::Grandchild { .. } => panic!("no observer asks for {other:?}"),
        }
    }

    fn text(name: Name) -> String {
        match name {
            Name::Node | Name::Mark => String::new(),
            Name::Foreign(number) => format!("foreign-{number:010}"),
            Name::Candidate(number, 0) => format!("n_{number:010}"),
            Name::Candidate(number, id) => {
                format!("_c_11111111-1111-1111-1111-{id:012}-latch-{number:010}")
            }
        }
    }

    fn parent(name: Name) -> Option<Name> {
        matches!(name, Name::Candidate(..) | Name::Foreign(_)).then_some(Name::Node)
    }

    fn is_operators(_: &Lab<Self>, name: Name) -> bool {
        name != Name::Node
    }

    fn acts(lab: &Lab<Self>) -> Vec<(Act, bool)> {
        let is_free = !lab.tip().contains_key(&Name::Mark);
        let join = (lab.model.joins > 0 && is_free).then_some((Act::Join, false));
        let may_wipe = lab.model.wipes > 0 && lab.tip().contains_key(&Name::Node);
        let strangers = [None, Some(CANDIDATES), Some(FOREIGN)];
        let may_intrude = lab.model.strangers > 0;
        let intrusions = strangers.into_iter().filter(|_| may_intrude);
        let intrusions = intrusions.map(|owner| (Act::Intrude(owner), false));
        let wipe = may_wipe.then_some((Act::Wipe, false));
        join.into_iter().chain(wipe).chain(intrusions).collect()
    }

    fn act(lab: &mut Lab<Self>, act: Act) {
        match act {
            Act::Join => {
                lab.model.joins -= 1;
                join(lab);
            }
            Act::Intrude(owner) => {
                lab.model.strangers -= 1;
                intrude(lab, owner);
            }
            Act::Wipe => {
                lab.model.wipes -= 1;
                let names = lab.tip().keys().rev().copied();
                let effects: Vec<_> = names.map(Effect::Gone).collect();
                commit(lab, effects);
                lab.model.next = 0;
            }
        }
    }

    fn begun(lab: &mut Lab<Self>, _: usize) {
        // A read in this session is not older than the session's beginning.
        let last = lab.model.moments.len() - 1;
        lab.model.moments.drain(..last);
    }

    fn committed(lab: &mut Lab<Self>, commit: &Commit<'_, Self>) {
        note(&mut lab.model, commit.after);
    }

    fn suffered(lab: &mut Lab<Self>, fault: &Step<Self>) {
        if let Step::OperatorBars(_) = fault {
            note_tip(lab);
        }
    }

    fn told(lab: &mut Lab<Self>, i: usize, _: Actor, told: Observed<Data>) {
        let rights = lab.clients[i].rights;
        let model = &mut lab.model;
        if model.told.as_ref() == Some(&told) {
            lab.fault = Some(format!("{told:?} is told again"));
            return;
        }
        let is_end = told == Observed::Ended(ObserverEnd::Withdrawn);
        model.told = Some(told);
        match model.moments.iter().position(|moment| model.is_true_at(moment, rights)) {
            Some(at) => drop(model.moments.drain(..at)),
            None if is_end => {}
            None => lab.fault = Some(format!("{:?} was not so", lab.model.told)),
        }
    }

    fn check(lab: &Lab<Self>) -> Result<(), String> {
        let client = &lab.clients[0];
        let is_blocked = matches!(lab.model.told, Some(Observed::Blocked { .. }));
        if client.watches.len() > 1 + usize::from(is_blocked) {
            return Err(format!("{} watches", client.watches.len()));
        }
        let is_settled = client.is_idle() && client.applied == lab.server.tip_position();
        let stands = lab.tip().keys().any(|name| matches!(name, Name::Candidate(..)));
        if is_settled && stands && client.watches.iter().any(|watch| watch.of_children) {
            return Err("watches the children although a candidate stands".into());
        }
        Ok(())
    }

    fn check_rest(lab: &Lab<Self>) -> Result<(), String> {
        let client = &lab.clients[0];
        let is_over = client.machines.values().all(|one| one.phase() == Phase::Over);
        let now = lab.model.moments.last().expect("one at least");
        let is_hidden = client.rights != Rights::All && lab.model.told == Some(Observed::Hidden);
        if is_over || !is_hidden && lab.model.is_true_at(now, client.rights) {
            return Ok(());
        }
        Err(format!("{:?} is told last, and {now:?} is so", lab.model.told))
    }
}

fn commit(lab: &mut Lab<World>, effects: Vec<Effect<Name>>) {
    if lab.budget.halves > 0 {
        // A part of it is a moment, too.
        let mut tree = lab.tip().clone();
        for effect in &effects[..effects.len() - 1] {
            effect.apply(&mut tree);
            note(&mut lab.model, &tree);
        }
    }
    lab.server.commit(effects);
    note_tip(lab);
}

fn note_tip(lab: &mut Lab<World>) {
    let tip = lab.tip().clone();
    note(&mut lab.model, &tip);
}

fn join(lab: &mut Lab<World>) {
    let name = match lab.model.subject {
        Subject::Mark(_) => Name::Mark,
        Subject::Leader(format) => {
            lab.model.next += 1;
            lab.model.next_id += 1;
            let is_latch = format == Format::curator_latch();
            Name::Candidate(lab.model.next - 1, if is_latch { lab.model.next_id } else { 0 })
        }
    };
    create(lab, name, Some(CANDIDATES));
}

fn intrude(lab: &mut Lab<World>, owner: Option<SessionId>) {
    lab.model.next += 1;
    create(lab, Name::Foreign(lab.model.next - 1), owner);
}

fn create(lab: &mut Lab<World>, name: Name, owner: Option<SessionId>) {
    let token = lab.server.zxid + 1;
    let mut effects = Vec::new();
    if name != Name::Mark && !lab.tip().contains_key(&Name::Node) {
        effects.push(Effect::Put(Name::Node, Znode::new(token, 0)));
    }
    effects.push(Effect::Put(name, Znode { owner, ..Znode::new(token, 0) }));
    commit(lab, effects);
}

/// Makes a world with so many candidates, none of which its server has applied yet.
fn world(subject: Subject, count: u8, (joins, wipes): (u8, u8), budget: Budget) -> Lab<World> {
    let (moments, told) = (Vec::new(), None);
    let mut model =
        World { subject, joins, strangers: 0, wipes, next: 0, next_id: 0, moments, told };
    note(&mut model, &Tree::new());
    let lab = Lab::new(model, Tree::new(), budget).lagging(2).with_local_sessions();
    let mut lab = lab.client((), (), Some(Observer::new(subject)));
    (0..count).for_each(|_| join(&mut lab));
    lab
}

#[test]
fn a_leader_is_observed_while_candidates_come_and_go() {
    let budget = Budget { deletions: 2, losses: 1, expiries: 1, ..NONE };
    explore("a leader of 2", world(LATCH, 2, (1, 0), budget));
}

/// None stands at first, and there is no election node.
#[test]
fn the_first_candidate_is_observed() {
    let budget = Budget { deletions: 1, losses: 1, ..NONE };
    explore("none yet", world(LATCH, 0, (2, 1), budget));
    let budget = Budget { deletions: 1, expiries: 1, ..NONE };
    explore("one that goes", world(LATCH, 1, (1, 1), budget));
}

#[test]
fn what_a_leader_writes_is_observed() {
    let budget = Budget { writes: 2, deletions: 1, losses: 1, expiries: 1, ..NONE };
    explore("a leader that writes", world(LATCH, 2, (0, 0), budget));
}

/// A server drops a watch, has too much to do, or does not show the leader.
#[test]
fn a_leader_is_observed_in_spite_of_its_servers() {
    let budget = Budget { deletions: 2, dropped_watches: 1, throttles: 1, looks: 1, ..NONE };
    explore("lost watches", world(LATCH, 2, (0, 0), budget));
    let budget = Budget { deletions: 1, bars: 1, looks: 1, losses: 1, ..NONE };
    explore("a leader that may not be read", world(LATCH, 2, (0, 0), budget));
}

/// The same names stand in the next election node.
#[test]
fn an_election_that_is_made_again_is_observed() {
    let budget = Budget { losses: 1, ..NONE };
    explore("made again", world(LATCH, 2, (2, 1), budget));
    let budget = Budget { deletions: 1, losses: 1, ..NONE };
    explore("made again, names recur", world(NAMELESS, 2, (2, 1), budget).lagging(4));
    let budget = Budget { writes: 1, ..NONE };
    explore("made again, names recur, written", world(NAMELESS, 2, (2, 1), budget).lagging(4));
}

/// A nominee that is the first waits for the end of a child of another format.
#[test]
fn a_candidate_that_a_child_of_another_format_blocks_is_not_observed_as_the_leader() {
    let budget = Budget { deletions: 2, losses: 1, ..NONE };
    explore("blocked", with_strangers(blocked(LATCH, (0, 0), budget), 1));
    let budget = Budget { deletions: 1, writes: 1, looks: 1, expiries: 1, ..NONE };
    explore("blocked, and written", blocked(LATCH, (0, 0), budget));
    // Not written as well: what is written to a znode that may not be read shows by a look, which a rest does not await.
    let budget = Budget { deletions: 1, bars: 1, looks: 1, expiries: 1, ..NONE };
    explore("blocked, and barred", blocked(LATCH, (0, 0), budget));
    let budget = Budget { deletions: 2, ..NONE };
    explore("strangers come and go", with_strangers(world(LATCH, 2, (0, 0), budget), 2));
    let budget = Budget { deletions: 2, dropped_watches: 1, ..NONE };
    explore("blocked, and made again", blocked(NAMELESS, (1, 1), budget));
}

/// Makes a world with children of another format before its candidate: one that blocks it, and in a format without
/// ids one before that which does not.
fn blocked(subject: Subject, acts: (u8, u8), budget: Budget) -> Lab<World> {
    let mut lab = world(subject, 0, acts, budget);
    if subject == NAMELESS {
        intrude(&mut lab, None);
    }
    intrude(&mut lab, Some(FOREIGN));
    join(&mut lab);
    lab
}

fn with_strangers(mut lab: Lab<World>, strangers: u8) -> Lab<World> {
    lab.model.strangers = strangers;
    lab
}

#[test]
fn a_mark_is_observed() {
    let budget = Budget { deletions: 2, writes: 1, losses: 1, ..NONE };
    explore("a mark", world(MARK, 0, (2, 0), budget));
    let budget = Budget { deletions: 1, expiries: 1, dropped_watches: 1, ..NONE };
    explore("a mark, lost watches", world(MARK, 1, (1, 0), budget));
}

/// A list with a watch tells of no child twice, and of all.
#[test]
fn an_observer_that_is_withdrawn_leaves_nothing() {
    let budget = Budget { deletions: 1, withdrawals: 1, losses: 1, ..NONE };
    explore("withdrawn", world(LATCH, 1, (1, 0), budget));
    explore("withdrawn from a mark", world(MARK, 1, (1, 0), budget));
}

#[test]
fn each_fault_befalls_an_observer_of_latches() {
    each_fault_befalls(LATCH, "latch", 1);
}

#[test]
fn each_fault_befalls_an_observer_of_candidates_without_ids() {
    each_fault_befalls(NAMELESS, "nameless", 1);
}

#[test]
#[ignore = "long form: run with --release"]
fn long_each_fault_befalls_an_observer_while_two_candidates_are_deleted() {
    each_fault_befalls(LATCH, "latch", 2);
    each_fault_befalls(NAMELESS, "nameless", 2);
}

#[test]
fn each_fault_befalls_an_observer_of_a_mark() {
    each_fault_befalls(MARK, "mark", 2);
}

/// Lets an operator delete so many candidates beside the faults after which that makes a difference.
fn each_fault_befalls(subject: Subject, what: &str, deletions: u8) {
    let count = if subject == MARK { 1 } else { 2 };
    let b = Budget { refusals: 1, deletions: 1, losses: 1, ..NONE };
    explore(&format!("{what}, 1 refusal"), world(subject, count, (1, 0), b));
    let b = Budget { lost_watches: 1, deletions, losses: 1, ..NONE };
    explore(&format!("{what}, 1 watch lost"), world(subject, count, (1, 0), b));
    let b = Budget { lies: 1, deletions: 1, losses: 1, ..NONE };
    explore(&format!("{what}, 1 lie"), world(subject, count, (1, 0), b));
    let b = Budget { swaps: 1, deletions: 1, losses: 1, writes: 1, ..NONE };
    explore(&format!("{what}, 1 swap"), world(subject, count, (1, 0), b));
    let b = Budget { stragglers: 2, deletions, losses: 2, ..NONE };
    explore(&format!("{what}, 2 stragglers"), world(subject, count, (1, 0), b));
    let b = Budget { losses: 2, deletions, writes: 1, ..NONE };
    explore(&format!("{what}, 2 losses"), world(subject, count, (1, 0), b));
    let b = Budget { bars: 1, dropped_watches: 1, deletions, losses: 1, ..NONE };
    explore(&format!("{what}, 1 bar, 1 watch dropped"), world(subject, count, (1, 0), b));
}

/// All candidates are deleted in one transaction. An observer that has seen half of it is connected to an older server
/// next, which its session may be: it has not seen the transaction.
#[test]
fn absence_that_half_of_a_transaction_shows_is_told_in_order() {
    let budget = Budget { halves: 2, losses: 1, ..NONE };
    let lab = world(LATCH, 2, (0, 1), budget).lagging(3);
    explore_to_a_limit("latch, 2 halves, 1 loss", "was not so", lab);
}
