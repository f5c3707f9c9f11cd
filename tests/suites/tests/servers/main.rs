//! The servers on which the other suites run, what the simulation assumes of them, and the proxy that breaks
//! connections.
#![forbid(unsafe_code)]

mod both_servers;
mod differential;
mod fault_proxy;
mod server_recordings;
mod zookeeper_ensemble;
mod zookeeper_server;
