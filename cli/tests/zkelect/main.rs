//! `zkelect` as its users run it, on a real Apache ZooKeeper server and on its own.
//!
//! One binary, so that the tests share one server.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod barrier;
#[cfg(test)]
mod blocked;
#[cfg(test)]
mod cache;
#[cfg(test)]
mod check;
#[cfg(test)]
mod check_ensemble;
#[cfg(test)]
mod command_ends;
#[cfg(test)]
mod counter;
#[cfg(test)]
mod dead;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod deploy;
#[cfg(test)]
mod double_barrier;
#[cfg(test)]
mod doubt;
#[cfg(test)]
mod ending;
#[cfg(test)]
mod forks;
#[cfg(test)]
mod hand_over;
#[cfg(test)]
mod hand_over_to;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod list;
#[cfg(test)]
mod list_locks;
#[cfg(test)]
mod list_recipes;
#[cfg(test)]
mod lock;
#[cfg(test)]
mod lock_doubt;
#[cfg(test)]
mod lock_hand_over;
#[cfg(test)]
mod lock_once;
#[cfg(test)]
mod lock_several;
mod log_lines;
#[cfg(test)]
mod members;
#[cfg(test)]
mod nothing_lives_on;
#[cfg(test)]
mod operating;
#[cfg(test)]
mod other_users;
#[cfg(test)]
mod packaging;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod process;
#[cfg(test)]
mod queue;
#[cfg(test)]
mod queue_claim;
#[cfg(test)]
mod revoke;
#[cfg(test)]
mod run_check;
#[cfg(test)]
mod run_http;
#[cfg(test)]
mod run_notify;
#[cfg(test)]
mod run_options;
#[cfg(test)]
mod run_policies;
#[cfg(test)]
mod run_preference;
#[cfg(test)]
mod run_ready;
#[cfg(test)]
mod sasl;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod semaphore;
#[cfg(test)]
mod served;
mod server;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod signals;
#[cfg(test)]
mod slots;
#[cfg(test)]
mod support;
#[cfg(test)]
mod terminal;
#[cfg(all(test, feature = "tls"))]
mod tls;
#[cfg(test)]
mod unread;
#[cfg(test)]
mod watch;
