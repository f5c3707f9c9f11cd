//! The leaders of an election, or the holders of a lock, that were valid so far.

use std::collections::BTreeSet;

use election_core::format::Access;
use election_core::{NomineeId, Token};

use super::{Broken, access_of, name};
use crate::outcome::Law;
use crate::queue::{Kind, PERMITS, Queue};

/// A leader, or a holder, that would answer "yes" if it was asked at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Valid {
    pub(crate) nominee: NomineeId,
    pub(crate) token: Token,
}

/// The holders of one queue.
///
/// Validity begins only by something that a client takes in, and ends by that or by its clock. So
/// if two that exclude each other are valid at any moment, they are so right after the step by which the
/// later of the two became valid, and looking after each step misses nothing.
#[derive(Debug)]
pub(crate) struct Holders {
    kind: Kind,
    /// The holder that held alone last.
    last: Option<Valid>,
    /// Readers since then; of a semaphore, all that have held.
    readers: BTreeSet<Token>,
    /// The greatest token of a reader.
    last_reader: Option<Token>,
    /// How many have held alone, one after the other.
    pub(crate) alone: u64,
    /// How many have held as readers.
    pub(crate) shared: u64,
    /// How many of those began while another one held.
    pub(crate) together: u64,
    /// How many have held a permit.
    pub(crate) permits: u64,
}

impl Holders {
    pub(crate) const fn new(queue: Queue) -> Self {
        Self {
            kind: queue.kind(),
            last: None,
            readers: BTreeSet::new(),
            last_reader: None,
            alone: 0,
            shared: 0,
            together: 0,
            permits: 0,
        }
    }

    /// Takes in which are valid right now.
    pub(crate) fn check(&mut self, valid: impl Iterator<Item = Valid>) -> Result<(), Broken> {
        if self.kind == Kind::Semaphore {
            return self.permits(valid);
        }
        let (mut alone, mut reader) = (None, None);
        let mut readers = 0_u64;
        for holder in valid {
            let is_reader = access_of(holder.nominee) == Access::Shared;
            let other = if is_reader { alone } else { alone.or(reader) };
            if let Some(other) = other {
                return Err((self.law(), format!("{} and {}", show(other), show(holder))));
            }
            if is_reader {
                readers += 1;
                reader = Some(holder);
                self.reader(holder)?;
                self.together += u64::from(self.readers.insert(holder.token) && readers > 1);
            } else {
                alone = Some(holder);
            }
        }
        alone.map_or(Ok(()), |holder| self.alone(holder))
    }

    /// Checks that no more hold than there are permits.
    fn permits(&mut self, valid: impl Iterator<Item = Valid>) -> Result<(), Broken> {
        let mut count = 0;
        for holder in valid {
            count += 1;
            if count > PERMITS {
                return Err((Law::Permits, format!("{} beside {PERMITS}", show(holder))));
            }
            self.permits += u64::from(self.readers.insert(holder.token));
        }
        Ok(())
    }

    const fn law(&self) -> Law {
        match self.kind {
            Kind::Election => Law::OneValidLeader,
            Kind::Lock | Kind::SharedLock | Kind::Semaphore | Kind::Turn => Law::OneHolder,
        }
    }

    /// Checks that its token is greater than those of all before.
    fn alone(&mut self, holder: Valid) -> Result<(), Broken> {
        match self.last {
            Some(last) if last == holder => return Ok(()),
            Some(last) if holder.token <= last.token => {
                return Err((Law::TokensGrow, format!("{} after {}", show(holder), show(last))));
            }
            Some(_) | None => {}
        }
        if let Some(reader) = self.last_reader.filter(|reader| holder.token <= *reader) {
            let detail = format!("{} after a reader with {reader:?}", show(holder));
            return Err((Law::TokensGrow, detail));
        }
        self.last = Some(holder);
        self.readers.clear();
        self.alone += 1;
        Ok(())
    }

    /// Checks that its token is greater than those of all before that held alone.
    fn reader(&mut self, holder: Valid) -> Result<(), Broken> {
        if let Some(last) = self.last.filter(|last| holder.token <= last.token) {
            return Err((Law::TokensGrow, format!("{} after {}", show(holder), show(last))));
        }
        self.shared += u64::from(!self.readers.contains(&holder.token));
        self.last_reader = self.last_reader.max(Some(holder.token));
        Ok(())
    }
}

fn show(Valid { nominee, token }: Valid) -> String {
    format!("{} with token {token:?}", name(nominee))
}
