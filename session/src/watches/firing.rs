//! Whom an event concerns.

use alloc::sync::Arc;
use alloc::vec::Vec;

use zk_jute::records::EventType;

use super::{Kind, Stage, Watches};

/// Whom an event concerns, and how.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Told<W> {
    /// A one-shot watch, which is gone now, with the kind of what it sees.
    Once(W, EventType),
    /// A persistent watch, with the path and the kind of what it sees.
    Again(W, Arc<str>, EventType),
}

impl<W: Clone> Watches<W> {
    /// Takes out the one-shot watchers that an event concerns, and lists the persistent ones.
    pub(crate) fn fire(&mut self, path: &str, event: EventType) -> Vec<Told<W>> {
        let mut told = Vec::new();
        let derived = self.derived.take();
        let again = event == EventType::NODE_CHILDREN_CHANGED && derived.as_deref() == Some(path);
        self.fire_at(path, event, &mut told);
        if again {
            told.retain(|told| matches!(told, Told::Once(..)));
        }
        if Kind::Recursive.is_fired_by(event) {
            self.tell_recursive(path, event, &mut told);
        }
        if matches!(event, EventType::NODE_CREATED | EventType::NODE_DELETED) {
            self.derive_change_of_children(path, &mut told);
        }
        told
    }

    /// The watches on exactly this path.
    fn fire_at(&mut self, path: &str, event: EventType, told: &mut Vec<Told<W>>) {
        let Some((path, at)) = self.by_path.get_key_value(path) else {
            return;
        };
        let (path, mut ids) = (Arc::clone(path), at.ids.clone());
        ids.retain(|id| {
            let kind = self.by_id.get(id).and_then(|watch| watch.stage.kind());
            kind.is_some_and(|kind| kind != Kind::Recursive && kind.is_fired_by(event))
        });
        if let Some(at) = self.by_path.get_mut(&path) {
            at.held = at.held.after(event);
        }
        for id in ids {
            match self.by_id.get(&id).map(|watch| &watch.stage) {
                Some(
                    Stage::Set(watcher, Kind::Persistent)
                    | Stage::Interrupted(watcher, Kind::Persistent),
                ) => told.push(Told::Again(watcher.clone(), Arc::clone(&path), event)),
                _ => told.extend(self.remove(id).map(|watcher| Told::Once(watcher, event))),
            }
        }
    }

    /// The recursive watches on this path and above it.
    fn tell_recursive(&self, path: &str, event: EventType, told: &mut Vec<Told<W>>) {
        let mut shared = None;
        for above in itself_and_above(path) {
            let ids = self.by_path.get(above).map_or(&[][..], |at| &at.ids);
            for id in ids {
                if let Some(
                    Stage::Set(watcher, Kind::Recursive)
                    | Stage::Interrupted(watcher, Kind::Recursive),
                ) = self.by_id.get(id).map(|watch| &watch.stage)
                {
                    let path = shared.get_or_insert_with(|| Arc::from(path));
                    told.push(Told::Again(watcher.clone(), Arc::clone(path), event));
                }
            }
        }
    }

    /// Servers before 3.9 keep one watch for each path: where it is a recursive one, they do not
    /// report that the list of children changed, but that a child came or went.
    fn derive_change_of_children(&mut self, path: &str, told: &mut Vec<Told<W>>) {
        let Some(parent) = itself_and_above(path).nth(1) else {
            return;
        };
        if self.by_path.get(parent).is_some_and(|at| at.held.is_recursive()) {
            let before = told.len();
            self.fire_at(parent, EventType::NODE_CHILDREN_CHANGED, told);
            if told.len() > before {
                self.derived = Some(Arc::from(parent));
            }
        }
    }
}

/// The path, and those of the znodes above it, up to the root.
fn itself_and_above(path: &str) -> impl Iterator<Item = &str> {
    core::iter::successors(Some(path), |&path| match path.rfind('/') {
        Some(0) if path.len() > 1 => Some("/"),
        Some(slash) if slash > 0 => path.get(..slash),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn above_a_path_are_its_ancestors() {
        let cases: [(&str, &[&str]); 4] = [
            ("/", &["/"]),
            ("/a", &["/a", "/"]),
            ("/a/b/c", &["/a/b/c", "/a/b", "/a", "/"]),
            ("no path", &["no path"]),
        ];
        for (path, expected) in cases {
            assert_eq!(itself_and_above(path).collect::<Vec<_>>(), expected);
        }
    }
}
