//! Which clients contend for a lock, and breaking it.

use bytes::Bytes;
use election_core::{Access, Child, Sequence, Token};
use zk_jute::{SessionId, Version};

use super::Lock;
use crate::error::Error;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::ordered_children::{OrderedChild, OrderedChildren};
use crate::path::child_path;

/// A contender's znode, as [`Lock::contenders`] has read it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contender {
    /// Its name.
    pub name: String,
    /// Its place in the queue. A writer of Curator's that is about to become a reader has two znodes
    /// with one number.
    pub sequence: Sequence,
    /// What it wants of the lock.
    pub access: Access,
    /// The session that owns it; [`SessionId::NONE`] if it is not ephemeral.
    pub session: SessionId,
    /// Its `czxid`, which is this znode's alone, whatever its name: the token that its client holds the
    /// lock with, or would. A reader that was a writer holds with the lower one of its writer's znode.
    pub token: Token,
    /// The version of its data.
    pub version: Version,
    /// Whether it is its turn.
    pub turn: Turn,
    /// Its data: by convention the contender's name; or a request to let go, see
    /// [`Contender::is_revoke_requested`].
    pub data: Bytes,
}

/// Whether it is the turn of a contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Turn {
    /// It holds the lock: none before it is in its way. Its client may not have heard of it yet, or may
    /// believe no longer that it holds.
    Holds,
    /// It waits.
    Waits,
}

/// What became of a contender's znode that was to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Removal {
    /// It was deleted.
    Removed,
    /// It was gone before: released, given up, or ended with its session.
    Gone,
}

impl Contender {
    /// Whether the znode goes with its session. One that does not blocks the lock until it is deleted.
    pub fn is_ephemeral(&self) -> bool {
        self.session != SessionId::NONE
    }

    fn of(child: OrderedChild<Access>) -> Self {
        let OrderedChild { name, sequence, said: access, data, stat } = child;
        Self {
            name,
            sequence,
            access,
            session: stat.ephemeral_owner,
            token: Token::new(stat.czxid.get()),
            version: stat.version,
            turn: Turn::Waits,
            data,
        }
    }

    /// Whether this one cannot hold while the other one stands, which comes before it in the queue. The
    /// two znodes of a writer that is about to become a reader are not in each other's way.
    fn is_blocked_by(&self, earlier: &Self) -> bool {
        let is_the_same = earlier.sequence == self.sequence
            && earlier.session == self.session
            && earlier.access != self.access;
        self.access.excludes(earlier.access) && !is_the_same
    }
}

impl Lock {
    /// The contenders in their order, those first that hold the lock. What is no contender in this
    /// lock's [format](Lock::format) is left out; a lock whose node does not exist has none.
    ///
    /// Looks at them one after another, so those that come or go meanwhile may be missing or shown.
    ///
    /// Cancel safe: nothing is changed.
    ///
    /// # Errors
    ///
    /// Those of [`Client::get_children`](crate::Client::get_children) and
    /// [`Client::get_data`](crate::Client::get_data), but for what is not there; and
    /// [`ErrorKind::ReplyTooLarge`] if the data of all together is above
    /// [`max_reply`](crate::ClientBuilder::max_reply): contenders decide how much they write.
    pub async fn contenders(&self) -> Result<Vec<Contender>, Error> {
        let format = self.options.format;
        let placed = |name: &str| match format.child(name) {
            Child::Contender { access, sequence } => Some((sequence, access)),
            _ => None,
        };
        let mut children = OrderedChildren::list(&self.client, &self.path, placed).await?;
        let mut contenders: Vec<Contender> =
            children.read_all().await?.into_iter().map(Contender::of).collect();
        for at in 0..contenders.len() {
            let (earlier, rest) = contenders.split_at_mut(at);
            if let Some(own) = rest.first_mut()
                && !earlier.iter().any(|other| own.is_blocked_by(other))
            {
                own.turn = Turn::Holds;
            }
        }
        Ok(contenders)
    }

    /// Removes a contender that [`Lock::contenders`] has shown: for an operator, against its client's
    /// will. A holder hears [`LockLost::Broken`](super::LockLost::Broken), but later than the next
    /// contender may have the lock: until then only the token, and
    /// [`LockGuard::transaction`](super::LockGuard::transaction), keep it from writing. To ask it first,
    /// see [`Lock::revoke_by`].
    ///
    /// Only the znode with that `czxid` is deleted: it is read, and deleted by its version. What remains
    /// is another one that was created under the same name between the two, with the same version: no
    /// contender with an id in its name uses a name twice, and the other formats only where the lock's
    /// node is deleted and made anew.
    ///
    /// Cancel safe: the znode may be removed all the same.
    ///
    /// # Errors
    ///
    /// Those of [`Client::get_data`](crate::Client::get_data) and
    /// [`Client::delete`](crate::Client::delete), but for what is not there. After one that
    /// [may have happened](Error::may_have_happened) it may be called again.
    pub async fn break_lock(&self, contender: &Contender) -> Result<Removal, Error> {
        let path = self.path_of(contender);
        loop {
            let stat = match self.client.get_data(&path).await {
                Ok((_, stat)) if Token::new(stat.czxid.get()) == contender.token => stat,
                Ok(_) => return Ok(Removal::Gone),
                Err(error) if error.is_no_node() => return Ok(Removal::Gone),
                Err(error) => return Err(error),
            };
            match self.client.delete(&path, stat.version).await {
                Ok(()) => return Ok(Removal::Removed),
                Err(error) if error.is_no_node() => return Ok(Removal::Gone),
                // Its data was written meanwhile.
                Err(error) if error.is_bad_version() => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn path_of(&self, contender: &Contender) -> String {
        child_path(&self.path, &contender.name)
    }
}
