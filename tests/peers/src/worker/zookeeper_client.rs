//! zookeeper-client, and its lock, since that is its election.

use core::time::Duration;

use zookeeper_client::{Acls, Client, CreateMode, LockOptions, LockPrefix};

use super::contender::{Contender, Seat};
use crate::outcome::Outcome;

#[derive(Clone)]
pub(crate) struct ZookeeperClient(Client);

impl Contender for ZookeeperClient {
    async fn connect(servers: &str, session_timeout: Duration) -> Outcome<Self> {
        let connector = Client::connector().with_session_timeout(session_timeout);
        Ok(Self(connector.connect(servers).await?))
    }

    async fn get_data(&self, path: &'static str) -> Outcome<usize> {
        Ok(self.0.get_data(path).await?.0.len())
    }

    async fn list(&self, path: &'static str) -> Outcome<usize> {
        let names = self.0.list_children(path).await?;
        Ok(names.iter().filter(|name| !name.is_empty()).count())
    }

    async fn candidate(self, mut seat: Seat) -> Outcome<()> {
        let acls = Acls::anyone_all();
        let ancestors = CreateMode::Persistent.with_acls(acls);
        loop {
            let prefix = LockPrefix::new_curator(&seat.node, "latch-")?;
            let options = LockOptions::new(acls).with_ancestor_options(ancestors.clone())?;
            // It does not say when it stands.
            seat.is_in_place();
            let lock = self.0.lock(prefix, b"", options).await?;
            seat.leads();
            seat.resigns().await;
            // Deleted in the background: that is its way to unlock.
            drop(lock);
        }
    }

    async fn close(self) -> Outcome<()> {
        Ok(())
    }
}
