//! The store that the leader writes to: a database that refuses the token of an earlier leader.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS fence (id INTEGER PRIMARY KEY CHECK (id = 1), token INTEGER NOT NULL);
    INSERT OR IGNORE INTO fence VALUES (1, 0);
    CREATE TABLE IF NOT EXISTS reports (number INTEGER PRIMARY KEY, token INTEGER NOT NULL);
";

#[derive(Clone, Debug)]
pub(crate) struct Ledger(Arc<Mutex<Connection>>);

#[derive(Debug, thiserror::Error)]
pub(crate) enum LedgerError {
    #[error("a later leader was here")]
    Fenced,
    #[error(transparent)]
    Database(#[from] rusqlite::Error),
}

impl Ledger {
    pub(crate) fn open(path: &str) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.execute_batch(TABLES)?;
        Ok(Self(Arc::new(Mutex::new(connection))))
    }

    /// Closes the fence behind the leaders before this one, then reads the number of the last report.
    pub(crate) fn take_over(&self, token: i64) -> Result<i64, LedgerError> {
        self.fenced(token, |transaction| {
            let last = "SELECT COALESCE(MAX(number), 0) FROM reports";
            transaction.query_row(last, [], |row| row.get(0))
        })
    }

    /// Writes the next report.
    pub(crate) fn write(&self, token: i64) -> Result<(), LedgerError> {
        self.fenced(token, |transaction| {
            transaction.execute("INSERT INTO reports (token) VALUES (?1)", [token]).map(drop)
        })
    }

    /// Acts in the transaction that checks the token.
    fn fenced<T>(
        &self,
        token: i64,
        act: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, LedgerError> {
        let mut connection = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let raise = "UPDATE fence SET token = ?1 WHERE id = 1 AND token <= ?1";
        if transaction.execute(raise, [token])? == 0 {
            return Err(LedgerError::Fenced); // and rolls back
        }
        let value = act(&transaction)?;
        transaction.commit()?;
        Ok(value)
    }
}
