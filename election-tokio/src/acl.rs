//! Access lists: the permissions of each identity on a znode.

mod digest;

use core::fmt;
use std::borrow::Cow;

use bytes::Bytes;
use zk_jute::Decode as _;
use zk_jute::Version;
use zk_jute::records::{GetAclResponse, Stat};

pub use crate::client::ConnectionIdentity;
pub use zk_jute::records::{Acl, Permissions};

/// An access list: each entry grants permissions to an identity. Everything else is denied, and
/// nothing is inherited from the parent.
///
/// It owns its texts, or borrows them for as long as the program runs, so texts from a
/// configuration work as they are.
///
/// ```
/// use election_tokio::acl::{Acl, Acls, Permissions};
///
/// let network = String::from("10.0.0.0/8");
/// let acls = Acls::read_only()
///     .digest_password(Permissions::ALL, "bob", "secret")
///     .ip(Permissions::READ | Permissions::WRITE, network);
/// assert_eq!(acls.len(), 3);
/// assert_eq!(acls.iter().next(), Some(Acl::READ_ONLY));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Acls {
    entries: Vec<Entry>,
}

#[derive(Clone, PartialEq, Eq)]
struct Entry {
    permissions: Permissions,
    scheme: Cow<'static, str>,
    id: Cow<'static, str>,
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
    /// An entry of the scheme `world` is for an identity other than `anyone`.
    #[error("the scheme 'world' knows 'anyone' alone")]
    NotAnyone,
    /// An identity of the scheme `digest` is not of the form `user:hash`. With a password in place
    /// of the hash, the entry would grant nothing to its user.
    #[error(
        "an identity of the scheme 'digest' has to be `user:hash`, where the hash is Base64 of the \
         20 bytes of the SHA-1 digest of `user:password`: Acls::digest_password makes it"
    )]
    DigestForm,
}

impl Acls {
    /// Makes a list without entries, which allows nothing. Servers refuse it.
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// Allows everything to every client.
    pub fn open() -> Self {
        Self::from(Acl::OPEN)
    }

    /// Allows reading to every client.
    pub fn read_only() -> Self {
        Self::from(Acl::READ_ONLY)
    }

    /// Allows everything to the client that creates the znode, by its identities
    /// ([`ClientBuilder::auth`](crate::ClientBuilder::auth)).
    pub fn creator_all() -> Self {
        Self::from(Acl::CREATOR_ALL)
    }

    /// Grants permissions to every client.
    #[must_use]
    pub fn world(self, permissions: Permissions) -> Self {
        self.with(permissions, "world", "anyone")
    }

    /// Grants permissions to each identity with which this client has authenticated when the list
    /// is sent.
    #[must_use]
    pub fn creator(self, permissions: Permissions) -> Self {
        self.with(permissions, "auth", "")
    }

    /// Grants permissions to clients with this identity of the scheme `digest`: `user:hash`, where
    /// the hash is Base64 of the SHA-1 digest of `user:password`.
    #[must_use]
    pub fn digest(self, permissions: Permissions, identity: impl Into<Cow<'static, str>>) -> Self {
        self.with(permissions, "digest", identity)
    }

    /// Grants permissions to clients with this password in the scheme `digest`. The list holds only
    /// the hash of the password.
    #[must_use]
    pub fn digest_password(self, permissions: Permissions, user: &str, password: &str) -> Self {
        self.digest(permissions, digest::identity(user, password))
    }

    /// Grants permissions to an address, or to a network in the form `address/bits`.
    #[must_use]
    pub fn ip(self, permissions: Permissions, addresses: impl Into<Cow<'static, str>>) -> Self {
        self.with(permissions, "ip", addresses)
    }

    /// Grants permissions to an identity of any scheme.
    #[must_use]
    pub fn with(
        mut self,
        permissions: Permissions,
        scheme: impl Into<Cow<'static, str>>,
        id: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.entries.push(Entry { permissions, scheme: scheme.into(), id: id.into() });
        self
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the entries.
    pub fn iter(&self) -> impl Iterator<Item = Acl<'_>> {
        self.entries.iter().map(|Entry { permissions, scheme, id }| Acl {
            permissions: *permissions,
            scheme,
            id,
        })
    }

