//! The machines of a client, by their numbers: most clients have one.

use super::client::Actor;

/// Machines in the order of their numbers. Worlds are cloned more than they are searched, and a map would take the room
/// of eleven.
#[derive(Clone, Debug)]
pub struct Actors<T>(Vec<(Actor, T)>);

impl<T> Actors<T> {
    /// Returns the machine as number 0, if there is one.
    pub fn of(machine: Option<T>) -> Self {
        Self(machine.map(|machine| (0, machine)).into_iter().collect())
    }

    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> core::slice::Iter<'_, (Actor, T)> {
        self.0.iter()
    }

    pub fn numbers(&self) -> Vec<Actor> {
        self.iter().map(|(number, _)| *number).collect()
    }

    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.iter().map(|(_, machine)| machine)
    }

    pub fn get(&self, actor: Actor) -> Option<&T> {
        self.iter().find(|(number, _)| *number == actor).map(|(_, machine)| machine)
    }

    pub fn get_mut(&mut self, actor: Actor) -> Option<&mut T> {
        self.0.iter_mut().find(|(number, _)| *number == actor).map(|(_, machine)| machine)
    }

    /// Puts a machine in the place of the one of this number, if there is one.
    pub fn insert(&mut self, actor: Actor, machine: T) {
        match self.0.binary_search_by_key(&actor, |(number, _)| *number) {
            Ok(at) => self.0[at].1 = machine,
            Err(at) => self.0.insert(at, (actor, machine)),
        }
    }

    pub fn remove(&mut self, actor: Actor) -> Option<T> {
        let at = self.0.iter().position(|(number, _)| *number == actor)?;
        Some(self.0.remove(at).1)
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}
