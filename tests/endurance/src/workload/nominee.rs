//! A nominee that writes under the guard of its leadership, resigns after some time and stands
//! again.

use alloc::sync::Arc;
use std::sync::Mutex;

use election_tokio::election::{Leadership, Nomination};
use election_tokio::{CreateMode, OperationOutcome};
use zk_test_kit::history::Watchers;

use super::super::Record;
use super::super::laws::seals::Seal;
use super::worker::{Worker, Written, locked};
use super::{ELECTION, SEALS};

/// Writes of one leader, after which it resigns.
const TERM: usize = 60;

pub(super) async fn stand(mut worker: Worker, leaders: Arc<Mutex<Watchers>>) -> Record {
    while worker.writes_on() {
        let Ok(mut nomination) = worker.client.election(ELECTION).nominate() else {
            worker.recover().await;
            continue;
        };
        while let Some(leadership) = elected(&worker, &mut nomination).await {
            let name = format!("{:?}", nomination.id());
            locked(&leaders).watch(&name, Arc::clone(&leadership));
            if lead(&mut worker, &leadership).await == AfterAll::Resign {
                break;
            }
        }
        // The session, if it is over, has taken the candidate with it.
        let _ = nomination.withdraw().await;
    }
    worker.finish().await
}

/// The nominee's next step after a leadership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterAll {
    Resign,
    StandOn,
}

async fn elected(worker: &Worker, nomination: &mut Nomination) -> Option<Arc<Leadership>> {
    tokio::select! {
        elected = nomination.elected() => elected.ok().map(Arc::new),
        () = worker.until_quiet() => None,
    }
}

async fn lead(worker: &mut Worker, leadership: &Leadership) -> AfterAll {
    for _ in 0..TERM {
        let written = worker.attempt(async |_, entry| {
            let seal = Seal { token: leadership.token(), entry };
            let transaction = leadership.transaction();
            let (path, data) = (format!("{SEALS}/seal-"), seal.to_string());
            let results = transaction.create(&path, data, CreateMode::PersistentSequential);
            Ok(Written { place: place(&results.commit().await?), zxid: None })
        });
        if written.await.is_some() {
            worker.beat_and_rest().await;
        } else {
            worker.recover().await;
        }
        if !worker.writes_on() {
            return AfterAll::Resign;
        }
        if !leadership.is_valid() {
            // It may go on, if it is only suspended. A leadership that is lost once is lost.
            tokio::select! {
                _ = leadership.lost() => return AfterAll::StandOn,
                () = valid_again(worker, leadership) => {}
                () = worker.until_quiet() => return AfterAll::Resign,
            }
        }
    }
    AfterAll::Resign
}

async fn valid_again(worker: &Worker, leadership: &Leadership) {
    while !leadership.is_valid() {
        worker.recover().await;
    }
}

fn place(results: &[OperationOutcome]) -> String {
    match results {
        [OperationOutcome::Created(path)] => path.clone(),
        other => format!("{other:?}"),
    }
}
