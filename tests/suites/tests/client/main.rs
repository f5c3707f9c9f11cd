//! The client: connections, operations, watches, identities, metrics.
#![forbid(unsafe_code)]

mod client_access;
mod client_connection;
mod client_create;
mod client_ensemble_config;
mod client_handover;
mod client_health;
mod client_metrics;
mod client_operations;
mod client_persistent_watches;
mod client_read_only;
mod client_reads;
mod client_releases;
mod client_sasl;
mod client_servers;
mod client_tls;
mod client_trees;
mod client_watches;
mod serialized_forms;
