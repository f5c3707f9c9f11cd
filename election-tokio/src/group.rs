//! Groups: which processes are present, and their data.
//!
//! Begin with [`Client::group`]. Costs and limits: [group](https://github.com/zk-election/zk-election/blob/main/docs/group-membership.md).

mod driver;
mod error;
mod face;
mod membership;
mod watch;

use core::fmt;
use std::sync::Arc;

use bytes::Bytes;
use election_core::group::{MemberOptions, NameOrigin};
use zk_jute::OpCode;

pub use election_core::group::{MemberFailure, NameOwner, WhenEvicted, WhenTaken};
pub use election_session::{Continuity, GroupFormat, GroupMember, GroupView, MemberData};

pub use error::MembershipError;
pub use face::MembershipState;
use membership::JOIN;
pub use membership::Membership;
pub use watch::GroupWatch;

use crate::acl::Acls;
use crate::client::Client;
use crate::path::{PathError, check_path, child_path};
use crate::spot::Spot;
use crate::{Error, ErrorKind};

/// A group of processes at a path; made by [`Client::group`]. Each member has an ephemeral znode below
/// it, with its data.
#[derive(Clone)]
#[must_use = "a group does nothing until it is joined or watched"]
pub struct Group {
    spot: Spot,
    format: GroupFormat,
    when_taken: WhenTaken,
    when_evicted: WhenEvicted,
}

impl Client {
    /// Returns the group at a path. All children are members, as with Curator's `GroupMember`.
    pub fn group(&self, path: &str) -> Group {
        Group {
            spot: Spot::new(self.clone(), "group", path),
            format: GroupFormat::Plain,
            when_taken: WhenTaken::default(),
            when_evicted: WhenEvicted::default(),
        }
    }

    /// Creates an ephemeral znode of this client's own at a path and keeps it there, as Curator's
    /// `PersistentNode`: it is made again, with the data that was set last, in each later session
    /// and after another client has deleted it. Waits until it exists; if another session has the
    /// path, until that znode is gone. Missing parents are created.
    ///
    /// It is a member of the group at its parent: [`Group`] has the settings, among them what happens
    /// if the path is taken, or the znode deleted.
    ///
    /// Cancel safe: dropping the future deletes the znode, in the background.
    ///
    /// # Errors
    ///
    /// [`MembershipError`]: waiting does not repair it.
    #[doc(alias = "PersistentNode")]
    pub async fn persistent_node(
        &self,
        path: &str,
        data: impl Into<Bytes>,
    ) -> Result<Membership, MembershipError> {
        let Some((parent, name)) = path.rsplit_once('/').filter(|(_, name)| !name.is_empty())
        else {
            let error = check_path(path).err().unwrap_or(PathError::Permanent);
            return Err(MembershipError::InvalidPath { path: path.to_owned(), error });
        };
        let parent = if parent.is_empty() { "/" } else { parent };
        self.group(parent).join_as(name, data).await
    }
}

impl Group {
    /// Joins under a random name, and waits until the znode exists.
    ///
    /// Cancel safe: dropping the future leaves, in the background.
    ///
    /// # Errors
    ///
    /// [`MembershipError`]: waiting does not repair it.
    pub async fn join(&self, data: impl Into<Bytes>) -> Result<Membership, MembershipError> {
        self.begin(None, data.into()).await
    }

    /// Joins under this name, and waits until the znode exists. [`Group::when_taken`] says what
    /// happens if another session has the name.
    ///
    /// Cancel safe, as [`Group::join`].
    ///
    /// # Errors
    ///
    /// [`MembershipError::NameTaken`], and those of [`Group::join`].
    pub async fn join_as(
        &self,
        name: &str,
        data: impl Into<Bytes>,
    ) -> Result<Membership, MembershipError> {
        self.begin(Some(name), data.into()).await
    }

    async fn begin(&self, name: Option<&str>, data: Bytes) -> Result<Membership, MembershipError> {
        let client = &self.spot.client;
        let failed = |error| MembershipError::Randomness { at: self.spot.place(JOIN), error };
        let id = client.shared().ids.nominee().map_err(failed)?;
        let znode = self.format.znode(id, name);
        let site = Arc::clone(self.spot.site(JOIN)?);
        self.check_znode(&znode)?;
        let origin = match (self.format, name) {
            (GroupFormat::Plain, Some(_)) => NameOrigin::Given,
            _ => NameOrigin::Random,
        };
        let options = MemberOptions {
            name: origin,
            when_taken: self.when_taken,
            when_evicted: self.when_evicted,
            node: self.spot.node(),
        };
        let membership = Membership::begin(client, site, znode, (data, options));
        membership.joined().await?;
        Ok(membership)
    }

    /// Checks the path of a member's znode.
    fn check_znode(&self, znode: &str) -> Result<(), MembershipError> {
        let path = child_path(&self.spot.path, znode);
        let checked = match check_path(&path) {
            Ok(()) if znode.contains('/') => Err(PathError::Character('/')),
            checked => checked,
        };
        checked.map_err(|error| MembershipError::InvalidPath { path, error })
    }

    /// Returns all members at one moment, as one server knows them; it may be out of date.
    ///
    /// Cancel safe: no watch is left.
    ///
    /// # Errors
    ///
    /// Those of [`GroupWatch::next`].
    pub async fn members(&self) -> Result<GroupView, Error> {
        let mut watch = self.watch();
        match watch.next().await {
            Some(view) => view,
            None => Err(Error::new(OpCode::GET_CHILDREN2, &self.spot.path, ErrorKind::Closed)),
        }
    }

    /// Watches the group, from a task of its own on the current runtime.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn watch(&self) -> GroupWatch {
        GroupWatch::begin(&self.spot.client, &self.spot.path, self.format)
    }
}

/// Settings.
impl Group {
    /// Sets which children are members, and the names of their znodes (default:
    /// [`GroupFormat::Plain`]).
    pub fn format(mut self, format: GroupFormat) -> Self {
        self.format = format;
        self
    }

    /// Sets the access list of a member's znode, and of the group's node and its ancestors if they
    /// have to be created (default: every client may do everything).
    pub fn acls(mut self, acls: Acls) -> Self {
        self.spot.set_acls(acls);
        self
    }

    /// Sets what happens if another session has a znode with the name of a member that joins
    /// (default: the member waits until it is gone).
    pub fn when_taken(mut self, when_taken: WhenTaken) -> Self {
        self.when_taken = when_taken;
        self
    }

    /// Sets what happens when another client deletes the znode of a member (default: it joins
    /// again).
    pub fn when_evicted(mut self, when_evicted: WhenEvicted) -> Self {
        self.when_evicted = when_evicted;
        self
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { spot: Spot { path, .. }, format, .. } = self;
        f.debug_struct("Group").field("path", path).field("format", format).finish_non_exhaustive()
    }
}
