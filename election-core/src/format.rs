//! The names of contenders: a format for each library.
//!
//! A name is `start`, an id, a separator, a label and the server's number. The label says which
//! access the contender asks for ([`Access`]); only the number says which contender was first.
//!
//! # Formats
//!
//! A [`Format`] decides which children are contenders, and for what they contend.
//!
//! | format | names | a create in doubt is cleared up by |
//! |---|---|---|
//! | `curator_latch` (elections) | `_c_<uuid>-latch-#` | the id |
//! | `curator_lock` (locks) | `_c_<uuid>-lock-#` | the id |
//! | `curator_semaphore` (permits) | `_c_<uuid>-lease-#` | the id |
//! | `curator_read_write` (shared locks) | `_c_<uuid>-__WRIT__#`, `…__READ__#` | the id |
//! | `kazoo` | `<hex>__lock__#`, `<hex>__rlock__#` | the id |
//! | `go_zookeeper` | `_c_<hex>-lock-#` | the id |
//! | `zk_election` | `_c_<hex>-p_#` | the id |
//! | `leader_election_support` | `n_#` | owner and `czxid` |
//! | `go_leaderelection` | `le_#`; ended by `DONE` | owner and `czxid` |
//! | `zookeeper_write_lock` | `x-<session>-#` | the session in the name, and the owner |
//! | `custom` | yours | by what it has |
//!
//! Elections and locks stand in all of them: `Nominee::in_format`, `LockOptions::format`.
//!
//! **Without an id** in the names, the session tells the own znode: one session has one contender
//! at a node, and all that it owns there is that one's. After a create in doubt come the barrier
//! and a list; then the contenders are looked at, from the highest number down, by `exists`, which
//! needs no permission to read. The nominee's own znode is the one that the session owns and that
//! is younger than the nominee's earlier znodes. There is none if the nominee has looked at all
//! contenders, or has met one that is no younger than an earlier znode of its own: that takes one
//! list, and one look for each. It does not compare the data: an operator may have written to it. A
//! follower whose predecessor is the session's deletes that: it would stand for as long as the
//! session lives. In these formats names recur (`Format::names_recur`): where the election node is
//! deleted and made again while nominees stand, another one can get the same name. So a nominee
//! that leaves makes a barrier, looks whether its session owns the znode, and deletes that version
//! of it: two requests more. No check of a name guards a write there. One gap is left: a deletion
//! meets the other's znode if the node is made again after the look, while the deletion is on its
//! way. Delete such a node only when it is empty.
//!
//! **Foreign children.** Contenders of two formats do not see each other, so a mix holds twice. A
//! sequential child that is no contender of the format (`Child::Foreign`) has a notice
//! (`Notice::ForeignChild`), of the nominee that is about to lead and of the nominee behind the
//! leader, and again when another one is the first by name. The nominee that is about to lead looks
//! at each by `exists`, with a watch. One that is ephemeral and another session's is waited for
//! (`Obstacle::Foreign`, in a notice at each look); its deletion is noticed at once. One that is
//! persistent, or of the own session, is passed over. Where there is no such child that costs no
//! request; where there is one, two each, and an heir lists before it leads. A nominee that leads
//! does not look: a contender of another format that comes later has to see to it itself, and most
//! do not. `curator_lock` and `go_zookeeper` see each other, and are no mix; `curator_lock` and
//! `curator_read_write` are one.
//!
//! **`DONE`**, in `go_leaderelection`: a list that shows it ends a nomination with
//! `End::ElectionEnded`; a leader watches for it by `exists`, and leads no longer. An heir lists
//! before it leads.
//!
//! **`hand-over-to-0000000017-`**, in the format of elections (`Format::hand_over_mark`), names the
//! candidate that is to lead next. A follower whose list shows it, and that is before that
//! candidate, deletes its own candidate and creates another one (`WhenAsked::StandsBehind`, the
//! default). `tests/machines/explore` has leaders that hand over, with losses, expiries,
//! withdrawals, deletions and an end of the election: the one that is elected after the leader has
//! stepped down is that candidate, while it stands; and nothing stays on its way.
//!
//! **`ended`**, in the format of elections (`Format::end_mark`), ends an election until it is
//! reopened. The operator creates it and then deletes the candidates that a list shows. A list that
//! shows it ends a nomination; a nominee whose candidate was deleted asks for it by one `exists`,
//! behind a barrier where that is another connection. A leader does not watch for it, and a
//! promotion takes no list for it, since its own candidate goes.

mod hand_over;
mod known;
mod layout;
#[cfg(test)]
mod tests;

use core::fmt::{self, Write as _};

use heapless::String;

