//! Elections: hand-overs, faults, leases, operators, ensembles.
#![forbid(unsafe_code)]

extern crate alloc;

mod deposed_leader;
mod election_absence;
mod election_busy_link;
mod election_chroot;
mod election_cleanup;
mod election_division;
mod election_endings;
mod election_ensemble;
mod election_eviction;
mod election_faults;
mod election_forbidden_predecessor;
mod election_formats;
mod election_handover;
mod election_identities;
mod election_last_numbers;
mod election_lease;
mod election_lease_awaited;
mod election_load;
mod election_neighbours;
mod election_node;
mod election_observers;
mod election_operated;
mod election_preferred;
mod election_processes;
mod election_ready;
mod election_recurring_names;
mod election_refused_deletion;
mod election_restart;
mod election_rollback;
mod election_run;
mod election_short_frames;
mod election_short_memory;
mod election_silence;
mod election_slow_link;
mod election_terms;
mod election_traffic;
mod election_unread;
mod election_well;
mod sequence_numbers;
mod strangers;
