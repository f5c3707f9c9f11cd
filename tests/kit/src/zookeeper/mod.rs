//! Real Apache ZooKeeper servers: one, or an ensemble of three.
//!
//! Each server runs under a small shell supervisor that holds the reading end of a pipe from this
//! process. The pipe closes when the server is dropped, or this process panics, exits with the server
//! in a `static`, or is killed. Then the supervisor kills the server, even a paused one, and removes
//! its folder. The supervisor also sends the signals: it is the server's parent, so no signal can hit a
//! process that only inherited the number.
//!
//! All calls block; in async tests use a multi-thread runtime or `spawn_blocking`.

mod command_line;
mod ensemble;
mod error;
mod four_letter;
mod install;
mod links;
mod options;
mod release;
mod secure;
mod server;
mod shared;
mod snapshot;
mod supervisor;

pub use command_line::{CommandLine, CommandLineError};
pub use ensemble::{Ensemble, Member, PeerAddress};
pub use error::{FourLetterError, InstallError, StartError};
pub use four_letter::Mode;
pub(crate) use four_letter::watch_count as watch_count_at;
pub use links::{LinkedEnsemble, Lost};
pub use options::Options;
pub use release::{ServerVersion, release_at};
pub use secure::{ClientAuth, SecurePort};
pub use server::Server;
pub(crate) use shared::fresh_chroot_at;
pub use shared::{shared, unique_path};
pub use snapshot::Snapshot;
