//! A recipe of another crate than the host's: the first to write wins a round.
//!
//! Each player joins by a child of the node, waits until `NODE.go` is there and enough others have
//! joined, then creates `NODE.winner` and signs the node in one transaction, if it is the first. The
//! winner closes the round by a write to `NODE.go`; all players take their children with them. A player
//! that sees too few others looks for a winner too: they may have played, and left.

use election_core::ExpectedVersion::{Any, Exactly};
use election_core::{
    Check, Command, Create, CreateMode, Delete, Event, Failure, Incarnation, Multi, NewZnode, Op,
    Output, Part, Payload, Phase, Recipe, Reply, Ticket, Version, Watch, Write, Znode,
};

const GO: Znode<'_> = Znode::Sibling(".go");
const WINNER: Znode<'_> = Znode::Sibling(".winner");

/// A player's notice to its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// The sign has not come yet.
    AwaitsGo,
    /// So many have joined, which is not enough.
    AwaitsOthers(usize),
    Won,
    Lost,
    Withdrawn,
    Failed(Failure),
}

#[derive(Debug)]
pub(crate) struct Player {
    name: &'static str,
    /// Players that a round takes.
    enough: usize,
    stage: Stage,
    link: Link,
    /// The command that awaits a watch event.
    watch: Option<Ticket>,
    go: Version,
    steps: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    CreatingNode,
    Joining,
    AwaitingGo,
    AwaitingOthers,
    /// Too few others are there. The children are watched.
    LookingBack,
    ReadingNode,
    Grabbing(Version),
    ReadingWinner,
    ClosingRound,
    /// The notice to give once the child is gone.
    Leaving(Option<Notice>),
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Down,
    Idle,
    InFlight(Ticket),
}

impl Player {
    pub(crate) const fn new(name: &'static str, enough: usize) -> Self {
        let (stage, link) = (Stage::CreatingNode, Link::Down);
        Self { name, enough, stage, link, watch: None, go: Version::new(0), steps: 0 }
    }

