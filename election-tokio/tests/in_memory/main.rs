//! The client against a server in memory, in virtual time: every await point, every frame border,
//! every kind of wrong answer.
#![forbid(unsafe_code)]

#[cfg(test)]
mod acknowledgement;
#[cfg(test)]
mod back_pressure;
#[cfg(test)]
mod barriers;
#[cfg(test)]
mod caches;
#[cfg(test)]
mod cancellation;
mod candidates;
#[cfg(test)]
mod commits;
#[cfg(test)]
mod contenders;
#[cfg(test)]
mod cost;
#[cfg(test)]
mod counters;
#[cfg(test)]
mod cuts;
#[cfg(test)]
mod double_barriers;
#[cfg(test)]
mod downgrades;
mod endings;
mod errors;
#[cfg(test)]
mod formats;
#[cfg(test)]
mod frames;
#[cfg(test)]
mod guarded;
#[cfg(test)]
mod hand_overs;
mod handover;
#[cfg(test)]
mod heartbeats;
#[cfg(test)]
mod lease;
#[cfg(test)]
mod lies;
#[cfg(test)]
mod lists;
#[cfg(test)]
mod lock_delays;
#[cfg(test)]
mod locks;
#[cfg(test)]
mod looks;
#[cfg(test)]
mod lost_links;
#[cfg(test)]
mod members;
#[cfg(test)]
mod mixed_formats;
#[cfg(test)]
mod nominations;
#[cfg(test)]
mod observers;
#[cfg(test)]
mod old_servers;
#[cfg(test)]
mod once;
#[cfg(test)]
mod operating;
#[cfg(test)]
mod other_servers;
#[cfg(test)]
mod pauses;
#[cfg(test)]
mod preferences;
#[cfg(test)]
mod queues;
#[cfg(test)]
mod raw;
#[cfg(test)]
mod recipe_errors;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod revocation;
#[cfg(test)]
mod rollbacks;
#[cfg(test)]
mod round_trips;
#[cfg(test)]
mod runs;
#[cfg(test)]
mod sasl;
#[cfg(test)]
mod semaphores;
#[cfg(test)]
mod server;
#[cfg(test)]
mod several_locks;
mod silence;
mod slots;
#[cfg(test)]
mod sources;
#[cfg(test)]
mod spans;
#[cfg(test)]
mod state;
mod subscribers;
#[cfg(test)]
mod terms;
#[cfg(test)]
mod threads;
#[cfg(test)]
mod trees;
#[cfg(test)]
mod wakers;
#[cfg(test)]
mod wakings;
#[cfg(test)]
mod warnings;
#[cfg(test)]
mod wellness;
#[cfg(test)]
mod wrong_answers;
