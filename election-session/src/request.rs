//! What recipes ask servers for.

/// What a request of a recipe is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// Creates a znode.
    Create,
    /// Creates an ancestor of the recipe's node; whether that exists shows when its child is
    /// created.
    CreateAncestor,
    /// Creates the recipe's node.
    CreateNode,
    /// Is committed by a quorum and changes nothing.
    Barrier,
    /// Reads a znode.
    Read,
    /// Looks whether a znode exists.
    Exists,
    /// Lists children, for all recipes that want them.
    List,
    /// Lists children and leaves a watch.
    WatchedList,
    /// Replaces data.
    Write,
    /// Deletes a znode.
    Delete,
    /// Is a transaction.
    Multi,
}

impl RequestKind {
    /// A name for metrics, in snake case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::CreateAncestor => "create_ancestor",
            Self::CreateNode => "create_election_node",
            Self::Barrier => "barrier",
            Self::Read => "read",
            Self::Exists => "exists",
            Self::List => "list",
            Self::WatchedList => "watched_list",
            Self::Write => "write",
            Self::Delete => "delete",
            Self::Multi => "multi",
        }
    }
}
