//! Requests, made from the commands of recipes.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use election_core::election::NodeKind;
use election_core::{
    Command, Create, CreateMode as Mode, ExpectedVersion, Failure, Multi, NewZnode, Op, Part,
    Ticket, Watch, Znode,
};
use zk_jute::records::{
    Acl, CheckVersionRequest, Create2Request, CreateContainerRequest, CreateMode, CreateRequest,
    CreateTtlRequest, DeleteRequest, ExistsRequest, GetChildrenRequest, GetDataRequest, MultiOp,
    MultiRequest, SetDataRequest, TtlMode,
};
use zk_jute::{ErrorCode, Request, Vector, Version};
use zk_session::{Instant, Session, SubmitError, WatchId, Watching};

use crate::key::{ListKey, RecipeKey, Tag, Watcher};
use crate::lists::{Cause, Lists, Reader};
use crate::request::RequestKind;
use crate::site::{Site, mode_of};

/// A watch that a recipe has asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecipeWatch {
    /// The ticket of the command.
    pub(crate) ticket: Ticket,
    pub(crate) id: WatchId,
    pub(crate) on: WatchOn,
}

/// The znode that a watch is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WatchOn {
    /// The recipe's own znode, which the recipe deletes.
    Own,
    Other,
}

/// How a command was executed.
pub(crate) enum Performed {
    Submitted,
    /// By a request that servers before 3.5 do not know.
    SubmittedByCreate2,
    /// The recipe waits for a list of the children of the znode with this path on the server.
    WaitsForList(Arc<str>),
    Watching(RecipeWatch),
}

/// The recipe of a command, and its site.
pub(crate) struct Performer<'h, T, W> {
    pub(crate) session: &'h mut Session<Tag<T>, Watcher<W>>,
    pub(crate) now: Instant,
    pub(crate) key: RecipeKey,
    pub(crate) site: &'h Site,
    pub(crate) lists: &'h mut Lists,
    pub(crate) cause: Cause,
}

