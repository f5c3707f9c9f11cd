//! A connection without a library: frames by hand.

use core::time::Duration;
use std::io::{self, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::thread;

const CREATE: i32 = 1;
const DELETE: i32 = 2;
const GET_DATA: i32 = 4;
const GET_CHILDREN: i32 = 8;
const NOTIFICATION: i32 = -1;
const EPHEMERAL_SEQUENTIAL: i32 = 3;

/// A session.
#[derive(Debug)]
pub(super) struct Connection {
    input: BufReader<TcpStream>,
    output: TcpStream,
}

impl Connection {
    pub(super) fn open(servers: &str, session_timeout: Duration) -> io::Result<Self> {
        Self::open_with_buffer(servers, session_timeout, 1 << 18)
    }

    /// Opens a connection with a buffer of so many bytes for reads.
    pub(super) fn open_with_buffer(
        servers: &str,
        session_timeout: Duration,
        capacity: usize,
    ) -> io::Result<Self> {
        let mut output = TcpStream::connect(servers)?;
        output.set_nodelay(true)?;
        let timeout = i32::try_from(session_timeout.as_millis()).unwrap_or(i32::MAX);
        // Protocol version, last transaction, timeout, no session, an empty password.
        let handshake =
            [&[0; 12][..], &timeout.to_be_bytes(), &[0; 8], &16_u32.to_be_bytes(), &[0; 16]];
        output.write_all(&framed(&handshake.concat()))?;
        let mut input = BufReader::with_capacity(capacity, output.try_clone()?);
        read_frame(&mut input)?;
        Ok(Self { input, output })
    }

    /// Sends one request and reads its answer.
    pub(super) fn call(&mut self, request: &[u8]) -> io::Result<Vec<u8>> {
        self.send(request)?;
        self.answer()
    }

    pub(super) fn send(&mut self, request: &[u8]) -> io::Result<()> {
        self.output.write_all(request)
    }

    /// Sends all, and reads the answers meanwhile.
    pub(super) fn call_all(&mut self, requests: &[Vec<u8>]) -> io::Result<()> {
        let Self { input, output } = self;
        thread::scope(|scope| {
            let sent = scope.spawn(|| output.write_all(&requests.concat()));
            for _ in requests {
                read_frame(input)?;
            }
            sent.join().map_err(|_| io::Error::other("the writer has panicked"))?
        })
    }

    /// Bytes that were made before, and so many bytes of answers, which are not looked at.
    pub(super) fn exchange(&mut self, requests: &[u8], answers: &mut [u8]) -> io::Result<()> {
        self.output.write_all(requests)?;
        self.input.read_exact(answers)
    }

    /// Reads the next frame that answers a request.
    pub(super) fn answer(&mut self) -> io::Result<Vec<u8>> {
        self.next(|xid| xid != NOTIFICATION)
    }

    /// Waits for an event.
    pub(super) fn event(&mut self) -> io::Result<()> {
        self.next(|xid| xid == NOTIFICATION).map(drop)
    }

    fn next(&mut self, wanted: impl Fn(i32) -> bool) -> io::Result<Vec<u8>> {
        loop {
            let frame = read_frame(&mut self.input)?;
            if wanted(number_at(&frame, 0)) {
                return Ok(frame);
            }
        }
    }
}

/// Creates a persistent znode.
pub(super) fn create(path: &str) -> Vec<u8> {
    request(CREATE, &create_body(path, 0))
}

/// Creates a candidate.
pub(super) fn create_candidate(node: &str) -> Vec<u8> {
    let prefix = format!("{node}/_c_6ba7b810-9dad-11d1-80b4-00c04fd430c8-latch-");
    request(CREATE, &create_body(&prefix, EPHEMERAL_SEQUENTIAL))
}

pub(super) fn delete(path: &str) -> Vec<u8> {
    request(DELETE, &[string(path), (-1_i32).to_be_bytes().to_vec()].concat())
}

/// Reads a znode and leaves a watch.
pub(super) fn watch(path: &str) -> Vec<u8> {
    request(GET_DATA, &[string(path), vec![1]].concat())
}

/// Reads a znode.
pub(super) fn get_data(path: &str) -> Vec<u8> {
    request(GET_DATA, &[string(path), vec![0]].concat())
}

pub(super) fn list(path: &str) -> Vec<u8> {
    request(GET_CHILDREN, &[string(path), vec![0]].concat())
}

pub(super) fn ping() -> Vec<u8> {
    framed(&[(-2_i32).to_be_bytes(), 11_i32.to_be_bytes()].concat())
}

/// Returns the strings in an answer: the names of a list, or the one path of a creation.
pub(super) fn names(frame: &[u8], start: usize) -> Vec<String> {
    let mut rest = frame.get(start..).unwrap_or_default();
    let mut names = Vec::new();
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        let Some((name, after)) = after.split_at_checked(length) else { break };
        names.push(String::from_utf8_lossy(name).into_owned());
        rest = after;
    }
    names
}

fn create_body(path: &str, flags: i32) -> Vec<u8> {
    let all =
        [&1_u32.to_be_bytes()[..], &31_u32.to_be_bytes(), &string("world"), &string("anyone")];
    [string(path), vec![0; 4], all.concat(), flags.to_be_bytes().to_vec()].concat()
}

fn request(opcode: i32, body: &[u8]) -> Vec<u8> {
    framed(&[&1_i32.to_be_bytes(), &opcode.to_be_bytes(), body].concat())
}

fn string(text: &str) -> Vec<u8> {
    framed(text.as_bytes())
}

fn framed(payload: &[u8]) -> Vec<u8> {
    [&u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes(), payload].concat()
}

fn read_frame(input: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    let mut frame = vec![0; length.min(64 << 20)];
    input.read_exact(&mut frame)?;
    Ok(frame)
}

fn number_at(frame: &[u8], start: usize) -> i32 {
    let bytes = frame.get(start..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |bytes| i32::from_be_bytes(*bytes))
}