    fn op(&self) -> Option<Op<'_>> {
        let (node, own) = (Znode::Node, Znode::child(self.name));
        let data = Payload::Bytes(self.name.as_bytes());
        let create = |znode, mode| Create { znode: NewZnode::Named(znode), mode, data };
        let write = |znode, version| Write { znode, version: Exactly(version), data };
        Some(match self.stage {
            Stage::CreatingNode => Op::CreateNode,
            Stage::Joining => Op::Create(create(own, CreateMode::Ephemeral)),
            Stage::AwaitingGo => Op::Exists { znode: GO, watch: Watch::Other },
            Stage::AwaitingOthers => Op::List { parent: node, watch: Watch::Other },
            Stage::ReadingNode => Op::Read { znode: node, watch: Watch::None },
            Stage::Grabbing(version) => {
                let open = Part::Check(Check { znode: GO, version: Exactly(self.go) });
                let winner = Part::Create(create(WINNER, CreateMode::Persistent));
                let signature = Part::Write(write(node, version));
                Op::Multi(Multi::of([open, winner, signature]))
            }
            Stage::LookingBack | Stage::ReadingWinner => {
                Op::Read { znode: WINNER, watch: Watch::None }
            }
            Stage::ClosingRound => Op::Write(write(GO, self.go)),
            Stage::Leaving(_) => Op::Delete(Delete { znode: own, version: Any }),
            Stage::Over => return None,
        })
    }

    fn replied(&mut self, ticket: Ticket, result: Result<Reply<'_>, Failure>) -> Option<Notice> {
        let is_own = |data: &[u8]| data == self.name.as_bytes();
        let (next, notice) = match (self.stage, result) {
            (Stage::CreatingNode, Ok(_)) => (Stage::Joining, None),
            (Stage::Joining, Ok(_) | Err(Failure::NodeExists))
            | (Stage::ReadingWinner, Err(Failure::NoNode)) => (Stage::AwaitingGo, None),
            (Stage::AwaitingGo, Ok(Reply::Exists(stat))) => {
                self.go = stat.version;
                (Stage::AwaitingOthers, None)
            }
            (Stage::AwaitingGo, Err(Failure::NoNode)) => {
                self.watch = Some(ticket);
                (Stage::AwaitingGo, Some(Notice::AwaitsGo))
            }
            (Stage::AwaitingOthers, Ok(Reply::Children(names))) => match names.count() {
                joined if joined < self.enough => {
                    self.watch = Some(ticket);
                    (Stage::LookingBack, Some(Notice::AwaitsOthers(joined)))
                }
                _ => (Stage::ReadingNode, None),
            },
            (Stage::LookingBack, Err(Failure::NoNode)) => (Stage::AwaitingOthers, None),
            (Stage::ReadingNode, Ok(Reply::Read { stat, .. })) => {
                (Stage::Grabbing(stat.version), None)
            }
            (Stage::Grabbing(_), Ok(_)) => (Stage::ClosingRound, None),
            (Stage::Grabbing(_), Err(Failure::Aborted { .. })) => (Stage::ReadingWinner, None),
            // Also where the reply to the own transaction was lost.
            (Stage::LookingBack | Stage::ReadingWinner, Ok(Reply::Read { data, .. }))
                if is_own(data) =>
            {
                (Stage::ClosingRound, None)
            }
            (Stage::LookingBack | Stage::ReadingWinner, Ok(_)) => {
                (Stage::Leaving(Some(Notice::Lost)), None)
            }
            (Stage::ClosingRound, Ok(_) | Err(Failure::BadVersion)) => {
                (Stage::Leaving(Some(Notice::Won)), None)
            }
            (Stage::Leaving(notice), _) => (Stage::Over, notice),
            (_, result) => (Stage::Leaving(result.err().map(Notice::Failed)), None),
        };
        self.stage = next;
        if !matches!(next, Stage::AwaitingGo | Stage::AwaitingOthers | Stage::LookingBack) {
            self.watch = None;
        }
        notice
    }

    fn output(&mut self, notice: Option<Notice>) -> Output<'_, Notice> {
        let waits = self.watch.is_some() && self.stage != Stage::LookingBack;
        if self.link != Link::Idle || waits || self.stage == Stage::Over {
            return Output { command: None, notice };
        }
        let ticket = Ticket::request(Incarnation::FIRST, self.steps);
        self.steps += 1;
        self.link = Link::InFlight(ticket);
        Output { command: self.op().map(|op| Command { ticket, op }), notice }
    }
}

impl Recipe for Player {
    type Notice = Notice;

    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, Notice> {
        let notice = match event {
            Event::Connected { .. } => {
                self.link = Link::Idle;
                if let Phase::Standing = self.phase() {
                    self.stage = Stage::CreatingNode;
                }
                None
            }
            Event::Disconnected
            | Event::SessionExpired
            | Event::Reply { result: Err(Failure::ConnectionLoss), .. } => {
                (self.link, self.watch) = (Link::Down, None);
                None
            }
            Event::Reply { ticket, result } if self.link == Link::InFlight(ticket) => {
                self.link = Link::Idle;
                self.replied(ticket, result)
            }
            Event::Changed { ticket, .. } if self.watch == Some(ticket) => {
                self.watch = None;
                None
            }
            _ => None,
        };
        self.output(notice)
    }

    fn withdraw(&mut self) -> Output<'_, Notice> {
        if let Phase::Standing = self.phase() {
            (self.stage, self.watch) = (Stage::Leaving(Some(Notice::Withdrawn)), None);
            // The request in flight may create the child; the server executes a later request after
            // it.
            if let Link::InFlight(_) = self.link {
                self.link = Link::Idle;
            }
        }
        self.output(None)
    }

    fn phase(&self) -> Phase {
        match self.stage {
            Stage::Leaving(_) => Phase::Leaving,
            Stage::Over => Phase::Over,
            _ => Phase::Standing,
        }
    }

    fn awaits_change(&self, ticket: Ticket) -> bool {
        let is_watching = matches!(self.stage, Stage::AwaitingGo | Stage::AwaitingOthers);
        self.watch == Some(ticket) || self.link == Link::InFlight(ticket) && is_watching
    }
}
