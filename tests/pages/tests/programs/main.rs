//! The programs of README, guide and recipe pages, each as it stands on its page, on a fresh server.
#![forbid(unsafe_code)]

mod stage;

include!(concat!(env!("OUT_DIR"), "/programs.rs"));
