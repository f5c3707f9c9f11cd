//! The law of locks: one client holds a lock at a time, or several readers hold it together.

use alloc::collections::BTreeMap;
use core::fmt;
use core::time::Duration;

use election_tokio::Token;

/// One time that a client held a lock, as far as it could see that it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Which lock.
    pub lock: &'static str,
    /// Alone, or beside other readers.
    pub want: Want,
    /// Which client.
    pub holder: u32,
    /// By which token.
    pub token: Token,
    /// When the question began that was answered at [`valid_by`](Self::valid_by).
    pub asked_at: Duration,
    /// It was held at this moment or earlier.
    pub valid_by: Duration,
    /// It was held at this moment or later.
    pub valid_until: Duration,
}

/// The purpose for which a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Want {
    /// Alone.
    Write,
    /// Beside other readers.
    Read,
}

/// A breach of the law.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// Two held that exclude each other; or, where they are far apart, tokens do not grow.
    #[error("two holders: {earlier}; and {later}")]
    TwoHolders {
        /// The hold with the smaller token.
        earlier: Box<Hold>,
        /// The hold with the greater token.
        later: Box<Hold>,
    },
    /// Two held by one token.
    #[error("one token: {0}; and {1}")]
    SharedToken(Box<Hold>, Box<Hold>),
}

/// Goes through all that were held, in the order of their tokens: each began when all before had ended
/// that exclude it.
///
/// # Errors
///
/// The first [`Violation`].
pub fn check(holds: &[Hold]) -> Result<(), Violation> {
    let mut locks: BTreeMap<&str, Vec<&Hold>> = BTreeMap::new();
    for hold in holds {
        locks.entry(hold.lock).or_default().push(hold);
    }
    locks.into_values().try_for_each(check_one)
}

fn check_one(mut holds: Vec<&Hold>) -> Result<(), Violation> {
    holds.sort_by_key(|hold| hold.token);
    // Those that ended last so far.
    let (mut writer, mut reader): (Option<&Hold>, Option<&Hold>) = (None, None);
    let mut before: Option<&Hold> = None;
    for hold in holds {
        if let Some(same) = before.filter(|before| before.token == hold.token) {
            return Err(Violation::SharedToken(Box::new(same.clone()), Box::new(hold.clone())));
        }
        before = Some(hold);
        let rivals = match hold.want {
            Want::Write => [writer, reader],
            Want::Read => [writer, None],
        };
        let mut rivals = rivals.into_iter().flatten();
        if let Some(earlier) = rivals.find(|earlier| hold.valid_by < earlier.valid_until) {
            let (earlier, later) = (Box::new(earlier.clone()), Box::new(hold.clone()));
            return Err(Violation::TwoHolders { earlier, later });
        }
        let last = match hold.want {
            Want::Write => &mut writer,
            Want::Read => &mut reader,
        };
        if last.is_none_or(|last| last.valid_until < hold.valid_until) {
            *last = Some(hold);
        }
    }
    Ok(())
}

impl fmt::Display for Hold {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lock, want, holder, token, valid_by, valid_until, .. } = self;
        write!(
            formatter,
            "client {holder} held {lock} to {want:?} with token {token}, from {valid_by:?} or before to \
             {valid_until:?} or after"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Want::{Read, Write};
    use super::*;

    fn hold(want: Want, token: i64, from: u64, to: u64) -> Hold {
        Hold {
            lock: "/lock",
            want,
            holder: 1,
            token: Token::new(token),
            asked_at: Duration::from_millis(from),
            valid_by: Duration::from_millis(from),
            valid_until: Duration::from_millis(to),
        }
    }

    #[test]
    fn writers_one_after_another_and_readers_together_are_fine() {
        let holds = [
            hold(Write, 1, 0, 10),
            hold(Read, 2, 10, 30),
            hold(Read, 3, 12, 20),
            hold(Write, 4, 30, 40),
            Hold { lock: "/other", ..hold(Write, 2, 0, 40) },
        ];
        assert_eq!(check(&holds), Ok(()));
    }

    #[test]
    fn a_writer_beside_another_one_or_beside_a_reader_is_found() {
        let two_writers = [hold(Write, 1, 0, 10), hold(Write, 2, 9, 20)];
        let behind_a_reader = [hold(Read, 1, 0, 10), hold(Read, 2, 0, 5), hold(Write, 3, 9, 20)];
        let before_a_reader = [hold(Write, 1, 0, 10), hold(Read, 2, 9, 20)];
        for holds in [&two_writers[..], &behind_a_reader, &before_a_reader] {
            assert!(matches!(check(holds), Err(Violation::TwoHolders { .. })), "{holds:?}");
        }
    }

    #[test]
    fn tokens_that_shrink_are_found() {
        let holds = [hold(Write, 2, 0, 10), hold(Write, 1, 20, 30)];
        assert!(matches!(check(&holds), Err(Violation::TwoHolders { .. })));
    }

    #[test]
    fn a_token_that_two_have_is_found() {
        let holds = [hold(Read, 1, 0, 10), hold(Read, 1, 20, 30)];
        assert!(matches!(check(&holds), Err(Violation::SharedToken(..))));
    }
}
