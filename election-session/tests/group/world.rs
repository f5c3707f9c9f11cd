//! A server, its messages, and a tracker.

mod laws;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use election_session::{
    GroupFormat, GroupQuestion, GroupRead, GroupRequest, GroupSnapshot, GroupTracker, MemberData,
    TrackerWatches,
};
use zk_jute::records::{EventType, Stat};
use zk_jute::{SessionId, Version, Zxid};

const PATH: &str = "/group";
const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// Events beside those of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Churn {
    /// Changes, lost connections, expired sessions.
    Faults,
    Constant,
    /// One member writes all the time.
    Hot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) czxid: i64,
    pub(crate) mzxid: i64,
    pub(crate) ctime: i64,
    pub(crate) mtime: i64,
}

impl Member {
    const fn new(zxid: i64, time: i64) -> Self {
        Self { czxid: zxid, mzxid: zxid, ctime: time, mtime: time }
    }
}

type State = BTreeMap<String, Member>;

#[derive(Clone, Debug)]
enum Item {
    Event(String, EventType),
    Missed,
    WatchesLost,
    Reply(GroupRequest, Answer, i64),
    Failed(GroupRequest),
}

#[derive(Clone, Debug)]
enum Answer {
    Done,
    List(Vec<String>),
    Read(Option<(String, Member)>),
}

pub(crate) struct World {
    rng: fastrand::Rng,
    tracker: GroupTracker,
    watching: TrackerWatches,
    /// By zxid.
    history: Vec<State>,
    /// The time of the next transaction.
    clock: i64,
    /// The zxid up to which the client's server has applied.
    applied: usize,
    /// The last transaction that the session has seen.
    seen: usize,
    sent: VecDeque<GroupRequest>,
    wire: VecDeque<Item>,
    has_tree_watch: bool,
    /// One-shot watches: on the server, and those that did not fire for the client yet.
    held: BTreeSet<String>,
    registered: BTreeSet<String>,
    told: Vec<(GroupSnapshot, usize)>,
    /// Since the last view.
    gaps: usize,
    requests: usize,
    log: Vec<String>,
}

impl World {
    pub(crate) fn new(seed: u64, watching: TrackerWatches) -> Self {
        let mut state = State::new();
        state.insert("a".into(), Member::new(0, 0));
        Self {
            rng: fastrand::Rng::with_seed(seed),
            tracker: GroupTracker::new(PATH.into(), GroupFormat::Plain, watching),
            watching,
            history: vec![state],
            clock: 1,
            applied: 0,
            seen: 0,
            sent: VecDeque::new(),
            wire: VecDeque::new(),
            has_tree_watch: false,
            held: BTreeSet::new(),
            registered: BTreeSet::new(),
            told: Vec::new(),
            gaps: 0,
            requests: 0,
            log: Vec::new(),
        }
    }

    pub(crate) fn views(&self) -> usize {
        self.told.len()
    }

    pub(crate) fn requests(&self) -> usize {
        self.requests
    }

    fn tip(&self) -> usize {
        self.history.len() - 1
    }

    pub(crate) fn step(&mut self, churn: Churn) {
        let dice = self.rng.u32(..100);
        match churn {
            Churn::Faults => match dice {
                0..15 => self.commit(),
                15..18 => self.disconnect(),
                18..19 => self.restore(),
                19..20 => self.expire(),
                20..21 => self.tracker.look(),
                _ => self.proceed(),
            },
            Churn::Constant if dice < 25 => self.commit(),
            Churn::Hot if dice < 60 => {
                let mut state = self.history[self.tip()].clone();
                let zxid = i64::try_from(self.tip() + 1).expect("small");
                let member = state.entry("a".into()).or_insert(Member::new(zxid, self.clock));
                (member.mzxid, member.mtime) = (zxid, self.clock);
                self.push(state);
            }
            Churn::Hot if dice < 61 => self.commit(),
            Churn::Constant | Churn::Hot => self.proceed(),
        }
    }

    fn proceed(&mut self) {
        match self.rng.u32(..4) {
            0 if self.applied < self.tip() => self.apply(),
            1 => self.ask(),
            2 => self.execute(),
            _ => self.deliver(),
        }
    }

    /// Lets everything that goes on by itself go on until nothing does; the last view is the last
    /// state.
    pub(crate) fn rest(&mut self) {
        for _ in 0..100_000 {
            let before = (self.applied, self.requests, self.wire.len(), self.sent.len());
            if self.applied < self.tip() {
                self.apply();
            }
            self.ask();
            self.execute();
            self.deliver();
            let after = (self.applied, self.requests, self.wire.len(), self.sent.len());
            if before == after && self.wire.is_empty() && self.sent.is_empty() {
                let last = &self.told.last().unwrap_or_else(|| panic!("{:#?}", self.log)).0;
                let tip = self.tip();
                assert!(self.shows(last, tip, &MemberData::Unreadable), "{:#?}", self.log);
                return;
            }
        }
        panic!("no rest: {:#?}", self.log);
    }

