//! A client that reads what the others write, on one znode after another.

use super::super::Record;
use super::worker::Worker;
use super::{PAIRS, ledger, pairs};

pub(super) async fn read(mut worker: Worker) -> Record {
    let pairs = PAIRS.map(|pair| [pairs::left(pair), pairs::right(pair)]);
    while worker.observes_on() {
        // The ledger grows by another page now and then.
        let page = ledger::last_page(&worker).await.ok();
        for path in pairs.iter().flatten().chain(&page) {
            let session = worker.session();
            match worker.client.get_data(path).await {
                Ok((data, stat)) => {
                    worker.saw(session, path, &data, &stat);
                    worker.beat_and_rest().await;
                }
                Err(_) => worker.recover().await,
            }
        }
    }
    worker.finish().await
}
