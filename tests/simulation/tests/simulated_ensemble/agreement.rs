//! The agreement of all members.

use std::collections::BTreeMap;

use zk_embedded::replication::Txn;
use zk_jute::Zxid;
use zk_simulation::ensemble::{Member, MemberId};

/// Compares what each member commits with what all the others did.
#[derive(Default)]
pub(crate) struct Agreement {
    /// The last transaction of the state that every member begins with.
    first: Zxid,
    /// The longest log that any member has committed.
    committed: Vec<Txn>,
    /// How much of it each member has committed.
    known: BTreeMap<MemberId, usize>,
}

impl Agreement {
    /// Makes the book of members that begin with the transactions up to `first`.
    pub(crate) fn from(first: Zxid) -> Self {
        Self { first, ..Self::default() }
    }

    /// Returns the last transaction that any member has committed.
    pub(crate) fn last(&self) -> Zxid {
        self.committed.last().map_or(Zxid::ZERO, |txn| txn.at.zxid)
    }

    /// Looks at a member after each event there. Each of its committed transactions is the one that
    /// all members have committed at that same place, and is in the logs of a quorum.
    pub(crate) fn observe<'a>(
        &mut self,
        members: impl Iterator<Item = &'a Member>,
        changed: MemberId,
    ) {
        let members: Vec<&Member> = members.collect();
        let member = members.iter().find(|member| member.id() == changed).expect("a member");
        let known = self.known.entry(changed).or_default();
        let fresh = member.log().iter().skip(*known);
        for txn in fresh.take_while(|txn| txn.at.zxid <= member.committed()) {
            if let Some(agreed) = self.committed.get(*known) {
                assert_eq!(agreed, txn, "{changed:?} has committed something else");
            } else {
                let logged = |member: &&&Member| member.log().get(*known) == Some(txn);
                let logged = members.iter().filter(logged).count();
                assert!(logged > members.len() / 2, "{changed:?} has committed alone: {txn:?}");
                self.committed.push(txn.clone());
            }
            *known += 1;
        }
        let last = known.checked_sub(1).and_then(|index| self.committed.get(index));
        let last = last.map_or(self.first, |txn| txn.at.zxid);
        assert_eq!(last, member.committed(), "{changed:?} shows what it has not logged");
    }
}