    pub(crate) fn join_many(&mut self, count: usize) {
        for number in 0..count {
            let zxid = i64::try_from(self.tip() + 1).expect("small");
            let mut state = self.history[self.tip()].clone();
            state.insert(format!("m{number}"), Member::new(zxid, self.clock));
            self.push(state);
            self.apply();
        }
    }

    fn commit(&mut self) {
        let mut state = self.history[self.tip()].clone();
        let zxid = i64::try_from(self.tip() + 1).expect("small");
        let name = NAMES[self.rng.usize(..NAMES.len())];
        match state.get_mut(name) {
            Some(member) if self.rng.bool() => {
                (member.mzxid, member.mtime) = (zxid, self.clock);
            }
            Some(_) => {
                state.remove(name);
            }
            None => {
                state.insert(name.into(), Member::new(zxid, self.clock));
            }
        }
        self.log.push(format!("{zxid}: {:?}", state.keys().collect::<Vec<_>>()));
        self.push(state);
    }

    fn push(&mut self, state: State) {
        self.history.push(state);
        self.clock += 1;
    }

    fn apply(&mut self) {
        let (before, after) = (&self.history[self.applied], &self.history[self.applied + 1]);
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let mut events = Vec::new();
        for name in names {
            let kind = match (before.get(name), after.get(name)) {
                (None, Some(_)) => EventType::NODE_CREATED,
                (Some(_), None) => EventType::NODE_DELETED,
                (Some(one), Some(other)) if one != other => EventType::NODE_DATA_CHANGED,
                _ => continue,
            };
            events.push((format!("{PATH}/{name}"), kind));
        }
        self.applied += 1;
        for (path, kind) in events {
            let is_listed = kind != EventType::NODE_DATA_CHANGED;
            if self.has_tree_watch || self.held.remove(&path) {
                self.wire.push_back(Item::Event(path, kind));
            }
            if is_listed && self.held.remove(PATH) {
                let kind = EventType::NODE_CHILDREN_CHANGED;
                self.wire.push_back(Item::Event(PATH.into(), kind));
            }
        }
    }

    fn ask(&mut self) {
        while let Some(request) = self.tracker.poll_request() {
            self.requests += 1;
            self.log.push(format!("asks {request:?}"));
            self.sent.push_back(request);
        }
    }

    fn execute(&mut self) {
        let Some(request) = self.sent.pop_front() else {
            return;
        };
        let is_one_shot = self.tracker.watching() == TrackerWatches::OneShot;
        let answer = match &request.question {
            GroupQuestion::Barrier => {
                self.push(self.history[self.tip()].clone());
                while self.applied < self.tip() {
                    self.apply();
                }
                Answer::Done
            }
            GroupQuestion::AddWatch => {
                self.has_tree_watch = true;
                Answer::Done
            }
            GroupQuestion::List => {
                if is_one_shot {
                    self.held.insert(PATH.into());
                }
                Answer::List(self.history[self.applied].keys().cloned().collect())
            }
            GroupQuestion::Read(name) => {
                let member = self.history[self.applied].get(&**name).copied();
                if is_one_shot && member.is_some() {
                    self.held.insert(format!("{PATH}/{name}"));
                }
                Answer::Read(member.map(|member| (name.to_string(), member)))
            }
        };
        let zxid = i64::try_from(self.applied).expect("small");
        self.wire.push_back(Item::Reply(request, answer, zxid));
    }

    /// Delivers some of the bytes on the wire at once. The client may bring in events before replies that came first.
    fn deliver(&mut self) {
        let count = self.rng.usize(..=self.wire.len());
        let mut batch: Vec<Item> = self.wire.drain(..count).collect();
        if self.rng.bool() {
            batch.sort_by_key(|item| matches!(item, Item::Reply(..)));
        }
        for item in batch {
            self.bring_in(item);
        }
        if let Some(snapshot) = self.tracker.poll_snapshot() {
            self.told(snapshot);
        }
    }

