//! A list that mostly holds one thing, without room for more.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// A list of few things.
#[derive(Debug)]
pub(crate) enum Few<T> {
    None,
    One(T),
    Several(Box<[T]>),
}

impl<T> Few<T> {
    pub(crate) fn push(&mut self, new: T) {
        *self = match core::mem::replace(self, Self::None) {
            Self::None => Self::One(new),
            Self::One(one) => Self::Several(Box::new([one, new])),
            Self::Several(several) => {
                let mut several = several.into_vec();
                several.push(new);
                Self::Several(several.into())
            }
        };
    }

    /// Drops those of which `is_kept` denies that they are.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(&T) -> bool) {
        match self {
            Self::None => {}
            Self::One(one) => {
                if !is_kept(one) {
                    *self = Self::None;
                }
            }
            Self::Several(several) => {
                let mut kept: Vec<T> = core::mem::take(several).into_vec();
                kept.retain(is_kept);
                *self = match kept.len() {
                    0 | 1 => kept.pop().map_or(Self::None, Self::One),
                    _ => Self::Several(kept.into()),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_stays_in_order() {
        let mut few = Few::None;
        for number in 0..5 {
            few.push(number);
        }
        let shown = |few: &mut Few<u32>| {
            let mut seen = Vec::new();
            few.retain(|number| {
                seen.push(*number);
                true
            });
            seen
        };
        assert_eq!(shown(&mut few), [0, 1, 2, 3, 4]);
        few.retain(|number| number % 2 == 1);
        assert_eq!(shown(&mut few), [1, 3]);
        few.retain(|number| *number == 3);
        assert!(matches!(few, Few::One(3)));
        few.retain(|_| false);
        assert!(matches!(few, Few::None) && shown(&mut few).is_empty());
    }
}
