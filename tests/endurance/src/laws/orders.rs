//! The law of order: transactions have the order of real time. A write that was requested after another one was
//! acknowledged, to any client, has the greater zxid. So the zxids of each client's acknowledged writes grow, too.

use core::time::Duration;

/// An acknowledged write and its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed {
    /// [`now`](zk_test_kit::history::now) before it was asked for.
    pub asked_at: Duration,
    /// [`now`](zk_test_kit::history::now) after it was acknowledged.
    pub answered_at: Duration,
    /// Its transaction.
    pub zxid: i64,
}

/// A later write has the smaller transaction, or the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{earlier:?} was acknowledged before {later:?} was asked for")]
pub struct Violation {
    /// Acknowledged first.
    pub earlier: Committed,
    /// Asked for after that.
    pub later: Committed,
}

/// Holds all acknowledged writes against each other.
///
/// # Errors
///
/// The first [`Violation`].
pub fn check(committed: &[Committed]) -> Result<(), Violation> {
    let mut asked = committed.to_vec();
    asked.sort_unstable_by_key(|write| write.asked_at);
    let mut answered = committed.to_vec();
    answered.sort_unstable_by_key(|write| write.answered_at);
    let mut answered = answered.into_iter().peekable();
    let mut greatest: Option<Committed> = None;
    for later in asked {
        while let Some(earlier) = answered.next_if(|write| write.answered_at < later.asked_at) {
            if greatest.is_none_or(|greatest| earlier.zxid > greatest.zxid) {
                greatest = Some(earlier);
            }
        }
        if let Some(earlier) = greatest.filter(|earlier| earlier.zxid >= later.zxid) {
            return Err(Violation { earlier, later });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn committed(asked_at: u64, answered_at: u64, zxid: i64) -> Committed {
        let at = Duration::from_millis;
        Committed { asked_at: at(asked_at), answered_at: at(answered_at), zxid }
    }

    #[test]
    fn writes_that_overlap_may_be_in_any_order() {
        let writes = [committed(0, 10, 2), committed(5, 12, 1), committed(13, 14, 3)];
        assert_eq!(check(&writes), Ok(()));
    }

    #[test]
    fn a_later_write_with_a_smaller_zxid_is_found_behind_others() {
        let (earlier, later) = (committed(0, 10, 7), committed(30, 40, 6));
        let writes = [later, committed(12, 50, 8), earlier, committed(11, 15, 3)];
        let violation = check(&writes).expect_err("3 after 7");
        assert_eq!(violation.earlier, earlier);
    }

    #[test]
    fn two_writes_with_one_zxid_are_found() {
        let (earlier, later) = (committed(0, 10, 7), committed(30, 40, 7));
        assert_eq!(check(&[earlier, later]), Err(Violation { earlier, later }));
    }
}
