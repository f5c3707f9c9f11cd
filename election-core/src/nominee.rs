//! The election: one nomination, from its first create to its end.
//!
//! Three rules carry the machine:
//!
//! - The command is a function of the state. So a retry is entering the state again, and the
//!   machine asks for nothing without a stimulus.
//! - One request is in flight at a time. An answer that the state no longer waits for is dropped.
//! - Leadership is a state of its own. It can be entered only with a token, from the nominee's own
//!   znode that was verified and is watched on this connection.

mod contest;
mod crowd;
mod demand;
mod ending;
mod entering;
mod evicted;
mod exchange;
mod farewell;
mod foreign;
mod home;
mod inquiring;
mod link;
mod lock_delay;
mod mark;
mod rank;
mod ranking;
mod reaction;
mod replies;
mod request;
mod stage;
mod standing;
mod strangers;
mod survey;
#[cfg(test)]
mod tests;
mod unnamed;
mod waker;
mod waking;

use core::time::Duration;

use crate::command::{Command, ExpectedVersion, Op, Output, Watch, Znode};
use crate::event::Event;
use crate::format::{CandidatePrefix, Format};
use crate::id::{NomineeId, SessionId, Token};
use crate::name::{CandidateName, ChildName};
use crate::outcome::{Departure, End, Notice, Role};
use crate::policy::{ElectionNode, OnLoss, Policy, WhenAsked, WhenPromoted};
use crate::recipe::{Hold, Phase, Recipe};
use crate::ticket::{Incarnation, Ticket};
pub(crate) use contest::{Contest, Ending, OtherFormats, Patience, Rule};
pub(crate) use home::{Home, HomeChild};
use rank::LastRank;
pub use rank::Rank;
use reaction::is_owned;
pub(crate) use reaction::{Reaction, mismatch};
use request::{Awaits, InFlight, NomineeLink, Request};
use stage::{
    Afterwards, Behind, Cleanup, Ended, Entering, Intent, Leading, Leaving, NomineeStage, Position,
    PredecessorWatch, Standing, Tenure,
};

/// A token that is less than the token of any znode.
const BEFORE_ALL: Token = Token::new(i64::MIN);

/// One nomination in one election.
///
/// It wants a candidate znode from the start: the first [`Event::Connected`] makes it create one.
/// Feed each event to [`handle_event`](Recipe::handle_event) and execute the command that it
/// returns. Two nominations, of one session or of several, are two nominees with two ids.
///
/// A nominee waits for two watches at most: on its own znode and on its predecessor's. When it
/// loses a candidate, the watch on the predecessor remains; see
/// [`awaits_change`](Recipe::awaits_change).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Nominee {
    id: NomineeId,
    on_loss: OnLoss,
    when_promoted: WhenPromoted,
    election_node: ElectionNode,
    lock_delay: Duration,
    contest: Contest,
    incarnation: Incarnation,
    steps: u32,
    /// Counts the creates that were asked for. No two have one name.
    attempts: u32,
    link: NomineeLink,
    stage: NomineeStage,
    /// The token of the nominee's last znode. In formats without ids no name distinguishes it from
    /// others.
    newest: Token,
    /// The sequential child of another format in the last report.
    foreign: Option<ChildName>,
    rank: LastRank,
}

impl Nominee {
    /// Makes a nominee that has not been connected yet.
    pub const fn new(id: NomineeId, policy: Policy) -> Self {
        Self::entering(id, 0, policy, Entering::FIRST)
    }

    /// Makes a nominee that has not been connected yet, and continues for an earlier one with the
    /// same id. Another process has given that one up together with its session.
    ///
    /// It looks for a candidate first. It adopts one of its session, with its token, so a leader
    /// stays the leader; it deletes one of another session; and without any it creates one.
    /// Withdrawn, it deletes what the earlier nominee has left. The earlier one must take no more
    /// events: two nominees with one id in one session would share a candidate, and both lead by
    /// it.
    ///
    /// It counts its creates from `attempts`: the number of the earlier one
    /// ([`attempts`](Self::attempts)), or, if that is not known, a random number.
    pub const fn returning(id: NomineeId, attempts: u32, policy: Policy) -> Self {
        Self::entering(id, attempts, policy, Entering::RETURNING)
    }

