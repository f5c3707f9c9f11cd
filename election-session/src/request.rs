//! The kinds of recipes' requests.

/// The kind of a recipe's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// Creates a znode.
    Create,
    /// Creates the outermost ancestor of the recipe's node: without the client's chroot it cannot be.
    CreateOutermost,
    /// Creates another ancestor of the recipe's node. The creation of its child shows whether it exists.
    CreateAncestor,
    /// Creates the recipe's node.
    CreateNode,
    /// Has a quorum commit something that changes nothing.
    Barrier,
    /// Reads a znode.
    Read,
    /// Checks whether a znode exists.
    Exists,
    /// Lists children, for all recipes that want them.
    List,
    /// Lists children and leaves a watch.
    WatchedList,
    /// Replaces data.
    Write,
    /// Deletes a znode.
    Delete,
    /// Executes a transaction.
    Multi,
}

impl RequestKind {
    /// Returns a name for metrics, in snake case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::CreateOutermost | Self::CreateAncestor => "create_ancestor",
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
