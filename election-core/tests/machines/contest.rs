//! Contenders for an election or a lock: what users, operators and other libraries do, and what is noted for the laws.

pub mod acts;
mod budget;
pub mod candidates;
pub mod laws;
pub mod machine;
pub mod names;
mod operators;
pub mod script;
mod state;
pub mod told;
pub mod worlds;

use election_core::election::{End, Role};
use election_core::{NewZnode, Payload, Token, Znode as Place};

use crate::lab::{
    Actor, Answer, Change, Client, Commit, Data, Lab, Model, Placed, Request, Sent, Step, Znode,
};
use acts::Act;
use candidates::{Candidate, Kind};

use machine::{Machine, News, Wish};
use names::Name;
use operators::{Course, Ending, HandOver};
use script::Record;
use told::Told;

pub use budget::{Budget, NO_FAULTS};

pub type World = Lab<Contest>;
pub type Contender = Client<Contest>;

/// The data of a znode by which its contender is asked to let go.
pub const REVOKE_REQUEST: Data = Data::Byte(1);

/// What this world may be like.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Kinds {
    /// Whether sequence numbers come around again, so that more than their order matters.
    pub numbers_matter: bool,
    /// Whether nominations may fail because the server refuses what they need.
    pub may_fail: bool,
    /// Whether contenders of two formats meet, so that locks may be refused.
    pub mixes_formats: bool,
    /// Whether the reply to a create tells the metadata of the znode.
    pub knows_create2: bool,
}

#[derive(Clone, Debug, Hash)]
pub struct Contest {
    pub kinds: Kinds,
    /// What users and operators may do yet, beyond what the laboratory does to any recipe.
    pub budget: Budget,
    /// The candidates that an operator deleted, as long as their nominees may not know it.
    pub evicted: Vec<(Name, Token)>,
    /// The greatest token of any election so far.
    pub greatest_token: Token,
    /// The same, of those that share with none.
    pub greatest_unshared: Token,
    /// The token of the last guarded write that was applied.
    pub written_by: Token,
    /// The operator that ends the election.
    pub ending: Ending,
    pub course: Course,
    /// The leadership that is being handed over.
    pub hand_over: Option<HandOver>,
    /// Whether an operator may have deleted candidates for another reason.
    pub has_evicted_otherwise: bool,
    /// For tests that decide each step.
    pub record: Option<Record>,
}

/// Whether the user of a writer wants it to go on as a reader, and was not told yet that it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Downgrade {
    NotWanted,
    Wanted,
}

/// What a connection has shown of the own znode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sight {
    Nothing,
    /// A quorum has committed something: what is read now is not older.
    Barrier,
    /// Behind that, the znode with this name was the session's.
    Own(Name),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Notes {
    pub told: Told,
    /// The own znode, as read on this connection.
    pub verified: Option<Token>,
    pub sight: Sight,
    /// A write that is guarded by this znode, of a leadership with this token, is on its way.
    pub guarded: Option<(Name, Token)>,
    pub is_withdrawn: bool,
    /// Whether it was ever told that it holds.
    pub has_held: bool,
    /// Whether it was created by this process, as far as that matters.
    pub has_created: bool,
    /// Of one of which nothing is left on its way.
    pub end: Option<End>,
    pub downgrade: Downgrade,
    /// The `czxid` of the reader's znode that it has instead of a writer's, and the writer's token.
    pub kept: Option<(Token, Token)>,
    /// The request to let go that it was told of last: at which znode, and in which version.
    pub told_request: Option<(Token, i32)>,
    /// The request that is at the own znode, by the read that is being delivered.
    pub shown_request: Option<(Token, i32)>,
}

impl Notes {
    pub const NONE: Self = Self {
        told: Told::NotLeading,
        verified: None,
        sight: Sight::Nothing,
        guarded: None,
        is_withdrawn: false,
        has_held: false,
        has_created: true,
        end: None,
        downgrade: Downgrade::NotWanted,
        kept: None,
        told_request: None,
        shown_request: None,
    };
}

