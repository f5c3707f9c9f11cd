//! What `election-core` says, in ZooKeeper's words, and the other way round.

use election_core::{Change, Command, DeleteVersion, Event, Failure, Op, Reply, SessionId, Stat};
use election_core::{Ticket, Token, Version as DataVersion};
use zk_jute::records::{self, CreateMode, CreateRequest, EventType, GetChildren2Response};
use zk_jute::{Decode as _, DecodeError, ErrorCode, OpCode, Vector, VectorIter, Version};
use zk_session::{self as session, End, Instant, Session, SubmitError, Watching};

/// Tells requests apart by the command that they carry out, and by what they ask for.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) ticket: Ticket,
    pub(crate) opcode: OpCode,
}

pub(crate) type Client = Session<Asked, Ticket>;

pub(crate) fn submit(
    client: &mut Client,
    now: Instant,
    path: &str,
    Command { ticket, op }: Command<'_>,
) -> Result<(), SubmitError> {
    let asked = |opcode| Asked { ticket, opcode };
    let child = |name: &str| format!("{path}/{name}");
    match op {
        Op::Create { id } => {
            let path = child(&id.candidate_prefix().to_string());
            let request = create(&path, CreateMode::EPHEMERAL_SEQUENTIAL);
            client.submit(now, asked(OpCode::CREATE), &request)
        }
        Op::CreateElectionNode => {
            let request = records::Create2Request(create(path, CreateMode::PERSISTENT));
            client.submit(now, asked(OpCode::CREATE2), &request)
        }
        Op::Sync => client.submit(now, asked(OpCode::SYNC), &records::SyncRequest { path }),
        Op::List => {
            let watch = false;
            let request = records::GetChildren2Request { path, watch };
            client.submit(now, asked(OpCode::GET_CHILDREN2), &request)
        }
        Op::Read { name, .. } => {
            let path = child(name);
            let read = Watching::GetData(&path);
            let watching = client.submit_watching(now, asked(OpCode::GET_DATA), read, ticket);
            watching.map(|_| ())
        }
        Op::Inspect { name } => {
            let (path, watch) = (&*child(name), false);
            let request = records::GetDataRequest { path, watch };
            client.submit(now, asked(OpCode::GET_DATA), &request)
        }
        Op::Delete { name, version } => {
            let path = &*child(name);
            let version = match version {
                DeleteVersion::Any => Version::ANY,
                DeleteVersion::Exactly(version) => Version::new(version.get()),
            };
            let request = records::DeleteRequest { path, version };
            client.submit(now, asked(OpCode::DELETE), &request)
        }
    }
}

fn create(path: &str, mode: CreateMode) -> CreateRequest<'_> {
    CreateRequest {
        path,
        data: Some(&[]),
        acl: Vector::OPEN,
        mode,
    }
}

/// What a nominee is to be told. `names` is where the iterator over a list lives.
pub(crate) fn event<'a>(
    event: &'a session::Event<Asked, Ticket>,
    names: &'a mut Option<VectorIter<'a, &'a str>>,
) -> Result<Option<Event<'a>>, DecodeError> {
    Ok(Some(match event {
        session::Event::Connected { session, .. } => {
            let session = SessionId::new(session.get());
            Event::Connected { session }
        }
        session::Event::Disconnected { .. } => Event::Disconnected,
        session::Event::LeaseLapsed => Event::LeaseLapsed,
        session::Event::Ended(End::Expired(_)) => Event::SessionExpired,
        session::Event::Fired { watcher, kind, .. } => Event::Changed {
            ticket: *watcher,
            change: match *kind {
                EventType::NODE_DELETED => Change::Deleted,
                _ => Change::Data,
            },
        },
        session::Event::Completed { tag, outcome } => Event::Reply {
            ticket: tag.ticket,
            result: match outcome {
                Ok(answer) => Ok(reply(tag.opcode, &answer.body, names)?),
                Err(failure) => refusal(tag.opcode, *failure),
            },
        },
        _ => return Ok(None),
    }))
}

fn reply<'a>(
    opcode: OpCode,
    body: &'a [u8],
    names: &'a mut Option<VectorIter<'a, &'a str>>,
) -> Result<Reply<'a>, DecodeError> {
    Ok(match opcode {
        OpCode::CREATE => {
            let path = records::CreateResponse::decode_prefix(body)?.path;
            let name = path.rsplit('/').next().unwrap_or_default();
            Reply::Created { name }
        }
        OpCode::CREATE2 => Reply::ElectionNodeCreated,
        OpCode::SYNC => Reply::Synced,
        OpCode::GET_CHILDREN2 => {
            let list = GetChildren2Response::decode_prefix(body)?.children;
            Reply::Children(names.insert(list.iter()))
        }
        OpCode::GET_DATA => {
            let stat = records::GetDataResponse::decode_prefix(body)?.stat;
            let owner = stat.ephemeral_owner.get();
            Reply::Read(Stat {
                owner: (owner != 0).then_some(SessionId::new(owner)),
                token: Token::new(stat.czxid.get()),
                version: DataVersion::new(stat.version.get()),
            })
        }
        _ => Reply::Deleted,
    })
}

fn refusal<'a>(opcode: OpCode, failure: session::Failure) -> Result<Reply<'a>, Failure> {
    let session::Failure::Refused(error) = failure else {
        return Err(Failure::ConnectionLoss);
    };
    match error {
        ErrorCode::NODE_EXISTS if opcode == OpCode::CREATE2 => Ok(Reply::ElectionNodeCreated),
        ErrorCode::NODE_EXISTS => Err(Failure::NodeExists),
        ErrorCode::NO_NODE => Err(Failure::NoNode),
        ErrorCode::BAD_VERSION => Err(Failure::BadVersion),
        error => Err(Failure::Rejected(error.get())),
    }
}
