//! The server's costs: `cargo bench -p zk-embedded`. Prints figures, asserts nothing.

use core::error::Error;
use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Instant;

use bytes::BytesMut;
use tokio::runtime::{Builder, Runtime};
use zk_embedded::{Config, Server};
use zk_jute::records::{ConnectRequest, CreateMode, CreateRequest, GetDataRequest};
use zk_jute::{
    DEFAULT_MAX_FRAME, Encode, OpCode, RequestHeader, SessionId, Vector, Xid, Zxid, put_frame,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

const READS: i32 = 400_000;
/// A session takes two files of this process, which mostly may have 20,000.
const SESSIONS: usize = 9_900;

fn main() -> Outcome<()> {
    let (runtime, server, took) = start()?;
    println!("start to first session: {:.2} ms", took.as_secs_f64() * 1e3);
    let rate = read_pipelined(server.addr())?;
    println!("pipelined getData from one connection: {rate:.0} a second");
    let before = resident_kib();
    let idle: Result<Vec<TcpStream>, _> = (0..SESSIONS).map(|_| connect(server.addr())).collect();
    let idle = idle?;
    let kib = resident_kib().saturating_sub(before);
    let sessions = server.snapshot().sessions().len();
    println!("{sessions} idle sessions on {} sockets: {kib} KiB more", idle.len());
    runtime.block_on(server.shutdown());
    Ok(())
}

/// Starts a server on one thread, as on one core.
fn start() -> Outcome<(Runtime, Server, Duration)> {
    let begin = Instant::now();
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let mut config = Config::default();
    config.limits.max_client_connections = 0;
    let server = runtime.block_on(Server::bind_with("127.0.0.1:0", config))?;
    connect(server.addr())?;
    Ok((runtime, server, begin.elapsed()))
}

fn connect(address: SocketAddr) -> Outcome<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let request = ConnectRequest {
        protocol_version: 0,
        last_zxid_seen: Zxid::ZERO,
        timeout: 40_000,
        session_id: SessionId::NONE,
        password: None,
        read_only: Some(false),
    };
    stream.write_all(&frame(&(), &request)?)?;
    stream.read_exact(&mut [0; 41])?;
    Ok(stream)
}

/// Writes requests from one thread and reads replies in another.
fn read_pipelined(address: SocketAddr) -> Outcome<f64> {
    let mut stream = connect(address)?;
    let create = CreateRequest {
        path: "/data",
        data: Some(&[7; 100]),
        acl: Vector::OPEN,
        mode: CreateMode::PERSISTENT,
    };
    let header = |xid, opcode| RequestHeader { xid: Xid::new(xid), opcode };
    stream.write_all(&frame(&header(1, OpCode::CREATE), &create)?)?;
    stream.read_exact(&mut [0; 4 + 16 + 4 + 5])?;

    let request = GetDataRequest { path: "/data", watch: false };
    let mut requests = BytesMut::new();
    for xid in 1..=READS {
        requests.extend_from_slice(&frame(&header(xid, OpCode::GET_DATA), &request)?);
    }
    let mut writing = stream.try_clone()?;
    let begin = Instant::now();
    let writer = thread::spawn(move || writing.write_all(&requests));
    let mut left = (4 + 16 + 4 + 100 + 68) * usize::try_from(READS)?;
    let mut buffer = vec![0; 1 << 20];
    while left > 0 {
        let read = stream.read(&mut buffer)?;
        if read == 0 {
            return Err("the server closed the connection".into());
        }
        left -= read;
    }
    let took = begin.elapsed();
    writer.join().map_err(|_| "the writing thread panicked")??;
    Ok(f64::from(READS) / took.as_secs_f64())
}

fn frame(header: &impl Encode, body: &impl Encode) -> Outcome<BytesMut> {
    let mut bytes = BytesMut::new();
    put_frame(&mut bytes, DEFAULT_MAX_FRAME, header, body)?;
    Ok(bytes)
}

/// Returns the memory of this process; 0 where the system does not tell.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}
