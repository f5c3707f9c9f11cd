//! `zkelect barrier enter`: runs COMMAND once, between entering and leaving a double barrier.

use core::future::pending;

use election_tokio::barrier::{BarrierError, BarrierLost, DoubleBarrier, Entered, LeaveError};
use election_tokio::{Client, Token};
use tokio::time::Instant;

use super::path::check;
use crate::args::{BarrierEnterArgs, LeaseArgs, WhenBusy};
use crate::contact::Contact;
use crate::contender::Departure;
use crate::event::Subject;
use crate::exit::{CommandExit, Exit};
use crate::failure::Failure;
use crate::holding::{Acquired, Conclusion, Goal, Guard, OnRevokeRequest, Plan, Released, hold};

/// Enters, runs COMMAND, and leaves with the others.
pub(super) async fn enter(args: &BarrierEnterArgs) -> Result<Exit, Failure> {
    let BarrierEnterArgs { servers, path, participants, acl, command, .. } = args;
    check(path)?;
    let subject = Subject::Barrier(path.clone());
    let (terms, on_request) = (args.terms(), OnRevokeRequest::Ignore);
    let lease = LeaseArgs::default();
    let plan = Plan { subject, servers, lease, terms, command, on_request };
    hold(plan, |client, data| Entry {
        client: client.clone(),
        barrier: client.double_barrier(path, participants.get()).data(data).acls(acl.acls()),
    })
    .await
}

struct Entry {
    client: Client,
    barrier: DoubleBarrier,
}

impl Goal for Entry {
    type Guard = Inside;

    async fn acquire(&self, _: WhenBusy) -> Result<Acquired<Inside>, Failure> {
        let entered = self.barrier.enter().await?;
        let contact = Contact::new(&self.client);
        Ok(Acquired::Held(Inside { entered, contact }))
    }
}

struct Inside {
    entered: Entered,
    contact: Contact,
}

impl Guard for Inside {
    fn token(&self) -> Option<Token> {
        None
    }

    fn znode(&self) -> String {
        self.entered.entry().to_owned()
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        vec![("ZKELECT_ZNODE", self.znode())]
    }

    fn valid_until(&self) -> Option<Instant> {
        self.contact.valid_until()
    }

    async fn lost(&self) -> String {
        self.entered.lost().await.to_string()
    }

    /// No client asks for a place in a double barrier.
    async fn revoke_requested(&self) {
        pending::<()>().await;
    }

    /// Waits for the others.
    async fn conclude(self, _: CommandExit) -> Conclusion<Self> {
        match self.entered.leave().await {
            Ok(()) => Conclusion::Over { how: "all have left" },
            Err(
                LeaveError::AlreadyLost { at, lost: BarrierLost::Failed(failure) }
                | LeaveError::Failed { at, failure },
            ) => Conclusion::Failed(Failure::Barrier(BarrierError::Failed { at, failure })),
            Err(error) => Conclusion::Lost { reason: error.to_string() },
        }
    }

    /// Does not wait for the others. The end of the session, which follows, confirms it.
    async fn release(self) -> Released {
        Released { how: "left".to_owned(), departure: Departure::Confirmed }
    }
}
