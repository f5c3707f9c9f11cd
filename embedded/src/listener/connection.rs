//! One client's socket.

use std::io;
use std::sync::Arc;

use bytes::{Buf as _, BytesMut};
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};

use super::shared::{Activity, Paused, Shared, wait_until_running};
use crate::transport::{ConnectionId, Transmit};

/// A buffer that grew above this size is freed once its output is sent.
const KEPT_CAPACITY: usize = 16 << 10;

/// Carries bytes between a socket and the core, until one of them ends the connection.
pub(super) struct ConnectionTask {
    shared: Arc<Shared>,
    stream: TcpStream,
    id: ConnectionId,
    /// The core has something for this connection.
    wake: Arc<Notify>,
    activity: watch::Receiver<Activity>,
    dropped: watch::Receiver<u64>,
    output: BytesMut,
}

/// The connection's next step.
enum Next {
    GoOn,
    Stop,
}

impl ConnectionTask {
    /// Registers the connection with the core; returns `None` if there are too many.
    pub(super) fn new(shared: &Arc<Shared>, stream: TcpStream) -> Option<Self> {
        // Replies are small, and clients wait for them.
        stream.set_nodelay(true).ok()?;
        let peer = stream.peer_addr().ok()?;
        let (activity, dropped) = (shared.activity(), shared.dropped());
        let (id, wake) = shared.open(peer).ok()?;
        Some(Self {
            shared: shared.clone(),
            stream,
            id,
            wake,
            activity,
            dropped,
            output: BytesMut::new(),
        })
    }

    pub(super) async fn run(mut self) {
        let mut dropped = self.dropped.clone();
        tokio::select! {
            _ = dropped.changed() => {}
            _ = self.carry() => {}
        }
    }

    /// Ends with an error if the socket does. For the core, both are the end of the connection.
    async fn carry(&mut self) -> io::Result<()> {
        loop {
            let Ok(transmit) = self.shared.poll_transmit(self.id, &mut self.output) else {
                self.wait_until_running().await;
                continue;
            };
            if !self.output.is_empty() {
                self.send().await?;
            } else if transmit == Transmit::Close {
                return Ok(());
            } else if let Next::Stop = self.receive().await? {
                return Ok(());
            }
        }
    }

    /// Sends all that was taken from the core. If the connection is closed while the client does
    /// not read, the client does not get the rest.
    async fn send(&mut self) -> io::Result<()> {
        while !self.output.is_empty() {
            match self.stream.try_write(&self.output) {
                Ok(sent) => self.output.advance(sent),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    tokio::select! {
                        writable = self.stream.writable() => writable?,
                        () = self.wake.notified() => {
                            if self.shared.is_closing(self.id) {
                                return Err(io::ErrorKind::ConnectionAborted.into());
                            }
                        }
                    }
                }
                Err(error) => return Err(error),
            }
        }
        if self.output.capacity() > KEPT_CAPACITY {
            self.output = BytesMut::new();
        }
        Ok(())
    }

    /// Reads once, or waits until there is something to read or to send.
    async fn receive(&mut self) -> io::Result<Next> {
        if !self.shared.wants_input(self.id) {
            self.wake.notified().await;
            return Ok(Next::GoOn);
        }
        match self.shared.receive(self.id, &self.stream) {
            Err(Paused) => self.wait_until_running().await,
            Ok(Ok(0)) => return Ok(Next::Stop),
            // A client that sends without pause must not delay the others.
            Ok(Ok(_)) => tokio::task::yield_now().await,
            Ok(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                tokio::select! {
                    readable = self.stream.readable() => readable?,
                    () = self.wake.notified() => {}
                }
            }
            Ok(Err(error)) => return Err(error),
        }
        Ok(Next::GoOn)
    }

    async fn wait_until_running(&mut self) {
        wait_until_running(&mut self.activity).await;
    }
}

/// Runs also when the task is aborted.
impl Drop for ConnectionTask {
    fn drop(&mut self) {
        self.shared.close(self.id);
    }
}
