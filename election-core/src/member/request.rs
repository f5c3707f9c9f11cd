//! The kinds of requests of a member.

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Request {
    Create,
    CreateNode,
    Look,
    DeleteGhost,
    WatchOwn,
    Write,
    Barrier,
    Delete,
}
