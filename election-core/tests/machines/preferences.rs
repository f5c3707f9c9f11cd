//! Leaders that hand over to better candidates, in every order of members that come, go and change.

use core::time::Duration;
use std::collections::HashSet;

use election_core::Token;
use election_core::preference::{Better, Preference, Stander, better};

/// How many turns a candidate has to have stood.
const STOOD: u8 = 3;
const MEMBERS: u8 = 3;
const PREFERENCES: u8 = 3;

/// A candidate; the queue has its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Candidate {
    member: u8,
    preference: u8,
    /// For how many turns the leader has seen it; no more than matters.
    seen: u8,
}

/// The queue, and for how long the first one has led.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
struct World {
    queue: Vec<Candidate>,
    led: u8,
}

/// What happens in a turn.
#[derive(Clone, Copy, Debug)]
enum Turn {
    Nothing,
    /// A member stands with this preference, behind the others; if it stood, then with a new candidate.
    Stands(u8, u8),
    Goes(u8),
}

fn turns() -> Vec<Turn> {
    let mut turns = vec![Turn::Nothing];
    for member in 0..MEMBERS {
        turns.push(Turn::Goes(member));
        turns.extend((0..PREFERENCES).map(|preference| Turn::Stands(member, preference)));
    }
    turns
}

fn turns_to_time(turns: u8) -> Duration {
    Duration::from_secs(u64::from(turns))
}

impl World {
    fn take(&mut self, turn: Turn) {
        let leader = self.queue.first().map(|leader| leader.member);
        let rejoins = match turn {
            Turn::Nothing => None,
            Turn::Goes(member) => Some((member, None)),
            Turn::Stands(member, preference) => Some((member, Some(preference))),
        };
        if let Some((member, preference)) = rejoins {
            self.queue.retain(|candidate| candidate.member != member);
            if leader == Some(member) {
                self.is_led_anew();
            }
            self.queue.extend(preference.map(|preference| Candidate {
                member,
                preference,
                seen: 0,
            }));
            if self.queue.len() == 1 {
                self.led = 0;
            }
        }
    }

    /// A new leader has seen nobody yet.
    fn is_led_anew(&mut self) {
        self.led = 0;
        for candidate in &mut self.queue {
            candidate.seen = 0;
        }
    }

    fn decide(&self) -> Better {
        let Some((leader, others)) = self.queue.split_first() else {
            return Better::None;
        };
        let now = STOOD;
        let standers = others.iter().enumerate().map(|(place, candidate)| Stander {
            token: Token::new(i64::try_from(place).expect("it is small")),
            preference: Preference::new(candidate.preference.into()),
            since: turns_to_time(now - candidate.seen),
        });
        let own = Preference::new(leader.preference.into());
        better(own, turns_to_time(STOOD), turns_to_time(now), standers)
    }

    /// Lets the leader hand over if it is to, and time pass. Checks the law of each hand-over.
    fn lead(&mut self) {
        match self.decide() {
            Better::Candidate(token) => {
                let place = usize::try_from(token.get()).expect("it is a place") + 1;
                let (leader, target) = (self.queue[0], self.queue[place]);
                assert!(target.preference > leader.preference, "only a strictly better one leads");
                assert_eq!(target.seen, STOOD, "it has stood for the time");
                assert_eq!(self.led, STOOD, "a leader leads for that long before it hands over");
                for other in &self.queue[1..] {
                    assert!(
                        other.seen < STOOD || other.preference <= target.preference,
                        "it is the best of those that have stood"
                    );
                }
                // Those between stand behind it, and the leader behind all of them.
                let mut behind: Vec<Candidate> = self.queue.drain(..place).collect();
                behind.rotate_left(1);
                self.queue.extend(behind);
                self.is_led_anew();
            }
            Better::From(from) => {
                let others =
                    || self.queue[1..].iter().filter(|it| it.preference > self.queue[0].preference);
                let first = others().map(|it| STOOD - it.seen).min().expect("one is better");
                assert_eq!(from, turns_to_time(STOOD + first), "it is looked at again then");
            }
            Better::None => {
                let best = self.queue.iter().map(|candidate| candidate.preference).max();
                assert_eq!(best, self.queue.first().map(|leader| leader.preference));
            }
        }
        let older = |turns: u8| STOOD.min(turns + 1);
        self.led = older(self.led);
        for candidate in &mut self.queue {
            candidate.seen = older(candidate.seen);
        }
    }

    /// Once nothing happens any more, one of the best leads, after a hand-over for each preference at most.
    fn comes_to_rest(mut self) {
        let mut hand_overs = 0;
        for _ in 0..u32::from(STOOD + 1) * u32::from(PREFERENCES) {
            hand_overs += u8::from(matches!(self.decide(), Better::Candidate(_)));
            self.lead();
        }
        assert_eq!(self.decide(), Better::None);
        assert!(hand_overs < PREFERENCES);
    }
}

#[test]
fn leaders_hand_over_only_to_better_ones_that_stood_for_the_time() {
    let (mut known, mut todo) = (HashSet::new(), vec![World::default()]);
    while let Some(world) = todo.pop() {
        if !known.insert(world.clone()) {
            continue;
        }
        world.clone().comes_to_rest();
        for turn in turns() {
            let mut next = world.clone();
            next.take(turn);
            next.lead();
            todo.push(next);
        }
    }
    assert!(known.len() > 1_000, "{}", known.len());
}

#[test]
fn a_preference_is_the_last_word_of_the_data() {
    let cases: [(&[u8], i32, &[u8]); 12] = [
        (b"host-7 preference=5", 5, b"host-7"),
        (b"preference=-3", -3, b""),
        (b"a b preference=2147483647", i32::MAX, b"a b"),
        (b"preference=1 preference=2", 2, b"preference=1"),
        (b"", 0, b""),
        (b"host-7", 0, b"host-7"),
        (b"host-7 preference=", 0, b"host-7 preference="),
        (b"host-7 preference=+5", 0, b"host-7 preference=+5"),
        (b"host-7 preference=5 ", 0, b"host-7 preference=5 "),
        (b"host-7 preference=2147483648", 0, b"host-7 preference=2147483648"),
        (b"host-7preference=5", 0, b"host-7preference=5"),
        (b"\xff preference=4", 4, b"\xff"),
    ];
    for (data, number, name) in cases {
        assert_eq!(Preference::of(data).get(), number, "{data:?}");
        assert_eq!(Preference::strip(data), name, "{data:?}");
    }
    assert_eq!(Preference::new(-7).to_string(), "preference=-7");
}
