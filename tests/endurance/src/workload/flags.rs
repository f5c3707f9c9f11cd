//! Ephemeral znodes that come and go.

use election_tokio::{CreateMode, Version};
use zk_test_kit::history::now;

use super::super::Record;
use super::super::laws::orders::Committed;
use super::FLAGS;
use super::tracker::Patience;
use super::worker::Worker;

/// Returns the flag of the client with this patience.
pub(super) fn path(patience: Patience) -> String {
    format!("{FLAGS}/{patience:?}")
}

/// Raises the flag and takes it down, for ever; in the end it may be up, and has to go with the
/// session.
pub(super) async fn raise(mut worker: Worker) -> Record {
    let path = path(worker.patience);
    while worker.writes_on() {
        let asked_at = now();
        let created = worker.client.create(&path, "", CreateMode::Ephemeral).await;
        let answered_at = now();
        let raised = match created {
            Ok(created) => {
                let zxid = created.stat.czxid.get();
                worker.record().committed.push(Committed { asked_at, answered_at, zxid });
                Ok(())
            }
            // An attempt with an unknown outcome has made it, or one in a session that is over.
            Err(error) if error.is_node_exists() => Ok(()),
            Err(error) => Err(error),
        };
        if raised.is_err() {
            worker.recover().await;
            continue;
        }
        worker.beat_and_rest().await;
        if !worker.writes_on() {
            break;
        }
        match worker.client.delete(&path, Version::ANY).await {
            Err(error) if !error.is_no_node() => worker.recover().await,
            Ok(()) | Err(_) => worker.beat_and_rest().await,
        }
    }
    worker.finish().await
}
