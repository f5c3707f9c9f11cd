//! Preferences of candidates: which candidate is better, and when it is to lead in place of another.
//!
//! A preference is in a candidate's data, behind its name: `host-7 preference=5`. Participants of
//! other libraries show it as part of the name, and can state one by their own.

use core::fmt;
use core::time::Duration;

use crate::id::Token;

/// How much a candidate is preferred: the greater, the better. One that states none has 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Preference(i32);

/// What a candidate's data has before its preference.
const MARK: &[u8] = b"preference=";

impl Preference {
    /// Makes the preference with this number.
    pub const fn new(number: i32) -> Self {
        Self(number)
    }

    /// Returns the number.
    pub const fn get(self) -> i32 {
        self.0
    }

    /// Reads the preference that a candidate's data end in.
    ///
    /// ```
    /// use election_core::preference::Preference;
    ///
    /// assert_eq!(Preference::of(b"host-7 preference=5"), Preference::new(5));
    /// assert_eq!(Preference::of(b"host-7"), Preference::new(0));
    /// ```
    pub fn of(data: &[u8]) -> Self {
        split(data).map_or_else(Self::default, |(_, preference)| preference)
    }

    /// Returns a candidate's data without its preference: by convention the nominee's name.
    pub fn strip(data: &[u8]) -> &[u8] {
        split(data).map_or(data, |(name, _)| name)
    }
}

/// Returns the data before the preference, and the preference, if there is one.
fn split(data: &[u8]) -> Option<(&[u8], Preference)> {
    let start = data.iter().rposition(|byte| *byte == b' ');
    let (name, last) = match start {
        Some(at) => (data.get(..at)?, data.get(at + 1..)?),
        None => (&[][..], data),
    };
    let number = core::str::from_utf8(last.strip_prefix(MARK)?).ok()?;
    // One number has one text.
    if number.starts_with('+') {
        return None;
    }
    Some((name, Preference(number.parse().ok()?)))
}

impl fmt::Display for Preference {
    /// Writes it as a candidate's data end: `preference=5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "preference={}", self.0)
    }
}

/// A candidate behind the leader, as the leader has seen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stander {
    /// Its token.
    pub token: Token,
    /// Its preference.
    pub preference: Preference,
    /// Since when the leader has seen it stand, by the leader's clock.
    pub since: Duration,
}

/// The candidate that is to lead in place of the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Better {
    /// None is better.
    None,
    /// None that is better has stood for long enough before this moment of the leader's clock.
    From(Duration),
    /// This one is.
    Candidate(Token),
}

/// Returns the candidate that is to lead in place of the leader: of those that are strictly better and
/// have stood for at least `stood`, the best; of equals, the first.
///
/// A leader knows a candidate only since it leads itself. So whatever candidates come and go, a
/// leader leads for `stood` before it hands over, and each that follows is better than the one
/// before: preferences that stay come to rest.
pub fn better(
    own: Preference,
    stood: Duration,
    now: Duration,
    standers: impl IntoIterator<Item = Stander>,
) -> Better {
    let mut best: Option<Stander> = None;
    let mut next: Option<Duration> = None;
    for stander in standers {
        if stander.preference <= own {
            continue;
        }
        let from = stander.since.saturating_add(stood);
        if now < from {
            next = Some(next.map_or(from, |next| next.min(from)));
            continue;
        }
        let is_better = best
            .is_none_or(|best| (best.preference, stander.token) < (stander.preference, best.token));
        if is_better {
            best = Some(stander);
        }
    }
    match (best, next) {
        (Some(best), _) => Better::Candidate(best.token),
        (None, Some(from)) => Better::From(from),
        (None, None) => Better::None,
    }
}
