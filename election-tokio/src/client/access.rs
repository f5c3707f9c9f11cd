//! Who may do what with a znode.

use core::fmt;
use core::ops::Deref;

use bytes::Bytes;
use zk_jute::records::{
    Acl, GetAclRequest, GetAclResponse, Permissions, SetAclRequest, SetAclResponse, Stat,
};
use zk_jute::{Decode, OpCode, Request, Vector, Version};

use super::Client;
use super::operations::decoded;
use crate::error::{Error, ErrorKind};

/// An access list in the making: entries, of which each allows something to somebody. What no
/// entry allows is denied, and nothing is inherited from the parent.
///
/// It goes wherever a slice of [`Acl`] is asked for.
///
/// ```
/// use election_tokio::{AccessList, Acl, Permissions};
///
/// let list = AccessList::read_only()
///     .digest(Permissions::ALL, "bob:fyVmFCwVbTJYrznoSu1koqYEYF0=")
///     .ip(Permissions::READ | Permissions::WRITE, "10.0.0.0/8");
/// assert_eq!(list.len(), 3);
/// assert_eq!(list.first(), Some(&Acl::READ_ONLY));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct AccessList<'a> {
    entries: Vec<Acl<'a>>,
}

/// Why an access list is refused before it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum AclError {
    /// It has no entry.
    #[error("an access list has to have an entry")]
    Empty,
    /// An entry has no scheme.
    #[error("an entry has to have a scheme")]
    NoScheme,
    /// An entry of the scheme `world` is for somebody else than `anyone`.
    #[error("the scheme 'world' knows 'anyone' alone")]
    NotAnyone,
    /// An identity of the scheme `digest` is not of the form `user:hash`.
    #[error("an identity of the scheme 'digest' has to have the form 'user:hash'")]
    DigestForm,
}

impl<'a> AccessList<'a> {
    /// A list without entries, which allows nothing and which servers refuse.
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// Everybody may do everything.
    pub fn open() -> Self {
        Self::new().entry(Acl::OPEN)
    }

    /// Everybody may read.
    pub fn read_only() -> Self {
        Self::new().entry(Acl::READ_ONLY)
    }

    /// Who creates the znode, by the identities of
    /// [`ClientBuilder::auth`](crate::ClientBuilder::auth), may do everything.
    pub fn creator_all() -> Self {
        Self::new().entry(Acl::CREATOR_ALL)
    }

    /// Allows something to everybody.
    #[must_use]
    pub fn world(self, permissions: Permissions) -> Self {
        self.entry(Acl { permissions, scheme: "world", id: "anyone" })
    }

    /// Allows something to each identity that this client has authenticated as, by when the list is
    /// sent.
    #[must_use]
    pub fn creator(self, permissions: Permissions) -> Self {
        self.entry(Acl { permissions, scheme: "auth", id: "" })
    }

    /// Allows something to who knows a password; the identity is `user:hash`, with the Base64 form
    /// of the SHA-1 digest of `user:password`.
    #[must_use]
    pub fn digest(self, permissions: Permissions, identity: &'a str) -> Self {
        self.entry(Acl { permissions, scheme: "digest", id: identity })
    }

    /// Allows something to an address, or to a network in the form `address/bits`.
    #[must_use]
    pub fn ip(self, permissions: Permissions, addresses: &'a str) -> Self {
        self.entry(Acl { permissions, scheme: "ip", id: addresses })
    }

    /// Adds an entry of any scheme.
    #[must_use]
    pub fn entry(mut self, entry: Acl<'a>) -> Self {
        self.entries.push(entry);
        self
    }
}

impl<'a> Deref for AccessList<'a> {
    type Target = [Acl<'a>];

    fn deref(&self) -> &[Acl<'a>] {
        &self.entries
    }
}

impl<'a> FromIterator<Acl<'a>> for AccessList<'a> {
    fn from_iter<T: IntoIterator<Item = Acl<'a>>>(entries: T) -> Self {
        Self { entries: entries.into_iter().collect() }
    }
}

/// Without the identities, which may hold digests of passwords.
impl fmt::Debug for AccessList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.entries.iter().map(|entry| (entry.permissions, entry.scheme));
        f.debug_list().entries(entries).finish()
    }
}

/// A znode's access list and metadata: a view of the server's answer.
#[derive(Clone)]
pub struct Access {
    answer: Bytes,
    stat: Stat,
}

