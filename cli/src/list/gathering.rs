//! The participants of a double barrier.

use election_tokio::NomineeId;

use super::lookup::Lookup;
use super::row::{Role, Row};
use super::table::{DOUBLE_BARRIER, Listing};
use crate::failure::Failure;

/// The znode exists while a round is under way.
const READY: &str = "ready";

/// Returns whether these are the children of a double barrier: participants, each named by an id
/// alone, and perhaps the sign of a round.
pub(super) fn is_gathering(names: &[String]) -> bool {
    !names.is_empty() && names.iter().all(|name| name == READY || is_participant(name))
}

/// Accepts participants of Curator, and of kazoo, which writes its ids without hyphens.
fn is_participant(name: &str) -> bool {
    let is_uuid = name.len() == 36 && name.parse::<NomineeId>().is_ok();
    is_uuid || name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Shows the participants, and returns how many there were.
pub(super) async fn show(
    lookup: &Lookup<'_>,
    mut names: Vec<String>,
    json: bool,
) -> Result<usize, Failure> {
    let (role, round) = if names.iter().any(|name| name == READY) {
        (Role::Inside, "a round is under way")
    } else {
        (Role::Waits, "no round is under way")
    };
    let title = format!("double barrier: {round}");
    let mut listing = Listing::new(json, Some(title), DOUBLE_BARRIER);
    names.retain(|name| name != READY);
    names.sort_unstable();
    for name in names {
        if let Some((data, stat)) = lookup.data(&name).await? {
            listing.add(&Row::new(name, &stat, &data, role))?;
        }
    }
    listing.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_double_barrier_is_recognised_by_what_its_participants_are_called() {
        const UUID: &str = "abababab-abab-abab-abab-abababababab";
        const HEX: &str = "abababababababababababababababab";
        let is = |names: &[&str]| {
            is_gathering(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        assert!(is(&[UUID]) && is(&[UUID, HEX, READY]) && is(&[READY]));
        assert!(!is(&[]) && !is(&["a"]) && !is(&[UUID, "a"]) && !is(&["locks", "leases"]));
    }
}
