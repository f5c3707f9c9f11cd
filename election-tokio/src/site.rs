//! Sites of recipes.

use std::sync::Arc;

use bytes::Bytes;
use election_core::election::ElectionNode;
use election_session::{AclList, Site};
use zk_session::ZnodePath;

use crate::client::Client;

/// Makes a site for a recipe that creates znodes with this data, and its node if it is missing.
pub(crate) fn site(
    client: &Client,
    path: &ZnodePath,
    data: Bytes,
    acl: AclList,
    node: ElectionNode,
) -> Arc<Site> {
    let site = Site::new(path, &client.shared().chroot).payload(data).acl(acl);
    Arc::new(match node {
        ElectionNode::Create(kind) => site.node_kind(kind),
        ElectionNode::MustExist => site,
    })
}
