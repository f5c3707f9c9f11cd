//! How the names of contenders are made and read: one value for each library that there is.
//!
//! A name is `start`, an id, a separator, a label and the number that the server appends. The label
//! says what the contender wants ([`Access`]); the number alone says which contender was first.

mod hand_over;
mod known;
mod layout;
#[cfg(test)]
mod tests;

use core::fmt::{self, Write as _};

use heapless::String;

use crate::access::Access;
use crate::id::{NomineeId, SessionId};
use crate::name::{CAPACITY, CandidateName, DIGITS, NameError, Sequence};
pub use hand_over::HandOverMark;
pub use layout::{Downgrade, IdInName, Label, Layout, LayoutError, Revocation};

/// How the contenders of an election or a lock are called, and which children are contenders.
///
/// All participants of one election or lock have to use one format: those of two formats do not see
/// each other, and two would hold at once. A child that [`child`](Self::child) tells as
/// [`Child::Foreign`] is a sign of such a mix.
///
/// Every format orders contenders by the number that the server appended. Other libraries compare its
/// ten digits as text, which is the same up to [`Sequence::LAST`]; beyond that nothing is a contender
/// here ([`Child::Exhausted`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Format(&'static Layout);

/// What a child of an election node or a lock is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Child {
    /// A contender.
    Contender {
        /// What it wants.
        access: Access,
        /// Its place in the order.
        sequence: Sequence,
    },
    /// A contender with a number that the server gives more than once.
    Exhausted,
    /// The sign that there is nothing to contend for any more.
    Tombstone,
    /// A sequential znode of another format: it may be a contender that does not see those of this one.
    Foreign,
    /// No contender.
    Other,
}

/// How a contender clears up a create after its reply was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// By the id of the contender in the name.
    Id,
    /// By the session in the name, and the znode's owner: a session has one contender in each place.
    SessionInName,
    /// By the znode's owner, and a `czxid` later than those of the contender's earlier znodes: a session
    /// has one contender in each place. The data is not compared: all that the session owns there is the
    /// contender's, also what an operator has written to since.
    Owner,
}

impl Format {
    /// A format of one's own.
    ///
    /// # Errors
    ///
    /// What makes names of this layout ambiguous, or too long to be kept.
    pub const fn custom(layout: &'static Layout) -> Result<Self, LayoutError> {
        match layout.check() {
            Ok(()) => Ok(Self(layout)),
            Err(error) => Err(error),
        }
    }

