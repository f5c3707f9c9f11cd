//! Checks that all members hold the same tree.

use alloc::collections::{BTreeMap, BTreeSet};
use core::fmt;

use election_tokio::Client;
use zk_test_kit::election::{LASTING, connect};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::wait::eventually_async;
use zk_test_kit::zookeeper::{Ensemble, Member};

use super::archive::{PATIENCE, children};
use super::workload::{ITEMS, LEDGER, PAIRS, SEALS, left, marks, right};

/// How many holes, and how many versions, of a member are shown.
const SHOWN: usize = 6;

/// The tree of a member: each znode that was written to stay, and the version of its data.
type Tree = BTreeMap<String, i32>;

/// Members hold different things, although each has applied all that is committed: a fault of the
/// servers, and nothing to judge a client by. ([`verdict`](super::verdict) asks whether it is a known
/// one.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diverged {
    /// How many znodes there are, all members taken together.
    znodes: usize,
    /// The znodes that a member lacks: the first and the last of each hole, and how many.
    holes: Vec<(Member, Vec<Hole>)>,
    /// The znodes that members have in different versions.
    versions: Vec<(String, Vec<(Member, i32)>)>,
    /// The members that are not as most are; all, if no two are alike.
    odd: Vec<Member>,
}

/// Znodes that lie beside each other, in the order of their paths.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hole {
    first: String,
    last: String,
    znodes: usize,
}

/// Waits until all members hold the same of what was written to stay: what was on its way when its
/// client left may still be committed between two looks.
///
/// # Errors
///
/// [`Diverged`] if they never do, or no answer.
pub(super) async fn members_agree(ensemble: &Ensemble) -> TestResult {
    let mut last = None;
    let agreed = eventually_async(PATIENCE, "the members agree", async || {
        last = Some(difference(ensemble).await);
        matches!(last, Some(Ok(None)))
    })
    .await;
    match last {
        Some(Ok(Some(diverged))) => Err(diverged.into()),
        Some(Err(failure)) => Err(failure),
        Some(Ok(None)) | None => Ok(agreed?),
    }
}

async fn difference(ensemble: &Ensemble) -> Result<Option<Diverged>, TestFailure> {
    let mut trees = Vec::new();
    for member in Member::ALL {
        let client = connect(&ensemble.member(member).connect_string(), LASTING).await?;
        client.sync("/").await?;
        trees.push((member, tree(&client).await?));
        client.close().await?;
    }
    Ok(Diverged::between(&trees))
}

