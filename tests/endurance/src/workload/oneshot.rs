//! A client that sets a one-shot watch again for ever, and reads beside it; no read may overtake the
//! watch.

use core::future::{Future as _, poll_fn};
use core::pin::Pin;
use core::task::Poll;
use core::time::Duration;

use election_tokio::{
    Error, Stat,
    watch::{OneshotWatch, WatchEvent, WatchLost},
};

use super::super::Record;
use super::super::laws::vigils::{Ending, Look, State, Vigil, Watched};
use super::worker::Worker;

/// Between two looks at what is watched.
const LOOK: Duration = Duration::from_millis(40);

pub(super) async fn keep(mut worker: Worker, watched: Watched, path: String) -> Record {
    watch(&mut worker, watched, &path).await;
    worker.finish().await
}

/// Does the same, for a client that does something else too.
pub(super) async fn watch(worker: &mut Worker, watched: Watched, path: &str) {
    let mut before: Option<(Look, Option<State>, Ending)> = None;
    while worker.observes_on() {
        let session = worker.session();
        let Ok((state, mut watch)) = set(worker, watched, path).await else {
            worker.recover().await;
            continue;
        };
        let first = look(worker, session, state);
        note(worker, (watched, path), before.take(), first);
        let (overtaken_by, ending) = wait(worker, (watched, path), first, &mut watch).await;
        if ending == Ending::Waiting && overtaken_by.is_none() {
            let (ending, last) = last_look(worker, (watched, path), &mut watch).await;
            note(worker, (watched, path), Some((first, overtaken_by, ending)), last);
        } else {
            before = Some((first, overtaken_by, ending));
            // No rest: a watch is to be there whenever something changes.
            worker.beat();
        }
    }
}

fn note(
    worker: &mut Worker,
    (watched, path): (Watched, &str),
    watch: Option<(Look, Option<State>, Ending)>,
    next: Look,
) {
    if let Some((first, overtaken_by, ending)) = watch {
        let path = path.to_owned();
        worker.record().vigils.push(Vigil { path, watched, first, overtaken_by, ending, next });
    }
}

fn look(worker: &Worker, before: Option<i64>, state: State) -> Look {
    Look { state, session: before.filter(|_| worker.session() == before) }
}

async fn set(
    worker: &Worker,
    watched: Watched,
    path: &str,
) -> Result<(State, OneshotWatch), Error> {
    let client = &worker.client;
    match watched {
        Watched::Data => {
            let (_, stat, watch) = client.get_data_and_watch(path).await?;
            Ok((State::Since(stat.mzxid.get()), watch))
        }
        Watched::Existence => {
            let (stat, watch) = client.exists_and_watch(path).await?;
            Ok((state(watched, stat), watch))
        }
        Watched::Children => {
            let (children, watch) = client.get_children_and_watch(path).await?;
            Ok((State::Since(children.stat().pzxid.get()), watch))
        }
    }
}

fn state(watched: Watched, stat: Option<Stat>) -> State {
    stat.map_or(State::Absent, |stat| {
        State::Since(match watched {
            Watched::Data | Watched::Existence => stat.mzxid.get(),
            Watched::Children => stat.pzxid.get(),
        })
    })
}

/// Waits for the event, and looks meanwhile: nothing else than at first is to be seen before it.
async fn wait(
    worker: &Worker,
    (watched, path): (Watched, &str),
    first: Look,
    watch: &mut OneshotWatch,
) -> (Option<State>, Ending) {
    loop {
        tokio::select! {
            biased;
            event = &mut *watch => return (None, ending(event)),
            () = worker.until_over() => return (None, Ending::Waiting),
            () = tokio::time::sleep(LOOK) => {}
        }
        let Ok(stat) = worker.client.exists(path).await else {
            worker.recover().await;
            continue;
        };
        let seen = state(watched, stat);
        if seen != first.state {
            // The event came before the answer, or the session is over.
            return match at_once(watch).await {
                Some(event) => (None, ending(event)),
                None => (Some(seen), Ending::Waiting),
            };
        }
    }
}

/// Looks once more when nothing changes any more: every change is to be reported before a read
/// shows it.
async fn last_look(
    worker: &Worker,
    (watched, path): (Watched, &str),
    watch: &mut OneshotWatch,
) -> (Ending, Look) {
    loop {
        let session = worker.session();
        if worker.client.sync(path).await.is_ok()
            && let Ok(stat) = worker.client.exists(path).await
        {
            let last = look(worker, session, state(watched, stat));
            return (at_once(watch).await.map_or(Ending::Waiting, ending), last);
        }
        worker.recover().await;
    }
}

async fn at_once(watch: &mut OneshotWatch) -> Option<Result<WatchEvent, WatchLost>> {
    poll_fn(|cx| match Pin::new(&mut *watch).poll(cx) {
        Poll::Ready(event) => Poll::Ready(Some(event)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

fn ending(event: Result<WatchEvent, WatchLost>) -> Ending {
    match event {
        Ok(event) => {
            Ending::Fired { kind: event.kind, zxid: event.zxid.map(election_tokio::Zxid::get) }
        }
        Err(WatchLost) => Ending::Lost,
    }
}
