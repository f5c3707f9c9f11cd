//! Lists of children. At most one is in flight for each parent, for all recipes of the host that
//! want it.
//!
//! A list shows a recipe what it wants to see if the server made the list after the cause of the
//! recipe's question. Servers execute the requests of a connection in order. So a list in flight
//! serves a recipe that asks because of a reply, if the request of that reply was submitted before
//! the list. Other recipes that ask meanwhile share the next list, and so do recipes that ask
//! before the caller has polled all events. A thousand recipes of a session cost a few lists of a
//! thousand names, and not a thousand such lists.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;
use election_core::{Failure, Ticket};

use crate::key::{ListKey, RecipeKey};
use crate::names::{Listed, Names};
use crate::window::Window;

/// Bytes of lists to deliver to recipes before other events, such as replies to heartbeats, are
/// handled.
const TURN: usize = 4 * 1024 * 1024;

/// A recipe that wants a list, and the ticket of its command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader {
    pub(crate) key: RecipeKey,
    pub(crate) ticket: Ticket,
}

/// A moment in the order of submissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

/// Why a recipe asks for a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Because of the reply to a request that was submitted at this moment.
    ReplyTo(Moment),
    /// For another reason, such as an event. The server may have made a list in flight before that.
    News,
}

#[derive(Debug, Default)]
pub(crate) struct Lists {
    last_key: u64,
    window: Window,
    /// By the path of the parent on the server.
    parents: BTreeMap<Arc<str>, ParentLists>,
    /// Parents with a list to submit.
    asked: VecDeque<Arc<str>>,
    /// Parents with a list that is being delivered.
    delivering: VecDeque<Arc<str>>,
}

/// The lists of one parent.
#[derive(Debug, Default)]
struct ParentLists {
    stage: ListStage,
    /// Recipes that the next list serves.
    waiting: BTreeMap<RecipeKey, Ticket>,
}

#[derive(Debug, Default)]
enum ListStage {
    #[default]
    Asked,
    Sent {
        key: ListKey,
        serves: BTreeMap<RecipeKey, Ticket>,
    },
    Delivering {
        listed: Listed,
        to: BTreeMap<RecipeKey, Ticket>,
    },
}

impl Lists {
    /// Returns the present moment, between the lists that were submitted and those that will be.
    pub(crate) const fn moment(&self) -> Moment {
        Moment(self.last_key)
    }

    /// Adds a recipe that wants a list.
    pub(crate) fn ask(&mut self, parent: &Arc<str>, reader: Reader, cause: Cause) {
        let Self { parents, asked, .. } = self;
        let lists = parents.entry(Arc::clone(parent)).or_insert_with(|| {
            asked.push_back(Arc::clone(parent));
            ParentLists::default()
        });
        let served_by = match (&mut lists.stage, cause) {
            (ListStage::Sent { key, serves }, Cause::ReplyTo(Moment(submitted)))
                if key.0 > submitted =>
            {
                serves
            }
            _ => &mut lists.waiting,
        };
        served_by.insert(reader.key, reader.ticket);
    }

    /// Returns the recipes that a list was to serve which was not submitted.
    pub(crate) fn not_sent(&mut self, parent: &str) -> Vec<Reader> {
        match self.parents.remove(parent) {
            Some(ParentLists { stage: ListStage::Sent { serves, .. }, .. }) => {
                self.window.over();
                serves.into_iter().map(|(key, ticket)| Reader { key, ticket }).collect()
            }
            Some(_) | None => Vec::new(),
        }
    }

    /// Takes in the answer to a list. It ignores the answer to one of an earlier connection.
    pub(crate) fn answered(
        &mut self,
        parent: &Arc<str>,
        answered: ListKey,
        answer: Result<Bytes, Failure>,
    ) {
        let Some(ParentLists { stage, .. }) = self.parents.get_mut(parent) else {
            return;
        };
        if let ListStage::Sent { key, serves } = stage
            && *key == answered
        {
            self.window.answered(answer.as_ref().map_or(0, Bytes::len));
            let to = core::mem::take(serves);
            let listed = answer.and_then(|answer| Names::for_recipes(answer, to.len()));
            *stage = ListStage::Delivering { listed, to };
            self.delivering.push_back(Arc::clone(parent));
        }
    }

    /// Returns whether there is nothing to submit or to deliver now.
    #[inline]
    pub(crate) fn are_idle(&self) -> bool {
        (self.asked.is_empty() || !self.window.has_room()) && self.delivering.is_empty()
    }

    /// Returns whether there is something to deliver.
    pub(crate) fn has_undelivered(&self) -> bool {
        !self.delivering.is_empty()
    }

    /// Returns the list that this recipe has to get before anything else: it gets changes and
    /// replies in the order in which they came in.
    pub(crate) fn claim(&mut self, parent: &str, recipe: RecipeKey) -> Option<Delivery> {
        if self.delivering.is_empty() {
            return None;
        }
        match &mut self.parents.get_mut(parent)?.stage {
            ListStage::Delivering { listed, to } => {
                let ticket = to.remove(&recipe)?;
                Some(Delivery { to: Reader { key: recipe, ticket }, listed: listed.clone() })
            }
            ListStage::Asked | ListStage::Sent { .. } => None,
        }
    }

