//! Sequential znodes, one for each entry.

use election_tokio::CreateMode;

use super::super::Record;
use super::ITEMS;
use super::worker::{Worker, Written};

pub(super) async fn create(mut worker: Worker) -> Record {
    while worker.writes_on() {
        let created = worker
            .attempt(async |client, entry| {
                let (path, data) = (format!("{ITEMS}/item-"), entry.to_string());
                let mode = CreateMode::PersistentSequential;
                let created = client.create(&path, data, mode).await?;
                Ok(Written { place: created.path, zxid: Some(created.stat.czxid.get()) })
            })
            .await;
        match created {
            Some(_) => worker.beat_and_rest().await,
            None => worker.recover().await,
        }
    }
    worker.finish().await
}
