//! Every order of events for the znode of a member, in small worlds.

mod events;

use election_core::group::{
    Member, MemberEnd, MemberNotice, MemberOptions, MemberState, NameOrigin, NameOwner,
    WhenEvicted, WhenTaken,
};
use election_core::{Event, Token, Znode as Place};

use crate::lab::{
    Actor, Budget, Change, Client, Commit, Data, Lab, Link, Model, NONE, Request, Rights, Sent,
    Step, Tree, Znode, explore, explore_to_a_limit,
};

const GIVEN: MemberOptions = MemberOptions {
    name: NameOrigin::Given,
    when_taken: WhenTaken::Wait,
    when_evicted: WhenEvicted::Rejoin,
    node: election_core::election::ElectionNode::Create(
        election_core::election::NodeKind::Persistent,
    ),
};
const RANDOM: MemberOptions = MemberOptions { name: NameOrigin::Random, ..GIVEN };
const UNIQUE: MemberOptions = MemberOptions { when_taken: WhenTaken::GiveUp, ..GIVEN };
const ONCE: MemberOptions = MemberOptions { when_evicted: WhenEvicted::End, ..GIVEN };

/// The group's node, and the only name in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Name {
    Node,
    X,
}

#[derive(Clone, Debug, Hash)]
struct Group {
    /// How often users still set other data.
    data: u8,
    /// Whether an operator has deleted a znode: then its member may, for a round trip, take the next one of that
    /// name for its own.
    operator_has_deleted: bool,
    /// Whether it has barred one: then a member may fail.
    operator_has_barred: bool,
}

/// The user of a member sets other data.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SetData(usize);

type Joined = Option<Token>;

impl Client<Group> {
    fn state(&self) -> MemberState {
        self.machine().state()
    }
}

impl Model for Group {
    type Name = Name;
    type Machine = Member<&'static str, [u8; 1]>;
    type Role = MemberOptions;
    type Notes = Joined;
    type Act = SetData;

    const NODE: Name = Name::Node;
    const WATCHES: usize = 1;

    fn name(place: Place<'_>) -> Name {
        match place {
            Place::Node => Name::Node,
            Place::Child(name) if name == *"x" => Name::X,
            other => panic!("no member asks for {other:?}"),
        }
    }

    fn text(_: Name) -> String {
        "x".into()
    }

    fn parent(name: Name) -> Option<Name> {
        (name == Name::X).then_some(Name::Node)
    }

    fn is_operators(_: &Lab<Self>, name: Name) -> bool {
        name == Name::X
    }

    fn may_be_refused(_: &Lab<Self>, _: usize, sent: &Sent<Name>) -> bool {
        matches!(sent.request, Request::Single(Change::Create(..) | Change::Delete(..)))
    }

    fn may_be_too_long(_: &Lab<Self>, _: usize, _: &Sent<Name>) -> bool {
        true
    }

    fn has_user(client: &Client<Self>) -> bool {
        !client.is_over()
    }

    fn acts(lab: &Lab<Self>) -> Vec<(SetData, bool)> {
        let may = |i: &usize| lab.model.data > 0 && !lab.clients[*i].is_over();
        (0..lab.clients.len()).filter(may).map(|i| (SetData(i), false)).collect()
    }

    fn act(lab: &mut Lab<Self>, SetData(i): SetData) {
        lab.model.data -= 1;
        let machine = lab.clients[i].machines.get_mut(0).expect("a member");
        let [byte] = *machine.data();
        machine.set_data([byte + 1]);
        lab.feed(i, 0, Event::Deadline);
    }

    fn suffered(lab: &mut Lab<Self>, fault: &Step<Self>) {
        lab.model.operator_has_deleted |= matches!(fault, Step::OperatorDeletes(_));
        lab.model.operator_has_barred |= matches!(fault, Step::OperatorBars(_));
    }

    fn committed(lab: &mut Lab<Self>, commit: &Commit<'_, Self>) {
        let (Some(i), Some(before)) = (commit.author, commit.before.get(&Name::X)) else { return };
        let is_own = before.owner.is_some_and(|owner| lab.clients[i].has_had(owner));
        let is_touched = commit.after.get(&Name::X) != Some(before);
        if is_touched && !is_own && !lab.model.operator_has_deleted {
            lab.break_with(format!("{i} touches the znode of another"));
        }
    }

