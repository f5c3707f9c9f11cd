//! A count of leaderships, in a znode that every client can check.

use bytes::Bytes;
use election_core::Token;
use zk_jute::{ErrorCode, OpCode, Version};

use super::Election;
use super::leadership::Leadership;
use crate::Error;
use crate::client::{CreateMode, OperationOutcome, TransactionError};
use crate::held::Guard;

/// The suffix that makes the path of the epoch from that of the election.
pub(super) const SUFFIX: &str = ".epoch";

/// How often to try, since the znode may change after it was read.
const ROUNDS: usize = 4;

/// The epoch of a leader: a small number, one more than that of the last leader that had one.
///
/// It is the version of a znode beside the election node. A transaction of any client is applied
/// only in this epoch if it has `check(epoch.path(), epoch.version())`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Epoch {
    path: String,
    version: Version,
    token: Token,
}

impl Epoch {
    /// Returns the path of its znode.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the version of its znode.
    pub const fn version(&self) -> Version {
        self.version
    }

    /// Returns the number: that of the first leader is 0.
    pub const fn number(&self) -> i32 {
        self.version.get()
    }

    /// Returns the token of the leader of this epoch.
    pub const fn token(&self) -> Token {
        self.token
    }
}

impl Leadership {
    /// Begins this leader's epoch, if it has not begun: raises the version of the persistent znode
    /// `ELECTION.epoch`, in one transaction with a check of the leader's candidate. A leader has
    /// one epoch, however often this is called. A nominee that leads no longer begins none.
    ///
    /// Call it before the first act of a leadership. A leader that never calls it has no epoch, and
    /// checks of the previous leader's epoch go on to succeed.
    ///
    /// In a format without ids in its names ([`Format::names_recur`](crate::format::Format::names_recur)) the
    /// check is one of a name. There a former leader that does not know it yet may begin its epoch
    /// late, but none after that of a leader with a greater token: epochs begin in the order of
    /// tokens, and a write with a check of the epoch is applied after none of a later epoch.
    ///
    /// Cancel safe: the epoch may still begin.
    ///
    /// # Errors
    ///
    /// [`TransactionError::NotHeld`] if the leadership is over, or a later leader's epoch has begun; otherwise as
    /// [`Transaction::commit`](crate::Transaction::commit). After a lost reply it may be called
    /// again.
    pub async fn epoch(&self) -> Result<Epoch, TransactionError> {
        let (client, site) = (self.client(), &self.nomination().facts.settings.site);
        let path = [site.path(), SUFFIX].concat();
        let token = self.token();
        let content = Bytes::from(content(token));
        let mut round = 1;
        loop {
            let found = client.get_data(&path).await;
            if let Ok((data, stat)) = &found
                && token_in(data) == Some(token)
            {
                return Ok(Epoch { path, version: stat.version, token });
            }
            self.confirm_where_names_recur().await?;
            let begun = match found {
                // Where names recur, no check of the candidate keeps a former leader from this.
                Ok((data, _))
                    if self.guard_of_name() == Guard::Nothing && token_in(&data) > Some(token) =>
                {
                    return Err(TransactionError::NotHeld);
                }
                Ok((_, stat)) => {
                    let begin = self.transaction_by_name();
                    begin.set_data(&path, content.clone(), stat.version).commit().await
                }
                Err(error) if error.is_no_node() => {
                    let acls = site.acl_list().entries().into_iter().collect();
                    let (mode, content) = (CreateMode::Persistent, content.clone());
                    let begin = self.transaction_by_name();
                    begin.create_with_acl(&path, content, mode, &acls).commit().await
                }
                Err(error) => return Err(error.into()),
            };
            match begun.as_deref() {
                Ok([OperationOutcome::DataSet(stat)]) => {
                    return Ok(Epoch { path, version: stat.version, token });
                }
                Ok(_) => return Ok(Epoch { path, version: Version::new(0), token }),
                Err(TransactionError::Refused {
                    code: ErrorCode::BAD_VERSION | ErrorCode::NODE_EXISTS | ErrorCode::NO_NODE,
                    ..
                }) if round < ROUNDS => round += 1,
                Err(error) => return Err(error.clone()),
            }
        }
    }
}

impl Leadership {
    /// Narrows the time in which a former leader may begin its epoch.
    async fn confirm_where_names_recur(&self) -> Result<(), TransactionError> {
        match self.guard_of_name() {
            Guard::Name => Ok(()),
            Guard::Nothing => self.confirm().await,
        }
    }
}

impl Election {
    /// Reads the epoch that began last, as one server knows it; it may be out of date. `None` if no
    /// leader had one. To have something applied only in an epoch, check its version in the
    /// transaction.
    ///
    /// Cancel safe: it changes nothing.
    ///
    /// # Errors
    ///
    /// Those of [`Client::get_data`](crate::Client::get_data), except that of a missing znode; and
    /// [`PathError::Chroot`](crate::error::PathError::Chroot) for `/` of a client with a chroot.
    pub async fn epoch(&self) -> Result<Option<Epoch>, Error> {
        let path = self.mark(OpCode::GET_DATA, SUFFIX)?;
        match self.spot.client.get_data(&path).await {
            Ok((data, stat)) => {
                Ok(token_in(&data).map(|token| Epoch { path, version: stat.version, token }))
            }
            Err(error) if error.is_no_node() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn content(token: Token) -> String {
    format!("token: {token}\n")
}

fn token_in(data: &[u8]) -> Option<Token> {
    let line = core::str::from_utf8(data).ok()?.lines().next()?;
    line.strip_prefix("token: ")?.parse().ok().map(Token::new)
}
