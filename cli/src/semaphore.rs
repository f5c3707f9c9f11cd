//! `zkelect semaphore`: runs COMMAND once, while it holds a permit.

use core::future::pending;

use election_tokio::Token;
use election_tokio::lock::LockError;
use election_tokio::semaphore::{Permit, Semaphore};
use tokio::time::Instant;

use crate::args::{SemaphoreArgs, WhenBusy};
use crate::connection;
use crate::event::Subject;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::holding::{Acquired, Goal, Guard, OnRevokeRequest, Plan, Released, hold};

/// Waits for a permit, and holds it until COMMAND has ended.
pub(crate) async fn semaphore(args: SemaphoreArgs) -> Result<Exit, Failure> {
    let SemaphoreArgs { servers, path, permits, patience, acl, lease, command } = &args;
    connection::check_path(path)
        .map_err(|error| LockError::InvalidPath { path: path.clone(), error })?;
    let subject = Subject::Semaphore(path.clone());
    let on_request = OnRevokeRequest::Ignore;
    let terms = patience.terms(command);
    let plan = Plan { subject, servers, lease: *lease, terms, command, on_request };
    hold(plan, |client, data| client.semaphore(path, *permits).data(data).acls(acl.acls())).await
}

impl Goal for Semaphore {
    type Guard = Permit;

    async fn acquire(&self, when_busy: WhenBusy) -> Result<Acquired<Permit>, Failure> {
        Ok(match when_busy {
            WhenBusy::Wait => Acquired::Held(self.acquire().await?),
            WhenBusy::GiveUp => self.try_acquire().await?.into(),
        })
    }
}

impl Guard for Permit {
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

    /// No client asks for a permit.
    async fn revoke_requested(&self) {
        pending::<()>().await;
    }

    async fn release(self) -> Released {
        self.release().await.map(drop).into()
    }
}
