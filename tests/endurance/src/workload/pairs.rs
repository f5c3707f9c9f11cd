//! Transactions: each writes two znodes together, and a mark for each time.

use election_tokio::{Bytes, CreateMode, OperationOutcome, Stat, Version};

use super::super::Record;
use super::worker::{Worker, Written};

pub(crate) fn left(pair: &str) -> String {
    format!("{pair}/left")
}

pub(crate) fn right(pair: &str) -> String {
    format!("{pair}/right")
}

pub(crate) fn marks(pair: &str) -> String {
    format!("{pair}/marks")
}

pub(super) async fn write(mut worker: Worker, pair: &'static str) -> Record {
    let mut known: Option<Version> = None;
    while worker.writes_on() {
        known = match known {
            None => look(&mut worker, pair).await,
            Some(version) => write_both(&mut worker, pair, version).await,
        };
        match known {
            Some(_) => worker.beat_and_rest().await,
            None => worker.recover().await,
        }
    }
    worker.finish().await
}

async fn look(worker: &mut Worker, pair: &str) -> Option<Version> {
    let path = left(pair);
    worker.client.sync(&path).await.ok()?;
    let session = worker.session();
    let (data, stat) = worker.client.get_data(&path).await.ok()?;
    worker.saw(session, &path, &data, &stat);
    Some(stat.version)
}

async fn write_both(worker: &mut Worker, pair: &str, version: Version) -> Option<Version> {
    let (left, right) = (left(pair), right(pair));
    let mut written = None;
    let session = worker.session();
    let result = &mut written;
    worker
        .attempt(async |client, entry| {
            let data = Bytes::from(entry.to_string());
            let transaction = client
                .transaction()
                .set_data(&left, data.clone(), version)
                .set_data(&right, data.clone(), version)
                .create(&format!("{}/mark-", marks(pair)), data.clone(), MARK);
            let (place, stats) = both(transaction.commit().await?);
            let zxid = stats.map(|[left, _]| left.mzxid.get());
            *result = stats.map(|stats| (data, stats));
            Ok(Written { place, zxid })
        })
        .await?;
    let (data, [left_stat, right_stat]) = written?;
    worker.saw(session, &left, &data, &left_stat);
    worker.saw(session, &right, &data, &right_stat);
    Some(left_stat.version)
}

const MARK: CreateMode = CreateMode::PersistentSequential;

/// Returns the place of the mark, and the metadata of the two znodes. Other results have no place,
/// which the law of writes finds.
fn both(results: Vec<OperationOutcome>) -> (String, Option<[Stat; 2]>) {
    use OperationOutcome::{Created, DataSet as Set};
    match <[OperationOutcome; 3]>::try_from(results) {
        Ok([Set(left), Set(right), Created(mark)]) => (mark, Some([left, right])),
        Ok(other) => (format!("{other:?}"), None),
        Err(other) => (format!("{other:?}"), None),
    }
}
