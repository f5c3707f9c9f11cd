//! `zkelect lock`: runs COMMAND once, while it holds a lock.

mod once;

use core::future::pending;

use election_tokio::error::Place;
use election_tokio::lock::{Access, Lock, LockError, LockGuard};
use election_tokio::once::OnceError;
use election_tokio::{Token, TransactionError};
use tokio::time::Instant;

use crate::args::{LockArgs, LockFormat, WhenBusy};
use crate::event::Subject;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::holding::{Acquired, Goal, Guard, OnRevokeRequest, Plan, Released, hold};
use crate::{connection, console};

/// Waits for the lock, and holds it until COMMAND has ended.
pub(crate) async fn lock(args: LockArgs) -> Result<Exit, Failure> {
    let LockArgs { servers, path, shared, once, patience, format, revocable, acl, lease, .. } =
        &args;
    let command = &args.command;
    let LockFormat(name) = *format;
    if *shared && !name.format().offers(Access::Shared) {
        return Err(Failure::NotShared(*format));
    }
    connection::check_path(path)
        .map_err(|error| LockError::InvalidPath { path: path.clone(), error })?;
    let subject = Subject::Lock(path.clone());
    let on_request = if *revocable { OnRevokeRequest::LetGo } else { OnRevokeRequest::Ignore };
    let terms = patience.terms(command);
    if args.quiet {
        console::be_quiet();
    }
    let plan = Plan { subject, servers, lease: *lease, terms, command, on_request };
    let exit = match once.once_per {
        Some(_) if name.format().names_recur() => {
            let at = Place::new("once", path, "begin");
            return Err(OnceError::Request { at, error: TransactionError::NamesRecur }.into());
        }
        Some(period) => {
            hold(plan, |client, data| {
                let job = client.once(path, *period).by(data).take_again(once.again.into());
                job.format(name.format()).acls(acl.acls())
            })
            .await?
        }
        None => {
            hold(plan, |client, data| {
                let lock = if *shared { client.read_lock(path) } else { client.write_lock(path) };
                lock.format(name.format()).data(data).acls(acl.acls())
            })
            .await?
        }
    };
    Ok(match exit {
        Exit::Busy(_) | Exit::NotDue if args.quiet => Exit::Success,
        exit => exit,
    })
}

impl Goal for Lock {
    type Guard = LockGuard;

    async fn acquire(&self, when_busy: WhenBusy) -> Result<Acquired<LockGuard>, Failure> {
        Ok(match when_busy {
            WhenBusy::Wait => Acquired::Held(self.lock().await?),
            WhenBusy::GiveUp => self.try_lock().await?.into(),
        })
    }
}

impl Guard for LockGuard {
    fn token(&self) -> Option<Token> {
        Some(self.token())
    }

    fn znode(&self) -> String {
        self.znode().to_string()
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        let token = self.token().get().to_string();
        vec![("ZKELECT_TOKEN", token), ("ZKELECT_ZNODE", self.znode().to_string())]
    }

    fn valid_until(&self) -> Option<Instant> {
        self.valid_until()
    }

    async fn lost(&self) -> String {
        self.lost().await.to_string()
    }

    async fn revoke_requested(&self) {
        if self.revoke_requested().await.is_err() {
            // The lock is lost; `lost` reports that.
            pending::<()>().await;
        }
    }

    async fn release(self) -> Released {
        self.release().await.map(drop).into()
    }
}
