//! The same steps on two servers, and the first difference.

use core::fmt;
use core::net::SocketAddr;
use std::collections::BTreeMap;
use std::io;

use zk_test_kit::opcode::Opcode;

use crate::differential::keeper;
use crate::differential::known::{Pair, ServerVersion};
use crate::differential::player::{Heard, Player};
use crate::differential::request::{Field, Request, Step};
use crate::differential::seen::Seen;

/// Two servers side by side; the first is Apache's, or stands in for it.
#[derive(Debug)]
pub(crate) struct Duel {
    apache: Player,
    embedded: Player,
    pub(crate) release: ServerVersion,
    episodes: usize,
    /// How many answers were compared.
    pub(crate) compared: usize,
    /// How often each known difference was met.
    pub(crate) excused: BTreeMap<&'static str, usize>,
}

/// The place where the servers did not say the same.
#[derive(Debug)]
pub(crate) struct Difference {
    /// The step, from 0; the final state comes after all of them.
    pub(crate) step: usize,
    client: usize,
    request: Option<Request>,
    apache: Option<Seen>,
    embedded: Option<Seen>,
}

/// An episode ends here.
#[derive(Debug)]
pub(crate) enum Stop {
    Differed(Box<Difference>),
    Failed(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl Duel {
    pub(crate) fn new(apache: SocketAddr, embedded: SocketAddr) -> io::Result<Self> {
        let release = ServerVersion::of(apache)?;
        let (apache, embedded) = (Player::new(apache), Player::new(embedded));
        Ok(Self { apache, embedded, release, episodes: 0, compared: 0, excused: BTreeMap::new() })
    }

    /// Plays the steps in a znode of their own, with sessions of their own, and leaves nothing.
    pub(crate) fn play(&mut self, steps: &[Step]) -> Result<(), Stop> {
        self.episodes += 1;
        let home = format!("/episode-{}", self.episodes);
        let begun = [self.apache.begin(&home)?, self.embedded.begin(&home)?];
        let outcome = self.play_all(steps, begun);
        self.apache.end()?;
        self.embedded.end()?;
        outcome
    }

    fn play_all(&mut self, steps: &[Step], begun: [Vec<Seen>; 2]) -> Result<(), Stop> {
        let [apache, embedded] = begun;
        self.compare(0, &[], [&as_keeper(apache), &as_keeper(embedded)])?;
        for (index, step) in steps.iter().enumerate() {
            let requests: &[Request] = match step {
                Step::Ask { requests, .. } => requests,
                Step::Close { .. } | Step::Return { .. } => &[],
            };
            let (apache, embedded) = (self.apache.play(step)?, self.embedded.play(step)?);
            self.compare(index, requests, [&apache, &embedded])?;
        }
        let (apache, embedded) = (self.apache.flush_all()?, self.embedded.flush_all()?);
        self.compare(steps.len(), &[], [&apache, &embedded])?;
        self.compare_trees(steps.len())
    }

    fn compare_trees(&mut self, step: usize) -> Result<(), Stop> {
        let mut level = keeper::roots().to_vec();
        while !level.is_empty() {
            let requests: Vec<_> = level.iter().flat_map(|path| keeper::examine(path)).collect();
            let apache = self.apache.keeper(&requests)?;
            let embedded = self.embedded.keeper(&requests)?;
            level = keeper::next_level(&level, &apache);
            self.compare(step, &requests, [&as_keeper(apache), &as_keeper(embedded)])?;
        }
        Ok(())
    }

    fn compare(
        &mut self,
        step: usize,
        requests: &[Request],
        [apache, embedded]: [&[Heard]; 2],
    ) -> Result<(), Stop> {
        for (theirs, ours) in apache.iter().zip(embedded) {
            let mut requests = requests.iter();
            for at in 0..theirs.seen.len().max(ours.seen.len()) {
                self.compared += 1;
                let (apache, embedded) = (theirs.seen.get(at), ours.seen.get(at));
                let is_reply = |seen: Option<&Seen>| matches!(seen, Some(Seen::Reply { .. }));
                let request =
                    if is_reply(apache) || is_reply(embedded) { requests.next() } else { None };
                if apache != embedded && !self.excuse(theirs.client, request, [apache, embedded])? {
                    return Err(Stop::Differed(Box::new(Difference {
                        step,
                        client: theirs.client,
                        request: request.cloned(),
                        apache: apache.cloned(),
                        embedded: embedded.cloned(),
                    })));
                }
            }
        }
        Ok(())
    }

    /// Whether the difference is a known one; afterwards the servers are in the same state again.
    fn excuse(
        &mut self,
        client: usize,
        request: Option<&Request>,
        pair: [Option<&Seen>; 2],
    ) -> io::Result<bool> {
        let [Some(apache), Some(embedded)] = pair else {
            return Ok(false);
        };
        let Some(known) = self.release.excuse(Pair { request, apache, embedded }) else {
            return Ok(false);
        };
        *self.excused.entry(known.what).or_default() += 1;
        let left_watch = |request: &&Request| {
            request.opcode == Opcode::EXISTS && request.body.last() == Some(&Field::Flag(true))
        };
        if let Some(request) = request.filter(left_watch) {
            const DATA: i32 = 2;
            let path = Field::Path(request.path().map(str::to_owned));
            let take_back = Request::new(Opcode::REMOVE_WATCHES, [path, Field::Int(DATA)]);
            let step = Step::Ask { client, requests: vec![take_back] };
            self.apache.play(&step)?;
            self.embedded.play(&step)?;
        }
        Ok(true)
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "client {} after step {}", self.client, self.step)?;
        writeln!(formatter, "asked:    {:?}", self.request)?;
        writeln!(formatter, "apache:   {:?}", self.apache)?;
        write!(formatter, "embedded: {:?}", self.embedded)
    }
}

fn as_keeper(seen: Vec<Seen>) -> Vec<Heard> {
    vec![Heard { client: crate::differential::player::CLIENTS, seen }]
}