    fn told(lab: &mut Lab<Self>, i: usize, _: Actor, notice: MemberNotice) {
        let client = &mut lab.clients[i];
        let fault = match notice {
            MemberNotice::Joined(token) => {
                client.notes = Some(token);
                (client.state() != MemberState::Joined(token)).then_some("joined, but is not")
            }
            MemberNotice::Lost(_) => {
                client.notes.take().is_none().then_some("lost what it did not have")
            }
            MemberNotice::Taken(NameOwner::Session(owner)) => {
                client.has_had(owner).then_some("its own ghost passes for another member")
            }
            MemberNotice::Ended(_) => {
                client.notes = None;
                None
            }
            _ => None,
        };
        lab.fault = lab.fault.take().or(fault.map(str::to_owned));
    }

    fn check(lab: &Lab<Self>) -> Result<(), String> {
        for client in lab.clients.iter().filter(|client| client.link != Link::Dead) {
            let i = client.index;
            let is_told = match client.state() {
                MemberState::Joined(token) => client.notes == Some(token),
                _ => true,
            };
            if !is_told {
                return Err(format!("{i}: is joined, and has not told"));
            }
            if client.link == Link::New && client.notes.is_some() {
                return Err(format!("{i}: is not told that its session has expired"));
            }
            match client.state() {
                MemberState::Ended(MemberEnd::Failed(failure))
                    if client.rights == Rights::All && !lab.model.operator_has_barred =>
                {
                    return Err(format!("{i}: {failure}"));
                }
                MemberState::Ended(MemberEnd::Taken(NameOwner::Session(owner)))
                    if client.has_had(owner) =>
                {
                    return Err(format!("{i}: ends for its own ghost"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_rest(lab: &Lab<Self>) -> Result<(), String> {
        let znode = lab.tip().get(&Name::X);
        for client in lab.clients.iter().filter(|client| client.link != Link::Dead) {
            let i = client.index;
            let is_own =
                |znode: &&Znode| znode.owner == Some(client.session) && client.session_lives;
            let own = znode.filter(is_own);
            let is_right = match client.state() {
                MemberState::Joined(token) => own.is_some_and(|own| {
                    let is_written = own.data == Data::Byte(client.machine().data()[0]);
                    own.token == token && (is_written || client.rights != Rights::All)
                }),
                MemberState::Waiting(_) => {
                    znode.is_some_and(|znode| znode.owner != Some(client.session))
                }
                MemberState::Ended(_) => own.is_none() || !client.in_doubt.is_empty(),
                MemberState::Joining | MemberState::Leaving => false,
            };
            if !is_right {
                return Err(format!("{i}: {:?} at rest, with {own:?}", client.state()));
            }
        }
        Ok(())
    }
}

fn world(options: &[MemberOptions], has_node: bool, data: u8, budget: Budget) -> Lab<Group> {
    let tree: Tree<Name> = has_node.then_some((Name::Node, Znode::new(7, 0))).into_iter().collect();
    let model = Group { data, operator_has_deleted: false, operator_has_barred: false };
    let mut lab = Lab::new(model, tree, budget).lagging(2);
    for (index, options) in (0..).zip(options) {
        let member = Member::new("x", [index * 10], *options);
        lab = lab.client(*options, None, Some(member));
    }
    lab
}

/// One member loses its connection and its session, truly or by the word of a server that errs, and is
/// withdrawn anywhere.
#[test]
fn one_member_joins_again_and_leaves_nothing() {
    for options in [GIVEN, RANDOM, UNIQUE] {
        for has_node in [true, false] {
            let budget = Budget { losses: 2, expiries: 1, withdrawals: 1, ..NONE };
            explore("1, 2 losses, 1 expiry, 1 withdrawal", world(&[options], has_node, 0, budget));
            let budget = Budget { losses: 1, lies: 1, withdrawals: 1, ..NONE };
            explore("1, 1 loss, 1 lie, 1 withdrawal", world(&[options], has_node, 0, budget));
        }
        let budget = Budget { losses: 1, expiries: 1, lies: 1, ..NONE };
        explore("1, 1 loss, 1 expiry, 1 lie", world(&[options], true, 0, budget));
    }
}

/// However many connections are lost at the missing node: it was never there and gone again.
#[test]
fn a_member_joins_over_connections_that_are_lost_at_a_missing_node() {
    for options in [GIVEN, RANDOM, UNIQUE] {
        let budget = Budget { losses: 5, ..NONE };
        explore("1, no node, 5 losses", world(&[options], false, 0, budget));
    }
}

#[test]
fn two_members_of_one_name_never_touch_the_znode_of_the_other() {
    for options in [[GIVEN, GIVEN], [UNIQUE, GIVEN]] {
        let budget = Budget { losses: 1, expiries: 1, ..NONE };
        explore("2, 1 loss, 1 expiry", world(&options, true, 0, budget));
        let budget = Budget { losses: 1, withdrawals: 1, ..NONE };
        explore("2, 1 loss, 1 withdrawal", world(&options, true, 0, budget));
        let budget = Budget { losses: 1, lies: 1, ..NONE };
        explore("2, 1 loss, 1 lie", world(&options, true, 0, budget));
    }
}

#[test]
fn a_member_that_an_operator_has_removed_is_told_of_it() {
    for options in [GIVEN, RANDOM, ONCE] {
        let budget =
            Budget { losses: 1, deletions: 1, withdrawals: 1, looks: 1, lost_watches: 1, ..NONE };
        explore("1, 1 deletion", world(&[options], true, 0, budget));
    }
    let budget = Budget { deletions: 1, losses: 1, ..NONE };
    explore("2, 1 deletion", world(&[GIVEN, GIVEN], true, 0, budget));
}

/// The data that was set last is there in the end, in a znode of any session.
#[test]
fn data_is_written_whatever_happens_between() {
    for options in [GIVEN, RANDOM] {
        let budget = Budget { losses: 1, expiries: 1, ..NONE };
        explore("1, 2 data", world(&[options], true, 2, budget));
        let budget = Budget { losses: 1, withdrawals: 1, writes: 1, throttles: 1, ..NONE };
        explore("1, 1 data, 1 write", world(&[options], true, 1, budget));
        let budget = Budget { deletions: 1, losses: 1, ..NONE };
        explore("1, 1 data, 1 deletion", world(&[options], true, 1, budget));
    }
}

/// As with an access list that is changed for a while, or a connection without its identity.
#[test]
fn a_znode_whose_deletion_is_refused_is_deleted_in_the_end() {
    for options in [GIVEN, RANDOM, ONCE] {
        let budget = Budget { losses: 1, withdrawals: 1, refusals: 2, ..NONE };
        explore("1, 2 refusals", world(&[options], true, 0, budget));
        let budget = Budget { expiries: 1, withdrawals: 1, refusals: 1, throttles: 1, ..NONE };
        explore("1, 1 refusal, 1 expiry, 1 throttle", world(&[options], true, 0, budget));
        let budget = Budget { lies: 1, withdrawals: 1, refusals: 1, ..NONE };
        explore("1, 1 refusal, 1 lie", world(&[options], true, 0, budget));
        let budget = Budget { deletions: 1, withdrawals: 1, refusals: 1, ..NONE };
        explore("1, 1 refusal, 1 deletion, 1 data", world(&[options], true, 1, budget));
    }
    let budget = Budget { withdrawals: 1, refusals: 2, ..NONE };
    explore("2, 2 refusals", world(&[GIVEN, GIVEN], true, 0, budget));
}

#[test]
fn each_fault_befalls_a_member() {
    for (options, what) in
        [(GIVEN, "given"), (RANDOM, "random"), (ONCE, "once"), (UNIQUE, "unique")]
    {
        let b = Budget { swaps: 1, losses: 2, withdrawals: 1, ..NONE };
        explore(&format!("{what}, 1 swap, 2 losses, 1 withdrawal"), world(&[options], true, 0, b));
        let b = Budget { swaps: 1, losses: 1, ..NONE };
        explore(&format!("{what}, 1 swap, 1 loss, 1 data"), world(&[options], true, 1, b));
        let b = Budget { stragglers: 2, losses: 2, withdrawals: 1, ..NONE };
        explore(
            &format!("{what}, 2 stragglers, 2 losses, 1 withdrawal"),
            world(&[options], true, 1, b),
        );
        let b = Budget { dropped_watches: 2, deletions: 1, losses: 1, ..NONE };
        explore(
            &format!("{what}, 2 watches dropped, 1 deletion, 1 loss"),
            world(&[options], true, 1, b),
        );
        let b = Budget { bars: 1, deletions: 1, losses: 1, ..NONE };
        explore(&format!("{what}, 1 bar, 1 deletion, 1 loss"), world(&[options], true, 1, b));
        let b = Budget { prohibitions: 1, losses: 1, withdrawals: 1, ..NONE };
        explore(&format!("{what}, 1 prohibition, 1 loss"), world(&[options], true, 0, b));
        let b = Budget { lies: 1, lost_watches: 1, looks: 1, deletions: 1, ..NONE };
        explore(&format!("{what}, 1 lie, 1 lost watch, 1 deletion"), world(&[options], true, 0, b));
        // A random name is nobody else's.
        if options.name == NameOrigin::Random {
            continue;
        }
        let b = Budget { crashes: 1, losses: 1, expiries: 1, ..NONE };
        explore(&format!("2 {what}, 1 killed"), world(&[options; 2], true, 0, b));
        let b = Budget { swaps: 1, losses: 1, ..NONE };
        explore(&format!("2 {what}, 1 swap"), world(&[options; 2], true, 0, b));
        let b = Budget { dropped_watches: 1, expiries: 1, ..NONE };
        explore(&format!("2 {what}, 1 watch dropped, 1 expiry"), world(&[options; 2], true, 0, b));
    }
}

/// Connections were lost over a request as long, or no server takes one as long: the znode's, or that of later data.
#[test]
fn what_a_member_says_is_held_back_or_too_large() {
    for options in [GIVEN, RANDOM, ONCE, UNIQUE] {
        let b = Budget { held_back: 2, losses: 1, withdrawals: 1, ..NONE };
        explore("1, 2 held back, 1 loss, 1 withdrawal", world(&[options], true, 1, b));
        let b = Budget { held_back: 1, expiries: 1, deletions: 1, ..NONE };
        explore("1, 1 held back, 1 expiry, 1 deletion", world(&[options], true, 1, b));
        let b = Budget { too_large: 1, throttles: 1, losses: 1, ..NONE };
        explore("1, 1 too large, 1 throttle, 1 loss", world(&[options], true, 1, b));
    }
    let b = Budget { held_back: 1, losses: 1, ..NONE };
    explore("2, 1 held back, 1 loss", world(&[GIVEN, GIVEN], true, 0, b));
}

/// Worlds that count as one are alike.
#[test]
fn worlds_are_merged_by_right() {
    let budget = Budget { losses: 1, expiries: 1, deletions: 1, lies: 1, ..NONE };
    crate::lab::holds_against_unmerged(world(&[GIVEN, GIVEN], true, 1, budget), 20_000);
}

/// The write of a member that leaves is in doubt, and then its deletion is refused: the write may have changed the
/// version.
#[test]
fn a_member_whose_write_is_in_doubt_leaves_nothing() {
    let budget = Budget { refusals: 1, losses: 1, withdrawals: 1, ..NONE };
    for options in [GIVEN, RANDOM, ONCE] {
        explore("1 refusal, 1 loss, 1 withdrawal, 1 data", world(&[options], true, 1, budget));
    }
}

/// An operator writes to a znode whose deletion is owed: then it may be that of the client's next member.
#[test]
fn a_znode_that_is_written_to_while_its_deletion_is_owed_stays_for_its_session() {
    let budget = Budget { refusals: 1, writes: 1, withdrawals: 1, ..NONE };
    let lab = world(&[GIVEN], true, 0, budget);
    explore_to_a_limit("1 refusal, 1 write, 1 withdrawal", "at rest, with Some", lab);
}
