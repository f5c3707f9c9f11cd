//! Protection of passwords and keys from other processes.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::console;

/// Excludes this process from core dumps, and its memory from other processes of the same user.
/// Programs that it starts are not affected: the kernel resets this when another program runs.
pub(crate) fn keep_out_of_core_dumps() {
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        console::warn(format_args!("a core dump would hold passwords and keys: {error}"));
    }
}

/// Warns of a password file that any user of the machine may change.
pub(crate) fn check_password_file(path: &Path, metadata: &Metadata) {
    check_file("password file", path, metadata);
}

/// Warns of a configuration file that any user of the machine may change: it says which servers to
/// trust, and by which files.
pub(crate) fn check_configuration_file(path: &Path, metadata: &Metadata) {
    check_file("configuration file", path, metadata);
}

fn check_file(kind: &str, path: &Path, metadata: &Metadata) {
    if metadata.is_file() && metadata.mode() & 0o002 != 0 {
        console::warn(format_args!(
            "every user of this machine may write the {kind} {}: `chmod o-w` it",
            path.display()
        ));
    }
}