    /// Returns the next list to submit; then the next one to deliver, the oldest recipe first.
    pub(crate) fn next(&mut self, turn: &mut Turn) -> Option<Next> {
        if self.window.has_room()
            && let Some(parent) = self.asked.pop_front()
        {
            return Some(self.submit(parent));
        }
        let parent = self.delivering.front()?;
        if let Some(ParentLists { stage: ListStage::Delivering { listed, to }, .. }) =
            self.parents.get_mut(parent)
            && !to.is_empty()
        {
            turn.admits(listed)?;
            let (key, ticket) = to.pop_first()?;
            let to = Reader { key, ticket };
            return Some(Next::Deliver(Delivery { to, listed: listed.clone() }));
        }
        let parent = self.delivering.pop_front()?;
        let ParentLists { waiting, .. } = self.parents.remove(&parent)?;
        if !waiting.is_empty() {
            let lists = ParentLists { stage: ListStage::Asked, waiting };
            self.parents.insert(Arc::clone(&parent), lists);
            self.asked.push_back(parent);
        }
        Some(Next::Done)
    }

    fn submit(&mut self, parent: Arc<str>) -> Next {
        let Some(lists) = self.parents.get_mut(&parent) else {
            return Next::Done;
        };
        self.last_key += 1;
        self.window.sent();
        let key = ListKey(self.last_key);
        lists.stage = ListStage::Sent { key, serves: core::mem::take(&mut lists.waiting) };
        Next::Submit { parent, key }
    }

    /// Forgets all lists, because the connection is lost or the session over. The recipes hear of
    /// that in another way.
    pub(crate) fn clear(&mut self) {
        self.parents.clear();
        self.asked.clear();
        self.delivering.clear();
        self.window.clear();
    }
}

/// A list for a recipe.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) to: Reader,
    pub(crate) listed: Listed,
}

#[derive(Debug)]
pub(crate) enum Next {
    Deliver(Delivery),
    /// Recipes have asked.
    Submit {
        parent: Arc<str>,
        key: ListKey,
    },
    Done,
}

/// How much may still be delivered before other events are handled.
#[derive(Debug)]
pub(crate) struct Turn {
    left: usize,
}

impl Turn {
    pub(crate) const fn new() -> Self {
        Self { left: TURN }
    }

    /// Admits one delivery at least, however long the list is.
    fn admits(&mut self, listed: &Listed) -> Option<()> {
        if self.left == 0 {
            return None;
        }
        self.left = self.left.saturating_sub(listed.as_ref().map_or(1, Names::cost).max(1));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use election_core::election::{Nominee, Policy};
    use election_core::{Event, NomineeId, Recipe as _, SessionId};

    use alloc::vec;

    use zk_jute::records::GetChildrenResponse;
    use zk_jute::{Encode as _, Vector};

    use super::*;

    fn ticket() -> Ticket {
        let mut recipe = Nominee::new(NomineeId::from_bytes([7; 16]), Policy::default());
        let output = recipe.handle_event(Event::Connected { session: SessionId::new(1) });
        output.command.expect("it creates its candidate").ticket
    }

    fn ask(lists: &mut Lists, parent: &Arc<str>, recipe: u64) {
        lists.ask(parent, Reader { key: RecipeKey(recipe), ticket: ticket() }, Cause::News);
    }

    fn body(names: &[&str]) -> Bytes {
        let mut body = Vec::new();
        let response = GetChildrenResponse { children: Vector::new(names) };
        response.encode(&mut body);
        Bytes::from(body)
    }

    /// Returns the recipes that a turn serves, and the list that is asked for behind it.
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
        let (mut lists, parent) = (Lists::default(), Arc::from("/election"));
        ask(&mut lists, &parent, 5);
        ask(&mut lists, &parent, 1);
        let (_, first) = deliver(&mut lists);
        let first = first.expect("none is in flight");
        ask(&mut lists, &parent, 3);
        ask(&mut lists, &parent, 2);
        assert_eq!(deliver(&mut lists), (Vec::new(), None), "one is in flight");
        ask(&mut lists, &Arc::from("/elsewhere"), 4);
        assert!(deliver(&mut lists).1.is_some());
        lists.answered(&parent, first, Ok(Bytes::new()));
        let (served, second) = deliver(&mut lists);
        assert_eq!(served, [1, 5]);
        let second = second.expect("two wait");
        lists.answered(&parent, first, Ok(Bytes::new()));
        assert_eq!(deliver(&mut lists), (Vec::new(), None), "an answer counts once");
        lists.answered(&parent, second, Ok(Bytes::new()));
        assert_eq!(deliver(&mut lists), (vec![2, 3], None));
        ask(&mut lists, &parent, 1);
        assert!(deliver(&mut lists).1.is_some(), "none is in flight");
    }

