//! The watches that an event fires.

use alloc::sync::Arc;
use alloc::vec::Vec;

use zk_jute::records::EventType;

use super::kind::Kind;
use super::{WatchState, Watches};

/// The delivery of an event to one watcher.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Delivery<W> {
    /// A one-shot watch, which is gone now, gets the kind of the event.
    Fired(W, EventType),
    /// A persistent watch gets the path and the kind of the event.
    Changed(W, Arc<str>, EventType),
}

impl<W: Clone> Watches<W> {
    /// Takes out the one-shot watchers that an event concerns, and lists the persistent ones.
    pub(crate) fn fire(&mut self, path: &str, event: EventType) -> Vec<Delivery<W>> {
        let mut deliveries = Vec::new();
        let derived = self.derived.take();
        let again = event == EventType::NODE_CHILDREN_CHANGED && derived.as_deref() == Some(path);
        self.fire_at(path, event, &mut deliveries);
        if again {
            deliveries.retain(|delivery| matches!(delivery, Delivery::Fired(..)));
        }
        if Kind::Recursive.is_fired_by(event) {
            self.fire_recursive(path, event, &mut deliveries);
        }
        if matches!(event, EventType::NODE_CREATED | EventType::NODE_DELETED) {
            self.derive_change_of_children(path, &mut deliveries);
        }
        deliveries
    }

    /// Fires the watches on exactly this path.
    fn fire_at(&mut self, path: &str, event: EventType, deliveries: &mut Vec<Delivery<W>>) {
        let Some((path, at)) = self.by_path.get_key_value(path) else {
            return;
        };
        let path = Arc::clone(path);
        let mut fired = Vec::new();
        for (id, watch) in self.table.row(at) {
            let kind = watch.state.kind();
            if kind.is_some_and(|kind| kind != Kind::Recursive && kind.is_fired_by(event)) {
                fired.push(id);
            }
        }
        if let Some(at) = self.by_path.get_mut(&path) {
            at.held = at.held.after(event);
        }
        for id in fired {
            match self.table.get(id).map(|watch| &watch.state) {
                Some(
                    WatchState::Set(watcher, Kind::Persistent)
                    | WatchState::Interrupted(watcher, Kind::Persistent),
                ) => deliveries.push(Delivery::Changed(watcher.clone(), Arc::clone(&path), event)),
                _ => deliveries
                    .extend(self.remove(id).map(|watcher| Delivery::Fired(watcher, event))),
            }
        }
    }

    /// Fires the recursive watches on this path and above it.
    fn fire_recursive(&self, path: &str, event: EventType, deliveries: &mut Vec<Delivery<W>>) {
        let mut shared = None;
        for above in itself_and_above(path) {
            let at = self.by_path.get(above);
            for (_, watch) in at.into_iter().flat_map(|at| self.table.row(at)) {
                if let WatchState::Set(watcher, Kind::Recursive)
                | WatchState::Interrupted(watcher, Kind::Recursive) = &watch.state
                {
                    let path = shared.get_or_insert_with(|| Arc::from(path));
                    deliveries.push(Delivery::Changed(watcher.clone(), Arc::clone(path), event));
                }
            }
        }
    }

    /// Derives a change of the list of children. Servers before 3.9 keep one watch for each path;
    /// if it is a recursive one, they do not report that the list of children changed, but that a
    /// child came or went.
    fn derive_change_of_children(&mut self, path: &str, deliveries: &mut Vec<Delivery<W>>) {
        let Some(parent) = itself_and_above(path).nth(1) else {
            return;
        };
        if self.by_path.get(parent).is_some_and(|at| at.held.is_recursive()) {
            let before = deliveries.len();
            self.fire_at(parent, EventType::NODE_CHILDREN_CHANGED, deliveries);
            if deliveries.len() > before {
                self.derived = Some(Arc::from(parent));
            }
        }
    }
}

/// Returns the path and the paths above it, up to the root.
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