    /// Returns the entries, if a server may accept them.
    ///
    /// # Errors
    ///
    /// [`AclError`] for a list that no server would accept, or that cannot mean what its author
    /// intended.
    pub(crate) fn checked(&self) -> Result<Vec<Acl<'_>>, AclError> {
        let entries: Vec<_> = self.iter().collect();
        if entries.is_empty() {
            return Err(AclError::Empty);
        }
        entries.iter().try_for_each(|entry| match entry.scheme {
            "" => Err(AclError::NoScheme),
            "world" if entry.id != "anyone" => Err(AclError::NotAnyone),
            "digest" if !digest::is_identity(entry.id) => Err(AclError::DigestForm),
            _ => Ok(()),
        })?;
        Ok(entries)
    }
}

/// Makes a list of one entry.
impl From<Acl<'_>> for Acls {
    fn from(entry: Acl<'_>) -> Self {
        Self::from_iter([entry])
    }
}

impl<'a> FromIterator<Acl<'a>> for Acls {
    fn from_iter<T: IntoIterator<Item = Acl<'a>>>(entries: T) -> Self {
        let own = |Acl { permissions, scheme, id }: Acl<'_>| Entry {
            permissions,
            scheme: Cow::Owned(scheme.to_owned()),
            id: Cow::Owned(id.to_owned()),
        };
        Self { entries: entries.into_iter().map(own).collect() }
    }
}

/// Leaves out the identities, which may hold digests of passwords.
impl fmt::Debug for Acls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|acl| (acl.permissions, acl.scheme))).finish()
    }
}

/// A znode's access list and metadata: a view of the server's reply.
#[derive(Clone)]
pub struct Access {
    reply: Bytes,
    stat: Stat,
}

impl Access {
    pub(crate) const fn new(reply: Bytes, stat: Stat) -> Self {
        Self { reply, stat }
    }

    /// Returns the entries. If the client may not administer the znode, the hash of a `digest`
    /// identity reads `x`: do not set such a list again.
    pub fn iter(&self) -> impl Iterator<Item = Acl<'_>> {
        GetAclResponse::decode_prefix(&self.reply)
            .ok()
            .into_iter()
            .flat_map(|response| response.acl)
    }

    /// Returns the entries as an owned list.
    pub fn to_acls(&self) -> Acls {
        self.iter().collect()
    }

    /// Returns the version of the access list, for [`Client::set_acl`](crate::Client::set_acl).
    pub fn acl_version(&self) -> Version {
        self.stat.aversion
    }

    /// Returns the znode's metadata.
    pub fn stat(&self) -> &Stat {
        &self.stat
    }
}

/// Leaves out the identities, like [`Acls`].
impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("entries", &self.to_acls())
            .field("stat", &self.stat)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOB: &str = "bob:fyVmFCwVbTJYrznoSu1koqYEYF0=";

    #[test]
    fn a_list_that_no_server_takes_is_known() {
        let all = Permissions::ALL;
        let with = |scheme, id| Acls::open().with(all, scheme, id);
        let cases = [
            (Acls::new(), Err(AclError::Empty)),
            (Acls::open(), Ok(1)),
            (Acls::read_only().world(Permissions::NONE), Ok(2)),
            (Acls::creator_all().creator(Permissions::READ), Ok(2)),
            (Acls::new().digest(all, BOB), Ok(1)),
            (Acls::new().digest_password(all, "bob", "secret"), Ok(1)),
            (Acls::new().digest(all, "bob:secret"), Err(AclError::DigestForm)),
            (with("world", "somebody"), Err(AclError::NotAnyone)),
            (with("", "anyone"), Err(AclError::NoScheme)),
            (with("of-our-own", "anything"), Ok(2)),
        ];
        for (acls, expected) in cases {
            assert_eq!(acls.checked().map(|entries| entries.len()), expected, "{acls:?}");
        }
        assert!(AclError::DigestForm.to_string().contains("digest_password"));
    }

    #[test]
    fn the_debug_form_holds_no_identity() {
        let acls = Acls::new().digest(Permissions::READ, BOB);
        assert_eq!(format!("{acls:?}"), "[(Permissions(1: r), \"digest\")]");
    }
}
