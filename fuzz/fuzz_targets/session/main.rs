//! A session, fed any frames, times and orders of calls. It never panics; each request is completed
//! once, in order; a watch is told of only while it is set; the lease rests on what a server has
//! answered; polling twice changes nothing; and after its end it is silent.
//!
//! The world of the session's own tests asserts all of this; the properties there let other things happen in it.

#![no_main]
#![forbid(unsafe_code)]

use libfuzzer_sys::fuzz_target;

use script::Script;
use world::{Ending, Happening, Journal};

mod script;

#[path = "../../../session/tests/session/world/mod.rs"]
#[allow(dead_code, reason = "some of what may happen there a fuzzer does not find")]
mod world;

fuzz_target!(|script: Script| {
    let config = script.setting.config();
    let happenings = script.steps.into_iter().map(Happening::from);
    world::run(config, script.seed, Journal::Off, happenings, Ending::Cut);
});