async fn tree(client: &Client) -> Result<Tree, TestFailure> {
    let mut tree = Tree::new();
    // Their children are written once; pages and pairs are written again and again.
    for path in
        [LEDGER.to_owned(), ITEMS.to_owned(), SEALS.to_owned()].into_iter().chain(PAIRS.map(marks))
    {
        match children(client, &path).await {
            Ok(children) => tree.extend(children.into_iter().map(|child| (child, 0))),
            Err(error) if error.code() == Some(election_tokio::ErrorCode::NO_NODE) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let pages: Vec<_> = tree.keys().filter(|path| path.starts_with(LEDGER)).cloned().collect();
    let pairs = PAIRS.into_iter().flat_map(|pair| [left(pair), right(pair)]);
    for path in pages.into_iter().chain(pairs) {
        if let Some(stat) = client.exists(&path).await? {
            tree.insert(path, stat.version.get());
        }
    }
    Ok(tree)
}

impl Diverged {
    /// Returns the difference of the trees, if they differ.
    fn between(trees: &[(Member, Tree)]) -> Option<Self> {
        let alike = |tree: &Tree| trees.iter().filter(|(_, other)| other == tree).count();
        let odd = trees.iter().filter(|(_, tree)| alike(tree) * 2 <= trees.len());
        let odd: Vec<_> = odd.map(|(member, _)| *member).collect();
        if odd.is_empty() {
            return None;
        }
        let all: BTreeSet<_> = trees.iter().flat_map(|(_, tree)| tree.keys()).collect();
        let holes = trees.iter().map(|(member, tree)| (*member, Hole::all(&all, tree)));
        let versions = all.iter().map(|path| {
            let held = trees
                .iter()
                .filter_map(|(member, tree)| tree.get(*path).map(|version| (*member, *version)));
            ((*path).clone(), held.collect::<Vec<_>>())
        });
        let differ = |held: &[(Member, i32)]| {
            held.windows(2).any(|pair| matches!(pair, [(_, one), (_, other)] if one != other))
        };
        Some(Self {
            znodes: all.len(),
            holes: holes.filter(|(_, holes)| !holes.is_empty()).collect(),
            versions: versions.filter(|(_, held)| differ(held)).collect(),
            odd,
        })
    }

    /// Returns the members that are not as most are; all, if no two are alike.
    pub fn odd(&self) -> &[Member] {
        &self.odd
    }
}

impl Hole {
    fn all(all: &BTreeSet<&String>, tree: &Tree) -> Vec<Self> {
        let mut holes: Vec<Self> = Vec::new();
        let mut within = false;
        for path in all {
            let lacks = !tree.contains_key(*path);
            match holes.last_mut().filter(|_| within && lacks) {
                Some(hole) => {
                    hole.last.clone_from(path);
                    hole.znodes += 1;
                }
                None if lacks => {
                    let (first, last) = ((*path).clone(), (*path).clone());
                    holes.push(Self { first, last, znodes: 1 });
                }
                None => {}
            }
            within = lacks;
        }
        holes
    }
}

impl core::error::Error for Diverged {}

impl fmt::Display for Diverged {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the members of the ensemble disagree")?;
        for (member, holes) in &self.holes {
            let lacks: usize = holes.iter().map(|hole| hole.znodes).sum();
            let (all, count) = (self.znodes, holes.len());
            write!(formatter, "; {member:?} lacks {lacks} of {all} znodes in {count} holes:")?;
            for Hole { first, last, znodes } in holes.iter().take(SHOWN) {
                write!(formatter, " {first} to {last} ({znodes})")?;
            }
        }
        for (path, held) in self.versions.iter().take(SHOWN) {
            write!(formatter, "; {path} has versions {held:?}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(znodes: impl IntoIterator<Item = u32>) -> Tree {
        znodes.into_iter().map(|znode| (format!("/items/{znode:03}"), 0)).collect()
    }

    fn between(first: Tree, second: Tree, third: Tree) -> Option<Diverged> {
        let [one, two, three] = Member::ALL;
        Diverged::between(&[(one, first), (two, second), (three, third)])
    }

    #[test]
    fn members_that_hold_the_same_agree() {
        assert_eq!(between(tree(0..9), tree(0..9), tree(0..9)), None);
    }

    #[test]
    fn a_member_with_holes_is_named() {
        let holes = tree((0..10).chain(30..31).chain(40..100));
        let diverged = between(tree(0..100), holes, tree(0..100)).expect("they differ");
        assert_eq!(diverged.odd(), [Member::Second]);
        assert_eq!(
            diverged.to_string(),
            "the members of the ensemble disagree; Second lacks 29 of 100 znodes in 2 holes: \
             /items/010 to /items/029 (20) /items/031 to /items/039 (9)"
        );
    }

    #[test]
    fn one_that_has_more_than_the_others_is_named() {
        let diverged = between(tree(0..8), tree(0..8), tree(0..9)).expect("they differ");
        assert_eq!(diverged.odd(), [Member::Third]);
        let diverged = between(tree(0..8), tree(0..9), tree(0..7)).expect("they differ");
        assert_eq!(diverged.odd(), Member::ALL);
    }

    #[test]
    fn an_older_version_is_a_difference() {
        let (mut new, mut old) = (tree(0..9), tree(0..9));
        new.insert("/pair/left".to_owned(), 7);
        old.insert("/pair/left".to_owned(), 5);
        let diverged = between(old, new.clone(), new).expect("they differ");
        assert_eq!(diverged.odd(), [Member::First]);
        let text = diverged.to_string();
        assert!(text.contains("/pair/left has versions [(First, 5), (Second, 7)"), "{text}");
    }
}
