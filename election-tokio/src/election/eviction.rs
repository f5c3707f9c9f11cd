//! Eviction: removing a candidate without its nominee's consent.

use election_core::Token;

use super::Election;
use crate::Error;
use crate::lock::Removal;
use crate::path::child_path;

impl Election {
    /// Removes the candidate with this token, for an operator. A leader gets
    /// [`LostReason::Evicted`](super::LostReason::Evicted), but later than the next nominee may
    /// lead: until then only its token, and
    /// [`Leadership::transaction`](super::Leadership::transaction), keep it from writing. By the
    /// default policy its nominee stands again, behind the others. To ask it first, see
    /// [`Election::request_step_down`].
    ///
    /// This deletes only the znode with that `czxid`: it reads the znode, and deletes it by its
    /// version. It could still hit another znode that was created under the same name between the
    /// two requests. A nominee with an id in its name never uses a name twice, and the other
    /// formats do so only if the election node is deleted and made anew.
    ///
    /// Cancel safe: the candidate may still be removed.
    ///
    /// # Errors
    ///
    /// Those of [`Election::read_candidates`] and [`Client::delete`](crate::Client::delete), except
    /// that of a missing znode. After an error that [may have happened](Error::may_have_happened)
    /// it may be called again.
    pub async fn evict(&self, token: Token) -> Result<Removal, Error> {
        let mut candidates = self.read_candidates().await?;
        while let Some(candidate) = candidates.next().await? {
            if candidate.token == token {
                return self.remove(&candidate.name, token).await;
            }
        }
        Ok(Removal::Gone)
    }

    async fn remove(&self, name: &str, token: Token) -> Result<Removal, Error> {
        let path = child_path(&self.spot.path, name);
        loop {
            let version = match self.spot.client.get_data(&path).await {
                Ok((_, stat)) if Token::new(stat.czxid.get()) == token => stat.version,
                Ok(_) => return Ok(Removal::Gone),
                Err(error) if error.is_no_node() => return Ok(Removal::Gone),
                Err(error) => return Err(error),
            };
            match self.spot.client.delete(&path, version).await {
                Ok(()) => return Ok(Removal::Removed),
                Err(error) if error.is_no_node() => return Ok(Removal::Gone),
                // Its data was written meanwhile.
                Err(error) if error.is_bad_version() => {}
                Err(error) => return Err(error),
            }
        }
    }
}
