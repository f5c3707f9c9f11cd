//! The state that every replica shares: the tree and the sessions, as the log made them.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use bytes::Bytes;
use zk_jute::{SessionId, Zxid};

use crate::access::AccessList;
use crate::config::{Config, CounterEnd};
use crate::lifetime::Lifetime;
use crate::path;
use crate::tree::{NewZnode, Tree, Znode};
use crate::txn::{
    Applied, Diverged, Moment, OperationOutcome, TreeChange, Txn, TxnBody, TxnOperation, TxnOutcome,
};

/// The tree and the sessions. They depend on the applied transactions and on nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    tree: Tree,
    sessions: BTreeMap<SessionId, Duration>,
    last_zxid: Zxid,
}

impl Database {
    /// Creates the database before the first transaction.
    #[must_use]
    pub fn new() -> Self {
        Self::with(CounterEnd::default())
    }

    /// Creates the database that a server with this configuration begins with. Each of its first
    /// znodes, and of their parents, took a number of the epoch 0.
    #[must_use]
    pub fn first(config: &Config) -> Self {
        let mut database = Self::with(config.counter_end);
        let time = config.wall_clock_at_origin;
        for (path, children_created) in config.first_znodes.iter() {
            let ends = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
            for end in ends.chain([path.len()]) {
                let path = path.get(..end).unwrap_or(path);
                let zxid = Zxid::new(database.last_zxid.get().saturating_add(1));
                let (data, access) = (Bytes::new(), AccessList::open());
                let lifetime = Lifetime::Persistent;
                let new = NewZnode { path, data: Some(&data), access: &access, lifetime };
                // An existing one is a parent of an earlier one, or one that every server has.
                if database.tree.create(new, Moment { zxid, time }).is_ok() {
                    database.last_zxid = zxid;
                }
            }
            database.tree.set_children_created(path, children_created);
        }
        database
    }

    fn with(counter_end: CounterEnd) -> Self {
        let tree = Tree::new(counter_end);
        Self { tree, sessions: BTreeMap::new(), last_zxid: Zxid::ZERO }
    }

    /// Returns the znode at `path`.
    pub fn znode(&self, path: &str) -> Option<&Znode> {
        self.tree.get(path)
    }

    /// Returns all znodes with their paths, ordered by the bytes of the paths.
    pub fn znodes(&self) -> impl ExactSizeIterator<Item = (&str, &Znode)> {
        self.tree.iter()
    }

    /// Returns all sessions, with the timeouts that they were created with.
    pub fn sessions(&self) -> impl ExactSizeIterator<Item = (SessionId, Duration)> {
        self.sessions.iter().map(|(id, timeout)| (*id, *timeout))
    }

    /// Returns whether the session has begun and not ended.
    pub fn has_session(&self, session: SessionId) -> bool {
        self.sessions.contains_key(&session)
    }

    /// Returns the paths of a session's ephemeral znodes, ordered by their bytes.
    pub fn ephemerals_of(&self, session: SessionId) -> impl Iterator<Item = &str> {
        self.tree.ephemerals_of(session)
    }

    /// Returns the zxid of the last transaction applied.
    pub fn last_zxid(&self) -> Zxid {
        self.last_zxid
    }

    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    #[cfg(test)]
    pub(crate) fn tree_mut(&mut self) -> &mut Tree {
        &mut self.tree
    }

    /// Applies the next transaction of the log.
    ///
    /// # Errors
    ///
    /// [`Diverged`] if the transaction was made for another state. The database may have applied
    /// part of it: do not use it any more.
    pub fn apply(&mut self, txn: &Txn) -> Result<(), Diverged> {
        self.apply_and_tell(txn).map(drop)
    }

    pub(crate) fn apply_and_tell(&mut self, txn: &Txn) -> Result<Applied, Diverged> {
        if txn.at.zxid <= self.last_zxid {
            return Err(Diverged);
        }
        self.last_zxid = txn.at.zxid;
        let mut changes = Vec::new();
        let outcome = match &txn.body {
            TxnBody::CreateSession { timeout } => {
                self.sessions.insert(txn.session, *timeout);
                TxnOutcome::SessionCreated
            }
            TxnBody::CloseSession => {
                self.sessions.remove(&txn.session).ok_or(Diverged)?;
                self.delete_ephemerals(txn.session, txn.at.zxid, &mut changes)?;
                TxnOutcome::SessionClosed
            }
            TxnBody::Apply(operations) => {
                let apply = |operation| self.apply_operation(operation, txn.at, &mut changes);
                let outcomes: Result<_, _> = operations.iter().map(apply).collect();
                TxnOutcome::Applied(outcomes?)
            }
            TxnBody::Reject(rejection) => TxnOutcome::Rejected(*rejection),
        };
        Ok(Applied { outcome, changes })
    }

    fn delete_ephemerals(
        &mut self,
        session: SessionId,
        zxid: Zxid,
        changes: &mut Vec<TreeChange>,
    ) -> Result<(), Diverged> {
        let paths: Vec<String> = self.ephemerals_of(session).map(String::from).collect();
        for path in paths {
            changes.push(self.delete(&path, zxid)?);
        }
        Ok(())
    }

    fn apply_operation(
        &mut self,
        operation: &TxnOperation,
        at: Moment,
        changes: &mut Vec<TreeChange>,
    ) -> Result<OperationOutcome, Diverged> {
        Ok(match operation {
            TxnOperation::Create { path, data, access, lifetime } => {
                let new = NewZnode { path, data: data.as_ref(), access, lifetime: *lifetime };
                let stat = self.tree.create(new, at)?;
                changes.push(TreeChange::Created {
                    path: path.clone(),
                    access: access.clone(),
                    parent_access: self.access_of_parent(path)?,
                });
                let path = path.clone();
                OperationOutcome::Created { path, stat }
            }
            TxnOperation::Delete { path } => {
                changes.push(self.delete(path, at.zxid)?);
                OperationOutcome::Deleted
            }
            TxnOperation::SetData { path, data } => {
                let znode = self.tree.set_data(path, data.as_ref(), at)?;
                changes.push(TreeChange::DataSet {
                    path: path.clone(),
                    access: znode.access().clone(),
                });
                OperationOutcome::DataSet(znode.stat())
            }
            TxnOperation::SetAcl { path, access } => {
                OperationOutcome::AclSet(self.tree.set_acl(path, access)?)
            }
            TxnOperation::Check => OperationOutcome::Checked,
        })
    }

    fn delete(&mut self, path: &str, zxid: Zxid) -> Result<TreeChange, Diverged> {
        let znode = self.tree.delete(path, zxid)?;
        Ok(TreeChange::Deleted {
            path: path.to_string(),
            access: znode.access().clone(),
            parent_access: self.access_of_parent(path)?,
        })
    }

    fn access_of_parent(&self, path: &str) -> Result<AccessList, Diverged> {
        let (parent, _) = path::split(path).ok_or(Diverged)?;
        let parent = self.tree.get(parent).ok_or(Diverged)?;
        Ok(parent.access().clone())
    }
}

impl Default for Database {
    fn default() -> Self {
        Self::new()
    }
}
