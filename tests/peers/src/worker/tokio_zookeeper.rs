//! tokio-zookeeper. It has no recipes, and takes the address of one server.

use core::time::Duration;

use futures_util::StreamExt as _;
use tokio_zookeeper::{ZooKeeper, ZooKeeperBuilder};

use super::contender::{Contender, Seat};
use crate::outcome::{Outcome, failed};

#[derive(Clone)]
pub(crate) struct TokioZookeeper(ZooKeeper);

impl Contender for TokioZookeeper {
    async fn connect(servers: &str, session_timeout: Duration) -> Outcome<Self> {
        let mut builder = ZooKeeperBuilder::default();
        builder.set_timeout(session_timeout);
        let (client, events) = builder.connect(&servers.parse()?).await?;
        // Unless its events are taken, it stops.
        tokio::spawn(async move {
            let mut events = Box::pin(events);
            while events.next().await.is_some() {}
        });
        Ok(Self(client))
    }

    async fn get_data(&self, path: &'static str) -> Outcome<usize> {
        match self.0.get_data(path).await? {
            Some((data, _)) => Ok(data.len()),
            None => failed("no such znode"),
        }
    }

    async fn list(&self, path: &'static str) -> Outcome<usize> {
        match self.0.get_children(path).await? {
            Some(names) => Ok(names.iter().filter(|name| !name.is_empty()).count()),
            None => failed("no such znode"),
        }
    }

    async fn candidate(self, _: Seat) -> Outcome<()> {
        failed("tokio-zookeeper has neither election nor lock")
    }

    async fn close(self) -> Outcome<()> {
        Ok(())
    }
}
