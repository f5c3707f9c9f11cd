//! The state of a transaction: the sites that it waits for, and since when.

use core::fmt;
use std::collections::BTreeMap;

use election_core::NomineeId;
use election_core::commit::{CommitChild, CommitState, SiteState};
use zk_jute::records::Stat;

use super::course::Course;
use super::error::{CommitError, named};
use crate::Error;

/// The step that errors name.
const STATUS: &str = "status";
/// How often to read it again because it changed meanwhile.
const ROUNDS: usize = 8;

/// The state of a transaction, as one server knows it; it may be out of date.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommitStatus {
    /// The id of the transaction.
    pub id: NomineeId,
    /// The decision, if there is one.
    pub state: CommitState,
    /// The metadata of the child with this state. Its `czxid` and `ctime` are those of the
    /// decision; for an open transaction, those of its beginning.
    pub since: Stat,
    /// The sites that have not acknowledged, by their names.
    pub sites: Vec<SiteStatus>,
}

/// The state of a site in a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SiteStatus {
    /// Its name.
    pub name: String,
    /// The last thing that it has done.
    pub state: SiteState,
    /// The metadata of the child with this state, created with `czxid` at `ctime`.
    pub since: Stat,
    /// Its ephemeral child, of the session `ephemeral_owner`: the site is present. `None` if it has
    /// not come, or is gone.
    pub presence: Option<Stat>,
}

impl CommitStatus {
    /// Returns the sites that have not voted: an open transaction waits for them.
    pub fn not_voted(&self) -> impl Iterator<Item = &SiteStatus> {
        let has_not_voted =
            |site: &&SiteStatus| matches!(site.state, SiteState::Invited | SiteState::Joined);
        self.sites.iter().filter(has_not_voted)
    }

    /// Returns the sites that had come and are gone, without having acknowledged.
    pub fn gone(&self) -> impl Iterator<Item = &SiteStatus> {
        self.sites.iter().filter(|site| site.is_gone())
    }
}

impl SiteStatus {
    /// Returns whether it had come, and is gone. Servers do not record since when; it is later than
    /// `since`.
    pub const fn is_gone(&self) -> bool {
        matches!(self.state, SiteState::Joined | SiteState::VotedCommit) && self.presence.is_none()
    }
}

/// Writes one line: `open since 1700000000000 (zxid 0x12): a has voted to commit, b has not voted
/// and is gone`.
impl fmt::Display for CommitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { state, since, sites, .. } = self;
        write!(f, "{} since {} (zxid {:#x})", named(*state), since.ctime, since.czxid.get())?;
        for (place, site) in sites.iter().enumerate() {
            f.write_str(if place == 0 { ": " } else { ", " })?;
            let done = match site.state {
                SiteState::Invited => "has not come",
                SiteState::Joined => "has not voted",
                SiteState::VotedCommit => "has voted to commit",
                SiteState::VotedAbort => "has voted to abort",
            };
            write!(f, "{} {done}", site.name)?;
            if site.is_gone() {
                f.write_str(" and is gone")?;
            }
        }
        Ok(())
    }
}

impl Course {
    /// Returns the state of the transaction with this id; `None` means the one at the path.
    pub(super) async fn status(&self, id: Option<NomineeId>) -> Result<CommitStatus, CommitError> {
        let mut found = None;
        for _ in 0..ROUNDS {
            let looked = self.look().await;
            let (status, is_whole) =
                looked.map_err(|error| CommitError::Request { at: self.at(STATUS), error })?;
            found = Some(status);
            if is_whole == Look::Whole {
                break;
            }
        }
        match found.flatten() {
            Some(status) if id.is_some_and(|id| id != status.id) => {
                Err(CommitError::Replaced { at: self.at(STATUS) })
            }
            Some(status) => Ok(status),
            None => Err(CommitError::NotFound { at: self.at(STATUS) }),
        }
    }

    async fn look(&self) -> Result<(Option<CommitStatus>, Look), Error> {
        let path = self.site.path();
        let children = match self.client.get_children(path).await {
            Ok(children) => children,
            Err(error) if error.is_no_node() => return Ok((None, Look::Whole)),
            Err(error) => return Err(error),
        };
        let (mut sites, mut present) = (BTreeMap::new(), BTreeMap::new());
        let (mut state, mut look) = (None, Look::Whole);
        for name in children.iter() {
            let Some(child) = CommitChild::parse(name) else { continue };
            let Some(stat) = self.client.exists(&self.site.client_child(name)).await? else {
                look = Look::Changed;
                continue;
            };
            match child {
                CommitChild::State(CommitState::Open, _) if state.is_some() => {}
                CommitChild::State(found, id) => state = Some((found, id, stat)),
                CommitChild::Site(did, site) => {
                    let later = sites.get(site).is_none_or(|(before, _)| *before < did);
                    if later {
                        sites.insert(site, (did, stat));
                    }
                }
                CommitChild::Presence(_, site) => {
                    present.insert(site, stat);
                }
            }
        }
        let site = |(name, (state, since)): (&str, (SiteState, Stat))| {
            let presence = present.get(name).copied();
            SiteStatus { name: name.to_owned(), state, since, presence }
        };
        let sites = sites.into_iter().map(site).collect();
        let status = state.map(|(state, id, since)| CommitStatus { id, state, since, sites });
        // The transaction is being removed, or the node holds none.
        Ok((status, look))
    }
}

/// The result of reading all listed children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Whole,
    Changed,
}
