//! New leaders that wake the candidate behind them, in every order of events.
//!
//! A participant of another library is a nominee whose id is not wakeable. It would never hear of the end of a
//! candidate that was written to while it waited for that. So none is written to but by its own nominee, and only
//! while the candidate behind it, which no other participant passes over, is of a nominee that can be woken.

use election_core::election::{Nominee, Notice, Policy, Role, WhenPromoted};
use election_core::{Hold, NewZnode, NomineeId, Payload, Recipe as _, Znode as Place};

use crate::lab::{
    Actor, Budget, Change, Client, Commit, Data, Lab, Model, NONE, Request, Right, Rights, Sent,
    Step, Tree, Znode, explore, holds_against_unmerged,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Name {
    Node,
    /// The sign that the election is over, which stands nowhere here.
    End,
    /// Its number, its client, and by which create.
    Candidate(Option<u32>, u8, u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Party {
    Ours,
    /// It neither wakes nor is woken.
    Foreign,
}

#[derive(Clone, Debug, Hash)]
struct Waking {
    parties: Vec<Party>,
    /// Whether an operator has written to a candidate: then its nominee does not.
    has_written: bool,
    /// Whether a server has refused something, or has not told of a change.
    has_failed: bool,
}

impl Party {
    fn id(self, client: u8, attempt: u8) -> NomineeId {
        let mut bytes = [0x11 * (client + 1); 16];
        bytes[15] += attempt;
        match self {
            Self::Ours => NomineeId::wakeable(bytes),
            Self::Foreign => NomineeId::from_bytes(bytes),
        }
    }
}

fn parse(text: &str) -> Name {
    let (id, number) = text[3..].split_at(36);
    let bytes = id.parse::<NomineeId>().expect("an id").to_bytes();
    let digits = number.trim_start_matches(|c: char| !c.is_ascii_digit());
    Name::Candidate(digits.parse().ok(), bytes[0] / 0x11 - 1, bytes[15] - bytes[0])
}

impl Waking {
    fn party(&self, client: u8) -> Party {
        self.parties[usize::from(client)]
    }
}

std::thread_local! {
    /// A name shows its id, which the party of its client decides.
    static PARTIES: core::cell::RefCell<Vec<Party>> = const { core::cell::RefCell::new(Vec::new()) };
}

impl Model for Waking {
    type Name = Name;
    type Machine = Nominee;
    type Role = (Party, u8);
    type Notes = ();
    type Act = ();

    const NODE: Name = Name::Node;
    const WATCHES: usize = 2;
    /// A write that is of no more use may be on its way beside what it asks for.
    const REQUESTS: usize = 2;

    fn name(place: Place<'_>) -> Name {
        match place {
            Place::Node => Name::Node,
            Place::Child(name) if name == *"ended" => Name::End,
            Place::Child(name) => parse(&name.text()),
            other => panic!("no nominee asks for {other:?}"),
        }
    }

    fn text(name: Name) -> String {
        let Name::Candidate(number, client, attempt) = name else { return String::new() };
        let party = PARTIES.with_borrow(|parties| parties[usize::from(client)]);
        let (id, number) = (party.id(client, attempt), number.expect("it has one"));
        format!("_c_{id}-latch-{number:010}")
    }

    fn parent(name: Name) -> Option<Name> {
        (name != Name::Node).then_some(Name::Node)
    }

    fn unnumbered(znode: &NewZnode<'_>) -> Name {
        let NewZnode::Child(prefix) = znode else { panic!("no nominee creates {znode:?}") };
        parse(&prefix.to_string())
    }

    fn numbered(name: Name, number: u32) -> Option<Name> {
        match name {
            Name::Candidate(None, client, attempt) => {
                Some(Name::Candidate(Some(number), client, attempt))
            }
            _ => None,
        }
    }

    fn data(_: Payload<'_>) -> Data {
        Data::Byte(0)
    }

    fn is_operators(_: &Lab<Self>, name: Name) -> bool {
        matches!(name, Name::Candidate(..))
    }

    fn may_be_refused(_: &Lab<Self>, _: usize, sent: &Sent<Name>) -> bool {
        matches!(sent.request, Request::Multi(_))
    }

    fn has_user(client: &Client<Self>) -> bool {
        !client.is_over()
    }

    fn asks_in_vain(rights: Rights) -> bool {
        matches!(rights, Rights::NotTo(Right::Delete | Right::List))
    }

    fn committed(lab: &mut Lab<Self>, commit: &Commit<'_, Self>) {
        let Some(author) = commit.author else { return };
        for change in commit.request.changes() {
            let Change::Write(name, ..) = *change else { continue };
            let Name::Candidate(Some(number), client, _) = name else { continue };
            if usize::from(client) != author {
                lab.break_with(format!("{author} writes to the candidate of another, {name:?}"));
            }
            if commit.before.get(&name).is_some_and(|znode| znode.version != 0) {
                lab.break_with(format!("{author} writes over what an operator has written"));
            }
            let behind = |name: &Name| match *name {
                Name::Candidate(Some(theirs), client, _) if theirs > number => Some(client),
                _ => None,
            };
            let next = commit.before.keys().find_map(behind);
            if next.is_none_or(|next| lab.model.party(next) == Foreign) {
                lab.break_with(format!("{author} writes, and behind it is {next:?}"));
            }
        }
    }

    fn suffered(lab: &mut Lab<Self>, fault: &Step<Self>) {
        lab.model.has_written |= matches!(fault, Step::OperatorWrites(_));
        lab.model.has_failed |= matches!(
            fault,
            Step::Refuse(_)
                | Step::LoseWatch(..)
                | Step::DropWatch(..)
                | Step::Forbid(..)
                | Step::OperatorBars(_)
        );
    }

    fn told(lab: &mut Lab<Self>, i: usize, _: Actor, notice: Notice) {
        if let Notice::Elected(token) = notice
            && lab.clients[i].machine().hold() != Hold::Active(token)
        {
            lab.break_with(format!("{i}: elected, and does not lead"));
        }
    }

    fn check(lab: &Lab<Self>) -> Result<(), String> {
        let leads = |client: &&Client<Self>| {
            let holds = client.machine().hold() != Hold::None && client.session_lives;
            let own = client.machine().candidate().map(|own| parse(&own.text()));
            holds && own.is_some_and(|own| lab.tip().contains_key(&own))
        };
        match lab.clients.iter().filter(leads).count() {
            0 | 1 => Ok(()),
            leaders => Err(format!("{leaders} lead")),
        }
    }

    /// The one behind the leader knows that no other is before it.
    fn check_rest(lab: &Lab<Self>) -> Result<(), String> {
        let standing = lab.tip().keys().filter_map(|name| match name {
            Name::Candidate(_, client, _) => Some(*client),
            _ => None,
        });
        let standing: Vec<u8> = standing.collect();
        let role = |client: &u8| lab.clients[usize::from(*client)].machine().role();
        if let Some(first) = standing.first()
            && !matches!(role(first), Role::Leading { .. })
        {
            return Err(format!("{first}: is the first, and {:?}", role(first)));
        }
        let [first, second, ..] = standing[..] else { return Ok(()) };
        let are_ours = [first, second].iter().all(|one| lab.model.party(*one) == Ours);
        let knows = matches!(role(&second), Role::Following { predecessor, leader } if predecessor == leader);
        let is_excused = lab.model.has_written || lab.model.has_failed;
        if are_ours && !knows && !is_excused {
            return Err(format!("{second}: does not know that it is next: {:?}", role(&second)));
        }
        Ok(())
    }
}

/// Makes nominees that are about to connect.
fn new(parties: &[Party], budget: Budget) -> Lab<Waking> {
    PARTIES.with_borrow_mut(|known| *known = parties.to_vec());
    let tree: Tree<Name> = [(Name::Node, Znode::new(7, 0))].into();
    let model = Waking { parties: parties.to_vec(), has_written: false, has_failed: false };
    let lab = Lab::new(model, tree, budget).lagging(1);
    (0..).zip(parties).fold(lab, |lab, (client, party)| {
        let nominee = Nominee::new(party.id(client, 0), Policy::default());
        lab.client((*party, client), (), Some(nominee))
    })
}

/// Makes a world of connected nominees, in their order, and at rest.
fn settled(parties: &[Party], budget: Budget) -> Lab<Waking> {
    new(parties, budget).settled()
}

use Party::{Foreign, Ours};

#[test]
fn the_one_behind_a_new_leader_knows_that_it_is_next() {
    let b = Budget { withdrawals: 2, ..NONE };
    explore("3 settled, 2 withdrawals", settled(&[Ours; 3], b));
    explore("4 settled, 2 withdrawals", settled(&[Ours; 4], b).lagging(0));
    let b = Budget { deadlines: 1, ..NONE };
    explore("3 settled, 1 steps down", settled(&[Ours; 3], b));
    let b = Budget { withdrawals: 1, ..NONE };
    explore("3, 1 withdrawal", new(&[Ours; 3], b).lagging(0));
}

#[test]
fn faults_befall_a_leader_that_wakes_and_the_one_that_is_woken() {
    for (what, budget) in [
        ("1 loss", Budget { losses: 1, ..NONE }),
        ("1 expiry", Budget { expiries: 1, ..NONE }),
        ("1 throttled", Budget { throttles: 1, ..NONE }),
        ("1 refused", Budget { refusals: 1, ..NONE }),
        ("1 write", Budget { writes: 1, ..NONE }),
        ("1 deletion", Budget { deletions: 1, ..NONE }),
        ("1 look", Budget { looks: 1, ..NONE }),
        ("1 bar", Budget { bars: 1, ..NONE }),
        ("1 lost watch", Budget { lost_watches: 1, ..NONE }),
    ] {
        let budget = Budget { withdrawals: 1, ..budget };
        let name = format!("3 settled, {what}, 1 withdrawal");
        explore(&name, settled(&[Ours; 3], budget).lagging(0));
    }
}

/// Wherever one of another library stands.
#[test]
fn one_of_another_library_keeps_the_only_watch_that_it_has() {
    let b = Budget { withdrawals: 2, ..NONE };
    for parties in [[Ours, Ours, Foreign], [Ours, Foreign, Ours], [Foreign, Ours, Ours]] {
        explore(&format!("{parties:?}, 2 withdrawals"), settled(&parties, b));
    }
    let b = Budget { withdrawals: 1, expiries: 1, ..NONE };
    let parties = [Ours, Ours, Ours, Foreign];
    explore(&format!("{parties:?}, 1 withdrawal, 1 expiry"), settled(&parties, b).lagging(0));
    let b = Budget { withdrawals: 2, ..NONE };
    explore(&format!("{parties:?}, 2 withdrawals"), settled(&parties, b));
}

/// Those that do not wake others ask for nothing.
#[test]
fn a_leader_that_rests_writes_nothing() {
    let mut lab = settled(&[Ours; 3], Budget { withdrawals: 1, ..NONE });
    for i in 0..lab.clients.len() {
        let machine = lab.clients[i].machines.get_mut(0).expect("a nominee");
        *machine = machine.clone().when_promoted(WhenPromoted::Rests);
    }
    lab.model.has_failed = true;
    lab.take(Step::Withdraw(0, 0));
    while let Some((step, _)) = lab.steps().into_iter().find(|(_, is_calm)| *is_calm) {
        lab.take(step);
    }
    let is_written = |(_, znode): (&Name, &Znode)| znode.version > 0;
    assert!(!lab.tip().iter().any(is_written), "{:?}", lab.tip());
}

#[test]
fn worlds_are_merged_by_right() {
    let b = Budget { withdrawals: 1, losses: 1, ..NONE };
    holds_against_unmerged(settled(&[Ours; 3], b), 20_000);
}
