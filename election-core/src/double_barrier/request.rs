//! The kinds of requests of a participant.

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Request {
    ReadNode,
    CreateNode,
    LookAtReady,
    CreateEntry,
    Barrier,
    LookForEntry,
    DeleteEntry,
    List,
    WatchMember,
    Close,
    WatchEntry,
    Open,
}