impl<T, W: Clone> Performer<'_, T, W> {
    /// # Errors
    ///
    /// The failure of a command that was not submitted, for the recipe.
    pub(crate) fn carry_out(mut self, command: &Command<'_>) -> Result<Performed, Failure> {
        let Command { ticket, op } = command;
        if !self.site.may_have_siblings() && names_sibling(op) {
            return Err(Failure::Rejected(ErrorCode::BAD_ARGUMENTS.get()));
        }
        self.perform(*ticket, op).map_err(failure_of)
    }

    fn perform(&mut self, ticket: Ticket, op: &Op<'_>) -> Result<Performed, SubmitError> {
        match *op {
            Op::Create(ref create) => self.create(ticket, *create),
            Op::CreateNode => self.create_node(ticket),
            Op::Barrier => {
                let path = self.site.server_path();
                let check = [MultiOp::Check(CheckVersionRequest { path, version: Version::ANY })];
                self.submit(ticket, RequestKind::Barrier, &MultiRequest::new(&check))
            }
            Op::List { parent, watch } => self.list(ticket, parent, watch),
            Op::Read { znode, watch } => {
                let path = &*self.site.path_of(znode);
                match watch {
                    Watch::None => {
                        let request = GetDataRequest { path, watch: false };
                        self.submit(ticket, RequestKind::Read, &request)
                    }
                    _ => self.watch((ticket, watch), RequestKind::Read, Watching::GetData(path)),
                }
            }
            Op::Exists { znode, watch } => {
                let path = &*self.site.path_of(znode);
                match watch {
                    Watch::None => {
                        let request = ExistsRequest { path, watch: false };
                        self.submit(ticket, RequestKind::Exists, &request)
                    }
                    _ => self.watch((ticket, watch), RequestKind::Exists, Watching::Exists(path)),
                }
            }
            Op::Write(write) => {
                let request = SetDataRequest {
                    path: &self.site.path_of(write.znode),
                    data: Some(self.site.data(write.data)),
                    version: version(write.version),
                };
                self.submit(ticket, RequestKind::Write, &request)
            }
            Op::Delete(delete) => {
                let path = &*self.site.path_of(delete.znode);
                let request = DeleteRequest { path, version: version(delete.version) };
                self.submit(ticket, RequestKind::Delete, &request)
            }
            Op::Multi(ref multi) => self.multi(ticket, multi),
        }
    }

    fn create(&mut self, ticket: Ticket, create: Create<'_>) -> Result<Performed, SubmitError> {
        let acl = self.site.acl_list().entries();
        let path = self.site.path_of_new(create.znode);
        let kind = RequestKind::Create;
        match record(self.site, create, &path, &acl) {
            CreateRecord::Plain(request) => self.create_plainly(ticket, kind, request),
            CreateRecord::Container(request) => {
                self.submit(ticket, kind, &CreateContainerRequest(request))
            }
            CreateRecord::Ttl(request) => self.submit(ticket, kind, &request),
        }
    }

    /// Creates by `create2`, which returns the znode's metadata; by `create` once a server before
    /// 3.5 has refused that.
    fn create_plainly(
        &mut self,
        ticket: Ticket,
        kind: RequestKind,
        request: CreateRequest<'_>,
    ) -> Result<Performed, SubmitError> {
        match self.submit(ticket, kind, &Create2Request(request)) {
            Err(SubmitError::Unsupported(_)) => self.submit(ticket, kind, &request),
            submitted => submitted.map(|_| Performed::SubmittedByCreate2),
        }
    }

    /// Creates a node with its ancestors, all at once: servers execute the requests in order, and
    /// only the last reply counts.
    fn create_node(&mut self, ticket: Ticket) -> Result<Performed, SubmitError> {
        let acl = self.site.acl_list().entries();
        let acl = Vector::new(&acl);
        let mut performed = Performed::Submitted;
        for (depth, path) in self.site.lineage().enumerate() {
            let is_node = path.len() == self.site.server_path().len();
            let (kind, node_kind) = if is_node {
                (RequestKind::CreateNode, self.site.kind_of_node())
            } else if depth == 0 {
                (RequestKind::CreateOutermost, NodeKind::Persistent)
            } else {
                (RequestKind::CreateAncestor, NodeKind::Persistent)
            };
            let mode = mode_of(node_kind);
            let request = CreateRequest { path, data: Some(&[]), acl, mode };
            match node_kind {
                NodeKind::Container => {
                    performed = self.submit(ticket, kind, &CreateContainerRequest(request))?;
                }
                NodeKind::Persistent => {
                    performed = self.create_plainly(ticket, kind, request)?;
                }
            }
        }
        Ok(performed)
    }

    /// Asks for a list. Without a watch, one list serves all recipes that want it.
    fn list(
        &mut self,
        ticket: Ticket,
        parent: Znode<'_>,
        watch: Watch,
    ) -> Result<Performed, SubmitError> {
        match (parent, watch) {
            (parent, Watch::None) => {
                let path = match parent {
                    Znode::Node => Arc::clone(self.site.server_path()),
                    parent => Arc::from(self.site.path_of(parent)),
                };
                self.lists.ask(&path, Reader { key: self.key, ticket }, self.cause);
                Ok(Performed::WaitsForList(path))
            }
            (parent, watch) => {
                let path = &*self.site.path_of(parent);
                self.watch((ticket, watch), RequestKind::WatchedList, Watching::GetChildren(path))
            }
        }
    }

    fn multi(&mut self, ticket: Ticket, multi: &Multi<'_>) -> Result<Performed, SubmitError> {
        let acl = self.site.acl_list().entries();
        let parts: Vec<(Part<'_>, String)> =
            multi.parts().map(|part| (part, path_of_part(self.site, part))).collect();
        let operations: Vec<MultiOp<'_>> =
            parts.iter().map(|(part, path)| operation(self.site, *part, path, &acl)).collect();
        self.submit(ticket, RequestKind::Multi, &MultiRequest::new(&operations))
    }

    fn submit<Q: Request>(
        &mut self,
        ticket: Ticket,
        kind: RequestKind,
        request: &Q,
    ) -> Result<Performed, SubmitError> {
        let tag = Tag::Recipe { key: self.key, ticket, kind };
        self.session.submit(self.now, tag, request).map(|()| Performed::Submitted)
    }

    fn watch(
        &mut self,
        (ticket, watch): (Ticket, Watch),
        kind: RequestKind,
        read: Watching<'_>,
    ) -> Result<Performed, SubmitError> {
        let tag = Tag::Recipe { key: self.key, ticket, kind };
        let watcher = Watcher::Recipe { key: self.key, ticket };
        let id = self.session.submit_watching(self.now, tag, read, watcher)?;
        let on = match watch {
            Watch::Own => WatchOn::Own,
            Watch::Other | Watch::None => WatchOn::Other,
        };
        Ok(Performed::Watching(RecipeWatch { ticket, id, on }))
    }
}

