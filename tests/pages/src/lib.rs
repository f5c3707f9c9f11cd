//! Takes programs and commands from the pages of the repository, so that tests run what readers copy.
//!
//! The build script makes a test of each program; `tests/programs` runs it on a fresh server. The commands are run by
//! the tests of `zkelect`.
#![forbid(unsafe_code)]

mod blocks;

pub use blocks::{Block, blocks};
