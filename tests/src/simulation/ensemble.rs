//! The ensemble: replicas of the embedded server that elect a leader and replicate its log.