    const fn entering(id: NomineeId, attempts: u32, policy: Policy, entering: Entering) -> Self {
        let Policy { on_loss, election_node, lock_delay } = policy;
        Self {
            id,
            on_loss,
            when_promoted: WhenPromoted::WakesNext,
            election_node,
            lock_delay,
            contest: Contest::ELECTION,
            incarnation: Incarnation::FIRST,
            steps: 0,
            attempts,
            link: NomineeLink::Unconnected,
            stage: NomineeStage::Entering(entering),
            newest: BEFORE_ALL,
            foreign: None,
            rank: LastRank::UNKNOWN,
        }
    }

    /// Returns the same nominee, which has not been connected yet, in another format than that of
    /// Curator's leader latch. All participants of an election have to use one format.
    ///
    /// In a format without ids ([`Recovery`](crate::format::Recovery)), a session has one nomination at an
    /// election node, which owns all znodes of the session there: it deletes one that is not its
    /// candidate as a ghost. The driver has to make sure that there is only one, even while a
    /// nominee that has ended removes its znode. A nominee that [returns](Self::returning) adopts
    /// the znode of its session, whatever id the earlier one had.
    #[must_use]
    pub const fn in_format(mut self, format: Format) -> Self {
        self.contest.format = format;
        self
    }

    /// Returns the same nominee, which has not been connected yet, with its behaviour when the
    /// leader hands the leadership over to a candidate behind it (default: it stands behind that
    /// one).
    #[must_use]
    pub const fn when_asked(mut self, when_asked: WhenAsked) -> Self {
        self.contest.when_asked = when_asked;
        self
    }

    /// Returns the same nominee, which has not been connected yet, with what it does for the candidate behind
    /// it once it leads (default: it wakes that one).
    ///
    /// A nominee that [returns](Self::returning) is to [rest](WhenPromoted::Rests): it may adopt a candidate with
    /// other data than its own user has given, and would write those.
    #[must_use]
    pub const fn when_promoted(mut self, when_promoted: WhenPromoted) -> Self {
        self.when_promoted = when_promoted;
        self
    }

    /// Returns the format of the candidates.
    pub const fn format(&self) -> Format {
        self.contest.format
    }

    /// Returns the sequential znode of another format in the last [`Notice::ForeignChild`], or that a
    /// contender was [refused](crate::election::NominationError::OtherFormat) for.
    pub fn foreign_child(&self) -> Option<&str> {
        self.foreign.as_ref().map(ChildName::as_str)
    }

