//! The embedded server, on a thread of its own.

use core::net::{Ipv4Addr, SocketAddr};
use std::io;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use tokio::runtime::Builder;
use tokio::sync::mpsc::{self as channel, UnboundedSender};
use zk_embedded::{Config, Server, Throttling};

/// An embedded server with a thread and a runtime to itself: whatever the runtime of a test does,
/// and be it that it blocks, the server goes on serving.
#[derive(Debug)]
pub(super) struct EmbeddedServer {
    address: SocketAddr,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    orders: UnboundedSender<(Order, mpsc::Sender<()>)>,
    thread: JoinHandle<()>,
}

/// An order to the thread that has the server; it stops when no order can come any more.
#[derive(Debug)]
enum Order {
    Restart,
    Throttle(Throttling),
}

impl EmbeddedServer {
    pub(super) fn start(config: Config) -> io::Result<Self> {
        let (started, starts) = mpsc::sync_channel(1);
        let (orders, mut ordered) = channel::unbounded_channel();
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
                            while let Some((order, done)) = ordered.recv().await {
                                match order {
                                    Order::Restart => server.restart(),
                                    Order::Throttle(throttling) => {
                                        server.set_throttling(throttling);
                                    }
                                }
                                // Dropped when it is done, which the other side waits for.
                                drop::<mpsc::Sender<()>>(done);
                            }
                            server.shutdown().await;
                        });
                    }
                    Err(error) => {
                        let _ = started.send(Err(error));
                    }
                }
            })?;
        let address = starts.recv().map_err(io::Error::other)??;
        Ok(Self { address, running: Mutex::new(Some(Running { orders, thread })) })
    }

    pub(super) const fn addr(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn restart(&self) {
        self.order(Order::Restart);
    }

    pub(super) fn set_throttling(&self, throttling: Throttling) {
        self.order(Order::Throttle(throttling));
    }

    /// Returns once it is done; at once if the server was killed.
    fn order(&self, order: Order) {
        let (done, is_done) = mpsc::channel();
        if let Some(running) = &*self.running.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = running.orders.send((order, done));
        }
        // An error: the other side is dropped, here or there.
        let _ = is_done.recv();
    }

    /// Returns once the port is closed and every connection with it.
    pub(super) fn kill(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Running { orders, thread }) = running {
            drop(orders);
            let _ = thread.join();
        }
    }
}

impl Drop for EmbeddedServer {
    fn drop(&mut self) {
        self.kill();
    }
}
