//! zookeeper-async and its `LeaderLatch`.

use core::time::Duration;
use std::sync::Arc;

use zookeeper_async::recipes::leader_latch::LeaderLatch;
use zookeeper_async::{WatchedEvent, Watcher, ZooKeeper};

use super::contender::{Contender, Seat};
use crate::outcome::{Outcome, failed};

#[derive(Clone)]
pub(crate) struct ZookeeperAsync(Arc<ZooKeeper>);

struct Ignored;

impl Watcher for Ignored {
    fn handle(&self, _: WatchedEvent) {}
}

impl Contender for ZookeeperAsync {
    async fn connect(servers: &str, session_timeout: Duration) -> Outcome<Self> {
        let client = ZooKeeper::connect(servers, session_timeout, Ignored).await;
        let client = client.or_else(|error| failed(format!("{error:?}")))?;
        let client = Self(Arc::new(client));
        // It is not connected yet; whatever is asked waits for that.
        client.get_data("/").await?;
        Ok(client)
    }

    async fn get_data(&self, path: &'static str) -> Outcome<usize> {
        let answer = self.0.get_data(path, false).await;
        answer.map_or_else(|error| failed(format!("{error:?}")), |(data, _)| Ok(data.len()))
    }

    async fn list(&self, path: &'static str) -> Outcome<usize> {
        match self.0.get_children(path, false).await {
            Ok(names) => Ok(names.iter().filter(|name| !name.is_empty()).count()),
            Err(error) => failed(format!("{error:?}")),
        }
    }

    async fn candidate(self, mut seat: Seat) -> Outcome<()> {
        loop {
            let id = seat.number.to_string();
            let latch = LeaderLatch::new(Arc::clone(&self.0), id, seat.node.clone());
            latch.start().await.or_else(|error| failed(format!("{error:?}")))?;
            seat.is_in_place();
            // The latch has no future for it, and no callback.
            seat.poll(|| latch.has_leadership()).await;
            seat.leads();
            seat.resigns().await;
            latch.stop().await.or_else(|error| failed(format!("{error:?}")))?;
        }
    }

    async fn close(self) -> Outcome<()> {
        self.0.close().await.or_else(|error| failed(format!("{error:?}")))
    }
}