impl Contender {
    pub fn role(&self) -> Role<'_> {
        self.machine().role()
    }

    pub fn candidate(&self) -> Option<Candidate> {
        names::parse(&self.machine().candidate()?.text()).candidate()
    }

    /// Whether the client leads, also while suspended.
    pub fn leads(&self) -> bool {
        matches!(self.role(), Role::Leading { .. } | Role::Suspended { .. })
    }

    pub fn is_ended(&self) -> bool {
        matches!(self.role(), Role::Ended(_))
    }

    pub fn end(&self) -> Option<End> {
        match self.role() {
            Role::Ended(end) => Some(end),
            _ => None,
        }
    }

    pub fn kind(&self) -> Kind {
        self.machine().kind(self.role)
    }

    pub fn is_downgrading(&self) -> bool {
        self.notes.downgrade == Downgrade::Wanted
    }

    /// Returns the token of a leadership or a lock by a znode with this `czxid`.
    pub fn token_of(&self, czxid: Token) -> Token {
        self.notes.kept.filter(|(kept, _)| *kept == czxid).map_or(czxid, |(_, token)| token)
    }

    /// Whether this is the own znode, or may be.
    pub fn may_hold_by(&self, name: Candidate) -> bool {
        self.candidate().is_some_and(|own| {
            own == name
                || self.is_downgrading()
                    && (own.client, own.sequence) == (name.client, name.sequence)
        })
    }
}

impl World {
    /// The candidates that stand.
    pub fn candidates(&self) -> impl Iterator<Item = (Candidate, &Znode)> {
        self.tip().iter().filter_map(|(name, znode)| Some((name.candidate()?, znode)))
    }

    pub fn find(&self, name: Candidate) -> Option<&Znode> {
        self.tip().get(&Name::Candidate(name))
    }
}

impl Model for Contest {
    type Name = Name;
    type Machine = Machine;
    type Role = Wish;
    type Notes = Notes;
    type Act = Act;

