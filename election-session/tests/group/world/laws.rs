//! What has to hold of a view.

use election_session::{Continuity, GroupSnapshot, MemberData};

use super::World;

impl World {
    /// Checks a view: it is one of the states, and not before the last one.
    pub(super) fn told(&mut self, snapshot: GroupSnapshot) {
        let last = self.told.last().map_or(0, |(_, zxid)| *zxid);
        self.log.push(format!("is told {:?}", snapshot.members().keys().collect::<Vec<_>>()));
        let found =
            (last..=self.tip()).find(|zxid| self.shows(&snapshot, *zxid, &MemberData::Changing));
        let Some(zxid) = found else {
            panic!("never true, or not in order: {snapshot:#?} after {last}: {:#?}", self.log);
        };
        let view = snapshot.since(self.told.last().map(|(snapshot, _)| snapshot));
        let has_news = !(view.joined.is_empty() && view.left.is_empty() && view.changed.is_empty());
        assert!(has_news || self.told.is_empty(), "{view:#?}");
        let born = |snapshot: &GroupSnapshot, name: &str| {
            snapshot.members().get(name)?.stat.map(|stat| stat.ctime)
        };
        for name in &view.changed {
            let before = self.told.last().and_then(|(before, _)| born(before, name));
            let now = born(&snapshot, name);
            let is_one = before.is_none() || now.is_none() || before == now;
            assert!(is_one, "{name} was made again: {:#?}", self.log);
        }
        let is_broken = self.gaps > 0 && !self.told.is_empty();
        assert_eq!(view.continuity == Continuity::Broken, is_broken, "{:#?}", self.log);
        self.gaps = 0;
        self.told.push((snapshot, zxid));
    }

    /// Whether it shows this state, but for the data of members that are `unknown`.
    pub(super) fn shows(
        &self,
        snapshot: &GroupSnapshot,
        zxid: usize,
        unknown: &MemberData,
    ) -> bool {
        let state = &self.history[zxid];
        state.len() == snapshot.members().len()
            && state.iter().zip(&**snapshot.members()).all(|((name, member), (shown, as_shown))| {
                let is_same = as_shown.stat.is_some_and(|stat| {
                    (stat.czxid.get(), stat.mzxid.get(), stat.ctime, stat.mtime)
                        == (member.czxid, member.mzxid, member.ctime, member.mtime)
                });
                **name == **shown && (is_same || as_shown.data == *unknown)
            })
    }
}
