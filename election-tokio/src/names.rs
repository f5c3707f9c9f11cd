//! Names: registered, resolved, watched.
//!
//! Begin with [`Client::names`]. Costs and limits: [names](https://github.com/zk-election/zk-election/blob/main/docs/names.md).

mod error;
mod persistent;

use core::fmt;

use bytes::Bytes;
use election_core::NomineeId;
use election_core::group::WhenTaken;
use zk_jute::records::Stat;

pub use error::RegisterError;
use error::{RECIPE, REGISTER};
pub use persistent::PersistentName;

use crate::Error;
use crate::acl::Acls;
use crate::client::Client;
use crate::config::ConfigWatch;
use crate::error::Place;
use crate::group::{Group, GroupWatch, Membership};
use crate::path::child_path;

/// The names below a path; made by [`Client::names`]. Each name has at most one registration. A
/// name is a znode, and its value is the znode's data.
#[derive(Clone)]
#[must_use = "names do nothing until they are asked for something"]
pub struct Names {
    client: Client,
    path: String,
    acls: Acls,
}

impl Client {
    /// Returns the names below a path.
    pub fn names(&self, path: &str) -> Names {
        Names { client: self.clone(), path: path.to_owned(), acls: Acls::open() }
    }
}

impl Names {
    fn group(&self) -> Group {
        let group = self.client.group(&self.path).acls(self.acls.clone());
        group.when_taken(WhenTaken::GiveUp)
    }

    /// Registers a name for as long as the client lives, over expired sessions. The registration is
    /// a member of a group, which gives up if its name is taken. [`Membership::leave`] unregisters
    /// it, and so does dropping it; it never deletes another registration.
    ///
    /// Cancel safe: dropping the future unregisters the name, in the background.
    ///
    /// # Errors
    ///
    /// [`RegisterError::NameTaken`]. It may also come later: after an expired session another
    /// registrar may be faster, which [`Membership::state`] shows.
    pub async fn register(
        &self,
        name: &str,
        data: impl Into<Bytes>,
    ) -> Result<Membership, RegisterError> {
        Ok(self.group().join_as(name, data).await?)
    }

    /// Registers a name until it is [given back](PersistentName::unregister), whatever happens to
    /// this client.
    ///
    /// Cancel safe: the name may still be registered.
    ///
    /// # Errors
    ///
    /// [`RegisterError::NameTaken`]. If a reply is lost, this finds out which registration has the
    /// name.
    pub async fn register_persistent(
        &self,
        name: &str,
        data: impl Into<Bytes>,
    ) -> Result<PersistentName, RegisterError> {
        let at = || Place::new(RECIPE, &child_path(&self.path, name), REGISTER);
        let failed = |error| RegisterError::Randomness { at: at(), error };
        let id = self.client.shared().ids.nominee().map_err(failed)?;
        let registration = self.persistent(name, id);
        registration.register(data.into(), &self.acls).await?;
        Ok(registration)
    }

    /// Returns a persistent registration with a known id: that of an earlier process, for example.
    pub fn persistent(&self, name: &str, id: NomineeId) -> PersistentName {
        PersistentName::of(&self.client, &self.path, name, id)
    }

    /// Reads the value of a name, if it is registered, as one server knows it; it may be out of
    /// date. Without a connection this waits for one.
    ///
    /// Cancel safe: nothing is changed.
    ///
    /// # Errors
    ///
    /// Those of [`Client::get_data`].
    pub async fn resolve(&self, name: &str) -> Result<Option<(Bytes, Stat)>, Error> {
        self.client.find_data(&child_path(&self.path, name)).await
    }

    /// Watches all names, as the members of a group.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn watch(&self) -> GroupWatch {
        self.group().watch()
    }

    /// Watches one name.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn watch_name(&self, name: &str) -> ConfigWatch<Bytes> {
        ConfigWatch::begin(&self.client, &child_path(&self.path, name))
    }
}

/// Settings.
impl Names {
    /// Sets the access list of a name's znode, and of the node and its ancestors if they have to be
    /// created (default: every client may do everything).
    pub fn acls(mut self, acls: Acls) -> Self {
        self.acls = acls;
        self
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Names").field("path", &self.path).finish_non_exhaustive()
    }
}
