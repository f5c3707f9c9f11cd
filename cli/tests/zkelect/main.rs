//! `zkelect` as its users run it, on a real Apache ZooKeeper server and on its own.
//!
//! One binary, so that the tests share one server.
#![forbid(unsafe_code)]

#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod command_ends;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod doubt;
#[cfg(test)]
mod hand_over;
#[cfg(test)]
mod list;
#[cfg(test)]
mod nothing_lives_on;
#[cfg(test)]
mod sasl;
#[cfg(test)]
mod served;
mod server;
#[cfg(test)]
mod support;
#[cfg(test)]
mod terminal;
#[cfg(all(test, feature = "tls"))]
mod tls;
#[cfg(test)]
mod unread;
