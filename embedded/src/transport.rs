//! The core's instructions to a driver about a client's transport.

/// The number of a connection; a replica never uses one twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub(crate) u64);

/// The output of a connection, which stays open or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transmit {
    /// The connection stays open, and more may come.
    Open,
    /// The driver sends what it was given, closes the transport and calls
    /// [`Standalone::close`](crate::Standalone::close).
    Close,
}

/// A limit of connections is reached. The driver closes the transport without a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooManyConnections {
    /// [`Limits::max_client_connections`](crate::Limits::max_client_connections).
    #[error("{limit} connections from one address are open, which is the limit")]
    FromAddress {
        /// The limit.
        limit: usize,
    },
    /// [`Limits::max_connections`](crate::Limits::max_connections).
    #[error("{limit} connections are open, which is the limit")]
    InTotal {
        /// The limit.
        limit: usize,
    },
}
