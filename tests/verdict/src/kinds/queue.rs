//! A queue, item by item: in which order items come out is not specified, since a claim that is given back puts an
//! item behind those that were taken meanwhile.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::super::history::{Call, End};
use super::super::operation::Op;
use super::super::spec::Kind;

pub(crate) struct Queue;

/// The place of one item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    #[default]
    Nowhere,
    Inside,
    Gone,
}

impl Kind for Queue {
    /// Whether the item is left in the end, where that is known.
    type Context = Option<bool>;
    type State = Place;

    fn context(calls: &[Call]) -> Self::Context {
        let left = super::done(calls).filter_map(|op| match op {
            Op::Left { items } => Some(!items.is_empty()),
            _ => None,
        });
        left.last()
    }

    fn done(op: &Op, _left: &Self::Context, place: &Place) -> Option<Place> {
        match (op, place) {
            (Op::Put { .. }, Place::Nowhere) => Some(Place::Inside),
            (Op::Take { .. }, Place::Inside) => Some(Place::Gone),
            (Op::Left { items }, place) => {
                (items.is_empty() != (*place == Place::Inside)).then_some(*place)
            }
            _ => None,
        }
    }

    fn unknown(op: &Op, left: &Self::Context, place: &Place) -> Option<Place> {
        Self::done(op, left, place).filter(|_| !matches!(op, Op::Left { .. }))
    }
}

/// Returns the history of each item. A queue is what its items are, each for itself.
pub(crate) fn by_item(calls: &[&Call]) -> BTreeMap<String, Vec<Call>> {
    let mut items: BTreeMap<String, Vec<Call>> = BTreeMap::new();
    let (mut left, mut any) = (Vec::new(), Vec::new());
    for call in calls {
        let op = match &call.end {
            End::Ok(_, op) => op,
            End::Failed(_) | End::Unknown => &call.op,
        };
        match op {
            Op::Put { item } | Op::Take { item: Some(item) } => {
                items.entry(item.clone()).or_default().push((*call).clone());
            }
            Op::Left { items } => left.push((*call, items.iter().cloned().collect())),
            _ => any.push(*call),
        }
    }
    for (call, standing) in &left {
        let standing: &BTreeSet<String> = standing;
        for item in standing {
            items.entry(item.clone()).or_default();
        }
        for (item, calls) in &mut items {
            let one = if standing.contains(item) { Vec::from([item.clone()]) } else { Vec::new() };
            let op = Op::Left { items: one };
            let end = match call.end {
                End::Ok(at, _) => End::Ok(at, op.clone()),
                End::Failed(at) => End::Failed(at),
                End::Unknown => End::Unknown,
            };
            calls.push(Call { op, end, ..(*call).clone() });
        }
    }
    // One that may have taken any item has taken none that another one has.
    let is_taken = |call: &Call| matches!(&call.end, End::Ok(_, Op::Take { .. }));
    for calls in items.values_mut().filter(|calls| !calls.iter().any(is_taken)) {
        calls.extend(any.iter().map(|call| (*call).clone()));
    }
    items
}