    const NODE: Name = Name::Node;
    /// On the predecessor, and on the own znode.
    const WATCHES: usize = 2;
    /// What it deletes without waiting may be on its way beside what it asks for.
    const REQUESTS: usize = 4;
    /// As good as what the contenders write.
    const SCRAWL: Data = Data::Byte(0);
    const OWNERS_READ: bool = false;
    const STRAYS: &'static [&'static str] =
        &["DONE", "000000000", "_c_x-lock-", "latch-", "n_1", "leader"];
    const ENDS_FOR_GOOD: bool = true;
    const SESSIONS_ARE_GLOBAL: bool = true;
    const APPLIES_WHAT_MATTERS: bool = true;

    fn name(place: Place<'_>) -> Name {
        names::name(place)
    }

    fn text(name: Name) -> String {
        names::text(name)
    }

    fn parent(name: Name) -> Option<Name> {
        (name != Name::Node).then_some(Name::Node)
    }

    fn unnumbered(znode: &NewZnode<'_>) -> Name {
        names::unnumbered(znode)
    }

    fn numbered(name: Name, number: u32) -> Option<Name> {
        names::numbered(name, number)
    }

    fn data(_: Payload<'_>) -> Data {
        Data::Byte(0)
    }

    fn bytes(data: Data) -> Vec<u8> {
        let bytes: &[u8] =
            if data == REVOKE_REQUEST { election_core::lock::REVOKE_REQUEST } else { b"host-7" };
        bytes.to_vec()
    }

    fn read_name(text: &str) -> Option<(Name, usize)> {
        names::read(text)
    }

    fn are_alike(lab: &World) -> bool {
        !lab.model.kinds.numbers_matter
    }

    fn placed(name: Name) -> Placed {
        names::placed(name)
    }

    fn is_operators(_: &World, name: Name) -> bool {
        name.candidate().is_some()
    }

    /// Lists and deletions.
    fn may_be_refused(_: &World, _: usize, sent: &Sent<Name>) -> bool {
        matches!(sent.request, Request::List(..) | Request::Single(Change::Delete(..)))
    }

    /// Whatever says what a candidate says.
    fn may_be_too_long(_: &World, _: usize, _: &Sent<Name>) -> bool {
        true
    }

    fn has_user(client: &Contender) -> bool {
        !client.notes.is_withdrawn && !client.is_ended()
    }

    fn acts(lab: &World) -> Vec<(Act, bool)> {
        let mut acts = Vec::new();
        for (i, client) in lab.clients.iter().enumerate() {
            if !client.is_done() {
                lab.acts_of(i, client, &mut acts);
            } else if client.notes.guarded.is_some() {
                acts.push((Act::ApplyGuarded(i), true));
            }
        }
        lab.acts_of_others(&mut acts);
        lab.acts_of_the_ending(&mut acts);
        lab.acts_of_the_hand_over(&mut acts);
        acts
    }

    fn act(lab: &mut World, act: Act) {
        match act {
            Act::Deadline(i) | Act::Downgrade(i) | Act::TakeOver(i) => lab.act_of(i, act),
            Act::WriteGuarded(_) | Act::ApplyGuarded(_) => lab.write_guarded(act),
            Act::Revoke(_) | Act::ForeignDowngrades(_) | Act::ForeignLeaves(_) | Act::Wipe => {
                lab.act_of_others(act);
            }
            Act::HandOver(..) | Act::GoOnHandingOver => lab.go_on_handing_over(act),
            Act::End | Act::GoOnEnding | Act::KillOperator | Act::Reopen => {
                lab.end_the_election(act);
            }
        }
    }

    fn committed(lab: &mut World, commit: &Commit<'_, Self>) {
        laws::committed(lab, commit);
    }

    fn told(lab: &mut World, i: usize, _: Actor, news: News) {
        laws::told(lab, i, news);
    }

    fn answered(lab: &mut World, i: usize, request: &Request<Name>, answer: &Answer<Name>) {
        laws::answered(lab, i, request, answer);
    }

    fn replied(lab: &mut World, i: usize, answer: &Answer<Name>) {
        laws::replied(lab, i, answer);
    }

    fn asked(lab: &mut World, i: usize) {
        if let Err(fault) = laws::asked(lab, i) {
            lab.break_with(format!("{i}: {fault}"));
        }
    }

    fn disconnected(lab: &mut World, i: usize) {
        let notes = &mut lab.clients[i].notes;
        (notes.verified, notes.sight) = (None, Sight::Nothing);
    }

    fn suffered(lab: &mut World, fault: &Step<Self>) {
        match *fault {
            Step::Withdraw(i, _) => {
                let notes = &mut lab.clients[i].notes;
                (notes.is_withdrawn, notes.downgrade) = (true, Downgrade::NotWanted);
                if notes.told != Told::Ended {
                    notes.told = Told::NotLeading;
                }
            }
            Step::Lapse(i, _) if lab.clients[i].leads() => {
                lab.break_with(format!("{i}: leads past its lease"));
            }
            _ => {}
        }
    }

    fn taken(lab: &mut World) {
        let was_ended = lab.model.course != Course::Open;
        let is_shown = |client: &Contender| client.notes.shown_request.is_some();
        lab.clients.change(is_shown, |client| client.notes.shown_request = None);
        let last = |client: &Contender| {
            let end = client.end().filter(|_| was_ended);
            Notes { told: Told::Ended, guarded: client.notes.guarded, end, ..Notes::NONE }
        };
        let has_more = |client: &Contender| client.is_done() && client.notes != last(client);
        lab.clients.change(has_more, |client| client.notes = last(client));
        laws::forget(lab);
    }

    fn needs_look(lab: &World, i: usize) -> bool {
        let client = &lab.clients[i];
        lab.is_evicted_unheard(client) || lab.is_asked(client)
    }

    fn knows_create2(lab: &World, _: usize) -> bool {
        lab.model.kinds.knows_create2
    }

    fn check(lab: &World) -> Result<(), String> {
        lab.check_contest()
    }

    fn check_rest(lab: &World) -> Result<(), String> {
        lab.check_contest_at_rest()
    }
}

/// Whether nothing that the client asked for or watches is on its way.
pub fn is_quiet(lab: &World, client: &Contender) -> bool {
    client.is_up() && client.is_idle() && client.next_heard(&lab.server).is_none()
}
