//! Checks this client's permissions at an election, and looks for obstacles there.

use core::time::Duration;

use election_tokio::error::OpCode;
use election_tokio::{Client, CreateMode, ErrorCode, Transaction, TransactionError, Version};
use tokio::time::timeout;

use super::candidates;
use super::path::{child, parent};
use super::report::{Finding, no_answer};
use crate::args::FormatName;
use crate::connection::is_there;

/// The znode that the probing transactions create. None of them is ever applied.
const PROBE: &str = "zkelect-check";

/// No znode has this version: a transaction that asks for it is not applied.
const NEVER: Version = Version::new(i32::MAX);

/// How often to try, since the znodes above the election may come and go meanwhile.
const ROUNDS: usize = 3;

pub(super) async fn findings(
    client: &Client,
    (path, format): (&str, FormatName),
    bound: Duration,
) -> Vec<Finding> {
    let steps = async {
        let mut findings = vec![list(client, path).await];
        findings.extend(candidates::findings(client, path, format).await);
        findings.push(stand(client, path).await);
        findings.extend(marks(client, path).await);
        findings
    };
    let late = |_| vec![Finding::failed("list", no_answer(bound * 4))];
    timeout(bound * 4, steps).await.unwrap_or_else(late)
}

async fn list(client: &Client, path: &str) -> Finding {
    match client.get_children(path).await {
        Ok(children) => {
            let count = children.iter().count();
            Finding::ok("list", format!("{path} exists, with {count} znodes below it"))
        }
        Err(error) if error.is_no_node() => {
            Finding::ok("list", format!("{path} does not exist yet: the first nominee creates it"))
        }
        Err(error) if error.is_no_auth() => {
            Finding::failed("list", format!("the access list (ACL) of {path} forbids to list it"))
                .advise(to_permit(path, "READ"))
        }
        Err(error) => Finding::failed("list", error),
    }
}

/// Checks whether candidates, and the missing znodes above them, can be created and deleted.
async fn stand(client: &Client, path: &str) -> Finding {
    let mut refused = None;
    for _ in 0..ROUNDS {
        let Some(missing) = missing(client, path).await else {
            return Finding::skipped("stand", "what is above the election cannot be looked at");
        };
        let mut transaction = client.transaction();
        for ancestor in &missing {
            transaction = transaction.create(ancestor, "", CreateMode::Persistent);
        }
        match tried(transaction, &child(path, PROBE)).await {
            Tried::Permitted => {
                return Finding::ok("stand", "candidates can be created and deleted");
            }
            Tried::Forbidden { path, operation } => return forbidden("stand", &path, operation),
            Tried::Failed(reason) => refused = Some(reason),
        }
    }
    Finding::failed("stand", refused.unwrap_or_default())
}

/// Checks whether requests and acknowledgements can be left beside the election node.
async fn marks(client: &Client, path: &str) -> Option<Finding> {
    // Clients with permission create the missing ones.
    if !missing(client, parent(path)).await?.is_empty() {
        return None;
    }
    let advice = "requests to step down, acknowledgements and epochs are written there: let this client \
                  create, and delete, beside the election node, if these are wanted";
    Some(match tried(client.transaction(), &format!("{path}.{PROBE}")).await {
        Tried::Permitted => Finding::ok("marks", "notes can be left beside the election node"),
        Tried::Forbidden { .. } => {
            let says = format!("the access list (ACL) of {} forbids notes there", parent(path));
            Finding::warning("marks", says).advise(advice)
        }
        Tried::Failed(reason) => Finding::warning("marks", reason),
    })
}

enum Tried {
    Permitted,
    Forbidden { path: String, operation: OpCode },
    Failed(String),
}

/// Creates a znode and deletes it, in a transaction that fails at its end if not before.
async fn tried(transaction: Transaction, probe: &str) -> Tried {
    let transaction = transaction.create(probe, "", CreateMode::Ephemeral);
    let transaction = transaction.delete(probe, Version::ANY).check("/", NEVER);
    match transaction.commit().await {
        Err(TransactionError::Refused { operation: OpCode::CHECK, .. }) => Tried::Permitted,
        Err(TransactionError::Refused { operation, path, code: ErrorCode::NO_AUTH, .. }) => {
            Tried::Forbidden { path, operation }
        }
        Err(error) => Tried::Failed(error.to_string()),
        Ok(_) => Tried::Failed("a transaction was applied that no server may apply".to_owned()),
    }
}

/// Returns the missing znodes of a path, from above; `None` if that cannot be found out.
async fn missing(client: &Client, path: &str) -> Option<Vec<String>> {
    let mut missing = Vec::new();
    if path == "/" {
        return Some(missing);
    }
    let ends = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
    for end in ends.chain([path.len()]) {
        let ancestor = path.get(..end)?;
        if !missing.is_empty() || !is_there(client, ancestor).await.ok()? {
            missing.push(ancestor.to_owned());
        }
    }
    Some(missing)
}

fn forbidden(step: &'static str, path: &str, operation: OpCode) -> Finding {
    let parent = parent(path);
    let (what, permission) = match operation {
        OpCode::DELETE => ("delete", "DELETE"),
        _ => ("create", "CREATE"),
    };
    let says = format!("the access list (ACL) of {parent} forbids to {what} below it");
    Finding::failed(step, says).advise(to_permit(parent, permission))
}

fn to_permit(path: &str, permission: &str) -> String {
    format!(
        "give the user of --auth or --sasl-user, the subject of --tls-cert, or every client the permission \
         {permission} on {path}: look with `getAcl {path}`, change with `setAcl` in zkCli.sh"
    )
}
