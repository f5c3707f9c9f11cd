//! The recipes of the host: nominees, and one that commands whatever the fuzzer says, and holds the
//! driver to what it owes every recipe.

use core::time::Duration;
use std::collections::BTreeMap;

use arbitrary::Arbitrary;
use election_core::election::{Nominee, Notice};
use election_core::name::CandidateName;
use election_core::{
    Check, Command, Create, CreateMode, Delete, Event, ExpectedVersion, Failure, Hold, Incarnation,
    Multi, NewZnode, NomineeId, Op, Output, Part, Payload, Phase, Recipe, Reply, Ticket, Token,
    Version, Watch, Write, Znode,
};
use zk_fuzz::Text;

#[derive(Debug)]
pub(crate) enum Any {
    Nominee(Nominee),
    Commander(Box<Commander>),
}

/// A notice of either recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Nominee(Notice),
    Over,
}

impl Any {
    pub(crate) fn candidate(&self) -> Option<&CandidateName> {
        match self {
            Self::Nominee(nominee) => nominee.candidate(),
            Self::Commander(_) => None,
        }
    }
}

impl Recipe for Any {
    type Notice = Told;

    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, Told> {
        match self {
            Self::Nominee(nominee) => told(nominee.handle_event(event)),
            Self::Commander(commander) => commander.handle_event(event),
        }
    }

    fn withdraw(&mut self) -> Output<'_, Told> {
        match self {
            Self::Nominee(nominee) => told(nominee.withdraw()),
            Self::Commander(commander) => commander.withdraw(),
        }
    }

    fn phase(&self) -> Phase {
        match self {
            Self::Nominee(nominee) => nominee.phase(),
            Self::Commander(commander) => commander.phase,
        }
    }

    fn hold(&self) -> Hold {
        match self {
            Self::Nominee(nominee) => nominee.hold(),
            Self::Commander(commander) => commander.hold,
        }
    }

    fn heartbeat(&self) -> Option<Znode<'_>> {
        match self {
            Self::Nominee(nominee) => nominee.heartbeat(),
            Self::Commander(commander) => commander.heartbeat(),
        }
    }

    fn awaits_change(&self, ticket: Ticket) -> bool {
        match self {
            Self::Nominee(nominee) => nominee.awaits_change(ticket),
            Self::Commander(commander) => commander.watches.contains_key(&number(ticket)),
        }
    }

    fn waits_for_look(&self) -> bool {
        match self {
            Self::Nominee(nominee) => nominee.waits_for_look(),
            Self::Commander(_) => false,
        }
    }
}

fn told(output: Output<'_, Notice>) -> Output<'_, Told> {
    Output { command: output.command, notice: output.notice.map(Told::Nominee) }
}

/// One command, and what the recipe holds when it is answered.
#[derive(Arbitrary, Clone, Debug)]
pub(crate) struct Instruction {
    op: u8,
    znode: Place,
    mode: u8,
    watch: u8,
    version: Option<i8>,
    holds: Option<u8>,
    parts: u8,
    /// Whether the watches that were left before are wanted no more.
    forgets: bool,
}

#[derive(Arbitrary, Clone, Debug)]
enum Place {
    Node,
    Sibling,
    Child(u8),
    Grandchild(u8),
    Any(Text),
}

impl Place {
    fn znode(&self) -> Znode<'_> {
        const NAMES: [&str; 3] = ["a", "b", "locks"];
        let name = |number: u8| NAMES[usize::from(number) % NAMES.len()];
        match self {
            Self::Node => Znode::Node,
            Self::Sibling => Znode::Sibling(".taken"),
            Self::Child(number) => Znode::child(name(*number)),
            Self::Grandchild(number) => {
                Znode::Grandchild { child: "locks", name: name(*number).into() }
            }
            Self::Any(Text(name)) => Znode::child(name),
        }
    }
}

/// Commands one thing after another.
#[derive(Debug)]
pub(crate) struct Commander {
    instructions: Vec<Instruction>,
    next: usize,
    in_flight: Option<u32>,
    steps: u32,
    /// By ticket: commanded, and not answered.
    unanswered: BTreeMap<u32, &'static str>,
    /// The watches that are wanted.
    watches: BTreeMap<u32, Stage>,
    link: Link,
    hold: Hold,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Down,
    Up,
}

/// Of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Asked,
    Fired,
}

impl Commander {
    pub(crate) const fn new(instructions: Vec<Instruction>) -> Self {
        Self {
            instructions,
            next: 0,
            in_flight: None,
            steps: 0,
            unanswered: BTreeMap::new(),
            watches: BTreeMap::new(),
            link: Link::Down,
            hold: Hold::None,
            phase: Phase::Standing,
        }
    }

