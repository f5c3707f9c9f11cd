//! `zkelect` as its users run it, on real Apache ZooKeeper servers.
//!
//! One binary, so that the tests share one server.
#![forbid(unsafe_code)]

mod bad_input;
mod command_ends;
mod demo;
mod doubt;
mod hand_over;
mod list;
mod nothing_lives_on;
mod support;
