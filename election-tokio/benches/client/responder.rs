//! Answers `getData` with 100 bytes, or 64 KiB of the path `/large`, and `getChildren` and `getChildren2` with 100,000
//! names: what remains is the client's own cost. Written by hand, and apart from the codec.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;

const READ: usize = 64 * 1024;
const PING: i32 = 11;
const CLOSE_SESSION: i32 = -11;
const GET_CHILDREN: i32 = 8;
const GET_CHILDREN2: i32 = 12;
/// The bytes of a `Stat`.
const STAT: usize = 68;

/// How many names a list has.
pub(crate) const CHILDREN: usize = 100_000;
/// The bytes of each name.
const NAME: usize = 56;

/// The bytes of an answer to `getData`, with the length before it.
pub(crate) const ANSWER: usize = 4 + 16 + 4 + 100 + 68;

/// The same of 64 KiB.
#[allow(dead_code, reason = "only one of the programs asks for it")]
pub(crate) const LARGE_ANSWER: usize = ANSWER - 100 + 65_536;

/// The bytes of an answer to `getChildren`, with the length before it.
#[allow(dead_code, reason = "only one of the programs asks for it")]
pub(crate) const LIST_ANSWER: usize = 4 + 16 + 4 + CHILDREN * (4 + NAME);

/// One connection, as far as it has come.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    input: Vec<u8>,
    shaken_hands: bool,
}

impl Conversation {
    /// Takes in bytes; appends the answers to whole frames.
    pub(crate) fn answer(&mut self, bytes: &[u8], output: &mut Vec<u8>) {
        self.input.extend_from_slice(bytes);
        let mut rest = self.input.as_slice();
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
            let Some((frame, after)) = after.split_at_checked(length) else {
                break;
            };
            if self.shaken_hands {
                answer_request(frame, output);
            } else {
                shake_hands(frame, output);
                self.shaken_hands = true;
            }
            rest = after;
        }
        let consumed = self.input.len() - rest.len();
        self.input.drain(..consumed);
    }
}

fn shake_hands(frame: &[u8], output: &mut Vec<u8>) {
    let asked = frame.get(12..16).unwrap_or_default();
    let asked = asked.first_chunk().map_or(0, |bytes| i32::from_be_bytes(*bytes));
    // Some clients leave it to the server.
    let timeout = if asked > 0 { asked } else { 30_000 };
    output.extend_from_slice(&37_u32.to_be_bytes());
    output.extend_from_slice(&0_i32.to_be_bytes());
    output.extend_from_slice(&timeout.to_be_bytes());
    output.extend_from_slice(&7_i64.to_be_bytes());
    output.extend_from_slice(&16_u32.to_be_bytes());
    output.extend_from_slice(&[1; 16]);
    output.push(0);
}

fn answer_request(frame: &[u8], output: &mut Vec<u8>) {
    let Some((xid, rest)) = frame.split_first_chunk::<4>() else {
        return;
    };
    let opcode = rest.first_chunk().map_or(0, |bytes| i32::from_be_bytes(*bytes));
    let body = match opcode {
        PING | CLOSE_SESSION => &[],
        GET_CHILDREN => children().split_at(LIST_ANSWER - 4 - 16).0,
        GET_CHILDREN2 => children(),
        // Behind the path comes the byte of the watch.
        _ if frame.get(12..).is_some_and(|path| path.starts_with(b"/large")) => large(),
        _ => data(),
    };
    let length = 16 + body.len();
    output.extend_from_slice(&u32::try_from(length).unwrap_or(0).to_be_bytes());
    output.extend_from_slice(xid);
    output.extend_from_slice(&1_i64.to_be_bytes());
    output.extend_from_slice(&0_i32.to_be_bytes());
    output.extend_from_slice(body);
}

/// Returns data and a `Stat`, made once.
fn data() -> &'static [u8] {
    static DATA: OnceLock<Vec<u8>> = OnceLock::new();
    DATA.get_or_init(|| [&100_u32.to_be_bytes()[..], &[b'x'; 100], &[0; 68]].concat())
}

/// Returns 64 KiB of data and a `Stat`, made once.
fn large() -> &'static [u8] {
    static DATA: OnceLock<Vec<u8>> = OnceLock::new();
    DATA.get_or_init(|| [&65_536_u32.to_be_bytes()[..], &vec![b'x'; 65_536], &[0; 68]].concat())
}

/// Returns a list, made once.
fn children() -> &'static [u8] {
    static LIST: OnceLock<Vec<u8>> = OnceLock::new();
    LIST.get_or_init(|| {
        let mut list = u32::try_from(CHILDREN).unwrap_or(0).to_be_bytes().to_vec();
        for number in 0..CHILDREN {
            let name = format!("_c_{number:08x}-0000-4000-8000-000000000000-latch-{number:010}");
            list.extend_from_slice(&u32::try_from(name.len()).unwrap_or(0).to_be_bytes());
            list.extend_from_slice(name.as_bytes());
        }
        list.extend_from_slice(&[0; STAT]);
        list
    })
}

fn serve(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut conversation = Conversation::default();
    let (mut input, mut output) = (vec![0; READ], Vec::new());
    loop {
        let read = stream.read(&mut input)?;
        if read == 0 {
            return Ok(());
        }
        output.clear();
        conversation.answer(input.get(..read).unwrap_or_default(), &mut output);
        stream.write_all(&output)?;
    }
}

/// Serves until the process ends; the port is the first line of the standard output.
pub(crate) fn run() -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    println!("{}", listener.local_addr()?.port());
    // The process that started this one holds the other end; this one ends with it.
    thread::spawn(|| {
        let _ = io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    for stream in listener.incoming() {
        let stream = stream?;
        thread::Builder::new().stack_size(256 * 1024).spawn(|| {
            if let Err(error) = serve(stream)
                && error.kind() != io::ErrorKind::ConnectionReset
            {
                eprintln!("responder: {error}");
            }
        })?;
    }
    Ok(())
}

/// A responder in a process of its own, so that neither its time nor its memory is ours.
#[derive(Debug)]
pub(crate) struct Responder {
    process: Child,
    /// The port where it listens.
    pub(crate) port: u16,
}

impl Responder {
    /// Starts this program once more, with the argument `serve`.
    pub(crate) fn start() -> io::Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        if let Some(stdout) = process.stdout.take() {
            io::BufRead::read_line(&mut io::BufReader::new(stdout), &mut line)?;
        }
        let port = line.trim().parse().map_err(io::Error::other)?;
        Ok(Self { process, port })
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
