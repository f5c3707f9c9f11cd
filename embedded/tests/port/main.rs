//! The server behind its port: its owner's acts, hostile peers, the workspace's own client, and its memory.

mod clients;
mod listener;
mod memory;