pub use crate::access::Access;
use crate::id::{NomineeId, SessionId};
use crate::name::{CAPACITY, CandidateName, DIGITS, NameError, Sequence};
pub use hand_over::HandOverMark;
pub use layout::{Downgrade, IdInName, Label, Layout, LayoutError, Revocation};

/// The format of the contenders' names in an election or a lock. It also decides which children are
/// contenders.
///
/// All participants of one election or lock have to use one format: contenders of two formats do
/// not see each other, and two would hold at once. A [`Child::Foreign`] from [`child`](Self::child)
/// is a sign of such a mix.
///
/// Every format orders contenders by the server's number. Other libraries compare its ten digits as
/// text, which is the same up to [`Sequence::LAST`]; a child beyond that is not a contender here
/// ([`Child::Exhausted`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Format(&'static Layout);

/// The kind of a child of an election node or a lock, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Child {
    /// A contender.
    Contender {
        /// The access that it asks for.
        access: Access,
        /// Its place in the order.
        sequence: Sequence,
    },
    /// A contender with a number that the server gives more than once.
    Exhausted,
    /// The sign that there is nothing to contend for any more.
    Tombstone,
    /// A sequential znode of another format. It may be a contender that does not see those of this
    /// one.
    Foreign,
    /// It is not a contender.
    Other,
}

/// How a contender clears up a create with a lost reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// By the contender's id in the name.
    Id,
    /// By the session in the name, and the znode's owner: a session has one contender in each
    /// place.
    SessionInName,
    /// By the znode's owner, and a `czxid` later than those of the contender's earlier znodes: a
    /// session has one contender in each place. The data are not compared: every znode of the
    /// session there is the contender's, even if an operator has written to it since.
    Owner,
}

impl Format {
    /// Makes a format of your own.
    ///
    /// # Errors
    ///
    /// Names of this layout would be ambiguous, or too long.
    pub const fn custom(layout: &'static Layout) -> Result<Self, LayoutError> {
        match layout.check() {
            Ok(()) => Ok(Self(layout)),
            Err(error) => Err(error),
        }
    }

    /// Returns the layout of its names.
    pub const fn layout(self) -> &'static Layout {
        self.0
    }

    /// Returns how a create in doubt is cleared up.
    pub const fn recovery(self) -> Recovery {
        match self.0.id {
            IdInName::Uuid | IdInName::Hex => Recovery::Id,
            IdInName::SessionDecimal => Recovery::SessionInName,
            IdInName::None => Recovery::Owner,
        }
    }

    /// Returns whether another contender, or a later one of the same session, can get the name of an
    /// earlier one, once the election node was deleted and made again: its numbers begin anew, and
    /// the names have no id of a contender. There a check of a name guards no write, and only its
    /// owner and its `czxid` tell that a znode is still the same.
    pub const fn names_recur(self) -> bool {
        match self.recovery() {
            Recovery::Id => false,
            Recovery::SessionInName | Recovery::Owner => true,
        }
    }

    /// Returns the child by which an election node says that its election is ended. Only some
    /// formats have one: that of Curator's leader latch, which elections have by default, and
    /// formats of your own that name a child.
    ///
    /// Curator's latches order children by the text after `latch-`, so they place it behind all
    /// candidates. In other formats participants fail at such a child, or take it for one of them.
    pub const fn end_mark(self) -> Option<&'static str> {
        self.0.end_mark
    }

    /// Returns whether a contender can ask for this access.
    pub const fn offers(self, access: Access) -> bool {
        self.0.label(access).is_some()
    }

    /// Returns the kind of the child called `name`.
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
    /// [`NameError`] if it is not a contender's name, or cannot be kept.
    pub fn parse(self, name: &str) -> Result<CandidateName, NameError> {
        match self.child(name) {
            Child::Contender { .. } => CandidateName::new(name),
            Child::Exhausted => Err(NameError::SequenceExhausted),
            Child::Tombstone | Child::Foreign | Child::Other => Err(NameError::NotACandidate),
        }
    }

    /// Applies the rule of a queue for [`place`](crate::place::place): returns the number of the
    /// child called `name`, if it cannot hold together with a contender with this access. A reader
    /// is not in the way of another reader.
    pub fn rival(self, own: Access, name: &str) -> Option<Sequence> {
        match self.child(name) {
            Child::Contender { access, sequence } if access.excludes(own) => Some(sequence),
            _ => None,
        }
    }

    /// Returns whether the end of the contender called `name` leaves nothing in the way of a
    /// contender with this access: a writer may leave a reader with its own number.
    pub(crate) fn goes_for_good(self, own: Access, name: &str) -> bool {
        match (self.0.downgrade, own, self.child(name)) {
            (Downgrade::None, _, _) | (_, Access::Shared, _) => true,
            (Downgrade::KeepsNumber, Access::Exclusive, Child::Contender { access, .. }) => {
                access == Access::Shared
            }
            (Downgrade::KeepsNumber, Access::Exclusive, _) => false,
        }
    }

    /// Returns what a driver appends to the node's path to create a contender with this id and
    /// access, by its create number `attempt`. `None` if the names of the format have no such id,
    /// or the format does not offer the access.
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

    /// Returns what a driver appends to the node's path to create a contender with this access in
    /// this session. `None` if the names of the format have ids of contenders, or the format does
    /// not offer the access.
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

    /// Returns whether `name` was created under this id, by any attempt, in this session or
    /// another; also if it ends in a number that the server gives more than once.
    pub fn owns(self, id: NomineeId, name: &str) -> bool {
        let Some((text, _)) = self.id_text(name) else {
            return false;
        };
        // Every name of a listing comes by here, and nearly all differ in the first two digits.
        let [first, ..] = id.to_bytes();
        let looks_own = text.get(..2).is_some_and(|two| u8::from_str_radix(two, 16) == Ok(first));
        looks_own && self.0.id.read(text).is_some_and(|made| id.is_of_one_nominee_with(made))
    }

    /// Returns whether the participant called `name` looks when the data of its predecessor are written, and
    /// loses no watch by it.
    pub fn is_wakeable(self, name: &str) -> bool {
        let id = self.id_text(name).and_then(|(text, _)| self.0.id.read(text));
        self.end_mark().is_some() && id.is_some_and(NomineeId::is_wakeable)
    }

    /// Returns the id, as text, in a name that a server made of a prefix of this format, with the
    /// access.
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
    /// Writes the name of a contender, in short.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Layout { start, id, separator, labels, .. } = self.0;
        write!(f, "Format({start}{}{separator}", id.sign())?;
        for (index, label) in labels.iter().enumerate() {
            write!(f, "{}{}", if index > 0 { "|" } else { "" }, label.text)?;
        }
        f.write_str("#)")
    }
}