/// Returns whether a command is for a znode beside the recipe's node.
fn names_sibling(op: &Op<'_>) -> bool {
    match *op {
        Op::CreateNode | Op::Barrier => false,
        Op::Create(create) => is_new_sibling(create),
        Op::List { parent: znode, .. } | Op::Read { znode, .. } | Op::Exists { znode, .. } => {
            is_sibling(znode)
        }
        Op::Write(write) => is_sibling(write.znode),
        Op::Delete(delete) => is_sibling(delete.znode),
        Op::Multi(ref multi) => multi.parts().any(|part| match part {
            Part::Create(create) => is_new_sibling(create),
            Part::Check(check) => is_sibling(check.znode),
            Part::Write(write) => is_sibling(write.znode),
            Part::Delete(delete) => is_sibling(delete.znode),
        }),
    }
}

const fn is_sibling(znode: Znode<'_>) -> bool {
    matches!(znode, Znode::Sibling(_))
}

const fn is_new_sibling(create: Create<'_>) -> bool {
    matches!(create.znode, NewZnode::Named(Znode::Sibling(_)))
}

enum CreateRecord<'a> {
    Plain(CreateRequest<'a>),
    Container(CreateRequest<'a>),
    Ttl(CreateTtlRequest<'a>),
}

fn record<'a>(
    site: &'a Site,
    create: Create<'a>,
    path: &'a str,
    acl: &'a [Acl<'a>],
) -> CreateRecord<'a> {
    let data = Some(site.data(create.data));
    let acl = Vector::new(acl);
    let plain = |mode| CreateRequest { path, data, acl, mode };
    let ttl = |mode, ttl: core::time::Duration| CreateTtlRequest {
        path,
        data,
        acl,
        mode,
        ttl: i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX),
    };
    match create.mode {
        Mode::Persistent => CreateRecord::Plain(plain(CreateMode::PERSISTENT)),
        Mode::PersistentSequential => CreateRecord::Plain(plain(CreateMode::PERSISTENT_SEQUENTIAL)),
        Mode::Ephemeral => CreateRecord::Plain(plain(CreateMode::EPHEMERAL)),
        Mode::EphemeralSequential => CreateRecord::Plain(plain(CreateMode::EPHEMERAL_SEQUENTIAL)),
        Mode::Container => CreateRecord::Container(plain(CreateMode::CONTAINER)),
        Mode::PersistentWithTtl(time) => CreateRecord::Ttl(ttl(TtlMode::PERSISTENT, time)),
        Mode::PersistentSequentialWithTtl(time) => {
            CreateRecord::Ttl(ttl(TtlMode::PERSISTENT_SEQUENTIAL, time))
        }
    }
}

fn path_of_part(site: &Site, part: Part<'_>) -> String {
    match part {
        Part::Create(create) => site.path_of_new(create.znode),
        Part::Check(check) => site.path_of(check.znode),
        Part::Write(write) => site.path_of(write.znode),
        Part::Delete(delete) => site.path_of(delete.znode),
    }
}

fn operation<'a>(site: &'a Site, part: Part<'a>, path: &'a str, acl: &'a [Acl<'a>]) -> MultiOp<'a> {
    match part {
        Part::Check(check) => {
            MultiOp::Check(CheckVersionRequest { path, version: version(check.version) })
        }
        Part::Create(create) => match record(site, create, path, acl) {
            CreateRecord::Plain(request) => MultiOp::Create(request),
            CreateRecord::Container(request) => MultiOp::CreateContainer(request),
            CreateRecord::Ttl(request) => MultiOp::CreateTtl(request),
        },
        Part::Write(write) => {
            let data = Some(site.data(write.data));
            MultiOp::SetData(SetDataRequest { path, data, version: version(write.version) })
        }
        Part::Delete(delete) => {
            MultiOp::Delete(DeleteRequest { path, version: version(delete.version) })
        }
    }
}

const fn version(expected: ExpectedVersion) -> Version {
    Version::new(expected.number())
}

/// Asks for the children of a znode, for all recipes that want them.
pub(crate) fn submit_list<T, W: Clone>(
    session: &mut Session<Tag<T>, Watcher<W>>,
    now: Instant,
    parent: &Arc<str>,
    list: ListKey,
) -> Result<(), Failure> {
    let tag = Tag::List { parent: Arc::clone(parent), list };
    let request = GetChildrenRequest { path: parent, watch: false };
    session.submit(now, tag, &request).map_err(failure_of)
}

/// Returns the recipe's failure for a command that was not submitted.
const fn failure_of(error: SubmitError) -> Failure {
    match error {
        SubmitError::TooLarge { .. } => Failure::TooLarge,
        SubmitError::Suspected { .. } => Failure::HeldBack,
        SubmitError::Unsupported(_) => Failure::Rejected(ErrorCode::UNIMPLEMENTED.get()),
        SubmitError::NotConnected | SubmitError::Closed | SubmitError::Full => {
            Failure::ConnectionLoss
        }
    }
}
