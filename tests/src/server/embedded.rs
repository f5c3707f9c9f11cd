//! The embedded server, on a thread of its own.

use core::net::{Ipv4Addr, SocketAddr};
use std::io;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use tokio::runtime::Builder;
use tokio::sync::oneshot;
use zk_embedded::{Config, Server};

/// An embedded server with a thread and a runtime to itself: whatever the runtime of a test does,
/// and be it that it blocks, the server goes on serving.
#[derive(Debug)]
pub(super) struct EmbeddedServer {
    address: SocketAddr,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl EmbeddedServer {
    pub(super) fn start(config: Config) -> io::Result<Self> {
        let (started, starts) = mpsc::sync_channel(1);
        let (stop, stopped) = oneshot::channel();
        let thread =
            thread::Builder::new().name("embedded server".to_owned()).spawn(move || {
                let bound =
                    Builder::new_current_thread().enable_all().build().and_then(|runtime| {
                        let listening = Server::bind_with((Ipv4Addr::LOCALHOST, 0), config);
                        runtime.block_on(listening).map(|server| (runtime, server))
                    });
                match bound {
                    Ok((runtime, server)) => {
                        let _ = started.send(Ok(server.addr()));
                        runtime.block_on(async {
                            // Told to stop, or nobody is left to tell.
                            let _ = stopped.await;
                            server.shutdown().await;
                        });
                    }
                    Err(error) => {
                        let _ = started.send(Err(error));
                    }
                }
            })?;
        let address = starts.recv().map_err(io::Error::other)??;
        Ok(Self { address, running: Mutex::new(Some(Running { stop, thread })) })
    }

    pub(super) const fn addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns once the port is closed and every connection with it.
    pub(super) fn kill(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Running { stop, thread }) = running {
            let _ = stop.send(());
            let _ = thread.join();
        }
    }
}

impl Drop for EmbeddedServer {
    fn drop(&mut self) {
        self.kill();
    }
}
