//! Why a nomination ended, where its own reason does not say enough.

use election_tokio::{Client, CreateMode, EndReason, ErrorCode, ErrorKind, NominationError};

use crate::failure::{Failure, rejected};

/// Finds the znode that keeps the election node from being created. A nominee that may not create
/// the election node is told of no znode, or that the election node does not exist.
pub(super) async fn diagnose(
    client: &Client,
    election: &str,
    reason: &EndReason,
) -> Option<Failure> {
    match reason {
        EndReason::Failed(NominationError::NoElectionNode) => {}
        _ if rejected(reason) == Some(ErrorCode::NO_AUTH) => {}
        _ => return None,
    }
    let ends = election.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
    for end in ends.chain([election.len()]) {
        let path = election.get(..end)?;
        if client.exists(path).await.ok()?.is_some() {
            continue;
        }
        match client.create(path, "", CreateMode::Persistent).await {
            Err(error) if error.kind() == ErrorKind::Refused(ErrorCode::NO_AUTH) => {
                let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
                let parent = if parent.is_empty() { "/" } else { parent };
                return Some(Failure::Forbidden {
                    parent: parent.to_owned(),
                    path: path.to_owned(),
                });
            }
            // It exists by now, or something else is wrong.
            _ => return None,
        }
    }
    None
}
