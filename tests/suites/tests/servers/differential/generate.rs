//! Random steps, from a seed.

use bytes::Bytes;
use zk_test_kit::opcode::Opcode;

use crate::differential::arguments::Arguments;
use crate::differential::known::ServerVersion;
use crate::differential::player::CLIENTS;
use crate::differential::request::{AclEntry, End, Field, Request, Return, Step};

/// Draws the steps of an episode.
pub(crate) fn episode(seed: u64, release: ServerVersion, requests: usize) -> Vec<Step> {
    let mut generator = Generator { arguments: Arguments::new(seed, release), release };
    let mut steps = Vec::new();
    let mut asked = 0;
    while asked < requests {
        let step = generator.step();
        asked += match &step {
            Step::Ask { requests, .. } => requests.len(),
            Step::Close { .. } | Step::Return { .. } => 1,
        };
        steps.push(step);
    }
    steps
}

struct Generator {
    arguments: Arguments,
    release: ServerVersion,
}

impl Generator {
    fn step(&mut self) -> Step {
        let client = self.arguments.below(CLIENTS);
        match self.arguments.below(100) {
            0..2 => Step::Close { client },
            2..4 => {
                let ways = [
                    Return::AfterCut,
                    Return::WhileConnected,
                    Return::WithWrongPassword,
                    Return::FromTheFuture,
                ];
                Step::Return { client, how: self.arguments.choose(&ways) }
            }
            4..8 => Step::Ask { client, requests: vec![self.alone()] },
            _ => Step::Ask { client, requests: self.burst() },
        }
    }

    /// Draws a request that is answered at once, whatever waits, or that costs the connection.
    fn alone(&mut self) -> Request {
        match self.arguments.below(10) {
            0..7 => {
                let (scheme, credential) = self.arguments.credential();
                let body = [Field::Int(0), Field::Text(Some(scheme)), Field::Bytes(credential)];
                Request::new(Opcode::AUTH, body)
            }
            7 => {
                let token: Option<&[u8]> =
                    self.arguments.choose(&[Some(b"token"), Some(b""), None]);
                Request::new(Opcode::SASL, [Field::Bytes(token.map(Bytes::copy_from_slice))])
            }
            8 => {
                let unknown = self.arguments.choose(&[0, 10, 23, 99, 108, -1, i32::MIN]);
                Request::new(Opcode(unknown), [])
            }
            _ => {
                let text = Field::Text(self.arguments.choose(&[None, Some("server.9=h:1:2")]));
                let body = [text.clone(), text, Field::Text(None), Field::Long(-1)];
                Request::new(Opcode::RECONFIG, body)
            }
        }
    }

    fn burst(&mut self) -> Vec<Request> {
        let length = self.arguments.choose(&[1, 1, 1, 2, 3, 5, 8]);
        let mut requests = Vec::new();
        while requests.len() < length {
            let request = self.request();
            let ends_burst = match request.opcode {
                // Another request has to follow: see `known::SINCE_EXISTS_IS_GUARDED`.
                Opcode::EXISTS => !self.release.guards_exists(),
                // Requests close behind are checked by the old list or by the new one.
                Opcode::SET_ACL => true,
                _ => false,
            };
            match (request.opcode, ends_burst) {
                (Opcode::EXISTS, true) if !requests.is_empty() => continue,
                _ => requests.push(request),
            }
            if ends_burst {
                break;
            }
        }
        requests
    }

    fn request(&mut self) -> Request {
        let mut request = match self.arguments.below(100) {
            0..24 => self.create(),
            24..34 => {
                let (path, version) = (self.arguments.path_not_null(), self.arguments.version());
                Request::new(Opcode::DELETE, [path, version])
            }
            34..42 => {
                let (path, version) = (self.arguments.path_not_null(), self.arguments.version());
                Request::new(Opcode::SET_DATA, [path, self.arguments.data(), version])
            }
            42..46 => {
                let (path, version) = (self.arguments.path_not_null(), self.arguments.version());
                let path = self.arguments.unless_root(path);
                Request::new(Opcode::SET_ACL, [path, self.arguments.acl(), version])
            }
            46..66 => self.read(),
            66..72 => Request::new(Opcode::MULTI, self.transaction()),
            72..75 => Request::new(Opcode::MULTI_READ, self.reads()),
            75..83 => self.watch(),
            83..88 => self.set_watches(),
            _ => self.other(),
        };
        request.end = match self.arguments.below(40) {
            0 if self.may_be_short(request.opcode) => End::Short(1 + self.arguments.below(12)),
            1 => End::Long(1 + self.arguments.below(9)),
            _ => End::Whole,
        };
        request
    }

    fn may_be_short(&self, opcode: Opcode) -> bool {
        let is_single_write = matches!(
            opcode,
            Opcode::CREATE
                | Opcode::CREATE2
                | Opcode::CREATE_CONTAINER
                | Opcode::CREATE_TTL
                | Opcode::DELETE
                | Opcode::SET_DATA
                | Opcode::SET_ACL
        );
        !is_single_write || self.release.skips_the_unreadable()
    }

    fn create(&mut self) -> Request {
        let (opcode, flags) = match self.arguments.below(20) {
            0..7 => (Opcode::CREATE, self.arguments.flags()),
            7..14 => (Opcode::CREATE2, self.arguments.flags()),
            14..17 => (Opcode::CREATE_CONTAINER, 4),
            _ => (Opcode::CREATE_TTL, self.arguments.choose(&[5, 6])),
        };
        Request::new(opcode, self.new_znode(opcode, flags))
    }