    /// Servers execute requests in order: a list that was asked for after a request shows what that
    /// one has led to.
    #[test]
    fn a_list_in_flight_serves_those_whose_request_went_before_it() {
        let (mut lists, parent) = (Lists::default(), Arc::from("/election"));
        let before = lists.moment();
        ask(&mut lists, &parent, 1);
        let (_, first) = deliver(&mut lists);
        let after = lists.moment();
        for (recipe, cause) in
            [(2, Cause::ReplyTo(before)), (3, Cause::ReplyTo(after)), (4, Cause::News)]
        {
            lists.ask(&parent, Reader { key: RecipeKey(recipe), ticket: ticket() }, cause);
        }
        lists.answered(&parent, first.unwrap(), Ok(body(&["x"])));
        let (served, second) = deliver(&mut lists);
        assert_eq!(served, [1, 2]);
        lists.answered(&parent, second.unwrap(), Ok(body(&["x"])));
        assert_eq!(deliver(&mut lists), (vec![3, 4], None));
    }

    /// Replies to heartbeats come behind them.
    #[test]
    fn long_lists_of_many_parents_are_asked_for_one_by_one() {
        let mut lists = Lists::default();
        let parents: Vec<Arc<str>> =
            (0..40).map(|number| Arc::from(alloc::format!("/{number}"))).collect();
        for (recipe, parent) in (0..).zip(&parents) {
            ask(&mut lists, parent, recipe);
        }
        let mut in_flight = VecDeque::new();
        let (mut turn, mut answered, mut most) = (Turn::new(), 0, 0);
        loop {
            while let Some(next) = lists.next(&mut turn) {
                if let Next::Submit { parent, key } = next {
                    in_flight.push_back((parent, key));
                }
            }
            assert!(lists.are_idle() || lists.has_undelivered());
            if answered > 8 {
                most = most.max(in_flight.len());
            }
            let Some((parent, key)) = in_flight.pop_front() else { break };
            lists.answered(&parent, key, Ok(Bytes::from(vec![0; TURN / 8])));
            (turn, answered) = (Turn::new(), answered + 1);
        }
        assert_eq!((answered, most), (parents.len(), 2));
    }

    /// It is read once for all of them.
    #[test]
    fn several_recipes_are_handed_the_names_in_order() {
        let (mut lists, parent) = (Lists::default(), Arc::from("/election"));
        for readers in 1..=3 {
            (1..=readers).for_each(|recipe| ask(&mut lists, &parent, recipe));
            let (_, list) = deliver(&mut lists);
            lists.answered(&parent, list.unwrap(), Ok(body(&["b", "a"])));
            for recipe in 1..=readers {
                let delivery = lists.claim(&parent, RecipeKey(recipe)).unwrap();
                let is_sorted = matches!(delivery.listed, Ok(Names::Sorted(_)));
                assert_eq!(is_sorted, readers > 1);
            }
            deliver(&mut lists);
        }
        ask(&mut lists, &parent, 1);
        ask(&mut lists, &parent, 2);
        let (_, list) = deliver(&mut lists);
        lists.answered(&parent, list.unwrap(), Ok(Bytes::from_static(&[0, 0, 0, 9])));
        let delivery = lists.claim(&parent, RecipeKey(2)).unwrap();
        assert!(matches!(delivery.listed, Err(Failure::Unreadable)));
    }

    /// However many lists there are: the events of other recipes go between the turns, and a recipe's other events
    /// come after its list.
    #[test]
    fn long_lists_are_delivered_in_turns() {
        let (mut lists, parent) = (Lists::default(), Arc::from("/election"));
        for recipe in 1..=5 {
            ask(&mut lists, &parent, recipe);
        }
        let (_, first) = deliver(&mut lists);
        let name = "x".repeat(8 * TURN + 16);
        lists.answered(&parent, first.unwrap(), Ok(body(&[&name])));
        assert_eq!(deliver(&mut lists), (vec![1, 2], None));
        assert!(lists.has_undelivered());
        ask(&mut lists, &parent, 1);
        assert!(lists.claim("/election", RecipeKey(4)).is_some());
        assert!(lists.claim("/election", RecipeKey(4)).is_none(), "once");
        let (served, second) = deliver(&mut lists);
        assert_eq!(served, [3, 5]);
        assert!(second.is_some() && !lists.has_undelivered());
    }

    #[test]
    fn a_lost_connection_voids_what_was_asked_for() {
        let (mut lists, parent) = (Lists::default(), Arc::from("/election"));
        ask(&mut lists, &parent, 1);
        let (_, first) = deliver(&mut lists);
        ask(&mut lists, &parent, 2);
        lists.clear();
        ask(&mut lists, &parent, 3);
        let (_, second) = deliver(&mut lists);
        lists.answered(&parent, first.unwrap(), Ok(Bytes::new()));
        assert_eq!(deliver(&mut lists), (Vec::new(), None), "it is nobody's any more");
        let unsent = lists.not_sent(&parent);
        assert_eq!(unsent.iter().map(|reader| reader.key.0).collect::<Vec<_>>(), [3]);
        lists.answered(&parent, second.unwrap(), Ok(Bytes::new()));
        assert_eq!(deliver(&mut lists), (Vec::new(), None));
    }
}
