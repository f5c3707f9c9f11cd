//! Sessions that are over, and addresses that no process serves.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use election_tokio::ConnectionState;
use tokio::net::TcpSocket;

/// Whether the client has lost its session, also when the first attempt of the next session has failed
/// before the test looks.
pub fn has_expired(state: &ConnectionState) -> bool {
    matches!(state, ConnectionState::Expired { .. } | ConnectionState::Connecting { .. })
}

/// Returns an address where no process listens, as long as the socket is there.
pub fn unserved() -> io::Result<(TcpSocket, String)> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    let address = socket.local_addr()?.to_string();
    Ok((socket, address))
}
