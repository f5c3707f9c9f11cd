//! Quotas: the size of a subtree, counted in a znode. No write is refused, as by Apache's servers
//! without `enforceQuota`.
//!
//! The znode `/zookeeper/quota/PATH/zookeeper_limits` puts a quota on PATH. The znode
//! `zookeeper_stats` beside it is counted up and down when a transaction is applied, without an event
//! and without a new version (`DataTree.updateQuotaStat`).

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use bytes::Bytes;

use super::Tree;
use super::growth::Growth;
use crate::path;

const LIMITS: &str = "zookeeper_limits";
const STATS: &str = "zookeeper_stats";

impl Tree {
    /// Counts a znode that was created. Call it after each creation.
    pub(super) fn track_created(&mut self, path: &str, growth: Growth) {
        match quota_znode(path) {
            Some((subject, LIMITS)) => {
                self.quotas.insert(subject.to_string());
            }
            Some((subject, STATS)) => self.count_afresh(subject, path),
            _ => {}
        }
        self.count(path, growth);
    }

    /// Counts a znode that was deleted. Call it after each deletion.
    pub(super) fn track_deleted(&mut self, path: &str, growth: Growth) {
        if let Some((subject, LIMITS)) = quota_znode(path) {
            self.quotas.remove(subject);
        }
        self.count(path, growth);
    }

    /// Adds to the count of the deepest subtree with a quota that contains the znode. A stats znode
    /// that holds no count stays as it is; Apache's servers terminate there.
    pub(super) fn count(&mut self, path: &str, growth: Growth) {
        let Some(subject) = self.subject_above(path) else {
            return;
        };
        let stats_path = format!("{}{subject}/{STATS}", path::QUOTA);
        let stats = self.get(&stats_path).and_then(|znode| Stats::parse(znode.data()?));
        if let Some(mut stats) = stats {
            stats.add(growth);
            self.replace_data(&stats_path, &stats);
        }
    }

    /// Returns the deepest path with a quota that is `path` or above it.
    fn subject_above<'a>(&self, path: &'a str) -> Option<&'a str> {
        let mut candidate = path;
        while !self.quotas.is_empty() && !candidate.is_empty() {
            if self.quotas.contains(candidate) {
                return Some(candidate);
            }
            (candidate, _) = candidate.rsplit_once('/')?;
        }
        None
    }

    fn count_afresh(&mut self, subject: &str, stats_path: &str) {
        let mut stats = Stats { count: 0, bytes: 0, others: BTreeMap::new() };
        if let Some(znode) = self.get(subject) {
            stats.add(Growth::created(znode.data.as_ref()));
            for (_, znode) in self.below(subject) {
                stats.add(Growth::created(znode.data.as_ref()));
            }
        }
        self.replace_data(stats_path, &stats);
    }

    fn replace_data(&mut self, path: &str, stats: &Stats) {
        if let Some(znode) = self.znodes.get_mut(path) {
            let data = Bytes::from(stats.to_string());
            self.data_bytes += data.len();
            self.data_bytes -= znode.data.as_ref().map_or(0, Bytes::len);
            znode.data = Some(data);
        }
    }
}

/// Splits a path below `/zookeeper/quota` into the path that the quota is for, and the znode's own
/// name. A quota on the root does not count.
fn quota_znode(path: &str) -> Option<(&str, &str)> {
    let below = path.strip_prefix(path::QUOTA).filter(|below| below.starts_with('/'))?;
    below.rsplit_once('/').filter(|(subject, _)| !subject.is_empty())
}

/// The content of a stats znode: `StatsTrack`.
#[derive(Debug, PartialEq, Eq)]
struct Stats {
    count: i64,
    bytes: i64,
    /// Other keys that a client wrote there.
    others: BTreeMap<String, i64>,
}

impl Stats {
    /// Reads a count. A missing number is -1. Returns `None` if Apache's servers cannot read the
    /// content.
    fn parse(data: &[u8]) -> Option<Self> {
        let text = core::str::from_utf8(data).ok()?;
        let mut stats = Self { count: -1, bytes: -1, others: BTreeMap::new() };
        for pair in text.split([',', ';']).filter(|pair| !pair.is_empty()) {
            let mut parts = pair.split('=');
            let (key, value) = (parts.next()?, parts.next()?.parse().ok()?);
            match key {
                "count" => stats.count = value,
                "bytes" => stats.bytes = value,
                _ => {
                    stats.others.insert(key.to_string(), value);
                }
            }
        }
        Some(stats)
    }

    fn add(&mut self, growth: Growth) {
        self.count = self.count.wrapping_add(growth.znodes);
        self.bytes = self.bytes.wrapping_add(growth.bytes);
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "count={},bytes={}", self.count, self.bytes)?;
        if !self.others.is_empty() {
            f.write_str("=")?;
        }
        for (key, value) in &self.others {
            write!(f, ";{key}={value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_and_written(text: &str) -> Option<String> {
        Stats::parse(text.as_bytes()).map(|stats| stats.to_string())
    }

    /// As recorded from Apache ZooKeeper 3.8.0, except for what makes it terminate.
    #[test]
    fn stats_are_read_as_by_stats_track() {
        let cases = [
            ("count=2,bytes=5", Some("count=2,bytes=5")),
            ("", Some("count=-1,bytes=-1")),
            ("bytes=7", Some("count=-1,bytes=7")),
            ("count=1,,;bytes=2;a=3", Some("count=1,bytes=2=;a=3")),
            ("count=1,bytes=2=;a=3", Some("count=1,bytes=2=;a=3")),
            ("count", None),
            ("count=many", None),
        ];
        for (text, expected) in cases {
            assert_eq!(read_and_written(text).as_deref(), expected, "{text:?}");
        }
        assert_eq!(Stats::parse(&[0xff]), None);
    }

    #[test]
    fn a_quota_is_on_the_path_behind_its_prefix() {
        let cases = [
            ("/zookeeper/quota/a/zookeeper_limits", Some(("/a", LIMITS))),
            ("/zookeeper/quota/a/b/zookeeper_stats", Some(("/a/b", STATS))),
            ("/zookeeper/quota/zookeeper_limits", None),
            ("/zookeeper/quotas/a/zookeeper_limits", None),
            ("/zookeeper/quota", None),
            ("/a/zookeeper_limits", None),
        ];
        for (path, expected) in cases {
            assert_eq!(quota_znode(path), expected, "{path}");
        }
    }
}
