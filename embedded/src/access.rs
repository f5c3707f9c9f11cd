//! Access control: the identities of connections, and the access lists of znodes.

mod ip;
mod requested;

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::IpAddr;

use zk_jute::records::{Acl, Permissions};

use self::ip::IpRange;
pub(crate) use self::ip::java_text;
pub use self::requested::InvalidAcl;
pub(crate) use self::requested::RequestedAcl;

/// An identity that a connection has presented.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Identity {
    /// Scheme `digest`: the user, a colon, and the digest of user and password.
    Digest(String),
    /// Scheme `ip`: the address that the connection comes from.
    Ip(IpAddr),
    /// Scheme `super`: has every permission.
    Super,
}

impl Identity {
    /// Returns scheme and user, as the reply to `whoAmI` shows them.
    pub(crate) fn shown(&self) -> (&'static str, String) {
        match self {
            Self::Digest(id) => ("digest", user_of(id).to_string()),
            Self::Ip(address) => ("ip", java_text(*address)),
            Self::Super => ("super", String::new()),
        }
    }
}

/// The identities of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identities(Arc<BTreeSet<Identity>>);

/// A connection has as many identities as the server allows.
#[derive(Debug)]
pub(crate) struct TooManyIdentities;

impl Identities {
    /// The most identities of one connection, and the most bytes in one of them. An `auth` in an
    /// access list is replaced by these identities, and the list is stored with each znode.
    const MOST: usize = 32;
    const LONGEST: usize = 1024;

    /// Returns the identities of a connection that has not authenticated.
    pub fn of_peer(address: IpAddr) -> Self {
        Self(Arc::new(BTreeSet::from([Identity::Ip(address)])))
    }

    pub(crate) fn add(&mut self, identity: Identity) -> Result<(), TooManyIdentities> {
        let is_too_long =
            matches!(&identity, Identity::Digest(digest) if digest.len() > Self::LONGEST);
        if is_too_long || (self.0.len() >= Self::MOST && !self.0.contains(&identity)) {
            return Err(TooManyIdentities);
        }
        Arc::make_mut(&mut self.0).insert(identity);
        Ok(())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Identity> {
        self.0.iter()
    }
}

/// The subject to which an entry of an access list grants permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Grantee {
    Anyone,
    Digest(String),
    Ip(IpRange),
}

impl Grantee {
    fn matches(&self, identity: &Identity) -> bool {
        match (self, identity) {
            (Self::Anyone, _) => true,
            (Self::Digest(granted), Identity::Digest(shown)) => granted == shown,
            (Self::Ip(range), Identity::Ip(address)) => range.contains(*address),
            (Self::Digest(_) | Self::Ip(_), _) => false,
        }
    }

    fn scheme_and_id(&self) -> (&'static str, &str) {
        match self {
            Self::Anyone => ("world", "anyone"),
            Self::Digest(id) => ("digest", id),
            Self::Ip(range) => ("ip", range.text()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    permissions: Permissions,
    grantee: Grantee,
}

/// The access list of a znode. It is never empty, and has only schemes that this server knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessList(Arc<[Entry]>);

impl AccessList {
    /// The most entries of a list. The server reads all of them for each request on the znode.
    const MOST_ENTRIES: usize = 128;

    /// Grants everything to every client.
    pub(crate) fn open() -> Self {
        Self::of_anyone(Permissions::ALL)
    }

    /// Grants reading to every client.
    pub(crate) fn read_only() -> Self {
        Self::of_anyone(Permissions::READ)
    }

    fn of_anyone(permissions: Permissions) -> Self {
        let grantee = Grantee::Anyone;
        Self(Arc::new([Entry { permissions, grantee }]))
    }

    /// Builds the list that the server stores for a request: it drops duplicates, and replaces
    /// `auth` by the identities by which the client authenticated.
    fn resolve<'a>(
        requested: impl Iterator<Item = RequestedAcl<'a>>,
        identities: &Identities,
    ) -> Result<Self, InvalidAcl> {
        let mut distinct: Vec<RequestedAcl<'_>> = Vec::new();
        for acl in requested {
            if !acl.is_among(&distinct)? {
                distinct.push(acl);
            }
            if distinct.len() > Self::MOST_ENTRIES {
                return Err(InvalidAcl::TooLong);
            }
        }
        let mut entries = Vec::new();
        for acl in distinct {
            let permissions = acl.permissions;
            let grantees = grantees(acl, identities)?.into_iter();
            entries.extend(grantees.map(|grantee| Entry { permissions, grantee }));
            if entries.len() > Self::MOST_ENTRIES {
                return Err(InvalidAcl::TooLong);
            }
        }
        if entries.is_empty() {
            return Err(InvalidAcl::Malformed);
        }
        Ok(Self(entries.into()))
    }

    /// Returns whether the list grants any of `permissions` to any of `identities`.
    pub(crate) fn grants(&self, permissions: Permissions, identities: &Identities) -> bool {
        identities.0.contains(&Identity::Super)
            || self.0.iter().any(|entry| {
                entry.permissions.get() & permissions.get() != 0
                    && identities.iter().any(|identity| entry.grantee.matches(identity))
            })
    }

    /// Returns the entries, in order.
    pub fn entries(&self) -> impl Iterator<Item = Acl<'_>> {
        self.0.iter().map(|entry| {
            let (scheme, id) = entry.grantee.scheme_and_id();
            let permissions = entry.permissions;
            Acl { permissions, scheme, id }
        })
    }

    /// Estimates how many bytes the list takes.
    pub(crate) fn weight(&self) -> usize {
        self.0.iter().map(|entry| size_of::<Entry>() + entry.grantee.scheme_and_id().1.len()).sum()
    }

    /// Returns the list without the secret halves of digests, for clients without ADMIN permission.
    pub(crate) fn redacted(&self) -> Self {
        let redact = |entry: &Entry| {
            let mut entry = entry.clone();
            if let Grantee::Digest(id) = &mut entry.grantee {
                let user = user_of(id).len();
                id.truncate(user);
                id.push_str(":x");
            }
            entry
        };
        Self(self.0.iter().map(redact).collect())
    }
}

/// Resolves the access lists of one request.
#[derive(Debug)]
pub(crate) struct AclResolver<'i> {
    identities: &'i Identities,
    /// Bytes of lists that the request may still take. An `auth` of a few bytes can stand for many.
    left: usize,
}

