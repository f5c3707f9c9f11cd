//! The threads of one connection: for each direction, one that reads and one that writes.

use alloc::sync::Arc;
use core::time::Duration;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Instant;

use super::connection::{ConnectionId, Frame};
use super::frame::{Direction, Piece};
use super::state::{Accepted, Admission, Opening, Protocol, Shared};

/// Frames read ahead while a direction is held back; then the sender's socket fills up, as over a
/// network that does not deliver.
const READ_AHEAD: usize = 1024;
const STACK: usize = 128 << 10;
const CONNECT_BOUND: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(2);
const RETRY: Duration = Duration::from_millis(20);

enum Parcel {
    Frame(Instant, Frame),
    End(Instant),
}

/// Relays a connection, in threads of its own.
pub(super) fn start(client: TcpStream, shared: &Arc<Shared>) {
    let accepted = shared.accept();
    let relayed = Arc::clone(shared);
    spawn("proxy-connect", move || {
        if let Err(error) = relay(accepted, &client, &relayed) {
            eprintln!("the proxy cannot relay to {}: {error}", accepted.target);
            relayed.cut_one(accepted.id);
            relayed.change(|state| state.counters.unreachable += 1);
        }
    });
}

fn relay(accepted: Accepted, client: &TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    let server = connect(accepted, shared)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let id = accepted.id;
    if shared.open(accepted, client, &server)? == Opening::Cut {
        return Ok(());
    }
    for (direction, source, destination) in [
        (Direction::ToServer, client.try_clone()?, server.try_clone()?),
        (Direction::ToClient, server, client.try_clone()?),
    ] {
        let (parcels, arrivals) = sync_channel(READ_AHEAD);
        let (reading, writing) = (Arc::clone(shared), Arc::clone(shared));
        spawn("proxy-read", move || {
            read(id, direction, source, &reading, &parcels);
        });
        spawn("proxy-write", move || {
            write(id, direction, destination, &writing, &arrivals);
        });
    }
    Ok(())
}

fn connect(accepted: Accepted, shared: &Shared) -> io::Result<TcpStream> {
    let patience = match shared.protocol() {
        Protocol::Client => Duration::ZERO,
        Protocol::Opaque => PATIENCE,
    };
    let start = Instant::now();
    loop {
        match TcpStream::connect_timeout(&accepted.target, CONNECT_BOUND) {
            Err(error)
                if error.kind() == io::ErrorKind::ConnectionRefused
                    && start.elapsed() < patience =>
            {
                thread::sleep(RETRY);
            }
            connected => return connected,
        }
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) {
    let spawned = thread::Builder::new().name(name.to_owned()).stack_size(STACK).spawn(work);
    if let Err(error) = spawned {
        // The parts of the thread are dropped, and with them its side of the connection.
        eprintln!("the proxy cannot start a thread: {error}");
    }
}

fn read(
    id: ConnectionId,
    direction: Direction,
    mut source: TcpStream,
    shared: &Shared,
    parcels: &SyncSender<Parcel>,
) {
    let mut splitter = shared.splitter();
    let mut is_first = true;
    let mut bytes = vec![0; 16 << 10];
    let mut pass_on = |piece: Piece| {
        let arrival = shared.arrive(id, direction, is_first, piece);
        is_first = false;
        arrival.is_some_and(|(due, frame)| parcels.send(Parcel::Frame(due, frame)).is_ok())
    };
    loop {
        match source.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // A reset ends the connection like a regular end does.
            Ok(0) | Err(_) => break,
            Ok(length) => {
                splitter.push(bytes.get(..length).unwrap_or_default());
                while let Some(piece) = splitter.next_piece() {
                    if !pass_on(piece) {
                        return;
                    }
                }
            }
        }
    }
    if splitter.rest().is_none_or(pass_on) {
        let due = shared.lock().due();
        // An error means that the connection was cut meanwhile.
        let _ = parcels.send(Parcel::End(due));
    }
}

fn write(
    id: ConnectionId,
    direction: Direction,
    mut destination: TcpStream,
    shared: &Shared,
    parcels: &Receiver<Parcel>,
) {
    for parcel in parcels {
        let (due, frame) = match parcel {
            Parcel::Frame(due, frame) => (due, frame),
            Parcel::End(due) => return shared.end(id, due, direction),
        };
        match shared.admit(id, due, &frame) {
            Admission::Gone => return,
            Admission::Pass => {
                if destination.write_all(&frame.bytes).is_err() {
                    return shared.cut_one(id);
                }
            }
            Admission::PassThenClose(length, connection) => {
                // It is closed next in any case.
                let _ = destination.write_all(frame.bytes.get(..length).unwrap_or_default());
                return connection.close();
            }
        }
    }
}
