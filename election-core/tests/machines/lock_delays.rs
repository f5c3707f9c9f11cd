//! Every order of events for a few nominees with a lock delay, by servers that lag.
//!
//! In every state: a nominee is told that it leads only if the leader before it has said that it ended, and
//! a server has committed that, or the delay has passed since its promotion; and none waits for a leader
//! that has said so. Where nothing is on its way any more, one leads, and the mark is its own.

mod worlds;

use core::time::Duration;
use std::collections::BTreeSet;

use election_core::election::{Nominee, Notice, OnLoss, Policy};
use election_core::{
    Event, Hold, NewZnode, NomineeId, Payload, Recipe as _, Token, Znode as Place,
};

use crate::lab::{
    Actor, Budget, Change, Client, Commit, Data, Effect, Lab, Model, NONE, Step, Tree, Znode,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Name {
    Node,
    Mark,
    Ended,
    /// Its number, its client, and by which create; without a number before the server gives it one.
    Candidate(Option<u32>, u8, u8),
}

fn id(client: u8) -> NomineeId {
    NomineeId::from_bytes([0x11 * (client + 1); 16])
}

fn candidate_of(text: &str) -> Name {
    let (id, number) = text[3..].split_at(36);
    let bytes = id.parse::<NomineeId>().expect("an id").to_bytes();
    let number = number.strip_prefix("-latch-").and_then(|digits| digits.parse().ok());
    Name::Candidate(number, bytes[0] / 0x11 - 1, bytes[15] - bytes[0])
}

/// What users and operators may still do, and what is so of leaders.
#[derive(Clone, Debug, Default, Hash)]
struct Delays {
    withdrawals: u8,
    steps_down: u8,
    unclean: u8,
    erasures: u8,
    /// The tokens with which nominees were told that they lead.
    led: BTreeSet<Token>,
    /// Tokens of nominees that have said that they ended, and that deleted their candidates by that.
    ended: BTreeSet<Token>,
    /// Tokens of leaders for which a nominee has let the delay pass, and has taken their mark's place.
    waited_for: BTreeSet<Token>,
    /// Tokens of leaderships that their users have ended.
    given_up: BTreeSet<Token>,
    /// An operator has deleted the mark.
    was_erased: bool,
    /// A session lived on although its nominee went on to another, or a request was refused: then a leader's last
    /// word may come too late, or not at all.
    has_ghosts: bool,
}

/// The incarnation for which the delay has passed, and that whose work goes on after its end.
#[derive(Clone, Copy, Debug, Default, Hash)]
struct Notes {
    waited: Option<u32>,
    unclean: Option<u32>,
    is_withdrawn: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    PassDelay(usize),
    Withdraw(usize),
    StepDown(usize),
    EndUncleanly(usize),
    /// An operator deletes the mark, where nothing goes on any more.
    Erase,
}

impl Client<Delays> {
    fn incarnation(&self) -> u32 {
        self.machine().incarnation().get()
    }

    fn has_waited(&self) -> bool {
        self.notes.waited == Some(self.incarnation())
    }

    fn leads(&self) -> bool {
        self.machine().hold() != Hold::None
    }
}

fn give_up(lab: &mut Lab<Delays>, i: usize) {
    let client = &lab.clients[i];
    let is_unclean = client.notes.unclean == Some(client.incarnation());
    lab.model.given_up.extend(client.machine().hold().token().filter(|_| !is_unclean));
}

fn mark(tree: &Tree<Name>) -> Option<Token> {
    match tree.get(&Name::Mark)?.data {
        Data::Token(token) => Some(token),
        Data::Byte(_) => None,
    }
}

impl Model for Delays {
    type Name = Name;
    type Machine = Nominee;
    type Role = OnLoss;
    type Notes = Notes;
    type Act = Act;

    const NODE: Name = Name::Node;
    const WATCHES: usize = 2;
    const REQUESTS: usize = 2;

    fn name(place: Place<'_>) -> Name {
        match place {
            Place::Node => Name::Node,
            Place::Sibling(_) => Name::Mark,
            Place::Child(name) if name == *"ended" => Name::Ended,
            Place::Child(name) => candidate_of(&name.text()),
            other @ Place::Grandchild { .. } => panic!("no nominee asks for {other:?}"),
        }
    }

    fn text(name: Name) -> String {
        match name {
            Name::Node | Name::Mark | Name::Ended => "mark".into(),
            Name::Candidate(number, client, attempt) => {
                let mut bytes = id(client).to_bytes();
                bytes[15] += attempt;
                let id = NomineeId::from_bytes(bytes);
                format!("_c_{id}-latch-{:010}", number.expect("it has one"))
            }
        }
    }

    fn parent(name: Name) -> Option<Name> {
        matches!(name, Name::Candidate(..) | Name::Ended).then_some(Name::Node)
    }

    fn unnumbered(znode: &NewZnode<'_>) -> Name {
        let NewZnode::Child(prefix) = znode else { panic!("no nominee creates {znode:?}") };
        candidate_of(&prefix.to_string())
    }

    fn numbered(name: Name, number: u32) -> Option<Name> {
        match name {
            Name::Candidate(None, client, attempt) => {
                Some(Name::Candidate(Some(number), client, attempt))
            }
            _ => None,
        }
    }

    fn data(payload: Payload<'_>) -> Data {
        let Payload::Bytes(bytes) = payload else { return Data::Byte(0) };
        let text = core::str::from_utf8(bytes).expect("text");
        let number = text.strip_prefix("token: ").expect("a mark").parse().expect("a number");
        Data::Token(Token::new(number))
    }

    fn bytes(data: Data) -> Vec<u8> {
        match data {
            Data::Byte(_) => Vec::new(),
            Data::Token(token) => format!("token: {token}").into_bytes(),
        }
    }

    /// The lowest.
    fn is_operators(lab: &Lab<Self>, name: Name) -> bool {
        let is_candidate = |name: &&Name| matches!(name, Name::Candidate(..));
        lab.tip().keys().find(is_candidate) == Some(&name)
    }

    fn has_user(_: &Client<Self>) -> bool {
        false
    }

    fn acts(lab: &Lab<Self>) -> Vec<(Act, bool)> {
        let mut acts = Vec::new();
        for (i, client) in lab.clients.iter().enumerate().filter(|(_, it)| !it.machines.is_empty())
        {
            let mut add = |is_possible: bool, act, is_calm| {
                if is_possible {
                    acts.push((act, is_calm));
                }
            };
            let model = &lab.model;
            add(client.machine().awaits_delay().is_some(), Act::PassDelay(i), true);
            let stands = !client.notes.is_withdrawn && !client.is_over();
            add(stands && model.withdrawals > 0, Act::Withdraw(i), false);
            add(client.leads() && model.steps_down > 0, Act::StepDown(i), false);
            add(client.leads() && model.unclean > 0, Act::EndUncleanly(i), false);
        }
        if lab.model.erasures > 0 && lab.tip().contains_key(&Name::Mark) {
            acts.push((Act::Erase, false));
        }
        acts
    }

    fn act(lab: &mut Lab<Self>, act: Act) {
        match act {
            Act::PassDelay(i) => {
                lab.clients[i].notes.waited = Some(lab.clients[i].incarnation());
                lab.feed(i, 0, Event::Deadline);
            }
            Act::Withdraw(i) => {
                lab.model.withdrawals -= 1;
                give_up(lab, i);
                lab.clients[i].notes.is_withdrawn = true;
                lab.withdraw(i, 0);
            }
            Act::StepDown(i) => {
                lab.model.steps_down -= 1;
                give_up(lab, i);
                lab.feed(i, 0, Event::Deadline);
            }
            Act::EndUncleanly(i) => {
                lab.model.unclean -= 1;
                lab.clients[i].notes.unclean = Some(lab.clients[i].incarnation());
                lab.clients[i].machines.get_mut(0).expect("a nominee").end_uncleanly();
            }
            Act::Erase => {
                lab.model.erasures -= 1;
                let led: Vec<Token> = lab.model.led.iter().copied().collect();
                lab.model.ended.extend(led);
                lab.model.was_erased = true;
                lab.server.commit(vec![Effect::Gone(Name::Mark)]);
            }
        }
    }

    fn committed(lab: &mut Lab<Self>, commit: &Commit<'_, Self>) {
        let Some(i) = commit.author else { return };
        let client = lab.clients[i].machines.get(0).map(|_| &lab.clients[i]);
        let has_waited = client.is_some_and(Client::has_waited);
        for change in commit.request.changes() {
            match change {
                Change::Write(Name::Mark, ..) if has_waited => {
                    lab.model.waited_for.extend(mark(commit.before));
                }
                Change::Delete(name @ Name::Candidate(..), _) => {
                    let gone = commit.before.get(name).map(|znode| znode.token);
                    let said = gone.filter(|token| lab.model.given_up.contains(token));
                    lab.model.ended.extend(said);
                }
                _ => {}
            }
        }
    }

    fn suffered(lab: &mut Lab<Self>, fault: &Step<Self>) {
        lab.model.has_ghosts |= matches!(fault, Step::Lie(_) | Step::Swap(_) | Step::Refuse(_));
    }

    fn stepped(lab: &mut Lab<Self>, i: usize, _: Actor) {
        let client = &lab.clients[i];
        if client.machine().awaits_delay().is_some()
            // A server may be older than the one of the event that promoted the nominee.
            && let Some(mark) = mark(lab.tip())
            && lab.model.ended.contains(&mark)
            && !lab.model.was_erased
            && !lab.model.has_ghosts
        {
            lab.break_with(format!("{i}: waits for {mark:?}, which said that it ended"));
        }
    }

    fn told(lab: &mut Lab<Self>, i: usize, _: Actor, notice: Notice) {
        let (model, client) = (&mut lab.model, &lab.clients[i]);
        let Notice::Elected(token) = notice else { return };
        // The lease is not proved any more, so that its user is not told.
        if !client.session_lives {
            return;
        }
        let before = model.led.last().copied();
        model.led.insert(token);
        // An operator that deletes the mark answers for it.
        let is_free = |before: &Token| {
            model.was_erased || model.ended.contains(before) || model.waited_for.contains(before)
        };
        if let Some(before) = before.filter(|before| !is_free(before))
            && !client.has_waited()
        {
            lab.break_with(format!(
                "{i}: leads at once, and {before:?} has not said that it ended"
            ));
        }
        if before.is_some_and(|before| before >= token) {
            lab.break_with(format!("{i}: elected with {token:?} after {before:?}"));
        }
    }

    fn check(_: &Lab<Self>) -> Result<(), String> {
        Ok(())
    }

    /// Checks that one leads, by its own mark.
    fn check_rest(lab: &Lab<Self>) -> Result<(), String> {
        let contenders = lab.clients.iter().filter(|client| !client.is_over());
        let leaders: Vec<Token> =
            contenders.clone().filter_map(|client| client.machine().hold().token()).collect();
        let (mark, was_erased) = (mark(lab.tip()), lab.model.was_erased);
        if contenders.count() == 0 {
            let is_left = mark.is_some_and(|mark| lab.model.ended.contains(&mark));
            return if is_left && !was_erased { Err(format!("{mark:?} is left")) } else { Ok(()) };
        }
        match *leaders {
            [leader] if mark == Some(leader) || mark.is_none() && was_erased => Ok(()),
            [leader] => Err(format!("{leader:?} leads by {mark:?}")),
            _ => Err(format!("{} lead at rest", leaders.len())),
        }
    }
}

fn world(nominees: u8, model: Delays, budget: Budget) -> Lab<Delays> {
    with_policy(nominees, OnLoss::StandAgain, model, budget)
}

/// Makes a world in which the clients were connected one after another, and have come to rest, if they are two.
fn with_policy(nominees: u8, on_loss: OnLoss, model: Delays, budget: Budget) -> Lab<Delays> {
    let mut lab = Lab::new(Delays::default(), Tree::from([(Name::Node, Znode::new(1, 0))]), NONE);
    let policy = Policy { on_loss, lock_delay: Duration::from_secs(40), ..Policy::default() };
    for index in 0..nominees {
        let nominee = Nominee::new(id(index), policy);
        lab = lab.client(on_loss, Notes::default(), Some(nominee));
    }
    if nominees > 1 {
        lab = lab.settled();
    }
    let settled = core::mem::replace(&mut lab.model, model);
    lab.model.led = settled.led;
    lab.model.ended = settled.ended;
    lab.model.given_up = settled.given_up;
    lab.model.waited_for = settled.waited_for;
    lab.budget = budget;
    lab.lagging(LAG)
}

/// As good as any lag.
const LAG: usize = 9;

fn withdrawals(withdrawals: u8) -> Delays {
    Delays { withdrawals, ..Delays::default() }
}
