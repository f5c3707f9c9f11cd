//! The promises of a host, against a scripted server, in memory and on virtual time.
#![forbid(unsafe_code)]

mod callers;
mod grants;
mod heartbeats;
mod lab;
mod lists;
mod looks;
mod puppet;
mod readiness;
mod requests;
mod rounds;
mod server;
mod sessions;
mod unpolled;
mod watches;

#[path = "../toy/mod.rs"]
mod toy;