/// The text that a driver appends to a node's path to create a contender; the server appends the
/// sequence. It displays, for example, as `_c_<uuid>-latch-`.
///
/// If a format has ids, it has the contender's id with the number of the attempt added to its last
/// four bytes. So no two znodes of a contender ever have one name, even if the node is deleted and
/// counts from zero again. A write that is guarded by the name of one therefore never passes by
/// another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CandidatePrefix {
    format: Format,
    access: Access,
    mark: Mark,
}

/// The text in a name at the place of the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Mark {
    Id(NomineeId),
    Session(SessionId),
    None,
}

impl CandidatePrefix {
    /// Makes the prefix. The format has to offer the access.
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

    /// Returns whether the server made `name` of this prefix, or may have: without an id the name
    /// may be another contender's.
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

    /// Returns the data that the format prescribes.
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

/// The beginning of all names that a contender can [own](Format::owns), in lower case: the text
/// before the id, and the part of the id that is the same in all of them.
pub(crate) struct IdPrefix(String<CAPACITY, u8>);

impl IdPrefix {
    /// Makes the prefix of a nominee's names. In a format without ids nothing is owned, and all
    /// names begin so.
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

    /// Compares without regard to the case, as uuids are read.
    pub(crate) fn begins(&self, name: &str) -> bool {
        let own = self.0.as_bytes();
        name.as_bytes().get(..own.len()).is_some_and(|start| start.eq_ignore_ascii_case(own))
    }

    /// Returns whether all names with this beginning come after this one [in
    /// order](crate::children::Order::ByName).
    pub(crate) fn comes_after(&self, name: &str) -> bool {
        let lower_case = name.bytes().map(|byte| byte.to_ascii_lowercase());
        lower_case.lt(self.0.bytes())
    }
}

impl NomineeId {
    /// Returns the start of the name of a nominee's znode by create number `attempt`, in the format
    /// of Curator's leader latch.
    pub const fn candidate_prefix(self, attempt: u32) -> CandidatePrefix {
        let (format, access) = (Format::curator_latch(), Access::Exclusive);
        CandidatePrefix { format, access, mark: Mark::Id(self.plus(attempt)) }
    }

    /// Returns whether `name` was created under this id, by any attempt, in this session or
    /// another, in the format of Curator's leader latch.
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
    /// [`NameError`] if it is not a candidate's name, or cannot be kept.
    pub fn parse(name: &str) -> Result<Self, NameError> {
        Format::curator_latch().parse(name)
    }

    /// Returns the sequence of the candidate called `name`, or `None` if it is not a candidate.
    ///
    /// This is the rule of an election for [`place`](crate::place::place). It stores nothing, so a
    /// name of any length counts.
    pub fn sequence_of(name: &str) -> Option<Sequence> {
        Format::curator_latch().rival(Access::Exclusive, name)
    }
}
