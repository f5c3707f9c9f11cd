//! Writing to the tree that clients keep in caches.

use zk_jute::records::{
    Acl, CreateMode, CreateRequest, DeleteRequest, MultiOp, MultiRequest, SetDataRequest,
};
use zk_jute::{Vector, Version};
use zk_session::Instant;

use super::Client;
use crate::recipes::{NAMES, TREE};

impl Client {
    /// Writes somewhere in the tree: one znode, or several in one transaction.
    pub(crate) fn write_to_the_tree(&mut self, now: Instant, rng: &mut fastrand::Rng) {
        if self.is_closed() {
            return;
        }
        let name = |rng: &mut fastrand::Rng| rng.choice(NAMES).unwrap_or("a");
        let above = format!("{TREE}/{}", name(rng));
        let below = format!("{above}/{}", name(rng));
        let text = rng.u32(..).to_string();
        let (data, version, acl) = (Some(text.as_bytes()), Version::ANY, Vector::<Acl<'_>>::OPEN);
        let path = if rng.bool() { &*above } else { &*below };
        let create = |path, mode| CreateRequest { path, data, acl, mode };
        match rng.u8(..12) {
            0..=2 => {
                for path in [TREE, &*above, path] {
                    self.submit(now, &create(path, CreateMode::PERSISTENT));
                }
            }
            3 | 4 => self.submit(now, &create(&below, CreateMode::EPHEMERAL)),
            5..=7 => self.submit(now, &SetDataRequest { path, data, version }),
            8 => self.submit(now, &DeleteRequest { path, version }),
            9 => {
                let root = if rng.u8(..4) == 0 { TREE } else { &*above };
                let paths = self.known_below(root);
                let deletions = paths.iter().map(|path| DeleteRequest { path, version });
                let deletions: Vec<_> = deletions.map(MultiOp::Delete).collect();
                self.submit(now, &MultiRequest::new(&deletions));
            }
            10 => {
                // Made again in one transaction: unseen in between.
                let made_again = [
                    MultiOp::Delete(DeleteRequest { path: &below, version }),
                    MultiOp::Create(create(&below, CreateMode::PERSISTENT)),
                ];
                self.submit(now, &MultiRequest::new(&made_again));
            }
            _ => {
                let other = format!("{above}/{}", name(rng));
                let moved = [
                    MultiOp::Delete(DeleteRequest { path: &below, version }),
                    MultiOp::Create(create(&other, CreateMode::PERSISTENT)),
                    MultiOp::SetData(SetDataRequest { path: &above, data, version }),
                ];
                self.submit(now, &MultiRequest::new(&moved));
            }
        }
    }

    /// Returns the paths of a znode and of all that its cache knows below it, those below others first.
    fn known_below(&self, root: &str) -> Vec<String> {
        let mut paths = vec![root.to_owned()];
        let mut at = 0;
        while let Some(path) = paths.get(at).cloned() {
            paths.extend(self.cached_children(&path).iter().map(|name| format!("{path}/{name}")));
            at += 1;
        }
        paths.reverse();
        paths
    }
}
