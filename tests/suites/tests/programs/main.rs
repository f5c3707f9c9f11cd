//! Programs beside this library: `zkCli.sh`, kazoo, the processes of other libraries, and the examples.
#![forbid(unsafe_code)]

mod command_line;
mod examples;
mod fences;
mod interop;
mod kazoo;
