//! Creating the chroot of a client.

use zk_jute::records::{Acl, CreateMode, CreateRequest};
use zk_jute::{OpCode, Vector};

use super::Client;
use super::access::checked_acls;
use super::parents::ancestors;
use crate::Error;
use crate::acl::Acls;

impl Client {
    /// Creates the client's chroot and its missing ancestors, as persistent znodes without data and
    /// with this access list. Does nothing if the chroot exists, or if the client has none.
    ///
    /// [`ClientBuilder::create_chroot`](crate::ClientBuilder::create_chroot) does this on
    /// connecting.
    ///
    /// Cancel safe: the chroot, or only some of its ancestors, may still be created.
    ///
    /// # Errors
    ///
    /// Those of [`Client::create_with_acl`], with the path on the server of the znode that could
    /// not be created. After an error, some of the ancestors may exist.
    pub async fn create_chroot(&self, acls: &Acls) -> Result<(), Error> {
        let chroot = self.shared().chroot.as_str();
        let acl = checked_acls(OpCode::CREATE2, chroot, acls)?;
        if chroot.is_empty() {
            return Ok(());
        }
        match self.exists("/").await {
            Ok(None) => {}
            // Since ZooKeeper 3.8.4 and 3.9.2 a server forbids to look at a znode that may not be read;
            // where there is none, nothing is forbidden.
            Err(error) if !error.is_no_auth() => return Err(error),
            Ok(Some(_)) | Err(_) => return Ok(()),
        }
        let mut outcome = Ok(());
        for path in ancestors(chroot).chain([chroot]) {
            // A server checks the permission to create before it checks whether the znode exists.
            // So only the znode below shows whether a refusal matters.
            outcome = match (outcome, self.create_plain(path, &acl).await) {
                (Err(refused), Err(error)) if error.is_no_node() => return Err(refused),
                (_, Err(error)) if error.is_node_exists() => Ok(()),
                (_, Err(error)) if !error.is_no_auth() => return Err(error),
                (_, created) => created,
            };
        }
        outcome
    }

    /// Creates a znode at a path on the server.
    async fn create_plain(&self, server_path: &str, acl: &[Acl<'_>]) -> Result<(), Error> {
        let (acl, mode) = (Vector::new(acl), CreateMode::PERSISTENT);
        let create = CreateRequest { path: server_path, data: Some(b""), acl, mode };
        self.create_plainly(server_path, create).await.map(drop)
    }
}
