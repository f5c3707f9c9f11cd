//! One connection: frames out, frames in.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use crate::differential::request::put_buffer;

/// How long a server may think. None needs it: a reply that takes longer is a missing one.
const BOUND: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(crate) struct Link(BufReader<TcpStream>);

/// An arrival from the server.
#[derive(Debug)]
pub(crate) enum Incoming {
    Frame(Vec<u8>),
    /// It closed the connection.
    End,
    /// It says nothing, and leaves the connection open.
    Silence,
}

/// The facts by which a session is resumed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handshake {
    pub(crate) last_zxid: i64,
    pub(crate) session: i64,
    pub(crate) password: [u8; 16],
}

impl Link {
    pub(crate) fn open(server: SocketAddr, handshake: &Handshake) -> io::Result<Self> {
        const TIMEOUT_MILLIS: i32 = 60_000;
        let stream = TcpStream::connect(server)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(BOUND))?;
        let mut payload = 0_i32.to_be_bytes().to_vec();
        payload.extend(handshake.last_zxid.to_be_bytes());
        payload.extend(TIMEOUT_MILLIS.to_be_bytes());
        payload.extend(handshake.session.to_be_bytes());
        put_buffer(Some(&handshake.password), &mut payload);
        payload.push(0);
        let mut link = Self(BufReader::new(stream));
        let mut frame = Vec::new();
        put_buffer(Some(&payload), &mut frame);
        link.send(&frame)?;
        Ok(link)
    }

    pub(crate) fn send(&mut self, frames: &[u8]) -> io::Result<()> {
        self.0.get_mut().write_all(frames)
    }

    pub(crate) fn receive(&mut self) -> io::Result<Incoming> {
        match self.read_frame() {
            Ok(frame) => Ok(Incoming::Frame(frame)),
            Err(error) => match error.kind() {
                io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => Ok(Incoming::End),
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Ok(Incoming::Silence),
                _ => Err(error),
            },
        }
    }

    /// Breaks the connection.
    pub(crate) fn cut(self) {
        // It may be broken already.
        let _ = self.0.get_ref().shutdown(Shutdown::Both);
    }

    fn read_frame(&mut self) -> io::Result<Vec<u8>> {
        let mut length = [0; 4];
        self.0.read_exact(&mut length)?;
        let length = usize::try_from(i32::from_be_bytes(length)).map_err(io::Error::other)?;
        let mut payload = vec![0; length];
        self.0.read_exact(&mut payload)?;
        Ok(payload)
    }
}
