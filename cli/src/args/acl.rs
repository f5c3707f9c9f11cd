//! Access lists, as users write them.

use core::str::FromStr;

use clap::Args;
use election_tokio::acl::{Acls, Permissions};

#[derive(Clone, Debug, Args)]
pub(crate) struct AclArgs {
    /// The access list of the znodes that zkelect creates, as in zkCli.sh: SCHEME:ID:PERMISSIONS,
    /// with commas between several; permissions are c(reate), d(elete), r(ead), w(rite), a(dmin).
    /// Or `open`: every client may do everything; or `creator`: only clients with the identity of
    /// --auth or --sasl-user.
    #[arg(long, value_name = "ACL", default_value = "open")]
    acl: AclText,
}

impl AclArgs {
    pub(crate) fn acls(&self) -> Acls {
        self.acl.0.clone()
    }
}

/// An access list that parses.
#[derive(Clone, Debug, PartialEq, Eq)]
struct AclText(Acls);

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum AclTextError {
    #[error(
        "{0:?} is not SCHEME:ID:PERMISSIONS, such as world:anyone:r, auth::cdrwa or ip:10.0.0.0/8:cdrw"
    )]
    Form(String),
    #[error("{0:?} is no permission: write those of cdrwa that are allowed")]
    Permission(char),
    #[error("an access list has to allow something")]
    Empty,
}

impl FromStr for AclText {
    type Err = AclTextError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "open" => return Ok(Self(Acls::open())),
            "creator" => return Ok(Self(Acls::creator_all())),
            _ => {}
        }
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let acls = entries.map(entry).try_fold(Acls::new(), |acls, entry| {
            let (permissions, scheme, id) = entry?;
            Ok(acls.with(permissions, scheme, id))
        })?;
        if acls.is_empty() {
            return Err(AclTextError::Empty);
        }
        Ok(Self(acls))
    }
}

/// Splits an entry. Ids have colons in the scheme `digest` and in addresses of IPv6.
fn entry(text: &str) -> Result<(Permissions, String, String), AclTextError> {
    let malformed = || AclTextError::Form(text.to_owned());
    let (scheme, rest) = text.split_once(':').ok_or_else(malformed)?;
    let (id, permissions) = rest.rsplit_once(':').ok_or_else(malformed)?;
    if scheme.is_empty() || permissions.is_empty() {
        return Err(malformed());
    }
    let mut allowed = Permissions::NONE;
    for letter in permissions.chars() {
        allowed = allowed
            | match letter {
                'c' => Permissions::CREATE,
                'd' => Permissions::DELETE,
                'r' => Permissions::READ,
                'w' => Permissions::WRITE,
                'a' => Permissions::ADMIN,
                other => return Err(AclTextError::Permission(other)),
            };
    }
    Ok((allowed, scheme.to_owned(), id.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acls(text: &str) -> Result<Acls, AclTextError> {
        text.parse::<AclText>().map(|AclText(acls)| acls)
    }

    #[test]
    fn access_lists_are_written_as_in_the_shell_of_zookeeper() {
        assert_eq!(acls("open"), Ok(Acls::open()));
        assert_eq!(acls("creator"), Ok(Acls::creator_all()));
        assert_eq!(acls("auth::cdrwa"), Ok(Acls::creator_all()));
        let of_two = Acls::new().world(Permissions::READ).with(
            Permissions::CREATE | Permissions::WRITE,
            "digest",
            "bob:hash=",
        );
        assert_eq!(acls("world:anyone:r, digest:bob:hash=:cw"), Ok(of_two));
        assert_eq!(acls("ip:fe80::1:r"), Ok(Acls::new().ip(Permissions::READ, "fe80::1")));
    }

    #[test]
    fn what_is_no_access_list_is_refused() {
        for text in ["world", "world:anyone", "world:anyone:", ":anyone:r"] {
            assert_eq!(acls(text), Err(AclTextError::Form(text.to_owned())));
        }
        assert_eq!(acls("world:anyone:rx"), Err(AclTextError::Permission('x')));
        assert_eq!(acls(" , "), Err(AclTextError::Empty));
    }
}
