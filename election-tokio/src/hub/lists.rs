//! Lists of candidates: at most one in flight for each election, for all nominees of the client that
//! want one.
//!
//! A list is submitted after the nominees that it serves have asked: that is what the machines want of
//! it. Those that ask under one lock share one; those that ask while one is in flight share the next
//! one. So a thousand nominees of a session cost a few lists and not a thousand, each of them of a
//! thousand names.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use election_core::Ticket;
use zk_session::Failure;

use super::NominationKey;

/// Bytes of lists to hand to nominees under one lock: each nominee reads the whole list, and what has
/// come in meanwhile, such as the answers to heartbeats, waits.
const TURN: usize = 4 * 1024 * 1024;

/// Names a list that was asked for; never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListKey(u64);

/// A nominee that wants a list, and the ticket of its command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Customer {
    pub(super) key: NominationKey,
    pub(super) ticket: Ticket,
}

/// What became of a list: the body of the answer.
pub(super) type Listed = Result<Bytes, Failure>;

#[derive(Debug, Default)]
pub(super) struct Lists {
    last_key: u64,
    /// By the path of the election node on the server.
    desks: BTreeMap<Arc<str>, Desk>,
    /// Elections whose list is to be submitted.
    asked: VecDeque<Arc<str>>,
    /// Elections whose list is being delivered.
    delivering: VecDeque<Arc<str>>,
}

/// The lists of one election.
#[derive(Debug, Default)]
struct Desk {
    stage: Stage,
    /// Nominees that the next list serves.
    waiting: BTreeMap<NominationKey, Ticket>,
}

#[derive(Debug, Default)]
enum Stage {
    #[default]
    Asked,
    Sent {
        key: ListKey,
        serves: BTreeMap<NominationKey, Ticket>,
    },
    Delivering {
        listed: Listed,
        to: BTreeMap<NominationKey, Ticket>,
    },
}

impl Lists {
    /// Takes in a nominee that wants a list.
    pub(super) fn ask(&mut self, election: &Arc<str>, customer: Customer) {
        let Self { desks, asked, .. } = self;
        let desk = desks.entry(Arc::clone(election)).or_insert_with(|| {
            asked.push_back(Arc::clone(election));
            Desk::default()
        });
        desk.waiting.insert(customer.key, customer.ticket);
    }

    /// The list that was to be submitted was not: those that it was to serve.
    pub(super) fn not_sent(&mut self, election: &str) -> Vec<Customer> {
        match self.desks.remove(election) {
            Some(Desk { stage: Stage::Sent { serves, .. }, .. }) => {
                serves.into_iter().map(|(key, ticket)| Customer { key, ticket }).collect()
            }
            Some(_) | None => Vec::new(),
        }
    }

    /// A list was answered. That of an earlier connection is nobody's any more.
    pub(super) fn answered(&mut self, election: &Arc<str>, answered: ListKey, listed: Listed) {
        let Some(Desk { stage, .. }) = self.desks.get_mut(election) else {
            return;
        };
        if let Stage::Sent { key, serves } = stage
            && *key == answered
        {
            *stage = Stage::Delivering { listed, to: core::mem::take(serves) };
            self.delivering.push_back(Arc::clone(election));
        }
    }

    /// Whether there is something to deliver.
    pub(super) fn has_undelivered(&self) -> bool {
        !self.delivering.is_empty()
    }

    /// What this nominee has to be told before anything else: changes and replies go to it in the
    /// order in which they came in.
    pub(super) fn claim(&mut self, election: &str, nominee: NominationKey) -> Option<Delivery> {
        if self.delivering.is_empty() {
            return None;
        }
        match &mut self.desks.get_mut(election)?.stage {
            Stage::Delivering { listed, to } => {
                let ticket = to.remove(&nominee)?;
                Some(Delivery { to: Customer { key: nominee, ticket }, listed: listed.clone() })
            }
            Stage::Asked | Stage::Sent { .. } => None,
        }
    }

    /// What is to be submitted; then what is to be delivered, the oldest nominee first.
    pub(super) fn next(&mut self, turn: &mut Turn) -> Option<Next> {
        if let Some(election) = self.asked.pop_front() {
            return Some(self.submit(election));
        }
        let election = self.delivering.front()?;
        if let Some(Desk { stage: Stage::Delivering { listed, to }, .. }) =
            self.desks.get_mut(election)
            && !to.is_empty()
        {
            turn.admits(listed)?;
            let (key, ticket) = to.pop_first()?;
            let to = Customer { key, ticket };
            return Some(Next::Deliver(Delivery { to, listed: listed.clone() }));
        }
        let election = self.delivering.pop_front()?;
        let Desk { waiting, .. } = self.desks.remove(&election)?;
        if waiting.is_empty() {
            return Some(Next::Done);
        }
        self.desks.insert(Arc::clone(&election), Desk { stage: Stage::Asked, waiting });
        Some(self.submit(election))
    }

    fn submit(&mut self, election: Arc<str>) -> Next {
        let Some(desk) = self.desks.get_mut(&election) else {
            return Next::Done;
        };
        self.last_key += 1;
        let key = ListKey(self.last_key);
        desk.stage = Stage::Sent { key, serves: core::mem::take(&mut desk.waiting) };
        Next::Submit { election, key }
    }

