//! The random bytes of the ids that recipes get.

use core::sync::atomic::{AtomicU64, Ordering};

use election_core::NomineeId;

use crate::error::SharedError;

/// The random bytes of the ids that a client's recipes get: the operating system's, or drawn from a seed.
/// In a box, since nearly no client has one.
#[derive(Debug, Default)]
pub(crate) struct Ids(Option<Box<AtomicU64>>);

impl Ids {
    pub(crate) fn new(seed: Option<u64>) -> Self {
        Self(seed.map(|seed| Box::new(AtomicU64::new(seed))))
    }

    /// Returns a random id.
    pub(crate) fn nominee(&self) -> Result<NomineeId, SharedError> {
        self.draw().map(NomineeId::from_bytes)
    }

    /// Returns random bytes.
    pub(crate) fn draw<const N: usize>(&self) -> Result<[u8; N], SharedError> {
        let mut bytes = [0; N];
        match &self.0 {
            None => getrandom::fill(&mut bytes).map_err(SharedError::new)?,
            Some(state) => {
                for chunk in bytes.chunks_mut(size_of::<u64>()) {
                    for (byte, drawn) in chunk.iter_mut().zip(next(state).to_le_bytes()) {
                        *byte = drawn;
                    }
                }
            }
        }
        Ok(bytes)
    }
}

/// The next number of `SplitMix64`.
fn next(state: &AtomicU64) -> u64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut number = state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
    number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_ids_each_time_and_none_twice() {
        let draw = |ids: &Ids| ids.draw::<16>().expect("a seed draws without the operating system");
        let (one, other) = (Ids::new(Some(7)), Ids::new(Some(7)));
        let first = draw(&one);
        assert_eq!(first, draw(&other));
        assert_ne!(first, draw(&one));
        assert_ne!(first, draw(&Ids::new(Some(8))));
        assert_ne!(draw(&Ids::default()), draw(&Ids::default()));
    }
}
