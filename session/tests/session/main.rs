//! The session against a scripted server, on virtual time.

mod auth;
mod beats;
mod closing;
mod expiry;
mod handover;
mod handshake;
mod heartbeats;
mod lab;
mod lease;
mod least_timeout;
mod limits;
mod persistent;
mod properties;
mod read_only;
mod ready;
mod reconnect;
mod refusals;
mod replies;
mod round_trips;
mod sasl;
mod servers;
mod settling;
mod timing;
mod watches;
mod world;
mod writes;
