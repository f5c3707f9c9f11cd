//! Curator's `GroupMember`, kazoo's `Party` and `ShallowParty`.

use core::time::Duration;
use std::thread;
use std::time::Instant;

use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::raw::RawClient;
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually};

use super::pair::{Fate, Pair, QUIET, Side, wanted_turns};
use super::participant::Order;
use crate::interop::programs::Library;
use crate::interop::relay::{SESSION_TIMEOUT, lasted_a_session};

/// How often a participant is asked for the members that cannot tell of a change.
const INTERVAL: Duration = Duration::from_millis(10);

/// A group that has one member of each, or none, and what it was.
#[derive(Debug)]
struct Group {
    recipe: Recipe,
    watch: Order,
    members: Vec<Member>,
    /// The views of the group, since ours watches.
    history: Vec<String>,
    written: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recipe {
    Group,
    Party,
    ShallowParty,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Member {
    side: Side,
    data: String,
}

/// One does not see the members that there are.
#[derive(Debug, thiserror::Error)]
#[error("{side:?} sees {seen:?} and not {wanted:?}")]
struct Unseen {
    side: Side,
    seen: String,
    wanted: String,
}

pub(crate) fn groups(server: ServerKind, library: Library) -> TestResult {
    let pair = &mut Pair::start(server, library)?;
    let recipes: &[Recipe] = match library {
        Library::Kazoo => &[Recipe::Party, Recipe::ShallowParty],
        Library::Curator | Library::Ours => &[Recipe::Group],
    };
    for recipe in recipes {
        let watch = pair.ours.begin(&recipe.order("watch", ""))?;
        let (members, history) = (Vec::new(), vec![String::new()]);
        let mut group = Group { recipe: *recipe, watch, members, history, written: 0 };
        let turns = wanted_turns(server)?;
        for turn in turns.clone() {
            group.is_joined_and_left(pair, turn)?;
        }
        group.views_are_what_it_was(pair);
        pair.tell(&format!("{recipe:?}"), turns.len());
    }
    if library == Library::Curator {
        one_name_has_one_member(pair)?;
    }
    Ok(())
}

impl Recipe {
    fn order(self, verb: &str, rest: &str) -> String {
        let recipe = match self {
            Self::Group => "group",
            Self::Party => "party",
            Self::ShallowParty => "shallow_party",
        };
        format!("{recipe} {verb} /{recipe} {rest}").trim_end().to_owned()
    }

    /// Returns these members, as participants print them.
    fn text<'a>(self, members: impl Iterator<Item = &'a Member>) -> String {
        let tell = |member: &Member| match self {
            Self::Group => format!("{}={}", member.name(), member.data),
            Self::Party => member.data.clone(),
            Self::ShallowParty => member.name().to_owned(),
        };
        let mut members: Vec<String> = members.map(tell).collect();
        members.sort();
        members.join(" ")
    }

    const fn path(self) -> &'static str {
        match self {
            Self::Group => "/group",
            Self::Party => "/party",
            Self::ShallowParty => "/shallow_party",
        }
    }
}

impl Member {
    const fn name(&self) -> &'static str {
        match self.side {
            Side::Ours => "ours",
            Side::Peer => "theirs",
        }
    }
}

impl Group {
    fn is_joined_and_left(&mut self, pair: &mut Pair, turn: usize) -> TestResult {
        let first = Side::of_turn(turn);
        self.join(pair, first)?;
        self.join(pair, first.other())?;
        self.write(pair)?;
        match Fate::of_turn(turn) {
            Fate::Spared => {}
            Fate::Killed(side) => {
                pair.kill(side)?;
                let at = Instant::now();
                if turn % 10 < 5 {
                    self.is_missed(pair, side, at)?;
                } else {
                    self.comes_back_at_once(pair, side, at)?;
                }
            }
            Fate::CutOff => {
                pair.cut_off()?;
                self.is_seen(pair)?;
                self.write(pair)?;
            }
        }
        self.leave(pair, first)?;
        self.leave(pair, first.other())?;
        self.is_left_empty(pair)
    }

    fn next_data(&mut self) -> String {
        self.written += 1;
        format!("data-{}", self.written)
    }

    fn begin_to_join(&mut self, pair: &mut Pair, side: Side) -> Result<Order, TestFailure> {
        let member = Member { side, data: self.next_data() };
        let order = self.recipe.order("join", &format!("{} {}", member.name(), member.data));
        self.members.push(member);
        self.happens();
        pair.side(side).begin(&order)
    }

    fn join(&mut self, pair: &mut Pair, side: Side) -> TestResult {
        let joining = self.begin_to_join(pair, side)?;
        pair.side(side).end(joining)?;
        self.is_seen(pair)
    }

    /// Both write, if their library can.
    fn write(&mut self, pair: &mut Pair) -> TestResult {
        let sides: &[Side] = match self.recipe {
            Recipe::Group => &[Side::Ours, Side::Peer],
            Recipe::Party => &[Side::Ours],
            Recipe::ShallowParty => &[],
        };
        for side in sides {
            let data = self.next_data();
            let order = self.recipe.order("set", &data);
            for member in self.members.iter_mut().filter(|member| member.side == *side) {
                member.data.clone_from(&data);
            }
            self.happens();
            pair.side(*side).run(&order)?;
            self.is_seen(pair)?;
        }
        Ok(())
    }

    fn leave(&mut self, pair: &mut Pair, side: Side) -> TestResult {
        self.members.retain(|member| member.side != side);
        self.happens();
        pair.side(side).run(&self.recipe.order("leave", ""))?;
        self.is_seen(pair)
    }

