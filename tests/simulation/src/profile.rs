//! The profiles of faults, and the grades of evidence that hold under them.

use core::fmt;
use core::str::FromStr;

use zk_session::lease::LeaseGrade;

/// The faults of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Profile {
    /// Clients, and the ways between them and the ensemble. The ensemble is healthy.
    Clients,
    /// Also one follower of the ensemble at a time, which is cut off from its leader or from all.
    Follower,
    /// Everything: any member is cut off, crashes, pauses.
    Quorum,
}

impl Profile {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Clients, Self::Follower, Self::Quorum];

    /// Returns the grades that hold; under `Clients`, `Contact` does with one server.
    pub const fn grades(self) -> &'static [LeaseGrade] {
        match self {
            Self::Clients => &[LeaseGrade::Contact, LeaseGrade::Sync, LeaseGrade::Quorum],
            Self::Follower => &[LeaseGrade::Sync, LeaseGrade::Quorum],
            Self::Quorum => &[LeaseGrade::Quorum],
        }
    }
}

/// A name on the command line that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected one of: {0}")]
pub struct UnknownName(pub(super) &'static str);

impl FromStr for Profile {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let found = Self::ALL.into_iter().find(|profile| profile.to_string() == text);
        found.ok_or(UnknownName("clients, follower, quorum"))
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Clients => "clients",
            Self::Follower => "follower",
            Self::Quorum => "quorum",
        })
    }
}

/// Returns the grade that is called so on the command line.
///
/// # Errors
///
/// [`UnknownName`] if none is.
pub fn parse_grade(text: &str) -> Result<LeaseGrade, UnknownName> {
    let all = [LeaseGrade::Contact, LeaseGrade::Sync, LeaseGrade::Quorum];
    let found = all.into_iter().find(|grade| grade_name(*grade) == text);
    found.ok_or(UnknownName("contact, sync, quorum"))
}

pub(super) const fn grade_name(grade: LeaseGrade) -> &'static str {
    match grade {
        LeaseGrade::Contact => "contact",
        LeaseGrade::Sync => "sync",
        LeaseGrade::Quorum => "quorum",
        _ => "unknown",
    }
}
