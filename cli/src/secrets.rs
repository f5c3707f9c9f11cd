//! Keeping passwords and keys to this process.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::console;

/// Keeps this process out of core dumps, and other processes of the same user out of its memory.
/// What it starts is not concerned: the kernel takes it back when another program is run.
pub(crate) fn keep_out_of_core_dumps() {
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        console::warn(format_args!("a core dump would hold passwords and keys: {error}"));
    }
}

/// Warns of a password file that any user of the machine may change.
pub(crate) fn check_password_file(path: &Path, metadata: &Metadata) {
    if metadata.is_file() && metadata.mode() & 0o002 != 0 {
        console::warn(format_args!(
            "every user of this machine may write the password file {}: `chmod o-w` it",
            path.display()
        ));
    }
}