impl<'i> AclResolver<'i> {
    pub(crate) const fn new(identities: &'i Identities) -> Self {
        Self { identities, left: 4 << 20 }
    }

    /// Builds the list that the server stores for what the client asked for.
    pub(crate) fn resolve<'a>(
        &mut self,
        requested: impl Iterator<Item = RequestedAcl<'a>>,
    ) -> Result<AccessList, InvalidAcl> {
        let list = AccessList::resolve(requested, self.identities)?;
        self.left = self.left.checked_sub(list.weight()).ok_or(InvalidAcl::TooLong)?;
        Ok(list)
    }
}

/// Finds what an entry of a request grants permissions to: one grantee or more.
fn grantees(acl: RequestedAcl<'_>, identities: &Identities) -> Result<Vec<Grantee>, InvalidAcl> {
    let scheme = acl.scheme.ok_or(InvalidAcl::Malformed)?;
    let grantees: Vec<Grantee> = match scheme {
        // Apache's servers do not read the id: kazoo sends null.
        "auth" => identities.iter().filter_map(authenticated).collect(),
        "world" | "digest" | "ip" => {
            named(scheme, acl.id.ok_or(InvalidAcl::Null)?).into_iter().collect()
        }
        _ => Vec::new(),
    };
    if grantees.is_empty() { Err(InvalidAcl::Malformed) } else { Ok(grantees) }
}

fn authenticated(identity: &Identity) -> Option<Grantee> {
    match identity {
        Identity::Digest(id) => Some(Grantee::Digest(id.clone())),
        Identity::Ip(_) | Identity::Super => None,
    }
}

fn named(scheme: &str, id: &str) -> Option<Grantee> {
    match scheme {
        "world" if id == "anyone" => Some(Grantee::Anyone),
        "digest" if has_two_parts(id) => Some(Grantee::Digest(id.to_string())),
        "ip" => IpRange::parse(id).map(Grantee::Ip),
        _ => None,
    }
}

/// Counts parts as Java's `split` does: empty parts at the end do not count.
fn has_two_parts(digest: &str) -> bool {
    digest.trim_end_matches(':').split(':').count() == 2
}

