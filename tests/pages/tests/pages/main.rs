//! The pages of the repository, kept: the programs of README, guide and recipe pages, each as it stands on its page and
//! on a fresh server; the first program of the guide, made by its commands; the service that a page shows whole.
#![forbid(unsafe_code)]

mod first_program;
mod service;
mod stage;

include!(concat!(env!("OUT_DIR"), "/programs.rs"));
