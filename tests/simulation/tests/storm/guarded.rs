//! Writes under a guard, noted down for the second verdict.

use election_tokio::GuardedTransaction;
use election_tokio::{OperationOutcome, Token, TransactionError, Version};
use zk_verdict::Op;

use crate::life::{Life, in_time};

impl Life {
    /// Commits a transaction that writes the token to a ledger, under a guard with that token.
    pub(crate) async fn guarded_write(
        &self,
        path: &str,
        token: Token,
        transaction: GuardedTransaction,
    ) -> Option<Result<(), TransactionError>> {
        let write = |version| Op::Write { token: token.get(), base: None, version };
        let call = self.laws.invoked(&format!("register{path}"), write(None));
        let transaction = transaction.set_data(path, token.get().to_string(), Version::ANY);
        let outcome =
            in_time(&self.laws, self.number, "a guarded write", transaction.commit()).await?;
        match &outcome {
            Ok(outcomes) => {
                let version = outcomes.iter().find_map(|outcome| match outcome {
                    OperationOutcome::DataSet(stat) => u64::try_from(stat.version.get()).ok(),
                    _ => None,
                });
                self.laws.returned(call, write(version));
            }
            Err(error) if error.may_have_happened() => {}
            Err(_) => self.laws.refused(call),
        }
        Some(outcome.map(drop))
    }
}
