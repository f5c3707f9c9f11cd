//! The record of the times at which nominees saw themselves lead, and a check that no two led at once.
//!
//! Each [`Claim`] is one call of `Leadership::is_valid` that returned `true`, framed by two readings of
//! the clock: the answer was true at some moment in between. Two claims contradict each other only if
//! their frames cannot be reconciled, so a slow machine makes the check weaker, never wrong.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use election_tokio::Token;
use election_tokio::election::Leadership;

/// Returns the time of this machine's monotonic clock, which all its processes share.
pub fn now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(seconds, nanoseconds)
}

/// At some moment from `asked_at` to `answered_at`, this nominee saw itself lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The nominee's name.
    pub nominee: String,
    /// By which token.
    pub token: Token,
    /// [`now`] before it asked.
    pub asked_at: Duration,
    /// [`now`] after it was told yes.
    pub answered_at: Duration,
}

impl Claim {
    /// Asks a leadership whether it is valid.
    pub fn ask(nominee: &str, leadership: &Leadership) -> Option<Self> {
        let asked_at = now();
        let valid = leadership.is_valid();
        let answered_at = now();
        valid.then(|| Self {
            nominee: nominee.to_owned(),
            token: leadership.token(),
            asked_at,
            answered_at,
        })
    }
}

/// One leadership, as its claims show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenure {
    /// The nominee's name.
    pub nominee: String,
    /// By which token.
    pub token: Token,
    /// When the question began that was answered at [`valid_by`](Self::valid_by).
    pub asked_at: Duration,
    /// It was valid at this moment or earlier.
    pub valid_by: Duration,
    /// It was valid at this moment or later.
    pub valid_until: Duration,
    /// How often it was seen to be valid.
    pub claims: u64,
}

impl fmt::Display for Tenure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nominee, token, valid_by, valid_until, .. } = self;
        write!(
            formatter,
            "{nominee} with token {token}, valid from {valid_by:?} or before to {valid_until:?} \
             or after"
        )
    }
}

/// A breach of the law.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Contradiction {
    /// Two leaderships with one token.
    #[error("token {token} was used by {one} and by {other}")]
    SharedToken {
        /// The token.
        token: Token,
        /// One nominee.
        one: String,
        /// Another one.
        other: String,
    },
    /// A leadership was still valid when one with a greater token was; or, where the two are far
    /// apart, tokens do not grow.
    #[error("two valid leaders: {earlier}; and {later}")]
    TwoLeaders {
        /// The tenure with the smaller token.
        earlier: Box<Tenure>,
        /// The tenure with the greater token.
        later: Box<Tenure>,
    },
}

/// All claims of one election.
#[derive(Clone, Debug, Default)]
pub struct History {
    claims: Vec<Claim>,
}

impl History {
    /// Adds a claim. The order does not matter.
    pub fn record(&mut self, claim: Claim) {
        self.claims.push(claim);
    }

    /// Returns the leaderships, in the order of their tokens, if no two were valid at once and
    /// tokens grew with time.
    ///
    /// # Errors
    ///
    /// The first [`Contradiction`].
    pub fn tenures(&self) -> Result<Vec<Tenure>, Contradiction> {
        let mut tenures: BTreeMap<Token, Tenure> = BTreeMap::new();
        for claim in &self.claims {
            let tenure = tenures.entry(claim.token).or_insert_with(|| Tenure {
                nominee: claim.nominee.clone(),
                token: claim.token,
                asked_at: claim.asked_at,
                valid_by: claim.answered_at,
                valid_until: claim.asked_at,
                claims: 0,
            });
            if tenure.nominee != claim.nominee {
                return Err(Contradiction::SharedToken {
                    token: claim.token,
                    one: tenure.nominee.clone(),
                    other: claim.nominee.clone(),
                });
            }
            if claim.answered_at < tenure.valid_by {
                tenure.asked_at = claim.asked_at;
                tenure.valid_by = claim.answered_at;
            }
            tenure.valid_until = tenure.valid_until.max(claim.asked_at);
            tenure.claims += 1;
        }
        let mut last: Option<&Tenure> = None;
        for tenure in tenures.values() {
            match last {
                Some(earlier) if tenure.valid_by < earlier.valid_until => {
                    return Err(Contradiction::TwoLeaders {
                        earlier: Box::new(earlier.clone()),
                        later: Box::new(tenure.clone()),
                    });
                }
                Some(earlier) if tenure.valid_until <= earlier.valid_until => {}
                _ => last = Some(tenure),
            }
        }
        Ok(tenures.into_values().collect())
    }
}

