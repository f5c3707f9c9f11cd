//! Deleting a znode with all its descendants.

use zk_jute::records::DeleteRequest;
use zk_jute::{Request, Version};

use super::{Client, pipeline};
use crate::path::{self, PathError, child_path};
use crate::{Error, ErrorKind};

/// How often to list a tree again because it has grown meanwhile.
const ROUNDS: usize = 8;

impl Client {
    /// Deletes a znode with all its descendants, whatever their versions, and returns how many
    /// znodes it deleted. A znode that another client deletes meanwhile does not count, and is no
    /// error; a missing tree counts 0. Znodes that other clients create meanwhile are deleted too,
    /// in up to eight rounds.
    ///
    /// This is not one operation: other clients see the tree go from the leaves to the root, and an
    /// error leaves the rest. Up to 64 requests are in flight at a time. The paths of the whole
    /// tree are held in memory.
    ///
    /// Cancel safe: requests that were sent may delete a part of the tree.
    ///
    /// # Errors
    ///
    /// The first error of a listing or deletion, with its path: `NotEmpty` if the tree went on
    /// growing; `NoAuth`. [`ErrorKind::InvalidPath`], with nothing sent, for the root of the server
    /// and for the server's own znodes, which cannot be deleted.
    pub async fn delete_tree(&self, path: &str) -> Result<u64, Error> {
        let server_path = self.server_path::<DeleteRequest<'_>>(path)?;
        if path::is_permanent(&server_path) {
            let kind = ErrorKind::InvalidPath(PathError::Permanent);
            return Err(Error::new(DeleteRequest::OPCODE, path, kind));
        }
        let mut deleted = 0;
        let mut round = 1;
        loop {
            let tree = self.list_tree(path).await?;
            match self.delete_all(&tree, &mut deleted).await? {
                Some(grown) if round == ROUNDS => return Err(grown),
                Some(_) => round += 1,
                None => return Ok(deleted),
            }
        }
    }

    /// Returns the paths of a znode and its descendants, parents before children.
    async fn list_tree(&self, path: &str) -> Result<Vec<String>, Error> {
        let mut tree = Vec::new();
        let mut level = vec![path.to_owned()];
        while !level.is_empty() {
            let mut below = Vec::new();
            let mut parents = level.into_iter();
            let next = || {
                parents.next().map(|parent| async {
                    let children = self.get_children(&parent).await;
                    (parent, children)
                })
            };
            pipeline::run(next, |(parent, children)| match children {
                Ok(children) => {
                    below.extend(children.iter().map(|name| child_path(&parent, name)));
                    tree.push(parent);
                    Ok(())
                }
                Err(error) if error.is_no_node() => Ok(()),
                Err(error) => Err(error),
            })
            .await?;
            level = below;
        }
        Ok(tree)
    }

    /// Deletes the last path first, so children before parents, and counts. Returns the last error
    /// of a znode that had children again, if there was one.
    pub(crate) async fn delete_all(
        &self,
        tree: &[String],
        deleted: &mut u64,
    ) -> Result<Option<Error>, Error> {
        let mut grown = None;
        let mut paths = tree.iter().rev();
        let next = || paths.next().map(|path| self.delete(path, Version::ANY));
        pipeline::run(next, |outcome| match outcome {
            Ok(()) => {
                *deleted += 1;
                Ok(())
            }
            Err(error) if error.is_no_node() => Ok(()),
            Err(error) if error.is_not_empty() => {
                grown = Some(error);
                Ok(())
            }
            Err(error) => Err(error),
        })
        .await?;
        Ok(grown)
    }
}
