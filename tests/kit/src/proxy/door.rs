//! The listening socket, which can be closed and opened again.

use alloc::sync::Arc;
use core::mem;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use super::relay;
use super::state::Shared;
use crate::wait::SOON;

#[derive(Debug)]
pub(super) enum Door {
    Open { address: SocketAddr, closing: Arc<AtomicBool>, porter: JoinHandle<()> },
    Closed,
}

impl Door {
    pub(super) fn open(address: SocketAddr, shared: &Arc<Shared>) -> io::Result<Self> {
        let listener = listen(address)?;
        let closing = Arc::new(AtomicBool::new(false));
        let (shared, told) = (Arc::clone(shared), Arc::clone(&closing));
        let porter = thread::Builder::new()
            .name("proxy-door".to_owned())
            .spawn(move || accept(&listener, &shared, &told))?;
        Ok(Self::Open { address, closing, porter })
    }

    pub(super) const fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }

    /// Returns once the port is closed: a program that another thread starts has a copy of the listener until its `exec`.
    pub(super) fn close(&mut self) {
        if let Self::Open { address, closing, porter } = mem::replace(self, Self::Closed) {
            closing.store(true, Ordering::SeqCst);
            // Wakes the porter. Should it fail, then because the porter has left already.
            let _ = TcpStream::connect(address);
            if porter.join().is_err() {
                eprintln!("the proxy at {address} panicked while accepting");
            }
            let deadline = Instant::now() + SOON;
            while TcpStream::connect(address).is_ok() && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

/// Listens on `address`; waits, up to [`SOON`], while the port is still in use.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let deadline = Instant::now() + SOON;
    loop {
        match TcpListener::bind(address) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(5));
            }
            bound => return bound,
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>, closing: &AtomicBool) {
    loop {
        let accepted = listener.accept();
        if closing.load(Ordering::SeqCst) {
            return;
        }
        match accepted {
            Ok((client, _)) => relay::start(client, shared),
            Err(error) => {
                eprintln!("the proxy cannot accept a connection: {error}");
                // Out of descriptors, most likely; others have to end first.
                thread::sleep(Duration::from_millis(50));
            }
        }
    }
}
