//! The law of reads: they never go back in time within a session. A session that has read or written on
//! any znode has seen all that was committed before. And one version of a znode is the same for all
//! clients.

use alloc::collections::BTreeMap;
use core::hash::{Hash as _, Hasher as _};
use core::ops::Bound;
use std::hash::DefaultHasher;

/// A version of a znode that is never deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The version of its data.
    pub version: i32,
    /// The transaction that wrote it (`mzxid`).
    pub zxid: i64,
    /// A [`digest`] of the data.
    pub digest: u64,
}

/// The state of a znode that one client saw, in answer to a read or to a write of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The session.
    pub session: i64,
    /// The znode.
    pub path: String,
    /// The state.
    pub seen: Snapshot,
}

/// A breach of the law.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// One version of a znode is not the same to all.
    #[error("{path} was seen as {one:?} and as {other:?}")]
    Divergent {
        /// The znode.
        path: String,
        /// The state that one client saw.
        one: Snapshot,
        /// The state that another one saw.
        other: Snapshot,
    },
    /// A session saw an old state after it had seen a transaction that is younger than that
    /// state's end.
    #[error("session {session:#x} saw {path} as {seen:?} after zxid {after}; {newer:?} was then")]
    BackInTime {
        /// The session.
        session: i64,
        /// The znode.
        path: String,
        /// The state that it saw.
        seen: Snapshot,
        /// The greatest transaction that it had seen.
        after: i64,
        /// The state that it should have seen at least.
        newer: Snapshot,
    },
}

/// All versions of all znodes that any client saw.
type Known<'a> = BTreeMap<&'a str, BTreeMap<i32, Snapshot>>;

/// Holds the states that each client saw, in its order, against those that all of them saw. A
/// client with calls that overlap is several here: one for each of its tasks.
///
/// # Errors
///
/// The first [`Violation`].
pub fn check(clients: &[Vec<Sighting>]) -> Result<(), Violation> {
    let mut known = Known::new();
    for Sighting { path, seen, .. } in clients.iter().flatten() {
        let one = *known.entry(path).or_default().entry(seen.version).or_insert(*seen);
        if one != *seen {
            return Err(Violation::Divergent { path: path.clone(), one, other: *seen });
        }
    }
    clients.iter().try_for_each(|sightings| check_client(sightings, &known))
}

fn check_client(sightings: &[Sighting], known: &Known<'_>) -> Result<(), Violation> {
    let mut latest: BTreeMap<i64, i64> = BTreeMap::new();
    for Sighting { session, path, seen } in sightings {
        let after = latest.entry(*session).or_insert(seen.zxid);
        let younger = (Bound::Excluded(seen.version), Bound::Unbounded);
        let newer = known.get(path.as_str()).and_then(|versions| versions.range(younger).next());
        if let Some((_, newer)) = newer.filter(|(_, newer)| newer.zxid <= *after) {
            let (session, path) = (*session, path.clone());
            let (seen, after, newer) = (*seen, *after, *newer);
            return Err(Violation::BackInTime { session, path, seen, after, newer });
        }
        *after = seen.zxid.max(*after);
    }
    Ok(())
}

/// Tells data from other data.
pub fn digest(data: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    data.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sighting(session: i64, path: &str, version: i32, zxid: i64) -> Sighting {
        let seen = Snapshot { version, zxid, digest: 0 };
        Sighting { session, path: path.to_owned(), seen }
    }

    #[test]
    fn a_new_session_may_see_less_than_the_one_before() {
        let client = vec![sighting(1, "/a", 2, 20), sighting(2, "/a", 1, 10)];
        assert_eq!(check(&[client]), Ok(()));
    }

    #[test]
    fn an_older_version_of_the_same_znode_is_found() {
        let client = vec![sighting(1, "/a", 2, 20), sighting(1, "/a", 1, 10)];
        let violation = check(&[client]).expect_err("2, then 1");
        assert!(matches!(violation, Violation::BackInTime { .. }), "{violation}");
    }

    #[test]
    fn an_older_state_of_another_znode_is_found_by_what_others_saw() {
        let other = vec![sighting(9, "/a", 2, 20)];
        let fresh = vec![sighting(1, "/b", 5, 15), sighting(1, "/a", 1, 10)];
        assert_eq!(check(&[other.clone(), fresh]), Ok(()));
        let stale = vec![sighting(1, "/b", 5, 25), sighting(1, "/a", 1, 10)];
        let violation = check(&[other, stale]).expect_err("/a had version 2 since 20");
        assert!(matches!(violation, Violation::BackInTime { after: 25, .. }), "{violation}");
    }

    #[test]
    fn a_version_that_is_not_the_same_to_all_is_found() {
        let mut other = sighting(2, "/a", 1, 10);
        other.seen.digest = 1;
        let violation = check(&[vec![sighting(1, "/a", 1, 10)], vec![other]]);
        assert!(matches!(violation, Err(Violation::Divergent { .. })), "{violation:?}");
    }
}
