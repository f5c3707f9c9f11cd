//! The floor: a connection without a library, requests written in one piece, answers looked at no
//! closer than needed.

use core::net::SocketAddr;
use std::io::{self, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::thread;

const CREATE: i32 = 1;
pub(crate) const DELETE: i32 = 2;
const GET_DATA: i32 = 4;
pub(crate) const GET_CHILDREN: i32 = 8;
const CLOSE_SESSION: i32 = -11;
const NOTIFICATION: i32 = -1;

pub(crate) struct Raw {
    pub(crate) input: BufReader<TcpStream>,
    pub(crate) output: TcpStream,
}

impl Raw {
    pub(crate) fn connect(server: SocketAddr) -> io::Result<Self> {
        let mut output = TcpStream::connect(server)?;
        output.set_nodelay(true)?;
        let mut handshake = vec![0; 44];
        if let Some(timeout) = handshake.get_mut(12..16) {
            timeout.copy_from_slice(&60_000_i32.to_be_bytes());
        }
        if let Some(length) = handshake.get_mut(24..28) {
            length.copy_from_slice(&16_i32.to_be_bytes());
        }
        output.write_all(&framed(&handshake))?;
        let mut input = BufReader::with_capacity(1 << 18, output.try_clone()?);
        read_frame(&mut input)?;
        Ok(Self { input, output })
    }

    /// Creates the node, and candidates below it; gives the names in the order of the queue.
    pub(crate) fn candidates(&mut self, node: &str, number: usize) -> io::Result<Vec<String>> {
        let prefix = format!("{node}/_c_6ba7b810-9dad-11d1-80b4-00c04fd430c8-latch-");
        self.ask(&[create(node, 0)])?;
        let creates: Vec<_> = (0..number).map(|_| create(&prefix, 3)).collect();
        self.ask(&creates)?;
        let list = self.ask(&[request(GET_CHILDREN, &[&buffer(node), &[0]])])?;
        let mut names = children(list.first().map_or(&[], Vec::as_slice));
        names.sort_unstable_by(|one, other| one.get(46..).cmp(&other.get(46..)));
        Ok(names)
    }

    /// Reads znodes and leaves a watch on each.
    pub(crate) fn watch(&mut self, node: &str, names: &[String]) -> io::Result<()> {
        let path = |name| buffer(&format!("{node}/{name}"));
        let reads: Vec<_> =
            names.iter().map(|name| request(GET_DATA, &[&path(name), &[1]])).collect();
        self.ask(&reads).map(drop)
    }

    pub(crate) fn send_delete(&mut self, path: &str) -> io::Result<()> {
        self.output.write_all(&request(DELETE, &[&buffer(path), &(-1_i32).to_be_bytes()]))
    }

    /// Reads the answer to a request that was sent.
    pub(crate) fn answer(&mut self) -> io::Result<()> {
        self.until(|xid| xid != NOTIFICATION)
    }

    /// Waits for an event.
    pub(crate) fn notification(&mut self) -> io::Result<()> {
        self.until(|xid| xid == NOTIFICATION)
    }

    pub(crate) fn close(mut self) -> io::Result<()> {
        self.ask(&[request(CLOSE_SESSION, &[])]).map(drop)
    }

    fn until(&mut self, wanted: impl Fn(i32) -> bool) -> io::Result<()> {
        while !wanted(xid(&read_frame(&mut self.input)?)) {}
        Ok(())
    }

    /// Sends all, and reads the answers meanwhile.
    fn ask(&mut self, requests: &[Vec<u8>]) -> io::Result<Vec<Vec<u8>>> {
        let Self { input, output } = self;
        thread::scope(|scope| {
            let sent = scope.spawn(|| output.write_all(&requests.concat()));
            let answers = requests.iter().map(|_| read_frame(input)).collect();
            sent.join().map_err(|_| io::Error::other("the writer has panicked"))??;
            answers
        })
    }
}

pub(crate) fn read_frame(input: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    let mut frame = vec![0; length.min(64 << 20)];
    input.read_exact(&mut frame)?;
    Ok(frame)
}

fn xid(frame: &[u8]) -> i32 {
    frame.first_chunk().map_or(0, |bytes| i32::from_be_bytes(*bytes))
}

fn framed(payload: &[u8]) -> Vec<u8> {
    [&u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes(), payload].concat()
}

pub(crate) fn buffer(text: &str) -> Vec<u8> {
    framed(text.as_bytes())
}

pub(crate) fn request(opcode: i32, parts: &[&[u8]]) -> Vec<u8> {
    let head = [1_i32.to_be_bytes(), opcode.to_be_bytes()].concat();
    framed(&[head, parts.concat()].concat())
}

pub(crate) fn create(path: &str, flags: i32) -> Vec<u8> {
    let data = 0_u32.to_be_bytes();
    let open =
        [&1_u32.to_be_bytes()[..], &31_u32.to_be_bytes(), &buffer("world"), &buffer("anyone")];
    request(CREATE, &[&buffer(path), &data, &open.concat(), &flags.to_be_bytes()])
}

/// Returns the names in the answer to a list.
pub(crate) fn children(frame: &[u8]) -> Vec<String> {
    let mut rest = frame.get(20..).unwrap_or_default();
    let mut names = Vec::new();
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        let Some((name, after)) = after.split_at_checked(length) else { break };
        names.push(String::from_utf8_lossy(name).into_owned());
        rest = after;
    }
    names
}
