//! Names that stay when their registrar goes.

use bytes::Bytes;
use election_core::group::NameOwner;
use election_core::{NomineeId, SessionId};
use zk_jute::Version;

use super::error::{RECIPE, REGISTER, RegisterError, UNREGISTER};
use crate::Error;
use crate::acl::Acls;
use crate::client::{Client, CreateMode, Obstacle, TransactionError};
use crate::error::Place;
use crate::path::child_path;

/// A name that stays until it is given back. Dropping this leaves it in place.
///
/// Below its znode is another one, named by the id of the registration. Both are created and
/// deleted in one transaction, so no other registration of that name is ever given back.
#[derive(Clone, Debug)]
pub struct PersistentName {
    client: Client,
    path: String,
    name: String,
    id: NomineeId,
}

impl PersistentName {
    pub(super) fn of(client: &Client, parent: &str, name: &str, id: NomineeId) -> Self {
        let (client, path) = (client.clone(), child_path(parent, name));
        Self { client, path, name: name.to_owned(), id }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the id of the registration, with which another process can give it back:
    /// [`Names::persistent`](crate::names::Names::persistent).
    pub const fn id(&self) -> NomineeId {
        self.id
    }

    fn mark(&self) -> String {
        child_path(&self.path, self.id)
    }

    /// Creates both znodes. A create after a lost reply may be refused because of the first one.
    /// The refusal is committed, so a later read tells.
    pub(super) async fn register(&self, data: Bytes, acls: &Acls) -> Result<(), RegisterError> {
        let (persistent, mark) = (CreateMode::Persistent, self.mark());
        let failed = |error| RegisterError::Request { at: self.place(REGISTER), error };
        loop {
            let made = self
                .client
                .transaction()
                .create_with_acl(&self.path, data.clone(), persistent, acls)
                .create_with_acl(&mark, "", persistent, acls)
                .commit()
                .await;
            match made {
                Ok(_) => return Ok(()),
                Err(error) if error.is_no_node() => {
                    self.create_parent(acls).await.map_err(failed)?;
                }
                Err(error) if error.is_node_exists() => {
                    if self.exists(&mark).await.map_err(failed)?.is_some() {
                        return Ok(());
                    }
                    // `None`: it has gone meanwhile.
                    if let Some(owner) = self.exists(&self.path).await.map_err(failed)? {
                        return Err(RegisterError::NameTaken { at: self.place(REGISTER), owner });
                    }
                }
                Err(error) => self.pass(REGISTER, error).await?,
            }
        }
    }

    /// Gives the name back.
    ///
    /// Cancel safe: it is given back or not.
    ///
    /// # Errors
    ///
    /// [`RegisterError::NotRegistered`] if the name was given back before, or deleted.
    pub async fn unregister(&self) -> Result<(), RegisterError> {
        let mut is_lost = Earlier::None;
        loop {
            let given_back = self
                .client
                .transaction()
                .delete(&self.mark(), Version::ANY)
                .delete(&self.path, Version::ANY)
                .commit()
                .await;
            match (given_back, is_lost) {
                (Ok(_), _) => return Ok(()),
                // The first one was executed.
                (Err(error), Earlier::Lost) if error.is_no_node() => return Ok(()),
                (Err(error), Earlier::None) if error.is_no_node() => {
                    return Err(RegisterError::NotRegistered { at: self.place(UNREGISTER) });
                }
                (Err(error), earlier) => {
                    is_lost = if error.is_connection_loss() { Earlier::Lost } else { earlier };
                    self.pass(UNREGISTER, error).await?;
                }
            }
        }
    }

    /// Returns the place of an error.
    fn place(&self, step: &'static str) -> Place {
        Place::new(RECIPE, &self.path, step)
    }

    async fn create_parent(&self, acls: &Acls) -> Result<(), Error> {
        let parent = self.path.rsplit_once('/').map_or("/", |(parent, _)| parent);
        let mode = CreateMode::Persistent;
        match self.client.create_with_parents(parent, "", mode, acls).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_node_exists() => Ok(()),
            Err(error) => match Obstacle::of(&error) {
                Some(obstacle) => {
                    self.client.pass(obstacle).await;
                    Ok(())
                }
                None => Err(error),
            },
        }
    }

    async fn exists(&self, path: &str) -> Result<Option<NameOwner>, Error> {
        let stat = self.client.repeated(|| self.client.exists(path)).await?;
        Ok(stat.map(|stat| match stat.ephemeral_owner.get() {
            0 => NameOwner::Persistent,
            session => NameOwner::Session(SessionId::new(session)),
        }))
    }

    async fn pass(&self, step: &'static str, error: TransactionError) -> Result<(), RegisterError> {
        match error {
            TransactionError::Request(error) => match Obstacle::of(&error) {
                Some(obstacle) => {
                    self.client.pass(obstacle).await;
                    Ok(())
                }
                None => Err(RegisterError::Request { at: self.place(step), error }),
            },
            error => Err(RegisterError::Transaction { at: self.place(step), error }),
        }
    }
}

/// An earlier sending of the same transaction, with a lost reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Earlier {
    None,
    Lost,
}
