//! Creating a znode with its ancestors.

use bytes::Bytes;
use zk_jute::records::Acl;
use zk_jute::{ErrorCode, OpCode};

use super::access::checked_acls;
use super::{Client, CreateMode, Created, pipeline};
use crate::acl::Acls;
use crate::{Error, ErrorKind};

/// How often to create the parents again because they are missing.
const ROUNDS: usize = 4;

impl Client {
    /// Creates a znode and its missing ancestors. These are persistent, without data, and have the
    /// same access list, which has to let this client create children. It does not create a chroot.
    ///
    /// If the parent exists, this is one request. Otherwise it creates the ancestors all at once,
    /// and again if other clients delete them meanwhile, in up to four rounds.
    ///
    /// Cancel safe: the znode, or only some of its ancestors, may still be created.
    ///
    /// # Errors
    ///
    /// Those of [`Client::create_with_acl`], with the path of the znode that could not be created,
    /// which may be an ancestor. After an error, some of the ancestors may exist.
    /// [`ErrorKind::NoChroot`] if the chroot does not exist: see [`Client::create_chroot`].
    pub async fn create_with_parents(
        &self,
        path: &str,
        data: impl Into<Bytes>,
        mode: CreateMode,
        acls: &Acls,
    ) -> Result<Created, Error> {
        let (data, acl) = (data.into(), checked_acls(mode.operation(), path, acls)?);
        let mut obstacle = None;
        let mut round = 0;
        loop {
            let missing = match self.create_checked(path, &data, mode, &acl).await {
                Err(error) if error.kind() == ErrorKind::NoChroot => return Err(error),
                Err(error) if error.is_no_node() && error.operation() != OpCode::EXISTS => error,
                outcome => return outcome,
            };
            if let Some(obstacle) = obstacle {
                return Err(obstacle);
            }
            if round == ROUNDS || ancestors(path).next().is_none() {
                return Err(missing);
            }
            round += 1;
            obstacle = self.create_parents(path, &acl).await?;
        }
    }

    /// Creates the missing ancestors of a znode, and returns an error that may not matter: servers
    /// check the permission to create a znode before they check whether it exists, so only the next
    /// attempt shows.
    ///
    /// # Errors
    ///
    /// Those without a next attempt: the connection or the client is gone, or the chroot does not
    /// exist.
    async fn create_parents(&self, path: &str, acl: &[Acl<'_>]) -> Result<Option<Error>, Error> {
        let mut obstacle = None;
        let mut parents = ancestors(path).collect::<Vec<_>>().into_iter();
        let mode = CreateMode::Persistent;
        let next = || parents.next().map(|parent| self.create_checked(parent, b"", mode, acl));
        pipeline::run(next, |outcome| {
            match outcome.map_err(|error| (error.code(), error)) {
                Ok(_) | Err((Some(ErrorCode::NODE_EXISTS), _)) => obstacle = None,
                Err((_, error)) if error.kind() == ErrorKind::NoChroot => return Err(error),
                Err((Some(ErrorCode::NO_NODE), _)) => {}
                Err((Some(_), refused)) => obstacle = Some(refused),
                Err((None, error)) => return Err(error),
            }
            Ok(())
        })
        .await?;
        Ok(obstacle)
    }
}

/// Returns the ancestors of a path without the root, outermost first.
pub(super) fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').skip(1).filter_map(|(index, _)| path.get(..index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ancestors_begin_below_the_root() {
        let cases: [(&str, &[&str]); 5] = [
            ("/", &[]),
            ("/a", &[]),
            ("/a/b", &["/a"]),
            ("/a/b/c-", &["/a", "/a/b"]),
            // A sequential znode with only the number as its name.
            ("/a/b/", &["/a", "/a/b"]),
        ];
        for (path, expected) in cases {
            assert_eq!(ancestors(path).collect::<Vec<_>>(), expected, "{path}");
        }
    }
}
