//! `zkelect revoke`: asks the holders of a lock to release it.

use election_tokio::Client;
use election_tokio::lock::{Contender, Lock, LockError, Removal, RevokeError, Revoked, Turn};
use serde::Serialize;
use tokio::time::{Instant, timeout, timeout_at};

use crate::args::{AfterTime, Kind, LockFormat, RevokeArgs};
use crate::candidate::ShownCandidate;
use crate::connection;
use crate::console;
use crate::errand::{errand, within};
use crate::exit::Exit;
use crate::failure::{Failure, OperatingFailure};
use crate::list::kind_at;

/// The fates of the contenders, for JSON.
#[derive(Default, Serialize)]
struct RevokeOutcome {
    outcome: &'static str,
    released: Vec<ShownCandidate>,
    removed: Vec<ShownCandidate>,
    holding: Vec<ShownCandidate>,
}

/// Asks, waits, and reports what became of each contender.
pub(crate) async fn revoke(args: RevokeArgs) -> Result<Exit, Failure> {
    let path = &args.node.path;
    connection::check_path(path)
        .map_err(|error| LockError::InvalidPath { path: path.clone(), error })?;
    errand(&args.node.servers, (&args.node).into(), async |client: &Client| {
        let LockFormat(format) = args.format;
        let lock = client.write_lock(path).format(format.format());
        let meant = within(*args.node.timeout, meant(client, &lock, &args)).await?;
        if meant.is_empty() {
            let what = if args.id.is_some() || args.token.is_some() {
                "no such contender is at"
            } else {
                "no contender holds"
            };
            console::remark(format_args!("{what} {path}"));
            point_to_election(client, path).await;
            if args.json {
                console::print_json(&RevokeOutcome {
                    outcome: "none",
                    ..RevokeOutcome::default()
                })?;
            }
            return Ok(Exit::Busy(1));
        }
        let told = told(&lock, meant, &args).await?;
        report(told, &args)
    })
    .await
}

/// Names the commands for elections if the node is that of an election.
async fn point_to_election(client: &Client, node: &str) {
    if kind_at(client, node).await == Some(Kind::Election) {
        console::remark(format_args!(
            "an election is at {node}: `zkelect step-down` asks its leader, and `zkelect evict` removes it"
        ));
    }
}

/// Finds the contenders that the arguments name.
async fn meant(client: &Client, lock: &Lock, args: &RevokeArgs) -> Result<Vec<Contender>, Failure> {
    // The contender may be one that this server has not heard of yet.
    client.sync(&args.node.path).await?;
    let mut contenders = lock.contenders().await?;
    match (&args.id, args.token) {
        (None, None) => contenders.retain(|contender| contender.turn == Turn::Holds),
        (Some(id), _) => {
            contenders.retain(|contender| ShownCandidate::from(contender).is_called(id));
        }
        (None, Some(token)) => contenders.retain(|contender| contender.token == token),
    }
    match (&args.id, contenders.as_slice()) {
        (Some(id), [first, second, ..]) => Err(OperatingFailure::Ambiguous {
            id: id.clone(),
            tokens: [first.token.get(), second.token.get()],
        }
        .into()),
        _ => Ok(contenders),
    }
}

/// Asks all, and waits for them until one moment for all.
async fn told(
    lock: &Lock,
    meant: Vec<Contender>,
    args: &RevokeArgs,
) -> Result<RevokeOutcome, Failure> {
    let mut told = RevokeOutcome::default();
    let deadline = Instant::now().checked_add(*args.within);
    // With no time to release, what is removed in any case is not asked.
    if !args.within.is_zero() || args.after_time() == AfterTime::Leave {
        for contender in &meant {
            match within(*args.node.timeout, lock.request_revoke(contender)).await {
                Ok(_) => console::remark(format_args!(
                    "{} is asked to release",
                    ShownCandidate::from(contender).describe()
                )),
                // They cannot be asked; to remove them needs no consent.
                Err(Failure::Operating(OperatingFailure::Revoke(RevokeError::Format {
                    ..
                }))) if args.after_time() == AfterTime::Remove => {}
                Err(failure) => return Err(failure),
            }
        }
    }
    for contender in meant {
        let shown = ShownCandidate::from(&contender);
        match went(lock, &contender, deadline, args).await? {
            Some(Revoked::LetGo) => told.released.push(shown),
            Some(Revoked::Removed) => told.removed.push(shown),
            None => told.holding.push(shown),
        }
    }
    told.outcome = match (told.holding.as_slice(), told.removed.as_slice()) {
        ([_, ..], _) => "still_there",
        ([], [_, ..]) => "removed",
        ([], []) => "released",
    };
    Ok(told)
}

/// Waits for the end of a contender, which was asked before; returns how it went, or `None` if it is
/// there after the time.
async fn went(
    lock: &Lock,
    contender: &Contender,
    deadline: Option<Instant>,
    args: &RevokeArgs,
) -> Result<Option<Revoked>, Failure> {
    let revoke = lock.revoke(contender);
    let released = match deadline {
        _ if args.within.is_zero() => None,
        Some(deadline) => timeout_at(deadline, revoke).await.ok(),
        None => Some(revoke.await),
    };
    match (released, args.after_time()) {
        (Some(Ok(())), _) => Ok(Some(Revoked::LetGo)),
        (Some(Err(RevokeError::Format { .. })) | None, AfterTime::Remove) => {
            let removed = timeout(*args.node.timeout, lock.break_lock(contender)).await;
            let in_doubt = |_| Failure::InDoubt {
                bound: *args.node.timeout,
                what: "the contender may be removed",
            };
            Ok(Some(match removed.map_err(in_doubt)?? {
                Removal::Removed => Revoked::Removed,
                Removal::Gone => Revoked::LetGo,
            }))
        }
        (Some(Err(error)), _) => Err(error.into()),
        (None, AfterTime::Leave) => Ok(None),
    }
}

fn report(told: RevokeOutcome, args: &RevokeArgs) -> Result<Exit, Failure> {
    if args.json {
        console::print_json(&told)?;
    } else {
        let lines = [("released", &told.released), ("was removed", &told.removed)];
        for (what, contenders) in lines {
            for contender in contenders {
                console::print(&format!("{} {what}\n", contender.describe()))?;
            }
        }
    }
    match told.holding.into_iter().next() {
        Some(first) => Err(OperatingFailure::StillThere {
            contender: first.describe(),
            path: args.node.path.clone(),
            within: *args.within,
        }
        .into()),
        None => Ok(Exit::Success),
    }
}
