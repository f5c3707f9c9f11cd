//! Where a recipe stands, as the user's settings say.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use election_core::election::{ElectionNode, NodeKind};
use election_session::{AclList, Site};

use crate::acl::{AclError, Acls};
use crate::client::Client;
use crate::error::Place;
use crate::path::PathError;
use crate::telemetry::{Asked, OperationSpan};

/// The settings that all recipes have: the path of the node, and what a recipe creates there.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    pub(crate) client: Client,
    /// The name of the recipe in errors.
    recipe: &'static str,
    pub(crate) path: String,
    data: Bytes,
    acls: Acls,
    node: ElectionNode,
    /// Made of the others when it is needed first.
    site: OnceLock<Arc<Site>>,
}

/// Why no recipe can stand at a spot.
pub(crate) enum Misplaced {
    Path { path: String, error: PathError },
    Acl { at: Place, error: AclError },
}

/// Makes an error of a recipe, with variants of these names, of the error of its spot.
macro_rules! misplaced {
    ($error:ident) => {
        impl From<$crate::spot::Misplaced> for $error {
            fn from(error: $crate::spot::Misplaced) -> Self {
                match error {
                    $crate::spot::Misplaced::Path { path, error } => {
                        Self::InvalidPath { path, error }
                    }
                    $crate::spot::Misplaced::Acl { at, error } => Self::InvalidAcl { at, error },
                }
            }
        }
    };
}
pub(crate) use misplaced;

impl Spot {
    /// Makes the spot at a path, with a persistent node that every client may do everything with.
    pub(crate) fn new(client: Client, recipe: &'static str, path: &str) -> Self {
        let (path, data, acls) = (path.to_owned(), Bytes::new(), Acls::open());
        let node = ElectionNode::Create(NodeKind::Persistent);
        Self { client, recipe, path, data, acls, node, site: OnceLock::new() }
    }

    /// Sets the data of the znodes that the recipe creates, where it has none of its own.
    pub(crate) fn set_data(&mut self, data: Bytes) {
        (self.data, self.site) = (data, OnceLock::new());
    }

    /// Sets the access list of all znodes that the recipe creates.
    pub(crate) fn set_acls(&mut self, acls: Acls) {
        (self.acls, self.site) = (acls, OnceLock::new());
    }

    /// Sets what happens if the node does not exist.
    pub(crate) fn set_node(&mut self, node: ElectionNode) {
        (self.node, self.site) = (node, OnceLock::new());
    }

    pub(crate) const fn acls(&self) -> &Acls {
        &self.acls
    }

    pub(crate) const fn node(&self) -> ElectionNode {
        self.node
    }

    /// Returns the place of an error in this step.
    pub(crate) fn place(&self, step: &'static str) -> Place {
        Place::new(self.recipe, &self.path, step)
    }

    /// Opens the span of an operation.
    pub(crate) fn span(&self, asked: Asked, operation: &'static str) -> OperationSpan {
        OperationSpan::open(asked, operation, &self.path, &self.client.shared().span)
    }

    /// Returns the site, for this step of the recipe. All recipes that stand here share it.
    ///
    /// # Errors
    ///
    /// [`Misplaced`], if a server would refuse the path or the access list.
    pub(crate) fn site(&self, step: &'static str) -> Result<&Arc<Site>, Misplaced> {
        if let Some(site) = self.site.get() {
            return Ok(site);
        }
        let Self { client, path, .. } = self;
        let path = path.parse().map_err(|error| Misplaced::Path { path: path.clone(), error })?;
        let invalid = |error| Misplaced::Acl { at: self.place(step), error };
        let acl = AclList::new(&self.acls.checked().map_err(invalid)?);
        let site = Site::new(&path, &client.shared().chroot).payload(self.data.clone()).acl(acl);
        let site = match self.node {
            ElectionNode::Create(kind) => site.node_kind(kind),
            ElectionNode::MustExist => site,
        };
        Ok(self.site.get_or_init(|| Arc::new(site)))
    }
}
