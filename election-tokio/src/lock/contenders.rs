//! The contenders for a lock, and breaking it.

use bytes::Bytes;
use election_core::Token;
use election_core::format::{Access, Child};
use election_core::name::Sequence;
use zk_jute::{SessionId, Version};

use super::Lock;
use crate::Error;
#[cfg(doc)]
use crate::ErrorKind;
use crate::error::Place;
use crate::ordered_children::{OrderedChild, OrderedChildren};
use crate::path::child_path;

/// A contender's znode, as [`Lock::contenders`] has read it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contender {
    /// Its name.
    pub name: String,
    /// Its place in the queue. Curator's writer that is about to become a reader has two znodes
    /// with one number.
    pub sequence: Sequence,
    /// The access that it asks for.
    pub access: Access,
    /// The session that owns it; [`SessionId::NONE`] if it is not ephemeral.
    pub session: SessionId,
    /// Its `czxid`, which no other znode has, whatever its name: the token with which its client
    /// holds the lock, or would hold it. A reader that was a writer holds it with the lower token
    /// of its writer's znode.
    pub token: Token,
    /// The version of its data.
    pub version: Version,
    /// The contender's turn.
    pub turn: Turn,
    /// Its data: by convention the contender's name; or a request to release, see
    /// [`Contender::is_revoke_requested`].
    pub data: Bytes,
}

/// The turn of a contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Turn {
    /// It holds the lock: no earlier contender is in its way. Its client may not know of it yet, or
    /// may believe that it holds no longer.
    Holds,
    /// It waits.
    Waits,
}

/// The fate of a contender's znode that was to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Removal {
    /// It was deleted.
    Removed,
    /// It was gone before: released, given up, or ended with its session.
    Gone,
}

impl Contender {
    /// Returns whether the znode goes with its session. If not, it blocks the lock until it is
    /// deleted.
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

    /// Returns whether this contender cannot hold while the other one stands, which comes before it
    /// in the queue. The two znodes of a writer that is about to become a reader are not in each
    /// other's way.
    fn is_blocked_by(&self, earlier: &Self) -> bool {
        let is_the_same = earlier.sequence == self.sequence
            && earlier.session == self.session
            && earlier.access != self.access;
        self.access.excludes(earlier.access) && !is_the_same
    }
}

impl Lock {
    /// Returns the contenders in their order, holders first. It leaves out children that are no
    /// contenders in this lock's [format](Lock::format). A missing node has no contenders.
    ///
    /// It reads them one after another, so contenders that come or go meanwhile may be missing or
    /// shown.
    ///
    /// Cancel safe: nothing is changed.
    ///
    /// # Errors
    ///
    /// Those of [`Client::get_children`](crate::Client::get_children) and
    /// [`Client::get_data`](crate::Client::get_data), except that of a missing znode; and
    /// [`ErrorKind::ReplyTooLarge`] if the data of all contenders is above
    /// [`max_reply`](crate::ClientBuilder::max_reply): contenders decide how much they write.
    pub async fn contenders(&self) -> Result<Vec<Contender>, Error> {
        let format = self.settings.options.format;
        let placed = |name: &str| match format.child(name) {
            Child::Contender { access, sequence } => Some((sequence, access)),
            _ => None,
        };
        let mut children = OrderedChildren::list(self.client(), self.path(), placed).await?;
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

    /// Removes a contender that [`Lock::contenders`] has returned: for an operator, without its
    /// client's consent. A holder gets [`LockLost::Broken`](super::LockLost::Broken), but later
    /// than the next contender may have the lock: until then only the token, and
    /// [`LockGuard::transaction`](super::LockGuard::transaction), keep it from writing. To ask it
    /// first, see [`Lock::revoke_by`].
    ///
    /// This deletes only the znode with that `czxid`: it reads the znode, and deletes it by its
    /// version. It could still hit another znode with the same version that was created under the
    /// same name between the two requests. A contender with an id in its name never uses a name
    /// twice, and the other formats do so only if the lock's node is deleted and made anew.
    ///
    /// Cancel safe: the znode may still be removed.
    ///
    /// # Errors
    ///
    /// Those of [`Client::get_data`](crate::Client::get_data) and
    /// [`Client::delete`](crate::Client::delete), except that of a missing znode. After an error
    /// that [may have happened](Error::may_have_happened) it may be called again.
    pub async fn break_lock(&self, contender: &Contender) -> Result<Removal, Error> {
        let path = self.path_of(contender);
        loop {
            let stat = match self.client().get_data(&path).await {
                Ok((_, stat)) if Token::new(stat.czxid.get()) == contender.token => stat,
                Ok(_) => return Ok(Removal::Gone),
                Err(error) if error.is_no_node() => return Ok(Removal::Gone),
                Err(error) => return Err(error),
            };
            match self.client().delete(&path, stat.version).await {
                Ok(()) => return Ok(Removal::Removed),
                Err(error) if error.is_no_node() => return Ok(Removal::Gone),
                // Its data was written meanwhile.
                Err(error) if error.is_bad_version() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the place of an error.
    pub(super) fn place(&self, step: &'static str) -> Place {
        self.settings.spot.place(step)
    }

    pub(super) fn path_of(&self, contender: &Contender) -> String {
        child_path(self.path(), &contender.name)
    }
}