    /// Returns the present role of the nominee.
    pub fn role(&self) -> Role<'_> {
        match &self.stage {
            NomineeStage::Ended(Ended { end, .. }) => Role::Ended(*end),
            NomineeStage::Leading(Leading { token, tenure: Tenure::Active, mark, .. })
                if mark.is_settled() =>
            {
                Role::Leading { token: *token }
            }
            NomineeStage::Leading(Leading { token, tenure: Tenure::Suspended, mark, .. })
                if mark.is_settled() =>
            {
                Role::Suspended { token: *token }
            }
            NomineeStage::Entering(Entering { intent: Intent::Leave, .. })
            | NomineeStage::Leaving(Leaving {
                afterwards: Afterwards::Resigned | Afterwards::Withdrawn | Afterwards::Lost(_),
                ..
            }) => Role::Leaving,
            _ if !self.link.is_up() => Role::Connecting,
            NomineeStage::Leading(_) => Role::Promoted,
            NomineeStage::Standing(Standing {
                position:
                    Position::Behind(
                        behind @ Behind {
                            watch:
                                PredecessorWatch::Armed(_)
                                | PredecessorWatch::Due
                                | PredecessorWatch::Barred,
                            ..
                        },
                    ),
                ..
            }) => Role::Following { predecessor: &behind.predecessor, leader: behind.leader() },
            NomineeStage::Entering(_)
            | NomineeStage::Standing(_)
            | NomineeStage::Leaving(_)
            | NomineeStage::Evicted(_) => Role::Standing,
        }
    }

    /// Returns the nominee's candidate znode, from the reply to its creation until it is deleted or
    /// lost.
    pub fn candidate(&self) -> Option<&CandidateName> {
        self.stage.candidate()
    }

    /// Returns the id of the nomination.
    pub fn id(&self) -> NomineeId {
        self.id
    }

    /// Returns which candidate of this nomination is the current one.
    pub fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// Returns how many candidates this nomination has asked for. No two of them have one name.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Makes a nominee that does not stand before its caller has it [stand](Self::stand_again).
    pub(crate) fn resting(id: NomineeId, policy: Policy) -> Self {
        let end = End::Withdrawn(Departure::NeverCreated);
        let stage = NomineeStage::Ended(Ended { end, cleanup: Cleanup::Nothing });
        Self { stage, ..Self::new(id, policy) }
    }

    /// Takes in an event, and asks for nothing yet.
    pub(crate) fn take_in<'a>(&mut self, event: Event<'a>) -> Reaction<'a> {
        match event {
            Event::Connected { session } => self.connected(session).into(),
            Event::Disconnected => self.disconnected().into(),
            Event::SessionExpired => self.session_expired().into(),
            Event::LeaseLapsed => self.lease_lapsed().into(),
            Event::Look => {
                self.link.ask_again();
                self.look();
                Reaction::default()
            }
            Event::Deadline => Reaction::default(),
            Event::Reply { ticket, result } => self.replied(ticket, result),
            Event::Changed { ticket, change } => self.changed(ticket, change).into(),
        }
    }

    /// Gives up whatever it is doing, and asks for nothing yet.
    pub(crate) fn give_up(&mut self) -> Option<Notice> {
        self.link.ask_again();
        self.leave()
    }

    /// Returns whether one of its requests is in flight.
    pub(crate) const fn awaits_reply(&self) -> bool {
        matches!(self.link, NomineeLink::Up { awaits: Awaits::Answer(_), .. })
    }

    /// Returns whether it waits for the reply to the command with this ticket.
    pub(crate) fn awaits_reply_to(&self, ticket: Ticket) -> bool {
        self.link.awaiting(ticket).is_some()
    }

    /// Returns whether there is a [next command](Self::next_command).
    pub(crate) fn has_command(&self) -> bool {
        matches!(self.link, NomineeLink::Up { awaits: Awaits::Nothing, .. })
            && self.stage.demand(self.contest.home, self.next_prefix()).is_some()
    }

    /// Returns whether it stands, and waits for room: the contenders in its way are not before it.
    pub(crate) const fn is_crowded_out(&self) -> bool {
        matches!(
            self.stage,
            NomineeStage::Standing(Standing { position: Position::Crowded(_), .. })
        )
    }

    /// Returns the same nominee, for another contest than an election.
    pub(crate) fn contending(self, contest: Contest) -> Self {
        Self { contest, ..self }
    }

    pub(crate) const fn contest(&self) -> Contest {
        self.contest
    }

    /// Returns the prefix for the next create.
    fn next_prefix(&self) -> CandidatePrefix {
        // It asks for nothing before there is a session.
        let session = self.link.session().unwrap_or(SessionId::new(0));
        self.contest.prefix((self.id, self.attempts), session)
    }

    /// Returns whether it waits for the reply to the read with this ticket, and for the watch that
    /// it leaves.
    fn reads_with_watch(&self, ticket: Ticket) -> bool {
        let Some((_, InFlight { request, .. })) = self.link.awaiting(ticket) else {
            return false;
        };
        let next = self.next_prefix();
        self.stage.demand(self.contest.home, next).is_some_and(|(wanted, op)| {
            let watch = match op {
                Op::Read { watch, .. } | Op::List { watch, .. } | Op::Exists { watch, .. } => watch,
                _ => Watch::None,
            };
            wanted == request && watch != Watch::None
        })
    }

    fn output<'a>(&'a mut self, reaction: Reaction<'a>) -> Output<'a> {
        let Reaction { notice, discard } = reaction;
        let command = match discard {
            None => self.next_command(),
            Some(name) => self.discard(name),
        };
        Output { command, notice }
    }

    /// Returns what it asks for in its present state; that is then in flight.
    pub(crate) fn next_command(&mut self) -> Option<Command<'_>> {
        let next = self.next_prefix();
        let NomineeLink::Up { awaits: awaits @ Awaits::Nothing, .. } = &mut self.link else {
            return None;
        };
        let (request, op) = self.stage.demand(self.contest.home, next)?;
        let ticket = Ticket::of_part(self.contest.part, self.incarnation, self.steps);
        self.steps = self.steps.wrapping_add(1);
        if request == Request::Create {
            self.attempts = self.attempts.wrapping_add(1);
        }
        *awaits = Awaits::Answer(InFlight { ticket, request });
        Some(Command { ticket, op })
    }

    /// Returns the deletion of a child, if the name can be one: a server that answers with
    /// something else must not lead out of the election node.
    pub(crate) fn discard<'a>(&self, name: &'a str) -> Option<Command<'a>> {
        let is_child = !matches!(name, "" | "." | "..") && !name.contains('/');
        let op = self.contest.home.delete(name.into(), ExpectedVersion::Any);
        (is_child && self.link.is_up()).then_some(Command { ticket: Ticket::CLEANUP, op })
    }
}

