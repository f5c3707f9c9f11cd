//! Transactions that are applied only while their guard is held.

use std::sync::Arc;

use bytes::Bytes;
use election_core::format::Format;
use zk_jute::{ErrorCode, OpCode, Version};

use super::tenure::Ends;
use crate::acl::Acls;
use crate::client::{Client, CreateMode, OperationOutcome, Transaction, TransactionError};
use crate::hub::Hub;
use crate::{Error, ErrorKind};

/// A transaction that begins with a check that its guard is still held; made by
/// [`Leadership::transaction`](crate::election::Leadership::transaction) and
/// [`LockGuard::transaction`](crate::lock::LockGuard::transaction).
#[derive(Clone, Debug)]
#[must_use = "a transaction does nothing until it is committed"]
pub struct GuardedTransaction {
    tenures: Vec<Arc<dyn Ends>>,
    guard: Guard,
    transaction: Transaction,
}

/// The guard that the name of a holder's znode makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// No other znode ever has the name: while one stands, the holder holds.
    Name,
    /// Another client's znode can get the name, and guards as well as the holder's.
    Nothing,
}

impl Guard {
    /// Returns the guard in a format.
    pub(crate) const fn of(format: Format) -> Self {
        if format.names_recur() { Self::Nothing } else { Self::Name }
    }
}

impl GuardedTransaction {
    /// Makes a transaction that begins with a check of each of these znodes, created for the tenures.
    pub(super) fn new(client: &Client, held: Vec<(&str, Arc<dyn Ends>)>, guard: Guard) -> Self {
        let check = |sum: Transaction, (znode, _): &(&str, _)| sum.check(znode, Version::ANY);
        let transaction = held.iter().fold(client.transaction(), check);
        Self { tenures: held.into_iter().map(|(_, tenure)| tenure).collect(), guard, transaction }
    }

    /// Creates a znode with an open access list: every client may do everything with it.
    pub fn create(self, path: &str, data: impl Into<Bytes>, mode: CreateMode) -> Self {
        Self { transaction: self.transaction.create(path, data, mode), ..self }
    }

    /// Creates a znode with an access list.
    pub fn create_with_acl(
        self,
        path: &str,
        data: impl Into<Bytes>,
        mode: CreateMode,
        acls: &Acls,
    ) -> Self {
        Self { transaction: self.transaction.create_with_acl(path, data, mode, acls), ..self }
    }

    /// Deletes a znode, if its data has this version.
    pub fn delete(self, path: &str, version: Version) -> Self {
        Self { transaction: self.transaction.delete(path, version), ..self }
    }

    /// Replaces a znode's data, if it has this version.
    pub fn set_data(self, path: &str, data: impl Into<Bytes>, version: Version) -> Self {
        Self { transaction: self.transaction.set_data(path, data, version), ..self }
    }

    /// Makes the transaction fail unless a znode exists and its data has this version.
    pub fn check(self, path: &str, version: Version) -> Self {
        Self { transaction: self.transaction.check(path, version), ..self }
    }

    /// Sends the transaction. The server applies all operations, in order, or none. The results are
    /// those of the operations that were added.
    ///
    /// Cancel safe: all of it may still be applied, as after a lost connection.
    ///
    /// # Errors
    ///
    /// [`TransactionError::NotHeld`] if the guard was over before the transaction could be sent, or
    /// when the server handled it: nothing was applied. [`TransactionError::Request`] with
    /// [`ErrorKind::NotConnected`] if there is no connection, even if the client queues requests then
    /// ([`WhileDisconnected::Queue`](crate::session::WhileDisconnected::Queue)): a guarded write is not kept
    /// for a time at which its guard may be over. [`TransactionError::Request`] also if the server
    /// refuses the check itself, as with a candidate that may not be read. Otherwise as
    /// [`Transaction::commit`]; the index counts the operations that were added.
    /// [`TransactionError::NamesRecur`] in a format without ids in its names.
    pub async fn commit(self) -> Result<Vec<OperationOutcome>, TransactionError> {
        let Self { tenures, guard, transaction } = self;
        if guard == Guard::Nothing {
            return Err(TransactionError::NamesRecur);
        }
        let client = transaction.client().clone();
        let guarding = transaction.first_path().to_owned();
        let admit = |hub: &Hub| {
            if !client.shared().holds_lease() || tenures.iter().any(|tenure| tenure.is_over()) {
                return Err(TransactionError::NotHeld);
            }
            if hub.host.is_connected() {
                return Ok(());
            }
            Err(Error::new(OpCode::MULTI, &guarding, ErrorKind::NotConnected).into())
        };
        let results = transaction.commit_if(admit).await;
        Ok(results.map_err(|error| without_checks(error, tenures.len()))?.split_off(tenures.len()))
    }
}

/// Takes so many checks out of a failure: the caller did not add them, and does not count them.
fn without_checks(error: TransactionError, checks: usize) -> TransactionError {
    match error {
        TransactionError::Refused { index, code: ErrorCode::NO_NODE, .. } if index < checks => {
            TransactionError::NotHeld
        }
        TransactionError::Refused { index, operation, path, code } if index < checks => {
            Error::new(operation, &path, ErrorKind::Refused(code)).into()
        }
        TransactionError::Refused { index, operation, path, code } => {
            TransactionError::Refused { index: index - checks, operation, path, code }
        }
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_is_refused_is_no_operation_of_the_caller() {
        let refused = |index, code| TransactionError::Refused {
            index,
            operation: OpCode::CHECK,
            path: "/election/candidate".to_owned(),
            code,
        };
        assert_eq!(without_checks(refused(0, ErrorCode::NO_NODE), 1), TransactionError::NotHeld);
        assert_eq!(without_checks(refused(1, ErrorCode::NO_NODE), 2), TransactionError::NotHeld);
        let of_the_check = without_checks(refused(0, ErrorCode::NO_AUTH), 1);
        let TransactionError::Request(error) = of_the_check else {
            panic!("{of_the_check:?}");
        };
        assert_eq!(error.kind(), ErrorKind::Refused(ErrorCode::NO_AUTH));
        let of_the_caller = refused(2, ErrorCode::NO_NODE);
        assert_eq!(without_checks(of_the_caller, 1), refused(1, ErrorCode::NO_NODE));
    }
}