impl Access {
    /// The entries. Without the permission to administer the znode, the hash of a `digest`
    /// identity reads `x`: such a list is nothing to set again.
    pub fn iter(&self) -> impl Iterator<Item = Acl<'_>> {
        GetAclResponse::decode_prefix(&self.answer)
            .ok()
            .into_iter()
            .flat_map(|response| response.acl)
    }

    /// The entries, as the beginning of another list.
    pub fn to_list(&self) -> AccessList<'_> {
        self.iter().collect()
    }

    /// The version of the access list, for [`Client::set_acl`].
    pub fn acl_version(&self) -> Version {
        self.stat.aversion
    }

    /// The znode's metadata.
    pub fn stat(&self) -> &Stat {
        &self.stat
    }
}

/// Without the identities, like [`AccessList`].
impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("entries", &self.to_list())
            .field("stat", &self.stat)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A znode's access list. Needs the permission to read the znode or to administer it.
    ///
    /// Cancel safe: nothing is changed.
    ///
    /// # Errors
    ///
    /// `NoNode`; `NoAuth` without either permission.
    pub async fn get_acl(&self, path: &str) -> Result<Access, Error> {
        let server_path = self.server_path::<GetAclRequest<'_>>(path)?;
        let answer = self.call(path, &GetAclRequest { path: &server_path }).await?;
        let response: GetAclResponse<'_> = decoded::<GetAclRequest<'_>, _>(path, &answer)?;
        let stat = response.stat;
        Ok(Access { answer: answer.body, stat })
    }

    /// Replaces a znode's access list, if the list has this version ([`Access::acl_version`], or
    /// [`Version::ANY`]), which is not the version of the data. Needs the permission to administer
    /// the znode. No watch fires.
    ///
    /// Cancel safe: the list may be replaced all the same.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidAcl`] for a list that no server would take, which is not sent;
    /// `InvalidAcl` for one that this server does not take, such as one of a scheme that it does not
    /// know, or [`Acl::CREATOR_ALL`] from a client without identities; `NoNode`; `BadVersion`;
    /// `NoAuth`.
    pub async fn set_acl(
        &self,
        path: &str,
        acl: &[Acl<'_>],
        version: Version,
    ) -> Result<Stat, Error> {
        let server_path = self.server_path::<SetAclRequest<'_>>(path)?;
        let acl = checked_acl(SetAclRequest::OPCODE, path, acl)?;
        let answer = self.call(path, &SetAclRequest { path: &server_path, acl, version }).await?;
        let response: SetAclResponse = decoded::<SetAclRequest<'_>, _>(path, &answer)?;
        Ok(response.stat)
    }
}

/// Refuses an access list that no server would take.
pub(super) fn checked_acl<'a>(
    operation: OpCode,
    path: &str,
    acl: &'a [Acl<'a>],
) -> Result<Vector<'a, Acl<'a>>, Error> {
    match validate(acl) {
        Ok(()) => Ok(Vector::new(acl)),
        Err(error) => Err(Error::new(operation, path, ErrorKind::InvalidAcl(error))),
    }
}

fn validate(acl: &[Acl<'_>]) -> Result<(), AclError> {
    if acl.is_empty() {
        return Err(AclError::Empty);
    }
    acl.iter().try_for_each(|entry| match entry.scheme {
        "" => Err(AclError::NoScheme),
        "world" if entry.id != "anyone" => Err(AclError::NotAnyone),
        "digest" if !is_digest(entry.id) => Err(AclError::DigestForm),
        _ => Ok(()),
    })
}

fn is_digest(identity: &str) -> bool {
    identity.split_once(':').is_some_and(|(_, hash)| !hash.is_empty() && !hash.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_no_server_takes_is_known() {
        let all = Permissions::ALL;
        let entry = |scheme, id| AccessList::open().entry(Acl { permissions: all, scheme, id });
        let cases = [
            (AccessList::new(), Err(AclError::Empty)),
            (AccessList::open(), Ok(())),
            (AccessList::read_only().world(Permissions::NONE), Ok(())),
            (AccessList::creator_all().creator(Permissions::READ), Ok(())),
            (AccessList::new().digest(all, "bob:hash="), Ok(())),
            (AccessList::new().digest(all, "bob"), Err(AclError::DigestForm)),
            (AccessList::new().digest(all, "bob:"), Err(AclError::DigestForm)),
            (AccessList::new().digest(all, "bob:a:b"), Err(AclError::DigestForm)),
            (entry("world", "somebody"), Err(AclError::NotAnyone)),
            (entry("", "anyone"), Err(AclError::NoScheme)),
            (entry("of-our-own", "anything"), Ok(())),
        ];
        for (list, expected) in cases {
            assert_eq!(validate(&list), expected, "{list:?}");
        }
    }

    #[test]
    fn the_debug_form_holds_no_identity() {
        let list = AccessList::new().digest(Permissions::READ, "bob:hash=");
        assert_eq!(format!("{list:?}"), "[(Permissions(1: r), \"digest\")]");
    }
}