    fn bring_in(&mut self, item: Item) {
        self.log.push(format!("hears {item:?}"));
        match item {
            Item::Event(path, kind) => {
                self.registered.remove(&path);
                self.tracker.handle_change(&path, kind);
            }
            Item::Missed => {
                self.gaps += 1;
                self.tracker.handle_missed();
            }
            Item::WatchesLost => {
                self.gaps += 1;
                self.tracker.handle_watches_lost();
            }
            Item::Failed(request) => self.tracker.handle_failed(&request),
            Item::Reply(request, answer, zxid) => {
                self.seen = self.seen.max(usize::try_from(zxid).expect("small"));
                let is_one_shot = self.tracker.watching() == TrackerWatches::OneShot;
                let zxid = Zxid::new(zxid);
                let ticket = request.ticket;
                match (request.question, answer) {
                    (GroupQuestion::Barrier, _) => self.tracker.handle_barrier(ticket),
                    (GroupQuestion::AddWatch, _) => self.tracker.handle_watch_added(ticket),
                    (GroupQuestion::List, Answer::List(names)) => {
                        if is_one_shot {
                            self.registered.insert(PATH.into());
                        }
                        self.tracker.handle_list(ticket, names.iter().map(String::as_str), zxid);
                    }
                    (GroupQuestion::Read(name), Answer::Read(read)) => {
                        if is_one_shot && read.is_some() {
                            self.registered.insert(format!("{PATH}/{name}"));
                        }
                        let read = read.map_or(GroupRead::Gone, |(_, member)| {
                            let stat = stat(member);
                            GroupRead::Data(Bytes::new(), stat)
                        });
                        self.tracker.handle_read(ticket, &name, read, zxid);
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    }

    fn lose_connection(&mut self) {
        self.wire.retain(|_| false);
        self.wire.clear();
        self.held.clear();
    }

    /// Disconnects the client: every request in flight fails; a server that has applied all that
    /// the session has seen sets the watches again.
    fn disconnect(&mut self) {
        self.fail_all();
        let applied = self.rng.usize(self.seen..=self.tip());
        self.applied = applied;
        if self.watching == TrackerWatches::Persistent {
            if self.has_tree_watch {
                self.wire.push_back(Item::Missed);
            }
            return;
        }
        let (since, state) = (i64::try_from(self.seen).expect("small"), &self.history[applied]);
        for path in &self.registered {
            let name = path.strip_prefix(PATH).and_then(|below| below.strip_prefix('/'));
            let kind = match name {
                None if self.changed_list(applied) => Some(EventType::NODE_CHILDREN_CHANGED),
                None => None,
                Some(name) => match state.get(name) {
                    None => Some(EventType::NODE_DELETED),
                    Some(member) if member.mzxid > since => Some(EventType::NODE_DATA_CHANGED),
                    Some(_) => None,
                },
            };
            match kind {
                Some(kind) => self.wire.push_back(Item::Event(path.clone(), kind)),
                None => {
                    self.held.insert(path.clone());
                }
            }
        }
    }

    /// Whether `pzxid` is higher than what was seen.
    fn changed_list(&self, applied: usize) -> bool {
        let keys = |zxid: usize| {
            let state = &self.history[zxid];
            state.iter().map(|(name, member)| (name.clone(), member.czxid)).collect::<Vec<_>>()
        };
        (self.seen..applied).any(|zxid| keys(zxid) != keys(zxid + 1))
    }

    fn fail_all(&mut self) {
        let mut failed: Vec<Item> = Vec::new();
        for item in core::mem::take(&mut self.wire) {
            match item {
                Item::Reply(request, ..) | Item::Failed(request) => {
                    failed.push(Item::Failed(request));
                }
                Item::WatchesLost => failed.push(Item::WatchesLost),
                Item::Missed | Item::Event(..) => {}
            }
        }
        failed.extend(core::mem::take(&mut self.sent).into_iter().map(Item::Failed));
        self.lose_connection();
        self.wire.extend(failed);
    }

    /// Expires the session; the next one may come to any server.
    fn expire(&mut self) {
        self.fail_all();
        self.registered.clear();
        self.has_tree_watch = false;
        self.seen = 0;
        self.applied = self.rng.usize(..=self.tip());
        self.wire.push_back(Item::WatchesLost);
    }

    /// Lets the server start again with an older copy of its data, once the session is over for the client. The next
    /// transactions get the zxids of those that are lost.
    fn restore(&mut self) {
        self.expire();
        while let Some(item) = self.wire.pop_front() {
            self.bring_in(item);
        }
        let last = self.rng.usize(..=self.tip());
        self.log.push(format!("the server has lost what came after {last}"));
        self.history.truncate(last + 1);
        self.applied = self.rng.usize(..=last);
        if let Some((_, zxid)) = self.told.last_mut() {
            *zxid = 0;
        }
    }
}

pub(crate) const fn stat(member: Member) -> Stat {
    Stat {
        czxid: Zxid::new(member.czxid),
        mzxid: Zxid::new(member.mzxid),
        ctime: member.ctime,
        mtime: member.mtime,
        version: Version::new(0),
        cversion: Version::new(0),
        aversion: Version::new(0),
        ephemeral_owner: SessionId::NONE,
        data_length: 0,
        num_children: 0,
        pzxid: Zxid::new(0),
    }
}
