//! The clients of a world. Worlds share each one until one of them changes it, since a step changes one of three.

use core::fmt;
use core::ops::{Index, IndexMut};
use std::cell::OnceCell;
use std::rc::Rc;

use super::Model;
use super::client::Client;
use super::reading::Tape;

/// The clients, each by its index. What changes one by [`IndexMut`] has a copy made for this world, so
/// [`Clients::change`] asks first.
#[derive(Clone)]
pub struct Clients<M: Model>(Vec<Rc<Shared<M>>>);

#[derive(Clone)]
struct Shared<M: Model> {
    client: Client<M>,
    /// What its fingerprint is made of, as long as it is as it is.
    words: OnceCell<Tape<M::Name>>,
    /// The hash of all that is in it.
    whole: OnceCell<u64>,
}

impl<M: Model> Clients<M> {
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    pub fn push(&mut self, client: Client<M>) {
        self.0.push(Rc::new(Shared { client, words: OnceCell::new(), whole: OnceCell::new() }));
    }

    pub const fn len(&self) -> usize {
        self.0.len()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Client<M>> + Clone {
        self.0.iter().map(|shared| &shared.client)
    }

    /// Changes each client that this is true for.
    pub fn change(
        &mut self,
        concerns: impl Fn(&Client<M>) -> bool,
        mut change: impl FnMut(&mut Client<M>),
    ) {
        for i in 0..self.len() {
            if concerns(&self[i]) {
                change(&mut self[i]);
            }
        }
    }

    /// Returns the words of a client, which are made if it has changed since they were.
    pub(super) fn words(
        &self,
        i: usize,
        make: impl FnOnce(&Client<M>) -> Tape<M::Name>,
    ) -> &Tape<M::Name> {
        let Shared { client, words, .. } = &*self.0[i];
        words.get_or_init(|| make(client))
    }

    /// Returns the hashes of all that is in each client, which are made if it has changed since they were.
    pub(super) fn wholes(&self, make: impl Fn(&Client<M>) -> u64) -> impl Iterator<Item = u64> {
        self.0.iter().map(move |shared| *shared.whole.get_or_init(|| make(&shared.client)))
    }
}

impl<M: Model> Index<usize> for Clients<M> {
    type Output = Client<M>;

    fn index(&self, i: usize) -> &Client<M> {
        &self.0[i].client
    }
}

impl<M: Model> IndexMut<usize> for Clients<M> {
    fn index_mut(&mut self, i: usize) -> &mut Client<M> {
        let shared = Rc::make_mut(&mut self.0[i]);
        (shared.words, shared.whole) = Default::default();
        &mut shared.client
    }
}

impl<M: Model> fmt::Debug for Clients<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