    fn handle_event(&mut self, event: Event<'_>) -> Output<'_, Told> {
        assert_ne!(self.phase, Phase::Over, "nothing is fed to what is over: {event:?}");
        match event {
            Event::Connected { .. } => {
                self.link = Link::Up;
                if let Hold::Suspended(token) = self.hold {
                    self.hold = Hold::Active(token);
                }
            }
            Event::Disconnected => self.disconnect(),
            Event::SessionExpired => {
                self.disconnect();
                self.hold = Hold::None;
            }
            Event::LeaseLapsed => {
                assert_ne!(self.hold, Hold::None, "the user was told of what it holds");
                self.hold = Hold::None;
            }
            Event::Look | Event::Deadline => {}
            Event::Reply { ticket, result } => self.replied(number(ticket), result),
            Event::Changed { ticket, change } => {
                let stage = self.watches.get_mut(&number(ticket));
                let stage = stage.unwrap_or_else(|| panic!("{change:?}: not wanted, or void"));
                assert_eq!(*stage, Stage::Asked, "once");
                *stage = Stage::Fired;
            }
        }
        self.go_on()
    }

    fn disconnect(&mut self) {
        self.link = Link::Down;
        self.in_flight = None;
        self.watches.clear();
        if let Hold::Active(token) = self.hold {
            self.hold = Hold::Suspended(token);
        }
    }

    fn replied(&mut self, ticket: u32, result: Result<Reply<'_>, Failure>) {
        let op = self.unanswered.remove(&ticket).expect("each command is answered once");
        let reply = match result {
            Ok(Reply::Created { .. }) => "create",
            Ok(Reply::NodeCreated) => "create node",
            Ok(Reply::BarrierPassed) => "barrier",
            Ok(Reply::Children(names)) => {
                names.for_each(drop);
                "list"
            }
            Ok(Reply::Read { .. }) => "read",
            Ok(Reply::Exists(_)) => "exists",
            Ok(Reply::Written(_)) => "write",
            Ok(Reply::Deleted) => "delete",
            Ok(Reply::Committed(applied)) => {
                applied.for_each(drop);
                "multi"
            }
            Err(_) => op,
        };
        assert_eq!(reply, op);
        if self.in_flight == Some(ticket) {
            self.in_flight = None;
            let done = self.next.checked_sub(1).and_then(|last| self.instructions.get(last));
            if let Some(token) = done.and_then(|instruction| instruction.holds) {
                self.hold = Hold::Active(Token::new(token.into()));
            }
        }
    }

    fn withdraw(&mut self) -> Output<'_, Told> {
        self.phase = Phase::Over;
        self.hold = Hold::None;
        Output { command: None, notice: Some(Told::Over) }
    }

    fn heartbeat(&self) -> Option<Znode<'_>> {
        let checked = self.instructions.first()?.znode.znode();
        matches!(self.hold, Hold::Active(_)).then_some(checked)
    }

    fn go_on(&mut self) -> Output<'_, Told> {
        if self.link == Link::Down || self.in_flight.is_some() {
            return Output { command: None, notice: None };
        }
        let Some(instruction) = self.instructions.get(self.next) else {
            return Output { command: None, notice: None };
        };
        self.next += 1;
        self.steps += 1;
        self.in_flight = Some(self.steps);
        if instruction.forgets {
            self.watches.clear();
        }
        let (name, op) = instruction.op();
        self.unanswered.insert(self.steps, name);
        if let Op::List { watch, .. } | Op::Read { watch, .. } | Op::Exists { watch, .. } = op
            && watch != Watch::None
        {
            self.watches.insert(self.steps, Stage::Asked);
        }
        let ticket = Ticket::request(Incarnation::FIRST, self.steps);
        Output { command: Some(Command { ticket, op }), notice: None }
    }
}

impl Instruction {
    fn op(&self) -> (&'static str, Op<'_>) {
        let znode = self.znode.znode();
        let watch = match self.watch % 3 {
            0 => Watch::None,
            1 => Watch::Own,
            _ => Watch::Other,
        };
        match self.op % 9 {
            0 => ("create", Op::Create(self.create())),
            1 => ("create node", Op::CreateNode),
            2 => ("barrier", Op::Barrier),
            3 => ("list", Op::List { parent: znode, watch }),
            4 => ("read", Op::Read { znode, watch }),
            5 => ("exists", Op::Exists { znode, watch }),
            6 => ("write", Op::Write(self.write())),
            7 => ("delete", Op::Delete(Delete { znode, version: self.version() })),
            _ => ("multi", Op::Multi(self.multi())),
        }
    }

    fn create(&self) -> Create<'_> {
        let mode = match self.mode % 7 {
            0 => CreateMode::Persistent,
            1 => CreateMode::PersistentSequential,
            2 => CreateMode::Ephemeral,
            3 => CreateMode::EphemeralSequential,
            4 => CreateMode::Container,
            5 => CreateMode::PersistentWithTtl(Duration::from_secs(1)),
            _ => CreateMode::PersistentSequentialWithTtl(Duration::MAX),
        };
        let prefix = NomineeId::from_bytes([self.parts; 16]).candidate_prefix(0);
        let znode = match self.mode / 7 % 3 {
            0 => NewZnode::Named(self.znode.znode()),
            1 => NewZnode::Child(prefix),
            _ => NewZnode::Grandchild { child: "locks", prefix },
        };
        Create { znode, mode, data: Payload::Kept(usize::from(self.watch % 2)) }
    }

    fn write(&self) -> Write<'_> {
        let (znode, version) = (self.znode.znode(), self.version());
        Write { znode, version, data: Payload::Bytes(b"commanded") }
    }

    fn multi(&self) -> Multi<'_> {
        let (znode, version) = (self.znode.znode(), self.version());
        let part = |kind: u8| match kind % 4 {
            0 => Part::Check(Check { znode, version }),
            1 => Part::Create(self.create()),
            2 => Part::Write(self.write()),
            _ => Part::Delete(Delete { znode, version }),
        };
        let (first, second) = (part(self.parts), part(self.parts >> 2));
        match self.parts >> 6 {
            0 | 1 => Multi::of([first]),
            2 => Multi::of([first, second]),
            _ => Multi::of([first, second, part(self.parts >> 4)]),
        }
    }

    fn version(&self) -> ExpectedVersion {
        let exactly = |version: i8| ExpectedVersion::Exactly(Version::new(version.into()));
        self.version.map_or(ExpectedVersion::Any, exactly)
    }
}

/// Returns the number of a commander's command.
fn number(ticket: Ticket) -> u32 {
    let text = ticket.to_string();
    text.rsplit('.').next().and_then(|step| step.parse().ok()).expect("a request")
}
