//! Keeping a cached tree, and writing to what stands there.

use core::time::Duration;

use election_tokio::acl::Acls;
use election_tokio::cache::Cache;
use election_tokio::{Client, CreateMode, ErrorKind, Version};
use tokio::time::{sleep, timeout};
use zk_simulation::recipes::{NAMES, Part, TREE};

use crate::laws::Season;
use crate::life::{LONG, Life};

/// Returns a cache of a part of the tree.
fn cache(part: Part, client: &Client) -> Cache {
    let cache = client.cache(TREE);
    match part {
        Part::All => cache,
        Part::Names => cache.without_data(),
        Part::Children => cache.depth(1),
        Part::Filtered => cache.filter(move |path| part.keeps(path)),
    }
}

/// The end of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// It was dropped.
    Dropped,
    /// The client is closed, or a law is broken.
    Over,
}

impl Life {
    /// Keeps the tree, or a part of it, again and again; in the calm for good.
    pub(crate) async fn keep_trees(self, mut rng: fastrand::Rng) {
        while self.connected().await.is_some() {
            if self.keep_a_tree(Part::draw(&mut rng), &mut rng).await == Ended::Over {
                return;
            }
            sleep(Duration::from_millis(rng.u64(0..300))).await;
        }
    }

    async fn keep_a_tree(&self, part: Part, rng: &mut fastrand::Rng) -> Ended {
        let cache = cache(part, &self.client).keep().expect("the path is good");
        let mut changes = cache.changes();
        self.laws.cache_begins(self.number, part);
        let stays = self.laws.season_of_trees() == Season::Calm || rng.u8(..3) > 0;
        let time = Duration::from_millis(rng.u64(0..6_000));
        let end = async {
            if stays {
                core::future::pending::<()>().await;
            }
            sleep(time).await;
        };
        let mut end = core::pin::pin!(end);
        loop {
            let change = tokio::select! {
                biased;
                () = &mut end => return Ended::Dropped,
                change = changes.next() => change,
            };
            match change {
                Some(Ok(change)) => self.laws.cache_tells(self.number, change),
                Some(Err(error)) if matches!(error.kind(), ErrorKind::Closed) => {
                    return Ended::Over;
                }
                other => {
                    self.laws.broken(format!("{}: a cache ends with {other:?}", self.number));
                    return Ended::Over;
                }
            }
            if rng.u8(..4) == 0 {
                self.laws.cache_shows(self.number, part, &cache.snapshot());
            }
            if rng.u8(..32) == 0 {
                // A slow reader gets several changes as one.
                sleep(Duration::from_millis(rng.u64(0..500))).await;
            }
        }
    }

    /// Writes to the tree until the calm, by futures some of which are dropped.
    pub(crate) async fn write_to_the_tree(self, mut rng: fastrand::Rng) {
        while self.laws.season_of_trees() == Season::Storm && self.connected().await.is_some() {
            let patience = match rng.u8(..4) {
                0 => Duration::from_micros(rng.u64(0..20_000)),
                _ => LONG,
            };
            if let Ok(Ok(())) = timeout(patience, self.write_somewhere(&mut rng)).await {
                self.laws.count(|tally| tally.tree_writes += 1);
            }
            sleep(Duration::from_millis(rng.u64(0..300))).await;
        }
    }

    async fn write_somewhere(&self, rng: &mut fastrand::Rng) -> Result<(), ()> {
        let client = &self.client;
        let name = |rng: &mut fastrand::Rng| NAMES[rng.usize(..NAMES.len())];
        let above = format!("{TREE}/{}", name(rng));
        let below = format!("{above}/{}", name(rng));
        let path = if rng.bool() { &above } else { &below };
        let (data, open) = (rng.u32(..).to_string(), Acls::open());
        match rng.u8(..12) {
            0..=3 => {
                let created = client.create_with_parents(path, data, CreateMode::Persistent, &open);
                created.await.map(drop).map_err(drop)
            }
            4 => {
                let created =
                    client.create_with_parents(&below, data, CreateMode::Ephemeral, &open);
                created.await.map(drop).map_err(drop)
            }
            5..=7 => client.set_data(path, data, Version::ANY).await.map(drop).map_err(drop),
            8 => client.delete(path, Version::ANY).await.map_err(drop),
            9 => {
                let root = if rng.u8(..4) == 0 { TREE } else { &above };
                client.delete_tree(root).await.map(drop).map_err(drop)
            }
            10 => {
                // Made again in one transaction: unseen in between.
                let made_again = client.transaction().delete(&below, Version::ANY);
                let made_again = made_again.create(&below, data, CreateMode::Persistent);
                made_again.commit().await.map(drop).map_err(drop)
            }
            _ => {
                let other = format!("{above}/{}", name(rng));
                let moved = client.transaction().delete(&below, Version::ANY);
                let moved = moved.create(&other, data.clone(), CreateMode::Persistent);
                let moved = moved.set_data(&above, data, Version::ANY);
                moved.commit().await.map(drop).map_err(drop)
            }
        }
    }
}
