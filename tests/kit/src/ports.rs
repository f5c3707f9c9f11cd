//! Loopback ports that stay reserved while nothing listens on them.
//!
//! A server that is down for a while must find its port free when it comes back. So this module takes
//! ports from below the range that systems use for the source ports of outgoing connections. It marks
//! each port in use by a UDP socket of the same number. Other users of this module see the mark, TCP
//! does not, and the mark dies with the process.

use core::hash::{BuildHasher as _, Hasher as _};
use core::net::{Ipv4Addr, SocketAddr};
use std::hash::RandomState;
use std::io;
use std::net::{TcpListener, UdpSocket};

const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;
const ATTEMPTS: u16 = 1_000;

/// A free TCP port of the loopback interface, kept from other users of this module until dropped.
#[derive(Debug)]
pub(crate) struct ReservedPort {
    address: SocketAddr,
    _mark: UdpSocket,
}

impl ReservedPort {
    pub(crate) fn reserve() -> io::Result<Self> {
        let start = RandomState::new().build_hasher().finish();
        let offset = u16::try_from(start % u64::from(COUNT)).unwrap_or_default();
        for step in 0..ATTEMPTS {
            let port = FIRST + (offset + step) % COUNT;
            if let Ok(reserved) = Self::try_port(port) {
                return Ok(reserved);
            }
        }
        Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            format!("{ATTEMPTS} loopback ports in a row are taken, from {}", FIRST + offset),
        ))
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) const fn port(&self) -> u16 {
        self.address.port()
    }

    fn try_port(port: u16) -> io::Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mark = UdpSocket::bind(address)?;
        TcpListener::bind(address)?;
        Ok(Self { address, _mark: mark })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserved_port_is_given_out_once_and_can_be_listened_on() {
        let reserved = ReservedPort::reserve().unwrap();
        assert!(ReservedPort::try_port(reserved.port()).is_err());
        TcpListener::bind(reserved.address()).unwrap();
        let port = reserved.port();
        drop(reserved);
        assert!(ReservedPort::try_port(port).is_ok());
    }

    #[test]
    fn a_port_in_use_is_passed_over() {
        let reserved = ReservedPort::reserve().unwrap();
        let port = reserved.port();
        // Before the port is free for others.
        let _listener = TcpListener::bind(reserved.address()).unwrap();
        drop(reserved);
        assert!(ReservedPort::try_port(port).is_err());
    }
}