fn user_of(digest: &str) -> &str {
    digest.split(':').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use alloc::{format, vec};
    use core::net::Ipv4Addr;

    use super::*;

    const BOB: &str = "bob:fyVmFCwVbTJYrznoSu1koqYEYF0=";

    fn local() -> Identities {
        Identities::of_peer(IpAddr::V4(Ipv4Addr::LOCALHOST))
    }

    fn as_bob() -> Identities {
        let mut identities = local();
        identities.add(Identity::Digest(BOB.into())).expect("the first");
        identities
    }

    fn acl<'a>(bits: i32, scheme: &'a str, id: &'a str) -> Acl<'a> {
        let permissions = Permissions::new(bits);
        Acl { permissions, scheme, id }
    }

    fn resolve<const N: usize>(
        requested: [Acl<'_>; N],
        identities: &Identities,
    ) -> Result<AccessList, InvalidAcl> {
        AccessList::resolve(requested.into_iter().map(RequestedAcl::from), identities)
    }

    fn shown(list: &AccessList) -> Vec<String> {
        let show = |acl: Acl<'_>| format!("{}:{}:{}", acl.permissions.get(), acl.scheme, acl.id);
        list.entries().map(show).collect()
    }

    #[test]
    fn malformed_lists_are_refused() {
        assert_eq!(resolve([], &local()), Err(InvalidAcl::Malformed));
        let malformed = [
            acl(31, "world", "bob"),
            acl(31, "world", ""),
            acl(31, "auth", ""),
            acl(31, "digest", "bob"),
            acl(31, "digest", "bob:x:y"),
            acl(31, "digest", "bob:"),
            acl(31, "digest", ":"),
            acl(31, "ip", "nowhere"),
            acl(31, "super", "bob:x"),
            acl(31, "sasl", "bob"),
            acl(31, "x509", "CN=bob"),
            acl(31, "", ""),
        ];
        for entry in malformed {
            assert_eq!(resolve([entry], &local()), Err(InvalidAcl::Malformed), "{entry:?}");
            let behind_a_sound_one = resolve([Acl::OPEN, entry], &local());
            assert_eq!(behind_a_sound_one, Err(InvalidAcl::Malformed), "{entry:?}");
        }
    }

    /// Apache's servers refuse a null id only where they read it, and for `auth` they do not. Of
    /// two entries with equal permissions and schemes they compare the ids.
    #[test]
    fn a_null_id_is_one_of_the_scheme_auth() {
        let entry = |scheme, id| RequestedAcl { permissions: Permissions::ALL, scheme, id };
        let resolve = |requested: &[RequestedAcl<'_>], identities: &Identities| {
            AccessList::resolve(requested.iter().copied(), identities).map(|list| shown(&list))
        };
        let auth = entry(Some("auth"), None);
        let bob = Ok(vec![format!("31:digest:{BOB}")]);
        assert_eq!(resolve(&[auth], &as_bob()), bob);
        assert_eq!(resolve(&[auth], &local()), Err(InvalidAcl::Malformed));
        for (scheme, refused) in [
            (None, InvalidAcl::Malformed),
            (Some("sasl"), InvalidAcl::Malformed),
            (Some("world"), InvalidAcl::Null),
            (Some("digest"), InvalidAcl::Null),
            (Some("ip"), InvalidAcl::Null),
        ] {
            assert_eq!(resolve(&[entry(scheme, None)], &as_bob()), Err(refused), "{scheme:?}");
        }
        assert_eq!(resolve(&[auth, auth], &as_bob()), Err(InvalidAcl::Null));
        let with_id = entry(Some("auth"), Some(""));
        assert_eq!(resolve(&[with_id, auth], &as_bob()), Err(InvalidAcl::Null));
        let read = RequestedAcl { permissions: Permissions::READ, ..auth };
        let both = vec![format!("31:digest:{BOB}"), format!("1:digest:{BOB}")];
        assert_eq!(resolve(&[auth, read], &as_bob()), Ok(both));
    }

    /// Java's `split` drops them.
    #[test]
    fn a_digest_may_end_with_colons() {
        for id in ["bob:x:", "bob:x::", ":x"] {
            let list = resolve([acl(1, "digest", id)], &local()).expect("a sound list");
            assert_eq!(shown(&list), [format!("1:digest:{id}")]);
        }
    }

    #[test]
    fn exact_duplicates_are_dropped_and_bits_kept() {
        let twice = [acl(255, "world", "anyone"), acl(255, "world", "anyone")];
        let list = resolve(twice, &local()).expect("a sound list");
        assert_eq!(shown(&list), ["255:world:anyone"]);
        let two = [acl(1, "world", "anyone"), acl(2, "world", "anyone")];
        let list = resolve(two, &local()).expect("a sound list");
        assert_eq!(shown(&list), ["1:world:anyone", "2:world:anyone"]);
    }

    #[test]
    fn auth_stands_for_the_identities_that_authenticated() {
        let mut two = as_bob();
        two.add(Identity::Digest("ann:y".into())).expect("the second");
        two.add(Identity::Super).expect("the third");
        let list = resolve([Acl::CREATOR_ALL], &two).expect("a sound list");
        assert_eq!(shown(&list), ["31:digest:ann:y", &format!("31:digest:{BOB}")]);
    }

    #[test]
    fn any_permission_of_any_identity_will_do() {
        let list = [acl(1, "world", "anyone"), acl(18, "digest", BOB)];
        let list = resolve(list, &local()).expect("a sound list");
        let either = Permissions::READ | Permissions::ADMIN;
        assert!(list.grants(Permissions::READ, &local()));
        assert!(!list.grants(Permissions::WRITE, &local()));
        assert!(list.grants(Permissions::WRITE, &as_bob()));
        assert!(list.grants(either, &local()));
        assert!(!list.grants(Permissions::DELETE, &as_bob()));
        let mut root = local();
        root.add(Identity::Super).expect("the first");
        assert!(list.grants(Permissions::DELETE, &root));
    }

    #[test]
    fn secrets_are_redacted() {
        let list = [acl(31, "digest", BOB), Acl::READ_ONLY];
        let list = resolve(list, &local()).expect("a sound list");
        assert_eq!(shown(&list.redacted()), ["31:digest:bob:x", "1:world:anyone"]);
    }
}
