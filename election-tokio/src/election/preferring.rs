//! Preferred leaders: a leader that hands over to a better candidate.

use core::fmt;
use core::pin::pin;
use core::time::Duration;
use std::collections::HashMap;
use std::sync::Arc;

use election_core::Token;
use election_core::format::Access;
use election_core::name::Sequence;
use election_core::preference::{Better, Stander, better};
use tokio::time::{Instant, sleep, timeout};

pub use election_core::preference::Preference;

use super::Election;
use super::hand_over::HandOver;
use super::inner::LeadershipLost;
use super::leadership::Leadership;
use crate::client::Obstacle;
use crate::path::child_path;
use crate::{Children, Error};

/// The policy of a leader towards a better candidate: one whose [preference](Election::preference) is strictly
/// greater, and that has stood for a time. One that is not well does not stand
/// ([`Election::run_while_well`]).
#[derive(Clone, Debug, Default)]
pub enum PreferBetter {
    /// It leads on. No preference is read.
    #[default]
    Never,
    /// It hands over once the better one has stood for this time, as the leader saw it.
    After(Duration),
    /// It hands over once the better one has stood for a time and the work is idle.
    WhenIdle {
        /// The time.
        stood: Duration,
        /// Whether the work is idle.
        idle: Idle,
    },
}

/// A function that tells whether the work of a leader is idle. The leader calls it once a second while a better
/// candidate waits.
#[derive(Clone)]
pub struct Idle(Arc<dyn Fn() -> bool + Send + Sync>);

impl Idle {
    /// Makes it of a function, which must not block.
    pub fn new(is_idle: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(is_idle))
    }
}

impl fmt::Debug for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Idle")
    }
}

/// A candidate that is to lead in place of the leader.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BetterCandidate {
    /// Its token.
    pub token: Token,
    /// The name of its znode.
    pub name: String,
    /// Its preference.
    pub preference: Preference,
    sequence: Sequence,
}

/// The outcome of giving way to a better candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GaveWay {
    /// The leader has stepped down, and the candidate was the next.
    SteppedDown,
    /// The candidate has gone meanwhile, and the leader leads on.
    CandidateGone,
}

/// The longest pause between two lists of the candidates while they come and go.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How often to list them although nothing has been seen to change: a server may have kept it back.
const LOOK: Duration = Duration::from_secs(60);
/// How often to ask whether the work is idle.
const IDLE_LOOK: Duration = Duration::from_secs(1);
/// How long those between have to stand behind the better one: longer than their look intervals.
const WITHIN: Duration = Duration::from_secs(120);
/// The shortest pause after a hand-over that did not come about, or a request that was refused.
const RETRY: Duration = Duration::from_secs(10);

impl Leadership {
    /// Waits until a better candidate is to lead by this policy, and is the next behind this leader, as after
    /// [`Leadership::make_way`]. End the work then, and call [`Leadership::step_down_for`].
    /// [`Nomination::run_with`](super::Nomination::run_with) does so by [`RunOptions::prefer`](super::RunOptions::prefer).
    ///
    /// While it waits, this leader has a watch on the children of the election node, and reads each candidate
    /// once. It lists them again when one comes or goes, at most four times in the time for which a
    /// better one has to stand, and otherwise once a minute. The preference is that of the candidate's data when the leader
    /// first read it, and again when it hands over. A candidate that may not be read states none.
    ///
    /// Cancel safe, as [`Leadership::make_way`].
    ///
    /// # Errors
    ///
    /// [`LeadershipLost`], if the leadership was lost.
    pub async fn better_candidate(
        &self,
        prefer: &PreferBetter,
    ) -> Result<BetterCandidate, LeadershipLost> {
        let (stood, idle) = match prefer {
            PreferBetter::Never => return Err(self.loss().await),
            PreferBetter::After(stood) => (*stood, None),
            PreferBetter::WhenIdle { stood, idle } => (*stood, Some(idle)),
        };
        let election = self.election();
        let mut book = Book::new(self.candidate().to_string());
        let found = async {
            loop {
                let better = book.await_better(&election, stood, idle).await;
                // Boxed, since it is large, and rare.
                match Box::pin(self.make_way(better.token, WITHIN)).await {
                    Ok(HandOver::To(_)) => return better,
                    // One between does not give way, or the better one has gone.
                    _ => sleep(stood.clamp(RETRY, LOOK)).await,
                }
            }
        };
        self.guard(found).await
    }

    /// Steps down for a better candidate, if it still is the next: the work has taken its time to end. Otherwise
    /// this leader leads on.
    ///
    /// Cancel safe: nothing is given up before this returns.
    ///
    /// # Errors
    ///
    /// [`LeadershipLost`], if the leadership was lost.
    pub async fn step_down_for(&self, better: &BetterCandidate) -> Result<GaveWay, LeadershipLost> {
        let election = self.election();
        let own = self.candidate().sequence();
        let children = self.guard(election.children_for_sure()).await?;
        let rival = |name: &str| election.format.rival(Access::Exclusive, name);
        let is_between = |number| own < number && number < better.sequence;
        let is_next = children.iter().any(|name| name == better.name)
            && !children.iter().filter_map(rival).any(is_between);
        if !is_next {
            return Ok(GaveWay::CandidateGone);
        }
        self.end_term();
        Ok(GaveWay::SteppedDown)
    }
}

