//! `zkelect queue claim`: runs COMMAND once, while it holds a claim to an item.

use core::future::pending;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};

use election_tokio::queue::{ClaimError, ClaimLost, Claimed, Queue, QueueItem, TakeError};
use election_tokio::{Client, Token};
use rustix::fs::{MemfdFlags, memfd_create};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::look::{check, check_format};
use crate::args::{LeaseArgs, QueueClaimArgs, QueueFormatName, WhenBusy};
use crate::contact::Contact;
use crate::contender::Departure;
use crate::event::Subject;
use crate::exit::{CommandExit, Exit};
use crate::failure::Failure;
use crate::holding::{Acquired, Conclusion, Goal, Guard, OnRevokeRequest, Plan, Released, hold};

/// Waits for an item, and holds a claim to it until COMMAND has ended.
pub(super) async fn claim(args: &QueueClaimArgs) -> Result<Exit, Failure> {
    let QueueClaimArgs { servers, path, items, command, .. } = args;
    check(path)?;
    let subject = Subject::Queue(path.clone());
    let (terms, on_request) = (args.terms(), OnRevokeRequest::Ignore);
    let lease = LeaseArgs::default();
    let plan = Plan { subject, servers, lease, terms, command, on_request };
    hold(plan, |client, data| Claiming {
        client: client.clone(),
        path,
        format: items.format,
        queue: client.queue(path).format(items.format.format()).data(data),
    })
    .await
}

struct Claiming<'a> {
    client: Client,
    path: &'a str,
    format: QueueFormatName,
    queue: Queue,
}

impl Goal for Claiming<'_> {
    type Guard = Claim;

    async fn acquire(&self, when_busy: WhenBusy) -> Result<Acquired<Claim>, Failure> {
        let mut claimed = self.queue.try_claim().await?;
        if claimed.is_none() {
            check_format(&self.client, self.path, self.format).await?;
            if when_busy == WhenBusy::Wait {
                claimed = Some(self.queue.claim().await?);
            }
        }
        let claim = claimed.map(|claimed| Claim {
            item: claimed.item().clone(),
            claimed: Mutex::new(claimed),
            contact: Contact::new(&self.client),
        });
        Ok(claim.into())
    }
}

struct Claim {
    item: QueueItem,
    claimed: Mutex<Claimed>,
    contact: Contact,
}

impl Guard for Claim {
    fn token(&self) -> Option<Token> {
        None
    }

    fn znode(&self) -> String {
        self.item.name.to_string()
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        vec![("ZKELECT_ITEM", self.znode())]
    }

    /// Returns the item in a file without a name: COMMAND may read it at any pace, or not at all.
    fn input(&self) -> io::Result<Option<File>> {
        let mut file = File::from(memfd_create("item", MemfdFlags::CLOEXEC)?);
        file.write_all(&self.item.data)?;
        file.rewind()?;
        Ok(Some(file))
    }

    fn valid_until(&self) -> Option<Instant> {
        self.contact.valid_until()
    }

    async fn lost(&self) -> String {
        self.claimed.lock().await.lost().await.to_string()
    }

    /// No client asks for a claim.
    async fn revoke_requested(&self) {
        pending::<()>().await;
    }

    /// Deletes the item if COMMAND has succeeded.
    async fn conclude(self, exit: CommandExit) -> Conclusion<Self> {
        if exit != CommandExit::Code(0) {
            return Conclusion::Held(self);
        }
        match self.claimed.into_inner().done().await {
            Ok(()) => Conclusion::Over { how: "done" },
            Err(ClaimError { at, lost: ClaimLost::Failed(failure) }) => {
                Conclusion::Failed(Failure::Take(TakeError::Failed { at, failure }))
            }
            Err(error) => Conclusion::Lost { reason: error.lost.to_string() },
        }
    }

    async fn release(self) -> Released {
        let (how, departure) = match self.claimed.into_inner().give_back().await {
            Ok(()) => ("given back".to_owned(), Departure::Confirmed),
            Err(ClaimError { lost: lost @ (ClaimLost::Lost | ClaimLost::Unknown), .. }) => {
                (lost.to_string(), Departure::Confirmed)
            }
            Err(error) => (error.lost.to_string(), Departure::Unconfirmed),
        };
        Released { how, departure }
    }
}