    /// The connection is lost, or the session over: what was asked for is void, and the nominees are
    /// told so in another way.
    pub(super) fn clear(&mut self) {
        self.desks.clear();
        self.asked.clear();
        self.delivering.clear();
    }
}

/// A list for a nominee.
#[derive(Debug)]
pub(super) struct Delivery {
    pub(super) to: Customer,
    pub(super) listed: Listed,
}

#[derive(Debug)]
pub(super) enum Next {
    Deliver(Delivery),
    /// Nominees have asked.
    Submit {
        election: Arc<str>,
        key: ListKey,
    },
    Done,
}

/// What may still be delivered under this lock.
#[derive(Debug)]
pub(super) struct Turn {
    left: usize,
}

impl Turn {
    pub(super) const fn new() -> Self {
        Self { left: TURN }
    }

    /// One delivery at least, however long the list is.
    fn admits(&mut self, listed: &Listed) -> Option<()> {
        if self.left == 0 {
            return None;
        }
        self.left = self.left.saturating_sub(listed.as_ref().map_or(1, Bytes::len).max(1));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use election_core::{Event, Nominee, NomineeId, Policy, SessionId};

    use super::*;

    fn ticket() -> Ticket {
        let mut nominee = Nominee::new(NomineeId::from_bytes([7; 16]), Policy::default());
        let output = nominee.handle_event(Event::Connected { session: SessionId::new(1) });
        output.command.expect("it creates its candidate").ticket
    }

    fn ask(lists: &mut Lists, election: &Arc<str>, nominee: u64) {
        lists.ask(election, Customer { key: NominationKey(nominee), ticket: ticket() });
    }

    /// The nominees that a turn serves, and the list that is asked for behind it.
    fn deliver(lists: &mut Lists) -> (Vec<u64>, Option<ListKey>) {
        let (mut served, mut submitted) = (Vec::new(), None);
        let mut turn = Turn::new();
        while let Some(next) = lists.next(&mut turn) {
            match next {
                Next::Deliver(delivery) => served.push(delivery.to.key.0),
                Next::Submit { key, .. } => submitted = Some(key),
                Next::Done => {}
            }
        }
        (served, submitted)
    }

    #[test]
    fn a_list_serves_those_that_asked_before_it_was_sent() {
        let (mut lists, election) = (Lists::default(), Arc::from("/election"));
        ask(&mut lists, &election, 5);
        ask(&mut lists, &election, 1);
        let (_, first) = deliver(&mut lists);
        let first = first.expect("none is in flight");
        ask(&mut lists, &election, 3);
        ask(&mut lists, &election, 2);
        assert_eq!(deliver(&mut lists), (Vec::new(), None), "one is in flight");
        ask(&mut lists, &Arc::from("/elsewhere"), 4);
        assert!(deliver(&mut lists).1.is_some());
        lists.answered(&election, first, Ok(Bytes::new()));
        let (served, second) = deliver(&mut lists);
        assert_eq!(served, [1, 5]);
        let second = second.expect("two wait");
        lists.answered(&election, first, Ok(Bytes::new()));
        assert_eq!(deliver(&mut lists), (Vec::new(), None), "an answer counts once");
        lists.answered(&election, second, Ok(Bytes::new()));
        assert_eq!(deliver(&mut lists), (vec![2, 3], None));
        ask(&mut lists, &election, 1);
        assert!(deliver(&mut lists).1.is_some(), "none is in flight");
    }

    /// However many there are: others go between the turns, and what else a nominee is told comes
    /// after its list.
    #[test]
    fn long_lists_are_delivered_in_turns() {
        let (mut lists, election) = (Lists::default(), Arc::from("/election"));
        for nominee in 1..=5 {
            ask(&mut lists, &election, nominee);
        }
        let (_, first) = deliver(&mut lists);
        lists.answered(&election, first.unwrap(), Ok(Bytes::from(vec![0; TURN / 2 + 1])));
        assert_eq!(deliver(&mut lists), (vec![1, 2], None));
        assert!(lists.has_undelivered());
        ask(&mut lists, &election, 1);
        assert!(lists.claim("/election", NominationKey(4)).is_some());
        assert!(lists.claim("/election", NominationKey(4)).is_none(), "once");
        let (served, second) = deliver(&mut lists);
        assert_eq!(served, [3, 5]);
        assert!(second.is_some() && !lists.has_undelivered());
    }

    #[test]
    fn a_lost_connection_voids_what_was_asked_for() {
        let (mut lists, election) = (Lists::default(), Arc::from("/election"));
        ask(&mut lists, &election, 1);
        let (_, first) = deliver(&mut lists);
        ask(&mut lists, &election, 2);
        lists.clear();
        ask(&mut lists, &election, 3);
        let (_, second) = deliver(&mut lists);
        lists.answered(&election, first.unwrap(), Ok(Bytes::new()));
        assert_eq!(deliver(&mut lists), (Vec::new(), None), "it is nobody's any more");
        let unsent = lists.not_sent(&election);
        assert_eq!(unsent.iter().map(|customer| customer.key.0).collect::<Vec<_>>(), [3]);
        lists.answered(&election, second.unwrap(), Ok(Bytes::new()));
        assert_eq!(deliver(&mut lists), (Vec::new(), None));
    }
}
