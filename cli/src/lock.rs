//! `zkelect lock`: runs COMMAND once, while it holds a lock.

use core::future::pending;

use election_tokio::Token;
use election_tokio::lock::{Access, Lock, LockError, LockGuard};
use tokio::time::Instant;

use crate::args::{LockArgs, LockFormat, WhenBusy};
use crate::connection;
use crate::event::Subject;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::holding::{Goal, Guard, OnRevokeRequest, Plan, Released, hold};

/// Waits for the lock, and holds it until COMMAND has ended.
pub(crate) async fn lock(args: LockArgs) -> Result<Exit, Failure> {
    let LockArgs { servers, path, shared, patience, format, revocable, acl, lease, command } =
        &args;
    let LockFormat(name) = *format;
    if *shared && !name.format().offers(Access::Shared) {
        return Err(Failure::NotShared(*format));
    }
    connection::check_path(path)
        .map_err(|error| LockError::InvalidPath { path: path.clone(), error })?;
    let subject = Subject::Lock(path.clone());
    let on_request = if *revocable { OnRevokeRequest::LetGo } else { OnRevokeRequest::Ignore };
    let terms = patience.terms(command);
    let plan = Plan { subject, servers, lease: *lease, terms, command, on_request };
    hold(plan, |client, data| {
        let lock = if *shared { client.read_lock(path) } else { client.write_lock(path) };
        lock.format(name.format()).data(data).acls(acl.acls())
    })
    .await
}

impl Goal for Lock {
    type Guard = LockGuard;

    async fn acquire(&self, when_busy: WhenBusy) -> Result<Option<LockGuard>, Failure> {
        Ok(match when_busy {
            WhenBusy::Wait => Some(self.lock().await?),
            WhenBusy::GiveUp => self.try_lock().await?,
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
