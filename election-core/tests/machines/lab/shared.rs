//! A part of a world that other worlds share until one of them changes it.

use core::fmt;
use core::ops::{Deref, DerefMut};
use std::rc::Rc;

/// What most steps leave as it is. A step that changes it by [`DerefMut`] has a copy made for its world.
#[derive(Clone)]
pub struct Shared<T>(Rc<T>);

impl<T> From<T> for Shared<T> {
    fn from(part: T) -> Self {
        Self(Rc::new(part))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Rc::make_mut(&mut self.0)
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
