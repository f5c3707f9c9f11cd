//! Two clients that append to one ledger, each under the version that it knows, so that the server
//! refuses one of them.
//!
//! A page is one znode, an entry one line of its data. Its version counts its lines.

use election_tokio::{Bytes, CreateMode, Error, Version};

use super::super::Record;
use super::LEDGER;
use super::worker::{Worker, Written};

/// Lines to a page.
const FULL: i32 = 100;

/// The last page, as far as is known.
struct Page {
    path: String,
    data: Bytes,
    version: Version,
}

pub(super) async fn keep(mut worker: Worker) -> Record {
    let mut known: Option<Page> = None;
    while worker.writes_on() {
        known = match known.take() {
            None => open(&mut worker).await,
            Some(page) if page.version.get() >= FULL => turn(&mut worker, &page).await,
            Some(page) => append(&mut worker, page).await,
        };
        match known {
            Some(_) => worker.beat_and_rest().await,
            None => worker.recover().await,
        }
    }
    worker.finish().await
}

/// Returns the path of a page by its number.
pub(crate) fn page_path(number: usize) -> String {
    format!("{LEDGER}/page-{number:06}")
}

/// Returns the path of the last page.
pub(super) async fn last_page(worker: &Worker) -> Result<String, Error> {
    let pages = worker.client.get_children(LEDGER).await?;
    let last = pages.iter().max().map(|name| format!("{LEDGER}/{name}"));
    Ok(last.unwrap_or_else(|| page_path(0)))
}

async fn open(worker: &mut Worker) -> Option<Page> {
    worker.client.sync(LEDGER).await.ok()?;
    let path = last_page(worker).await.ok()?;
    let session = worker.session();
    let (data, stat) = worker.client.get_data(&path).await.ok()?;
    worker.saw(session, &path, &data, &stat);
    Some(Page { path, data, version: stat.version })
}

/// Begins the next page, unless the other one did.
async fn turn(worker: &mut Worker, full: &Page) -> Option<Page> {
    let number: usize = full.path.rsplit('-').next()?.parse().ok()?;
    let path = page_path(number + 1);
    let created = worker.client.create(&path, "", CreateMode::Persistent).await;
    match created {
        Ok(created) => Some(Page { path, data: Bytes::new(), version: created.stat.version }),
        Err(error) if error.is_node_exists() => open(worker).await,
        Err(_) => None,
    }
}

async fn append(worker: &mut Worker, page: Page) -> Option<Page> {
    let mut written = None;
    let session = worker.session();
    let result = &mut written;
    worker
        .attempt(async |client, entry| {
            let data = Bytes::from([&page.data, format!("{entry}\n").as_bytes()].concat());
            let stat = client.set_data(&page.path, data.clone(), page.version).await?;
            let place = format!("{}:{}", page.path, stat.version.get());
            *result = Some((data, stat));
            Ok(Written { place, zxid: Some(stat.mzxid.get()) })
        })
        .await?;
    let (data, stat) = written?;
    worker.saw(session, &page.path, &data, &stat);
    Some(Page { data, version: stat.version, ..page })
}
