//! Barriers, queues, counters, groups and caches that this library shares with others.

mod barriers;
mod caches;
mod counters;
mod double_barriers;
mod groups;
mod pair;
mod participant;
mod queues;
mod siblings;

// `participant` is part of a benchmark too, where it finds this beside it.
use super::programs;

pub(super) use self::barriers::barriers;
pub(super) use self::caches::caches;
pub(super) use self::counters::counters;
pub(super) use self::double_barriers::double_barriers;
pub(super) use self::groups::groups;
pub(super) use self::queues::queues;
pub(super) use self::siblings::queues_that_do_not_mix;
