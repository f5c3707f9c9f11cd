//! Reading and setting access lists.

use zk_jute::records::{Acl, GetAclRequest, GetAclResponse, SetAclRequest, SetAclResponse, Stat};
use zk_jute::{OpCode, Request as _, Vector, Version};

use super::Client;
use super::operations::decoded;
use crate::acl::{Access, Acls};
use crate::{Error, ErrorKind};

impl Client {
    /// Reads a znode's access list. The client needs the permission to read or to administer the
    /// znode.
    ///
    /// Cancel safe: nothing is changed.
    ///
    /// # Errors
    ///
    /// `NoNode`; `NoAuth` without either permission.
    pub async fn get_acl(&self, path: &str) -> Result<Access, Error> {
        let server_path = self.server_path::<GetAclRequest<'_>>(path)?;
        let reply = self.call(path, &GetAclRequest { path: &server_path }).await?;
        let response: GetAclResponse<'_> = decoded::<GetAclRequest<'_>, _>(path, &reply)?;
        let stat = response.stat;
        Ok(Access::new(reply.body, stat))
    }

    /// Replaces a znode's access list, if the list has this version ([`Access::acl_version`], or
    /// [`Version::ANY`]). This is not the version of the data. The client needs the permission to
    /// administer the znode. No watch fires.
    ///
    /// Cancel safe: the list may still be replaced.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidAcl`] for a list that no server would accept, which is not sent;
    /// `InvalidAcl` for a list that this server does not accept, for example because it does not
    /// know a scheme, or for [`Acls::creator_all`] from a client without identities; `NoNode`;
    /// `BadVersion`; `NoAuth`.
    pub async fn set_acl(&self, path: &str, acls: &Acls, version: Version) -> Result<Stat, Error> {
        let server_path = self.server_path::<SetAclRequest<'_>>(path)?;
        let entries = checked_acls(SetAclRequest::OPCODE, path, acls)?;
        let acl = Vector::new(&entries);
        let reply = self.call(path, &SetAclRequest { path: &server_path, acl, version }).await?;
        let response: SetAclResponse = decoded::<SetAclRequest<'_>, _>(path, &reply)?;
        Ok(response.stat)
    }
}

/// Refuses an access list that no server would accept.
pub(super) fn checked_acls<'a>(
    operation: OpCode,
    path: &str,
    acls: &'a Acls,
) -> Result<Vec<Acl<'a>>, Error> {
    acls.checked().map_err(|error| Error::new(operation, path, ErrorKind::InvalidAcl(error)))
}