impl Extend<Claim> for History {
    fn extend<I: IntoIterator<Item = Claim>>(&mut self, claims: I) {
        self.claims.extend(claims);
    }
}

/// A thread that asks leaderships of this process, again and again, whether they are valid.
#[derive(Debug, Default)]
pub struct Watchers {
    asked: Arc<Mutex<Asked>>,
    end: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Asked {
    leaderships: Vec<(String, Arc<Leadership>)>,
    history: History,
}

impl Watchers {
    /// Makes a history of no nominee yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks this leadership from now on, outside of any runtime, as an application's own thread
    /// would. One that is over is asked on: it must not come back. The first answer is there when this
    /// returns, however late the thread that asks the others is.
    pub fn watch(&mut self, nominee: &str, leadership: Arc<Leadership>) {
        let mut asked = locked(&self.asked);
        asked.history.extend(Claim::ask(nominee, &leadership));
        asked.leaderships.push((nominee.to_owned(), leadership));
        drop(asked);
        self.thread.get_or_insert_with(|| {
            let (asked, end) = (Arc::clone(&self.asked), Arc::clone(&self.end));
            thread::spawn(move || {
                while !end.load(Ordering::Relaxed) {
                    locked(&asked).ask_all();
                    thread::sleep(Duration::from_millis(1));
                }
            })
        });
    }

    /// Stops asking, and gives what was heard.
    pub fn finish(mut self) -> History {
        self.join();
        core::mem::take(&mut locked(&self.asked).history)
    }

    fn join(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The panic in there was printed; its records count.
            let _ = thread.join();
        }
    }
}

impl Asked {
    fn ask_all(&mut self) {
        let claims = self.leaderships.iter();
        self.history.extend(claims.filter_map(|(name, leadership)| Claim::ask(name, leadership)));
    }
}

fn locked(asked: &Mutex<Asked>) -> MutexGuard<'_, Asked> {
    asked.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Watchers {
    fn drop(&mut self) {
        self.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(nominee: &str, token: i64, asked_at: u64, answered_at: u64) -> Claim {
        Claim {
            nominee: nominee.to_owned(),
            token: Token::new(token),
            asked_at: Duration::from_millis(asked_at),
            answered_at: Duration::from_millis(answered_at),
        }
    }

    fn tenures(claims: &[Claim]) -> Result<Vec<i64>, Contradiction> {
        let mut history = History::default();
        history.extend(claims.iter().cloned());
        let tenures = history.tenures()?;
        Ok(tenures.iter().map(|tenure| tenure.token.get()).collect())
    }

    #[test]
    fn leaders_one_after_another_are_listed_by_token() {
        let claims = [
            claim("b", 9, 30, 31),
            claim("a", 5, 10, 11),
            claim("a", 5, 20, 21),
            claim("a", 12, 40, 41),
        ];
        assert_eq!(tenures(&claims), Ok(vec![5, 9, 12]));
    }

    #[test]
    fn frames_that_touch_prove_nothing() {
        let claims = [claim("a", 5, 10, 30), claim("b", 9, 9, 11)];
        assert_eq!(tenures(&claims), Ok(vec![5, 9]));
    }

    #[test]
    fn an_earlier_leader_that_is_still_valid_is_found() {
        let claims = [claim("a", 5, 10, 11), claim("b", 9, 20, 21), claim("a", 5, 30, 31)];
        let contradiction = tenures(&claims).expect_err("both are valid at 20 to 31");
        let text = contradiction.to_string();
        assert!(text.contains("a with token 5"), "{text}");
        assert!(text.contains("b with token 9"), "{text}");
    }

    #[test]
    fn it_is_found_behind_a_tenure_that_lies_in_between() {
        let claims = [
            claim("a", 5, 10, 11),
            claim("a", 5, 30, 31),
            claim("b", 7, 40, 41),
            claim("c", 9, 20, 21),
        ];
        tenures(&claims).expect_err("c leads while a does, and before b");
    }

    #[test]
    fn tokens_that_shrink_are_found() {
        let claims = [claim("a", 9, 10, 11), claim("b", 5, 20, 21)];
        tenures(&claims).expect_err("the later leader has the smaller token");
    }

    #[test]
    fn a_token_that_two_have_is_found() {
        let claims = [claim("a", 5, 10, 11), claim("b", 5, 20, 21)];
        let contradiction = tenures(&claims).expect_err("a token names one leadership");
        assert!(matches!(contradiction, Contradiction::SharedToken { .. }));
    }
}
