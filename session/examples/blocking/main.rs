//! A candidate for leadership on a blocking socket and one thread, without a runtime.
//!
//! `cargo run -p zk-session --example blocking -- HOST:PORT[,...][/chroot] /election SECONDS`
//! stands for election, and leaves after so many seconds. The parent of the election node has to
//! exist.

mod words;

use core::{error::Error, hash::BuildHasher as _, hash::Hasher as _, time::Duration};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::{env, hash::RandomState, thread, time};

use bytes::BytesMut;
use election_core::{Nominee, NomineeId, Output, Policy, Role, Ticket};
use zk_jute::frame_len;
use zk_session::{Config, ConnectString, End, Event, Instant, Session, Transport};

use words::{Asked, Client};

/// How long a server may take to accept a connection, or to send the rest of a frame.
const PATIENCE: Duration = Duration::from_secs(1);

struct Candidate {
    servers: ConnectString,
    path: String,
    started: time::Instant,
    client: Client,
    nominee: Nominee,
}

impl Candidate {
    fn now(&self) -> Instant {
        Instant::since_origin(self.started.elapsed())
    }

    /// Does with the socket what the session wants, then listens until something is due.
    fn exchange(&mut self, socket: &mut Option<TcpStream>) -> io::Result<()> {
        match self.client.poll_transport() {
            Some(Transport::Disconnect) => *socket = None,
            Some(Transport::Connect(server)) => {
                let server = self.servers.servers().nth(server.0);
                let server = server.ok_or(ErrorKind::NotFound)?;
                let mut addresses = (&*server.host, server.port).to_socket_addrs()?;
                let address = addresses.next().ok_or(ErrorKind::NotFound)?;
                *socket = Some(TcpStream::connect_timeout(&address, PATIENCE)?);
                self.client.handle_opened(self.now());
            }
            None => {}
        }
        let due = self.client.poll_timeout().unwrap_or_default();
        let wait = due.saturating_since(self.now());
        let wait = wait.clamp(Duration::from_millis(1), Duration::from_millis(100));
        let Some(socket) = socket else {
            thread::sleep(wait);
            return Ok(());
        };
        let mut output = BytesMut::new();
        self.client.poll_transmit(&mut output);
        socket.write_all(&output)?;
        socket.set_read_timeout(Some(wait))?;
        match socket.peek(&mut [0]) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            _ => {
                socket.set_read_timeout(Some(PATIENCE))?;
                let mut head = [0; 4];
                socket.read_exact(&mut head)?;
                let length = frame_len(&head, 1 << 20).map_err(io::Error::other)?;
                let mut frame = vec![0; length.unwrap_or_default()];
                socket.read_exact(&mut frame)?;
                self.client.handle_frame(self.now(), frame.into());
            }
        }
        Ok(())
    }

    /// Tells the nominee what happened.
    fn handle(&mut self, event: &Event<Asked, Ticket>) -> Result<(), Box<dyn Error>> {
        if let Event::Ended(End::Expired(_)) = event {
            self.client = new_client(&self.servers, self.now());
        }
        let (now, mut names) = (self.now(), None);
        if let Some(event) = words::event(event, &mut names)? {
            let output = self.nominee.handle_event(event);
            carry_out(output, &mut self.client, &self.path, now);
        }
        Ok(())
    }
}

fn new_client(servers: &ConnectString, now: Instant) -> Client {
    Session::new(Config::new(servers.server_count()), random(), now)
}

fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Says what changed, and asks the server for what the nominee wants.
fn carry_out(output: Output<'_>, client: &mut Client, path: &str, now: Instant) {
    if let Some(notice) = output.notice {
        let deadline = client.lease_deadline();
        let left = deadline.map(|deadline| deadline.saturating_since(now));
        println!("{:?} {notice:?}, lease: {left:?}", now.elapsed());
    }
    // A command that finds no connection fails with it: `Disconnected` is on its way.
    if let Some(Err(error)) = output.command.map(|c| words::submit(client, now, path, c)) {
        eprintln!("{error}");
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [servers, path, seconds] = args.as_slice() else {
        return Err("usage: HOST:PORT[,...][/chroot] /election SECONDS".into());
    };
    let servers: ConnectString = servers.parse()?;
    let leave_at = Instant::since_origin(Duration::from_secs(seconds.parse()?));
    let id = (u128::from(random()) << 64 | u128::from(random())).to_be_bytes();
    let mut candidate = Candidate {
        path: format!("{}{path}", servers.chroot()),
        started: time::Instant::now(),
        client: new_client(&servers, Instant::ORIGIN),
        nominee: Nominee::new(NomineeId::from_bytes(id), Policy::default()),
        servers,
    };
    let mut socket = None;
    while candidate.client.ended().is_none() {
        if candidate.exchange(&mut socket).is_err() {
            candidate.client.handle_closed(candidate.now());
        }
        candidate.client.handle_timeout(candidate.now());
        while let Some(event) = candidate.client.poll_event() {
            candidate.handle(&event)?;
        }
        let now = candidate.now();
        if now >= leave_at {
            let output = candidate.nominee.withdraw();
            carry_out(output, &mut candidate.client, &candidate.path, now);
        }
        if let Role::Ended(_) = candidate.nominee.role() {
            candidate.client.close(now);
        }
    }
    Ok(())
}