    /// What its names are made of.
    pub const fn layout(self) -> &'static Layout {
        self.0
    }

    /// How a create in doubt is cleared up.
    pub const fn recovery(self) -> Recovery {
        match self.0.id {
            IdInName::Uuid | IdInName::Hex => Recovery::Id,
            IdInName::SessionDecimal => Recovery::SessionInName,
            IdInName::None => Recovery::Owner,
        }
    }

    /// The child by which an election node says that its election is ended, in formats in which one can be: in
    /// that of Curator's leader latch, which elections have, and in those of one's own that name a child.
    ///
    /// Curator's latches order children by what follows on `latch-`, so they have it behind all candidates. In
    /// other formats participants fail at such a child, or take it for one of them.
    pub const fn end_mark(self) -> Option<&'static str> {
        self.0.end_mark
    }

    /// Whether a contender can ask for this access.
    pub const fn offers(self, access: Access) -> bool {
        self.0.label(access).is_some()
    }

    /// What the child called `name` is.
    pub fn child(self, name: &str) -> Child {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (before, digits) = name.split_at(name.len() - digits);
        if digits.is_empty() {
            return self.not_sequential(name);
        }
        if before.strip_suffix('-').is_some_and(|before| self.label_at_end(before).is_some()) {
            return Child::Exhausted;
        }
        match (self.label_at_end(before), digits.len() == DIGITS) {
            (Some(access), true) => {
                let number = digits.parse().ok().and_then(Sequence::new);
                number.map_or(Child::Exhausted, |sequence| Child::Contender { access, sequence })
            }
            (None, true) => Child::Foreign,
            (_, false) => self.not_sequential(name),
        }
    }

    /// Reads a contender's name.
    ///
    /// # Errors
    ///
    /// [`NameError`] if it is none, or cannot be kept.
    pub fn parse(self, name: &str) -> Result<CandidateName, NameError> {
        match self.child(name) {
            Child::Contender { .. } => CandidateName::new(name),
            Child::Exhausted => Err(NameError::SequenceExhausted),
            Child::Tombstone | Child::Foreign | Child::Other => Err(NameError::NotACandidate),
        }
    }

    /// The rule of a queue for [`place`](crate::place::place): the number of the child called `name`, if
    /// it cannot hold together with a contender that has this access. A reader is not in the way of
    /// another reader.
    pub fn rival(self, own: Access, name: &str) -> Option<Sequence> {
        match self.child(name) {
            Child::Contender { access, sequence } if access.excludes(own) => Some(sequence),
            _ => None,
        }
    }

    /// Whether the end of the contender called `name` leaves nothing in the way of one with this
    /// access: a writer may leave a reader with its own number behind.
    pub(crate) fn goes_for_good(self, own: Access, name: &str) -> bool {
        match (self.0.downgrade, own, self.child(name)) {
            (Downgrade::None, _, _) | (_, Access::Shared, _) => true,
            (Downgrade::KeepsNumber, Access::Exclusive, Child::Contender { access, .. }) => {
                access == Access::Shared
            }
            (Downgrade::KeepsNumber, Access::Exclusive, _) => false,
        }
    }

    /// What a driver appends to the node's path to create a contender with this id and access, by its
    /// create number `attempt`. `None` if the format has no id of that kind in its names, or does not
    /// offer the access.
    pub const fn prefix(
        self,
        access: Access,
        id: NomineeId,
        attempt: u32,
    ) -> Option<CandidatePrefix> {
        match (self.recovery(), self.offers(access)) {
            (Recovery::Id, true) => {
                Some(CandidatePrefix { format: self, access, mark: Mark::Id(id.plus(attempt)) })
            }
            _ => None,
        }
    }

    /// What a driver appends to the node's path to create a contender with this access in this session.
    /// `None` if the format has ids of contenders in its names, or does not offer the access.
    pub const fn session_prefix(
        self,
        access: Access,
        session: SessionId,
    ) -> Option<CandidatePrefix> {
        let mark = match (self.recovery(), self.offers(access)) {
            (Recovery::SessionInName, true) => Mark::Session(session),
            (Recovery::Owner, true) => Mark::None,
            _ => return None,
        };
        Some(CandidatePrefix { format: self, access, mark })
    }

    /// Whether `name` was created under this id, by any attempt, in this session or another; also
    /// where it ends in a number that the server gives more than once.
    pub fn owns(self, id: NomineeId, name: &str) -> bool {
        let Some((text, _)) = self.id_text(name) else {
            return false;
        };
        // Every name of a listing comes by here, and nearly all differ in the first two digits.
        let [first, ..] = id.to_bytes();
        let looks_own = text.get(..2).is_some_and(|two| u8::from_str_radix(two, 16) == Ok(first));
        looks_own && self.0.id.read(text).is_some_and(|made| id.is_of_one_nominee_with(made))
    }

    /// The id in a name that a server made of a prefix of this format, as text, and what it is for.
    fn id_text(self, name: &str) -> Option<(&str, Access)> {
        let layout = self.0;
        let rest = name.strip_prefix(layout.start)?;
        let (id, rest) = rest.split_at_checked(layout.id.length()?)?;
        let rest = rest.strip_prefix(layout.separator)?;
        let digits = rest.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (label, digits) = rest.split_at(rest.len() - digits);
        let is_own = |label: &str| {
            let accesses = [Access::Exclusive, Access::Shared];
            accesses.into_iter().find(|access| layout.label(*access) == Some(label))
        };
        let access = is_own(label).or_else(|| is_own(label.strip_suffix('-')?))?;
        (!digits.is_empty() && name.len() <= CAPACITY).then_some((id, access))
    }

    fn label_at_end(self, before: &str) -> Option<Access> {
        let layout = self.0;
        let ends_in = |label: &&Label| match layout.id {
            IdInName::None => before == label.text,
            IdInName::Uuid | IdInName::Hex | IdInName::SessionDecimal => {
                before.ends_with(label.text)
            }
        };
        layout.labels.iter().find(ends_in).map(|label| label.access)
    }

    fn not_sequential(self, name: &str) -> Child {
        match self.0.tombstone {
            Some(tombstone) if name.contains(tombstone) => Child::Tombstone,
            _ => Child::Other,
        }
    }
}

impl fmt::Debug for Format {
    /// As the name of a contender, in short.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Layout { start, id, separator, labels, .. } = self.0;
        write!(f, "Format({start}{}{separator}", id.sign())?;
        for (index, label) in labels.iter().enumerate() {
            write!(f, "{}{}", if index > 0 { "|" } else { "" }, label.text)?;
        }
        f.write_str("#)")
    }
}

/// What a driver appends to a node's path to create a contender, and the server then completes with
/// the sequence: displays as `_c_<uuid>-latch-`, say.
///
/// Where a format has ids, that is the contender's with the number of the attempt added to its last four
/// bytes, so that no two znodes of a contender ever have one name, also where the node is deleted and counts from
/// zero again: a write that is guarded by the name of one is not let through by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CandidatePrefix {
    format: Format,
    access: Access,
    mark: Mark,
}