    /// Waits until the killed one is missed: it is a member until its session is over; then another
    /// one joins.
    fn is_missed(&mut self, pair: &mut Pair, killed: Side, at: Instant) -> TestResult {
        self.members.retain(|member| member.side != killed);
        self.happens();
        let left = killed.other();
        self.is_seen_by(pair, left)?;
        lasted_a_session(at.elapsed());
        self.replace(pair, killed)?;
        self.join(pair, killed)
    }

    /// The next one joins while the session of the one that was killed goes on: in a group, by its name.
    fn comes_back_at_once(&mut self, pair: &mut Pair, killed: Side, at: Instant) -> TestResult {
        self.replace(pair, killed)?;
        let gone = self.members.iter().position(|member| member.side == killed);
        let gone = gone.map(|place| self.members.remove(place));
        let joining = self.begin_to_join(pair, killed)?;
        if self.recipe == Recipe::Group {
            // Theirs writes to the znode that it has found, and makes its own once that is gone.
            let (without, with) = (self.text_without(killed), self.text());
            self.history.extend([without, with]);
            if killed == Side::Ours {
                pair.ours.waits(joining, QUIET)?;
            }
        } else if let Some(gone) = gone {
            let all = self.recipe.text(self.members.iter().chain([&gone]));
            // On a slow machine the session of the one that was killed may end before.
            let without = self.text_without(killed);
            self.history.extend([without, all, self.text()]);
        }
        pair.side(killed).end(joining)?;
        if self.recipe == Recipe::Group && killed == Side::Peer {
            thread::sleep((2 * SESSION_TIMEOUT).saturating_sub(at.elapsed()));
        }
        self.is_seen(pair)
    }

    fn replace(&mut self, pair: &mut Pair, killed: Side) -> TestResult {
        if killed == Side::Ours {
            self.views_are_what_it_was(pair);
            pair.replace(killed)?;
            self.watch = pair.ours.begin(&self.recipe.order("watch", ""))?;
            self.history = vec![self.text()];
            return Ok(());
        }
        pair.replace(killed)
    }

    fn text(&self) -> String {
        self.recipe.text(self.members.iter())
    }

    fn text_without(&self, side: Side) -> String {
        let members = self.members.iter().filter(|member| member.side != side);
        self.recipe.text(members)
    }

    fn happens(&mut self) {
        self.history.push(self.text());
    }

    fn is_seen(&self, pair: &mut Pair) -> TestResult {
        self.is_seen_by(pair, Side::Ours)?;
        self.is_seen_by(pair, Side::Peer)
    }

    /// Ours tells by its views, and if asked. Curator tells its members alone.
    fn is_seen_by(&self, pair: &mut Pair, side: Side) -> TestResult {
        let is_member = self.members.iter().any(|member| member.side == side);
        if (side, self.recipe) == (Side::Peer, Recipe::Group) && !is_member {
            return Ok(());
        }
        let wanted = self.text();
        if side == Side::Ours {
            pair.ours.gives_last(self.watch, &wanted)?;
        }
        let until = Instant::now() + SOON;
        loop {
            let seen = pair.side(side).run(&self.recipe.order("members", ""))?;
            if seen == wanted {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(Unseen { side, seen, wanted }.into());
            }
            thread::sleep(INTERVAL);
        }
    }

    /// Asserts that each view of ours was true at one moment, and that they come in order.
    fn views_are_what_it_was(&self, pair: &mut Pair) {
        let views = pair.ours.items(self.watch);
        let mut moments = self.history.iter();
        let mut last = None;
        for view in &views {
            assert!(
                last == Some(view) || moments.any(|moment| moment == view),
                "{view:?} was not, or not then: {views:?} of {:?}",
                self.history
            );
            last = Some(view);
        }
    }

    fn is_left_empty(&self, pair: &Pair) -> TestResult {
        let mut client = RawClient::connect(pair.server.addr(), SOON)?;
        let path = format!("{}{}", pair.chroot, self.recipe.path());
        eventually(SOON, "no znode is left", || {
            client.children(&path).is_ok_and(|children| children.is_empty())
        })?;
        Ok(client.close()?)
    }
}

/// Ours waits for a name that theirs has. Theirs writes to the znode of ours, which has it back.
fn one_name_has_one_member(pair: &mut Pair) -> TestResult {
    pair.peer.run("group join /name one theirs")?;
    is_told(pair, "one=theirs")?;
    let joining = pair.ours.begin("group join /name one ours")?;
    pair.ours.waits(joining, QUIET)?;
    pair.peer.run("group leave /name")?;
    pair.ours.end(joining)?;
    is_told(pair, "one=ours")?;
    let watch = pair.ours.begin("group watch /name")?;
    pair.ours.gives_last(watch, "one=ours")?;
    pair.peer.run("group join /name one theirs")?;
    // The view in between may be passed over, but not the change: it is another one of the same text.
    pair.ours.gives(watch, 2)?;
    pair.ours.gives_last(watch, "one=ours")?;
    pair.ours.run("group leave /name")?;
    pair.ours.gives_last(watch, "one=theirs")?;
    pair.peer.run("group leave /name")?;
    pair.ours.gives_last(watch, "")
}

fn is_told(pair: &mut Pair, wanted: &str) -> TestResult {
    let until = Instant::now() + SOON;
    loop {
        let seen = pair.ours.run("group members /name")?;
        if seen == wanted {
            return Ok(());
        }
        if Instant::now() >= until {
            let wanted = wanted.to_owned();
            return Err(Unseen { side: Side::Ours, seen, wanted }.into());
        }
        thread::sleep(INTERVAL);
    }
}
