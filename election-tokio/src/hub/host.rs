//! The host of a client's sessions, with its types of tags.

use election_session::RecipeHost;

use super::seat::Seat;
use super::watches::WatchKey;
use crate::telemetry::CallKey;

/// The sessions of a client, its recipes, and its requests on their way.
pub(crate) type Host = RecipeHost<Box<dyn Seat>, CallKey, WatchKey>;
