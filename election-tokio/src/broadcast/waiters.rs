//! The receivers of one value that wait for another.

use core::task::Waker;

/// The number of a waiting receiver; never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WaiterId(u64);

impl WaiterId {
    pub(super) const FIRST: Self = Self(0);

    pub(super) const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The receivers that wait for another value. Mostly one or none waits, which takes no allocation.
pub(super) enum Waiters {
    Nobody,
    One(WaiterId, Waker),
    /// By number.
    Several(Vec<(WaiterId, Waker)>),
    /// There is no other value to come.
    Over,
}

impl Waiters {
    pub(super) fn hand_out(self, wakers: &mut Vec<Waker>) {
        match self {
            Self::Nobody | Self::Over => {}
            Self::One(_, waker) => wakers.push(waker),
            Self::Several(several) => wakers.extend(several.into_iter().map(|(_, waker)| waker)),
        }
    }

    /// Registers a waker, and returns the one that is not needed: that which it replaces, or itself
    /// if nothing else comes.
    pub(super) fn wait(&mut self, waiter: WaiterId, waker: Waker) -> Option<Waker> {
        match self {
            Self::Nobody => {
                *self = Self::One(waiter, waker);
                None
            }
            Self::One(known, replaced) if *known == waiter => {
                Some(core::mem::replace(replaced, waker))
            }
            Self::One(..) => {
                if let Self::One(known, first) = core::mem::replace(self, Self::Nobody) {
                    *self = Self::Several(vec![(known, first)]);
                }
                self.wait(waiter, waker)
            }
            Self::Several(several) => match several.binary_search_by_key(&waiter, |(at, _)| *at) {
                Ok(at) => several.get_mut(at).map(|(_, known)| core::mem::replace(known, waker)),
                Err(at) => {
                    several.insert(at, (waiter, waker));
                    None
                }
            },
            Self::Over => Some(waker),
        }
    }

    pub(super) fn stop(&mut self, waiter: WaiterId) -> Option<Waker> {
        match self {
            Self::Several(several) => {
                let at = several.binary_search_by_key(&waiter, |(at, _)| *at).ok()?;
                Some(several.remove(at).1)
            }
            Self::One(known, _) if *known == waiter => {
                match core::mem::replace(self, Self::Nobody) {
                    Self::One(_, waker) => Some(waker),
                    _ => None,
                }
            }
            Self::Nobody | Self::One(..) | Self::Over => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(waiters: Waiters) -> usize {
        let mut wakers = Vec::new();
        waiters.hand_out(&mut wakers);
        wakers.len()
    }

    #[test]
    fn each_waiter_waits_once_until_it_stops() {
        let [first, second, third] = [1, 2, 3].map(WaiterId);
        let waker = || Waker::noop().clone();
        let mut waiters = Waiters::Nobody;
        assert!(waiters.stop(first).is_none());
        assert!(waiters.wait(first, waker()).is_none());
        assert!(waiters.wait(first, waker()).is_some(), "its former waker is not needed");
        assert!(waiters.stop(second).is_none());
        assert!(waiters.stop(first).is_some() && waiters.stop(first).is_none());
        for waiter in [first, third, second] {
            assert!(waiters.wait(waiter, waker()).is_none());
            assert!(waiters.wait(waiter, waker()).is_some());
        }
        assert!(waiters.stop(third).is_some() && waiters.stop(third).is_none());
        assert_eq!(count(waiters), 2);
    }

    #[test]
    fn nobody_waits_for_what_is_over() {
        let mut waiters = Waiters::Over;
        assert!(waiters.wait(WaiterId::FIRST, Waker::noop().clone()).is_some());
        assert!(waiters.stop(WaiterId::FIRST).is_none());
        assert_eq!(count(waiters), 0);
    }
}
