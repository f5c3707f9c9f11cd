//! A session, fed any frames, times and orders of calls. It never panics; each request is completed
//! once; polling twice changes nothing; and after its end it is silent.

#![no_main]
#![forbid(unsafe_code)]

use core::num::NonZeroUsize;
use core::time::Duration;
use std::collections::BTreeSet;

use arbitrary::Arbitrary;
use bytes::{Bytes, BytesMut};
use libfuzzer_sys::fuzz_target;
use zk_jute::records::{ConnectResponse, GetDataRequest};
use zk_jute::{Encode, ErrorCode, ReplyHeader, SessionId, Xid, Zxid};
use zk_session::{
    Config, Event, Grade, Instant, Sasl, SaslAnswer, SaslFailure, Session, Watching,
    WhileDisconnected,
};

#[derive(Arbitrary, Debug)]
struct Script {
    seed: u64,
    grade: u8,
    queues: bool,
    sasl: bool,
    steps: Vec<Step>,
}

#[derive(Arbitrary, Debug)]
enum Step {
    Pass {
        millis: u16,
    },
    Jump {
        millis: u64,
    },
    Timeout,
    Opened,
    Closed,
    Accept {
        session: i8,
        timeout: u16,
    },
    Reply {
        xid: i8,
        zxid: i64,
        error: i8,
        body: Vec<u8>,
    },
    Frame(Vec<u8>),
    Stream(Vec<u8>),
    Submit {
        path: String,
    },
    Watch {
        path: String,
        kind: u8,
    },
    /// The mechanism's word, asked for or not.
    Mechanism {
        answer: u8,
        token: Vec<u8>,
    },
    Authenticate {
        scheme: String,
        credential: Vec<u8>,
    },
    StartHeartbeats {
        znode: String,
    },
    StopHeartbeats,
    Close,
}

struct World {
    session: Session<u32, u32>,
    now: Instant,
    last_tag: u32,
    unanswered: BTreeSet<u32>,
    has_ended: bool,
}

fuzz_target!(|script: Script| {
    let mut config = Config::new(NonZeroUsize::MIN);
    config.grade = match script.grade % 3 {
        0 => Grade::Contact,
        1 => Grade::Sync,
        _ => Grade::Quorum,
    };
    if script.queues {
        config.while_disconnected = WhileDisconnected::Queue;
    }
    if script.sasl {
        config.sasl = Sasl::Required;
    }
    config.limits.max_frame = 256;
    config.limits.max_in_flight = 8;
    let mut world = World {
        session: Session::new(config, script.seed, Instant::ORIGIN),
        now: Instant::ORIGIN,
        last_tag: 0,
        unanswered: BTreeSet::new(),
        has_ended: false,
    };
    for step in script.steps {
        world.take(step);
        world.settle();
    }
    world.session.close(world.now);
    world.now = Instant::since_origin(Duration::MAX);
    world.session.handle_timeout(world.now);
    world.settle();
    assert!(world.has_ended, "{:?}", world.session);
    assert_eq!(world.unanswered, BTreeSet::new());
});

impl World {
    fn take(&mut self, step: Step) {
        let (session, now) = (&mut self.session, self.now);
        match step {
            Step::Pass { millis } => self.now = now + Duration::from_millis(millis.into()),
            Step::Jump { millis } => {
                self.now = Instant::since_origin(Duration::from_millis(millis))
            }
            Step::Timeout => session.handle_timeout(now),
            Step::Opened => session.handle_opened(now),
            Step::Closed => session.handle_closed(now),
            Step::Accept { session: id, timeout } => {
                let response = ConnectResponse {
                    protocol_version: 0,
                    timeout: timeout.into(),
                    session_id: SessionId::new(id.into()),
                    password: Some(&[7; 16]),
                    read_only: Some(false),
                };
                session.handle_frame(now, encoded(&response, &[]));
            }
            Step::Reply { xid, zxid, error, body } => {
                let header = ReplyHeader {
                    xid: Xid::new(xid.into()),
                    zxid: Zxid::new(zxid),
                    error: ErrorCode::new(error.into()),
                };
                session.handle_frame(now, encoded(&header, &body));
            }
            Step::Frame(frame) => session.handle_frame(now, Bytes::from(frame)),
            Step::Stream(bytes) => {
                session.handle_bytes(now, &mut BytesMut::from(&*bytes), 1 << 16);
            }
            Step::Mechanism { answer, token } => {
                let answer = match answer % 4 {
                    0 => SaslAnswer::Token(&token),
                    1 => SaslAnswer::LastToken(&token),
                    2 => SaslAnswer::Done,
                    _ => SaslAnswer::Failed(SaslFailure::ServerUnproved),
                };
                session.handle_sasl(now, answer);
            }
            Step::Submit { path } => {
                self.last_tag += 1;
                let request = GetDataRequest { path: &path, watch: false };
                if session.submit(now, self.last_tag, &request).is_ok() {
                    self.unanswered.insert(self.last_tag);
                }
            }
            Step::Watch { path, kind } => {
                self.last_tag += 1;
                let read = match kind % 3 {
                    0 => Watching::Exists(&path),
                    1 => Watching::GetData(&path),
                    _ => Watching::GetChildren(&path),
                };
                if session.submit_watching(now, self.last_tag, read, self.last_tag).is_ok() {
                    self.unanswered.insert(self.last_tag);
                }
            }
            Step::Authenticate { scheme, credential } => {
                let _ = session.authenticate(now, &scheme, &credential);
            }
            Step::StartHeartbeats { znode } => {
                let _ = session.start_heartbeats(now, &znode);
            }
            Step::StopHeartbeats => session.stop_heartbeats(),
            Step::Close => session.close(now),
        }
    }

    /// Takes out everything; asking again brings nothing.
    fn settle(&mut self) {
        let mut output = BytesMut::new();
        self.session.poll_transport();
        self.session.poll_sasl();
        self.session.poll_transmit(&mut output);
        while let Some(event) = self.session.poll_event() {
            assert!(!self.has_ended, "{event:?} after the end");
            match event {
                Event::Completed { tag, .. } => {
                    assert!(self.unanswered.remove(&tag), "{tag} is completed once");
                }
                Event::Ended(_) => self.has_ended = true,
                _ => {}
            }
        }
        let before = output.len();
        self.session.poll_transmit(&mut output);
        assert_eq!(output.len(), before);
        assert_eq!(self.session.poll_transport(), None);
        assert_eq!(self.session.poll_sasl(), None);
        assert_eq!(self.session.poll_timeout().is_none(), self.has_ended);
        assert_eq!(self.session.ended().is_some(), self.has_ended);
    }
}

fn encoded(record: &impl Encode, body: &[u8]) -> Bytes {
    let mut frame = BytesMut::new();
    record.encode(&mut frame);
    frame.extend_from_slice(body);
    frame.freeze()
}
