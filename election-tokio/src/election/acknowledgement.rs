//! Acknowledgements: a new leader tells others that it is ready.

use bytes::Bytes;
use zk_jute::{ErrorCode, OpCode, Version};

use super::leadership::Leadership;
use crate::client::{CreateMode, TransactionError};
use crate::held::{Guard, GuardedTransaction};

/// The suffix that makes the path of the acknowledgement from that of the election. The znode is
/// not a child of the election node, since clients of other languages take every child there for a
/// candidate.
pub(super) const SUFFIX: &str = ".acknowledged";

/// How often to try, since the znode to replace may go meanwhile.
const ROUNDS: usize = 4;

impl Leadership {
    /// Publishes that this leader has finished taking over. It creates the ephemeral znode
    /// `ELECTION.acknowledged`, with the lines `token: …` and `nominee: …`, an empty line, and
    /// `data`, in place of that of an earlier leader. A reader compares the token with the `czxid`
    /// of the lowest candidate. The znode has the access list of the candidates
    /// ([`Election::acls`](super::Election::acls)). In a format without ids in its names it begins the
    /// leader's [epoch](Leadership::epoch) first, which guards it there.
    ///
    /// Cancel safe: it may still be published.
    ///
    /// # Errors
    ///
    /// [`TransactionError::NotHeld`] if the leadership is over; otherwise as
    /// [`Transaction::commit`](crate::Transaction::commit).
    pub async fn acknowledge(&self, data: &[u8]) -> Result<(), TransactionError> {
        let site = &self.nomination().facts.settings.site;
        let path = [site.path(), SUFFIX].concat();
        let mut content =
            format!("token: {}\nnominee: {}\n\n", self.token(), self.nomination().id).into_bytes();
        content.extend_from_slice(data);
        let content = Bytes::from(content);
        let publish = |transaction: GuardedTransaction| {
            let acls = site.acl_list().entries().into_iter().collect();
            let mode = CreateMode::Ephemeral;
            transaction.create_with_acl(&path, content.clone(), mode, &acls).commit()
        };
        let guard = match self.guard_of_name() {
            Guard::Name => None,
            Guard::Nothing => Some(self.epoch().await?),
        };
        let transaction = || match &guard {
            None => self.transaction(),
            Some(epoch) => self.transaction_by_name().check(epoch.path(), epoch.version()),
        };
        let mut round = 1;
        loop {
            match publish(transaction()).await {
                Err(TransactionError::Refused { code: ErrorCode::NODE_EXISTS, .. }) => {}
                Err(TransactionError::Refused { operation: OpCode::CHECK, .. }) => {
                    return Err(TransactionError::NotHeld);
                }
                published => return published.map(drop),
            }
            match publish(transaction().delete(&path, Version::ANY)).await {
                // The znode of the earlier leader has just gone with its session.
                Err(TransactionError::Refused {
                    operation: OpCode::DELETE,
                    code: ErrorCode::NO_NODE,
                    ..
                }) if round < ROUNDS => round += 1,
                Err(TransactionError::Refused { operation: OpCode::CHECK, .. }) => {
                    return Err(TransactionError::NotHeld);
                }
                published => return published.map(drop),
            }
        }
    }
}