    fn new_znode(&mut self, opcode: Opcode, flags: i32) -> Vec<Field> {
        let path = self.arguments.path_not_null();
        let (data, acl) = (self.arguments.data(), self.arguments.acl());
        let mut body = vec![path, data, acl, Field::Int(flags)];
        if opcode == Opcode::CREATE_TTL {
            const LONGEST: i64 = 0xff_ffff_ffff;
            let times = [1, 60_000, 60_000, 60_000, LONGEST, LONGEST + 1, 0, -1, i64::MIN];
            body.push(Field::Long(self.arguments.choose(&times)));
        }
        body
    }

    fn read(&mut self) -> Request {
        let opcodes = [
            Opcode::EXISTS,
            Opcode::EXISTS,
            Opcode::GET_DATA,
            Opcode::GET_DATA,
            Opcode::GET_CHILDREN,
            Opcode::GET_CHILDREN2,
        ];
        let opcode = self.arguments.choose(&opcodes);
        let path = self.arguments.path();
        let watch = self.arguments.watch(&path);
        Request::new(opcode, [path, watch])
    }

    fn transaction(&mut self) -> Vec<Field> {
        let mut body = Vec::new();
        for _ in 0..self.arguments.choose(&[0, 1, 1, 2, 2, 3, 5]) {
            let (opcode, operation) = self.operation();
            body.push(Field::Operation(opcode));
            body.extend(operation);
        }
        body.push(Field::NoMoreOperations);
        body
    }

    fn operation(&mut self) -> (Opcode, Vec<Field>) {
        match self.arguments.below(60) {
            0..25 => {
                let Request { opcode, mut body, .. } = self.create();
                // A null list makes 3.9 refuse all of it, in passing. A null in the list makes
                // Apache's keep the operations before it in mind for a while, undone.
                for field in &mut body {
                    match field {
                        Field::Acl(None) => *field = Field::Acl(Some(Vec::new())),
                        Field::Acl(Some(list)) if !is_harmless(list) => {
                            list.retain(AclEntry::has_no_null);
                        }
                        _ => {}
                    }
                }
                (opcode, body)
            }
            25..35 => {
                let (path, version) = (self.arguments.path_not_null(), self.arguments.version());
                (Opcode::DELETE, vec![path, version])
            }
            35..47 => {
                let (path, version) = (self.arguments.path_not_null(), self.arguments.version());
                (Opcode::SET_DATA, vec![path, self.arguments.data(), version])
            }
            47..59 => {
                let (path, version) = (self.arguments.path_not_null(), self.arguments.version());
                (Opcode::CHECK, vec![path, version])
            }
            // Has no place here.
            _ => (Opcode::GET_DATA, vec![self.arguments.path_not_null(), Field::Flag(false)]),
        }
    }

    fn reads(&mut self) -> Vec<Field> {
        let mut body = Vec::new();
        for _ in 0..self.arguments.below(5) {
            // The last one has no place here.
            let opcodes = [Opcode::GET_DATA, Opcode::GET_CHILDREN];
            let opcode = match self.arguments.below(20) {
                0 => Opcode::DELETE,
                _ => self.arguments.choose(&opcodes),
            };
            body.push(Field::Operation(opcode));
            body.push(self.arguments.path());
            body.push(match opcode {
                Opcode::DELETE => Field::Int(-1),
                _ => Field::Flag(false),
            });
        }
        body.push(Field::NoMoreOperations);
        body
    }

    fn watch(&mut self) -> Request {
        match self.arguments.below(10) {
            0..5 => {
                let (path, mode) = self.arguments.lasting_watch();
                Request::new(Opcode::ADD_WATCH, [path, Field::Int(mode)])
            }
            5 => {
                let mode = self.arguments.choose(&[2, -1, 77]);
                Request::new(Opcode::ADD_WATCH, [self.arguments.path(), Field::Int(mode)])
            }
            6..8 => {
                let (path, kind) = self.arguments.watcher_type();
                Request::new(Opcode::CHECK_WATCHES, [path, Field::Int(kind)])
            }
            _ => {
                let (path, kind) = self.arguments.watcher_type();
                Request::new(Opcode::REMOVE_WATCHES, [path, Field::Int(kind)])
            }
        }
    }

    fn set_watches(&mut self) -> Request {
        let ago = self.arguments.choose(&[0, 0, 1, 1, 2, 3, 5, 10, 30, 1000, -1]);
        let mut body = vec![Field::Ago(ago)];
        for _ in 0..3 {
            body.push(self.arguments.paths());
        }
        if self.arguments.below(2) == 0 {
            return Request::new(Opcode::SET_WATCHES, body);
        }
        body.push(self.arguments.lasting_paths(0));
        body.push(self.arguments.lasting_paths(1));
        Request::new(Opcode::SET_WATCHES2, body)
    }

    fn other(&mut self) -> Request {
        let opcodes = [
            Opcode::GET_ACL,
            Opcode::GET_ACL,
            Opcode::SYNC,
            Opcode::GET_EPHEMERALS,
            Opcode::GET_ALL_CHILDREN_NUMBER,
            Opcode::WHO_AM_I,
            Opcode::PING,
        ];
        match self.arguments.choose(&opcodes) {
            opcode @ (Opcode::WHO_AM_I | Opcode::PING) => Request::new(opcode, []),
            opcode => Request::new(opcode, [self.arguments.path()]),
        }
    }
}

/// Whether no server fails on the nulls in a list.
fn is_harmless(list: &[AclEntry]) -> bool {
    matches!(list, [AclEntry { scheme: Some("auth"), .. }])
}