/// What stands in a name at the place of the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Mark {
    Id(NomineeId),
    Session(SessionId),
    None,
}

impl CandidatePrefix {
    /// Of a format that offers the access.
    pub(crate) const fn new(
        format: Format,
        access: Access,
        (id, attempt): (NomineeId, u32),
        session: SessionId,
    ) -> Self {
        let mark = match format.recovery() {
            Recovery::Id => Mark::Id(id.plus(attempt)),
            Recovery::SessionInName => Mark::Session(session),
            Recovery::Owner => Mark::None,
        };
        Self { format, access, mark }
    }

    /// Whether the server made `name` of this prefix, or can have: without an id there is no telling it
    /// from that of another contender.
    pub(crate) fn begins(self, name: &str) -> bool {
        if let Mark::Id(own) = self.mark {
            return self.format.id_text(name).is_some_and(|(id, access)| {
                access == self.access && self.format.0.id.read(id) == Some(own)
            });
        }
        let mut prefix: String<CAPACITY, u8> = String::new();
        let number = write!(prefix, "{self}").ok().and_then(|()| name.strip_prefix(&*prefix));
        number.is_some_and(|number| {
            let digits = number.strip_prefix('-').unwrap_or(number);
            number.len() >= DIGITS
                && name.len() <= CAPACITY
                && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    }

    /// The data that the format prescribes.
    pub(crate) const fn prescribed_data(self) -> Option<&'static [u8]> {
        self.format.0.data
    }
}

impl fmt::Display for CandidatePrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Layout { start, id, separator, .. } = self.format.0;
        f.write_str(start)?;
        match self.mark {
            Mark::Id(own) => id.write(own, f)?,
            Mark::Session(session) => write!(f, "{}", session.get())?,
            Mark::None => {}
        }
        f.write_str(separator)?;
        f.write_str(self.format.0.label(self.access).unwrap_or_default())
    }
}

/// The beginning of all names that a contender can [own](Format::owns), in lower case: what is before
/// the id, and the part of that which is the same in all of them.
pub(crate) struct IdPrefix(String<CAPACITY, u8>);

impl IdPrefix {
    /// In a format without ids nothing is owned, and all names begin so.
    pub(crate) fn new(format: Format, id: NomineeId) -> Self {
        let mut prefix: String<CAPACITY, u8> = String::new();
        let (access, mark) = (Access::Exclusive, Mark::Id(id));
        let whole = CandidatePrefix { format, access, mark };
        if let Some(length) = format.0.id.fixed_length()
            && write!(prefix, "{whole}").is_ok()
        {
            prefix.truncate(format.0.start.len() + length);
            prefix.make_ascii_lowercase();
        }
        Self(prefix)
    }

    /// Without regard to the case, as uuids are read.
    pub(crate) fn begins(&self, name: &str) -> bool {
        let own = self.0.as_bytes();
        name.as_bytes().get(..own.len()).is_some_and(|start| start.eq_ignore_ascii_case(own))
    }

    /// Whether all names that begin so come after this one
    /// [in order](crate::children::Order::ByName).
    pub(crate) fn comes_after(&self, name: &str) -> bool {
        let lower_case = name.bytes().map(|byte| byte.to_ascii_lowercase());
        lower_case.lt(self.0.bytes())
    }
}

impl NomineeId {
    /// The start of the name of the znode that a nominee's create number `attempt` makes, in the format
    /// of Curator's leader latch.
    pub const fn candidate_prefix(self, attempt: u32) -> CandidatePrefix {
        let (format, access) = (Format::curator_latch(), Access::Exclusive);
        CandidatePrefix { format, access, mark: Mark::Id(self.plus(attempt)) }
    }

    /// Whether `name` was created under this id, by any attempt, in this session or another, in the
    /// format of Curator's leader latch.
    pub fn owns(self, name: &str) -> bool {
        Format::curator_latch().owns(self, name)
    }
}

/// In the format of Curator's leader latch.
impl CandidateName {
    /// Reads a child's name.
    ///
    /// # Errors
    ///
    /// [`NameError`] if it is no candidate's, or cannot be kept.
    pub fn parse(name: &str) -> Result<Self, NameError> {
        Format::curator_latch().parse(name)
    }

    /// The sequence of the candidate called `name`, or `None` if it is no candidate.
    ///
    /// The rule of an election for [`place`](crate::place::place). It stores nothing, so a name
    /// of any length counts.
    pub fn sequence_of(name: &str) -> Option<Sequence> {
        Format::curator_latch().rival(Access::Exclusive, name)
    }
}
