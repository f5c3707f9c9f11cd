//! The codec: frames of a real server, laws for any record, and bytes that no honest peer sends.

mod golden;
mod hostile;
mod laws;