impl Recipe for Nominee {
    type Notice = Notice;

    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a> {
        let reaction = match event {
            Event::Deadline => self.deadline_passed().into(),
            event => self.take_in(event),
        };
        self.output(reaction)
    }

    /// Makes a leader resign, and any other nominee withdraw.
    ///
    /// Leadership ends with this call. The candidate znode is deleted, after a reconnect if
    /// necessary; then [`Notice::Ended`] follows, at once if nothing was created. A create in
    /// flight or in doubt is cleared up first; otherwise its znode would stay in the queue while
    /// the session lives (CURATOR-45, CURATOR-205).
    fn withdraw(&mut self) -> Output<'_> {
        let notice = self.give_up();
        self.output(notice.into())
    }

    fn phase(&self) -> Phase {
        match &self.stage {
            NomineeStage::Ended(Ended { cleanup: Cleanup::Nothing, .. }) => Phase::Over,
            NomineeStage::Ended(_) => Phase::CleaningUp,
            _ => match self.role() {
                Role::Leaving => Phase::Leaving,
                _ => Phase::Standing,
            },
        }
    }

    fn hold(&self) -> Hold {
        match self.role() {
            Role::Leading { token } => Hold::Active(token),
            Role::Suspended { token } => Hold::Suspended(token),
            _ => Hold::None,
        }
    }

    /// Returns the nominee's own candidate while the nominee leads, or is the next to lead, as far as
    /// it knows. So its promotion takes an event, and no request. Any other nominee proves its lease by
    /// one check when it is promoted.
    fn heartbeat(&self) -> Option<Znode<'_>> {
        let candidate = self.stage.needs_lease().then(|| self.candidate()).flatten()?;
        Some(self.contest.home.znode(candidate.into()))
    }

    fn awaits_change(&self, ticket: Ticket) -> bool {
        self.stage.awaits_change(ticket) || self.reads_with_watch(ticket)
    }

    fn awaits_delay(&self) -> Option<Duration> {
        self.lock_delay()
    }

    fn waits_for_look(&self) -> bool {
        matches!(self.link, NomineeLink::Up { awaits: Awaits::Look, .. })
    }
}
