//! A candidate on a blocking socket and one thread: `zk-session` and `election-core`, no runtime.
//! `cargo run -p zk-session --example blocking -- HOST:PORT[,...][/chroot] /election SECONDS`
//! stands for election for so many seconds. The election node has to exist.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::{env, error::Error, hash::BuildHasher as _, hash::Hasher as _, hash::RandomState};
use std::{net::TcpStream, thread, time, time::Duration};

use bytes::BytesMut;
use election_core::{Change, Command, ElectionNode, Event as Input, Failure as Refusal, Nominee};
use election_core::{NomineeId, Op, Policy, Reply, Role, SessionId, Stat, Ticket};
use zk_jute::{Decode as _, OpCode, Vector, Version, records as wire};
use zk_session::{
    Config, ConnectString, Event, Failure, Instant, Session, SessionEnd, SubmitError,
};
use zk_session::{Transport, Watching};

/// Requests are told apart by their command and by what they ask for, watches by their command.
type Client = Session<(Ticket, OpCode), Ticket>;

/// Sends what there is to send, then waits for bytes, for a moment.
fn exchange(socket: &mut TcpStream, c: &mut Client, input: &mut BytesMut) -> io::Result<()> {
    let (mut output, mut chunk) = (BytesMut::new(), [0; 4096]);
    c.poll_transmit(&mut output);
    socket.write_all(&output)?;
    socket.set_read_timeout(Some(Duration::from_millis(10)))?;
    match socket.read(&mut chunk) {
        Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
        Ok(length) => input.extend_from_slice(chunk.get(..length).unwrap_or_default()),
        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Asks the server for what the nominee wants. `path` is that of the election node.
fn submit(cmd: Command<'_>, c: &mut Client, path: &str, now: Instant) -> Result<(), SubmitError> {
    let tag = |opcode| (cmd.ticket, opcode);
    match cmd.op {
        Op::Create { prefix } => {
            let path = &format!("{path}/{prefix}");
            let mode = wire::CreateMode::EPHEMERAL_SEQUENTIAL;
            let request = wire::CreateRequest { path, data: Some(&[]), acl: Vector::OPEN, mode };
            c.submit(now, tag(OpCode::CREATE), &request)
        }
        Op::CreateElectionNode => Ok(()), // Never asked for: see the policy.
        Op::Barrier => {
            let check = wire::CheckVersionRequest { path, version: Version::ANY };
            let request = [wire::MultiOp::Check(check)];
            c.submit(now, tag(OpCode::MULTI), &wire::MultiRequest::new(&request))
        }
        Op::List => {
            let request = wire::GetChildrenRequest { path, watch: false };
            c.submit(now, tag(OpCode::GET_CHILDREN), &request)
        }
        Op::Read { name, .. } | Op::Inspect { name } => {
            let path = format!("{path}/{name}");
            let read = Watching::GetData(&path);
            c.submit_watching(now, tag(OpCode::GET_DATA), read, cmd.ticket).map(drop)
        }
        Op::Delete { name, version } => {
            let (path, version) = (&*format!("{path}/{name}"), Version::new(version.number()));
            c.submit(now, tag(OpCode::DELETE), &wire::DeleteRequest { path, version })
        }
    }
}

#[expect(clippy::too_many_lines, reason = "the loop is to be read in one piece")]
fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [servers, path, seconds] = args.as_slice() else { return Err("see the source".into()) };
    let (servers, seconds): (ConnectString, _) = (servers.parse()?, seconds.parse()?);
    let path = &format!("{}{path}", servers.chroot());
    let random = || RandomState::new().build_hasher().finish();
    let id = (u128::from(random()) << 64 | u128::from(random())).to_be_bytes();
    let policy = Policy { election_node: ElectionNode::MustExist, ..Default::default() };
    let mut nominee = Nominee::new(NomineeId::from_bytes(id), policy);
    let clock = time::Instant::now();
    let now = || Instant::since_origin(clock.elapsed());
    let new_client = || Client::new(Config::new(servers.server_count()), random(), now());
    let (mut client, mut socket, mut input) = (new_client(), None, BytesMut::new());
    while client.ended().is_none() {
        match client.poll_transport() {
            Some(TransportCommand::Connect(server)) => {
                let server = servers.servers().nth(server.0).ok_or("no such server")?;
                input.clear();
                socket = TcpStream::connect((&*server.host, server.port)).ok();
                let opened = socket.is_some();
                let next = if opened { Client::handle_opened } else { Client::handle_closed };
                next(&mut client, now());
            }
            Some(TransportCommand::Disconnect) => socket = None,
            None => thread::sleep(Duration::from_millis(1)),
        }
        match socket.as_mut().map(|socket| exchange(socket, &mut client, &mut input)) {
            Some(Err(_)) => client.handle_closed(now()),
            _ => client.handle_bytes(now(), &mut input, 1 << 20),
        }
        client.handle_timeout(now());
        while let Some(event) = client.poll_event() {
            let mut names;
            let input = match &event {
                Event::Connected { session, .. } => {
                    Input::Connected { session: SessionId::new(session.get()) }
                }
                Event::Disconnected { .. } => Input::Disconnected,
                Event::LeaseLapsed => Input::LeaseLapsed,
                Event::Ended(SessionEnd::Expired(_)) => {
                    client = new_client();
                    Input::SessionExpired
                }
                Event::Fired { watcher: ticket, kind, .. } => {
                    let deleted = *kind == wire::EventType::NODE_DELETED;
                    let change = if deleted { Change::Deleted } else { Change::Data };
                    Input::Changed { ticket: *ticket, change }
                }
                Event::Completed { tag: (ticket, opcode), outcome } => {
                    let result = match (outcome.as_ref().map(|answer| &*answer.body), *opcode) {
                        (Err(Failure::Refused(code)), _) => Err(Refusal::from_code(code.get())),
                        (Err(_), _) => Err(Refusal::ConnectionLoss),
                        (Ok(body), OpCode::CREATE) => {
                            let path = wire::CreateResponse::decode_prefix(body)?.path;
                            let (_, name) = path.rsplit_once('/').ok_or("no path")?;
                            Ok(Reply::Created { name })
                        }
                        (Ok(body), OpCode::GET_CHILDREN) => {
                            names = wire::GetChildrenResponse::decode_prefix(body)?.children.iter();
                            Ok(Reply::Children(&mut names))
                        }
                        (Ok(body), OpCode::GET_DATA) => {
                            let stat = wire::GetDataResponse::decode_prefix(body)?.stat;
                            let (owner, czxid) = (stat.ephemeral_owner.get(), stat.czxid.get());
                            Ok(Reply::Read(Stat::new(owner, czxid, stat.version.get())))
                        }
                        (Ok(_), OpCode::MULTI) => Ok(Reply::BarrierPassed),
                        (Ok(_), _) => Ok(Reply::Deleted),
                    };
                    Input::Reply { ticket: *ticket, result }
                }
                _ => continue,
            };
            let output = nominee.handle_event(input);
            if let Some(notice) = output.notice {
                println!("{:?} {notice:?}, lease: {:?}", now().elapsed(), client.lease_deadline());
            }
            // What finds no connection may be dropped: the nominee will be told that there is none.
            let _ = output.command.map(|command| submit(command, &mut client, path, now()));
        }
        // It may act while it leads and the lease deadline lies ahead; see
        // `zk_session::LeaseGrade`.
        match nominee.heartbeat() {
            Some(own) => client.start_heartbeats(now(), &format!("{path}/{}", own.as_str()))?,
            None => client.stop_heartbeats(),
        }
        if clock.elapsed() > Duration::from_secs(seconds)
            || matches!(nominee.role(), Role::Ended(_))
        {
            client.close(now());
        }
    }
    Ok(())
}
