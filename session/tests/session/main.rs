//! The session against a scripted server, on virtual time.

mod auth;
mod automaton;
mod closing;
mod expiry;
mod handover;
mod handshake;
mod heartbeats;
mod lab;
mod lease;
mod limits;
mod persistent;
mod properties;
mod read_only;
mod reconnect;
mod replies;
mod sasl;
mod server;
mod servers;
mod timing;
mod watches;
mod world;
