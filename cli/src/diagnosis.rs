//! Finds why a contender failed, if its own reason does not say enough.

use election_tokio::election::{EndReason, NominationEnded, NominationError};
use election_tokio::lock::{LockError, LockFailure};
use election_tokio::{Client, CreateMode, ErrorCode, ErrorKind};

use crate::connection::is_there;
use crate::failure::Failure;
use crate::list::recognised;

/// Finds the znode that keeps the node at `node` from being created. The contender's own failure
/// names no znode, or says only that the node does not exist. Of a contender of another format, finds
/// the name of that format.
pub(crate) async fn diagnose(client: &Client, node: &str, failure: &Failure) -> Option<Failure> {
    match failure {
        Failure::Nomination(NominationEnded {
            reason: EndReason::Failed(NominationError::NoElectionNode),
            ..
        })
        | Failure::Lock(LockError::Failed { failure: LockFailure::NoNode, .. }) => {}
        Failure::Lock(error @ LockError::OtherFormat { other, .. }) => {
            let found = recognised(core::slice::from_ref(other));
            return Some(Failure::OtherFormat { error: error.clone(), found });
        }
        _ if failure.refusal() == Some(ErrorCode::NO_AUTH) => {}
        _ => return None,
    }
    let ends = node.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
    for end in ends.chain([node.len()]) {
        let path = node.get(..end)?;
        if is_there(client, path).await.ok()? {
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
            // It exists by now, or the reason is another one.
            _ => return None,
        }
    }
    None
}
