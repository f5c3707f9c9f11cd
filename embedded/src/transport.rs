//! What a driver has to know of a client's transport.

/// The number of a connection; a replica never uses one twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub(crate) u64);

/// Whether a connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transmit {
    /// There may be more later.
    Open,
    /// Once what was given out is sent, the driver is to close the transport and call
    /// [`Standalone::close`](crate::Standalone::close).
    Close,
}

/// A limit of connections is reached: the transport is to be closed without a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooManyConnections {
    /// [`Limits::max_client_connections`](crate::Limits::max_client_connections).
    #[error("{limit} connections from one address are open, which is the limit")]
    FromAddress {
        /// How many there may be.
        limit: usize,
    },
    /// [`Limits::max_connections`](crate::Limits::max_connections).
    #[error("{limit} connections are open, which is the limit")]
    InTotal {
        /// How many there may be.
        limit: usize,
    },
}