impl Election {
    /// Lists the children, over as many connections as it takes.
    async fn children_for_sure(&self) -> Children {
        loop {
            match self.spot.client.get_children(&self.spot.path).await {
                Ok(children) => return children,
                Err(error) => self.pass(&error).await,
            }
        }
    }

    /// Waits until a request that failed may be made again.
    async fn pass(&self, error: &Error) {
        match Obstacle::of(error) {
            Some(obstacle) => self.spot.client.pass(obstacle).await,
            None => sleep(RETRY).await,
        }
    }
}

/// A candidate in a leader's book.
#[derive(Clone, Copy)]
struct Entry {
    stander: Stander,
    sequence: Sequence,
}

/// The knowledge of a leader of the candidates behind it.
struct Book {
    /// The name of its own candidate.
    own: String,
    /// Its own preference, by its candidate's data.
    preference: Preference,
    begun: Instant,
    entries: HashMap<String, Entry>,
}

impl Book {
    fn new(own: String) -> Self {
        let begun = Instant::now();
        Self { own, preference: Preference::default(), begun, entries: HashMap::new() }
    }

    /// Returns the time of this leader's clock.
    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Waits until a better candidate is to lead.
    async fn await_better(
        &mut self,
        election: &Election,
        stood: Duration,
        idle: Option<&Idle>,
    ) -> BetterCandidate {
        loop {
            let (children, changed) =
                match election.spot.client.get_children_and_watch(&election.spot.path).await {
                    Ok(listed) => listed,
                    Err(error) => {
                        election.pass(&error).await;
                        continue;
                    }
                };
            self.take_in(election, &children).await;
            drop(children);
            let mut changed = pin!(changed);
            let look = Instant::now() + LOOK;
            let has_changed = loop {
                let pause = match self.better(stood) {
                    Better::None => LOOK,
                    Better::From(from) => from.saturating_sub(self.now()),
                    Better::Candidate(token) if idle.is_none_or(|Idle(is_idle)| is_idle()) => {
                        match self.read_anew(election, token).await {
                            Some(better) => return better,
                            None => Duration::ZERO,
                        }
                    }
                    Better::Candidate(_) => IDLE_LOOK,
                };
                let pause = pause.min(look.saturating_duration_since(Instant::now()));
                // Whatever has changed, the next list shows it.
                if timeout(pause, changed.as_mut()).await.is_ok() {
                    break true;
                }
                if Instant::now() >= look {
                    break false;
                }
            };
            if has_changed {
                sleep((stood / 4).min(LONGEST_PAUSE)).await;
            }
        }
    }

    fn better(&self, stood: Duration) -> Better {
        let standers = self.entries.values().map(|entry| entry.stander);
        better(self.preference, stood, self.now(), standers)
    }

    /// Reads the candidates that are new, and forgets those that have gone.
    async fn take_in(&mut self, election: &Election, children: &Children) {
        let listed_at = self.now();
        let mut known = core::mem::take(&mut self.entries);
        for name in children.iter() {
            let Some(sequence) = election.format.rival(Access::Exclusive, name) else { continue };
            if let Some(entry) = known.remove(name) {
                self.entries.insert(name.to_owned(), entry);
                continue;
            }
            let Some((token, preference)) = read(election, name).await else { continue };
            if name == self.own {
                self.preference = preference;
            }
            let stander = Stander { token, preference, since: listed_at };
            self.entries.insert(name.to_owned(), Entry { stander, sequence });
        }
    }

    /// Reads the better candidate and the own one once more. Returns `None` if it is not better any more.
    async fn read_anew(&mut self, election: &Election, token: Token) -> Option<BetterCandidate> {
        let is_it = |entry: &Entry| entry.stander.token == token;
        let (name, entry) = self.entries.iter().find(|(_, entry)| is_it(entry))?;
        let (name, entry) = (name.clone(), *entry);
        let own = self.own.clone();
        for name in [&own, &name] {
            let Some((_, preference)) = read(election, name).await else {
                self.entries.remove(name);
                continue;
            };
            if *name == own {
                self.preference = preference;
            } else if preference != entry.stander.preference {
                // It has another preference since a moment that is not known.
                let stander = Stander { preference, since: self.now(), ..entry.stander };
                self.entries.insert(name.clone(), Entry { stander, ..entry });
                return None;
            }
        }
        let entry = self.entries.get(&name)?;
        let Stander { preference, token, .. } = entry.stander;
        let better = BetterCandidate { token, name, preference, sequence: entry.sequence };
        (preference > self.preference).then_some(better)
    }
}

/// Reads a candidate; `None` if it has gone. One that may not be read states no preference.
async fn read(election: &Election, name: &str) -> Option<(Token, Preference)> {
    let path = child_path(&election.spot.path, name);
    loop {
        let error = match election.spot.client.get_data(&path).await {
            Ok((data, stat)) => {
                return Some((Token::new(stat.czxid.get()), Preference::of(&data)));
            }
            Err(error) => error,
        };
        if error.is_no_node() {
            return None;
        }
        let Some(obstacle) = Obstacle::of(&error) else {
            let stat = election.spot.client.exists(&path).await.ok()??;
            return Some((Token::new(stat.czxid.get()), Preference::default()));
        };
        election.spot.client.pass(obstacle).await;
    }
}
