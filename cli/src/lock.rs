//! `zkelect lock`: runs COMMAND once, while it holds a lock, or several.

mod once;
mod several;
mod single;

use election_tokio::error::Place;
use election_tokio::lock::{Access, LockError};
use election_tokio::once::OnceError;
use election_tokio::{Client, TransactionError};

use crate::args::{LockArgs, LockFormat};
use crate::event::Subject;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::holding::{Goal, OnRevokeRequest, Plan, hold};
use crate::{connection, console};

/// Waits for the locks, and holds them until COMMAND has ended.
pub(crate) async fn lock(args: LockArgs) -> Result<Exit, Failure> {
    let LockArgs { paths, shared, once, format, acl, .. } = &args;
    let LockFormat(name) = *format;
    if *shared && !name.format().offers(Access::Shared) {
        return Err(Failure::NotShared(*format));
    }
    for path in paths {
        connection::check_path(path)
            .map_err(|error| LockError::InvalidPath { path: path.clone(), error })?;
    }
    if args.quiet {
        console::be_quiet();
    }
    let exit = match (paths.as_slice(), once.once_per) {
        ([path], None) => {
            hold_by(&args, |client, data| {
                let lock = if *shared { client.read_lock(path) } else { client.write_lock(path) };
                lock.format(name.format()).data(data).acls(acl.acls())
            })
            .await?
        }
        ([path], Some(_)) if name.format().names_recur() => {
            let at = Place::new("once", path, "begin");
            return Err(OnceError::Request { at, error: TransactionError::NamesRecur }.into());
        }
        ([path], Some(period)) => {
            hold_by(&args, |client, data| {
                let job = client.once(path, *period).by(data).take_again(once.again.into());
                job.format(name.format()).acls(acl.acls())
            })
            .await?
        }
        (_, Some(_)) => return Err(Failure::OneLock),
        (paths, None) => {
            hold_by(&args, |client, data| {
                let none: [&str; 0] = [];
                let locks =
                    if *shared { client.locks(none).shared(paths) } else { client.locks(paths) };
                locks.format(name.format()).data(data).acls(&acl.acls())
            })
            .await?
        }
    };
    Ok(match exit {
        Exit::Busy(_) | Exit::NotDue if args.quiet => Exit::Success,
        exit => exit,
    })
}

/// Holds what `goal` makes of a client and the data of its znodes.
async fn hold_by<G: Goal>(
    args: &LockArgs,
    goal: impl FnOnce(&Client, String) -> G,
) -> Result<Exit, Failure> {
    let LockArgs { servers, paths, patience, revocable, lease, command, .. } = args;
    let subject = match paths.as_slice() {
        [path] => Subject::Lock(path.clone()),
        paths => {
            let mut paths = paths.to_vec();
            paths.sort_unstable();
            Subject::Locks(paths)
        }
    };
    let on_request = if *revocable { OnRevokeRequest::LetGo } else { OnRevokeRequest::Ignore };
    let terms = patience.terms(command);
    let plan = Plan { subject, servers, lease: *lease, terms, command, on_request };
    hold(plan, goal).await
}
