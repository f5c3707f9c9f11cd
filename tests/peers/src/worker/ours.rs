//! election-tokio.

use core::time::Duration;

use election_tokio::Client;
use election_tokio::election::Role;

use super::contender::{Contender, Seat};
use crate::outcome::Outcome;

/// With the defaults: a heir looks after its predecessor within a minute.
#[derive(Clone)]
pub(crate) struct Ours(Client);

/// A heir looks within five quarters of a second, so that each one has done so in a short benchmark.
#[derive(Clone)]
pub(crate) struct OursSettled(Ours);

const LOOKS: Duration = Duration::from_secs(1);

impl Contender for Ours {
    async fn connect(servers: &str, session_timeout: Duration) -> Outcome<Self> {
        Ok(Self(Client::builder(servers).session_timeout(session_timeout).connect().await?))
    }

    async fn get_data(&self, path: &'static str) -> Outcome<usize> {
        Ok(self.0.get_data(path).await?.0.len())
    }

    async fn list(&self, path: &'static str) -> Outcome<usize> {
        Ok(self.0.get_children(path).await?.iter().filter(|name| !name.is_empty()).count())
    }

    async fn candidate(self, mut seat: Seat) -> Outcome<()> {
        let election = self.0.election(&seat.node);
        let in_place = |role: &Role| matches!(role, Role::Following { .. } | Role::Leading { .. });
        loop {
            let mut nomination = election.nominate()?;
            nomination.updates().wait_for(|status| in_place(&status.role)).await?;
            seat.is_in_place();
            let leadership = nomination.elected().await?;
            seat.leads();
            seat.resigns().await;
            leadership.resign().await?;
        }
    }

    async fn close(self) -> Outcome<()> {
        Ok(self.0.close().await.map(drop)?)
    }
}

impl Contender for OursSettled {
    async fn connect(servers: &str, session_timeout: Duration) -> Outcome<Self> {
        let builder = Client::builder(servers).session_timeout(session_timeout);
        Ok(Self(Ours(builder.look_interval(LOOKS).connect().await?)))
    }

    async fn get_data(&self, path: &'static str) -> Outcome<usize> {
        self.0.get_data(path).await
    }

    async fn list(&self, path: &'static str) -> Outcome<usize> {
        self.0.list(path).await
    }

    async fn candidate(self, seat: Seat) -> Outcome<()> {
        self.0.candidate(seat).await
    }

    async fn close(self) -> Outcome<()> {
        self.0.close().await
    }
}
