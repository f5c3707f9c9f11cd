//! Conversations with Apache ZooKeeper, held again: the same requests at the same times get the
//! same bytes.

use core::time::Duration;

use zk_embedded::{Config, ExtendedTypes, Instant, Timestamp};

use crate::world::{Client, World};

/// The beginning of the server's clock.
const ORIGIN: u64 = 0x1a1_0000_0000;

#[test]
fn the_replies_are_those_of_a_real_server() {
    let mut conversation = None;
    let mut exchanges = 0;
    let mut latest = "";
    for line in include_str!("conversation.txt").lines() {
        let (mark, rest) = line.split_once(' ').unwrap_or((line, ""));
        match mark {
            "#" => latest = rest,
            "conversation" => {
                assert!(conversation.is_none_or(Conversation::has_nothing_left), "after {latest}");
                conversation = Some(Conversation::new());
            }
            _ => {
                let conversation = conversation.as_mut().expect("a conversation has begun");
                exchanges += usize::from(mark == "<");
                conversation.step(mark, rest, latest);
            }
        }
    }
    assert!(conversation.is_some_and(Conversation::has_nothing_left));
    assert_eq!(exchanges, 48);
}

struct Conversation {
    world: World,
    client: Client,
}

impl Conversation {
    fn new() -> Self {
        let mut config = Config::default();
        config.extended_types = ExtendedTypes::Enabled;
        config.wall_clock_at_origin = Timestamp::from_millis(ORIGIN.cast_signed());
        let mut world = World::new(&config);
        let client = world.client();
        Self { world, client }
    }

    fn step(&mut self, mark: &str, rest: &str, latest: &str) {
        match mark {
            // Time is told to requests only: the session is not to end by the jump.
            "at" => {
                let millis: u64 = rest.parse().expect("milliseconds");
                self.world.now = Instant::since_origin(Duration::from_millis(millis - ORIGIN));
            }
            ">" => self.client.connection.send(&mut self.world, &unhex(rest)),
            "<" => {
                let frame = self.client.connection.next_frame().expect("a frame");
                if rest != "any" {
                    assert_eq!(hex(&frame), rest[8..], "{latest}");
                }
            }
            _ => panic!("no such mark: {mark}"),
        }
    }

    fn has_nothing_left(mut self) -> bool {
        self.client.connection.next_frame().is_none()
    }
}

fn hex(bytes: &[u8]) -> String {
    use core::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all");
        text
    })
}

fn unhex(hex: &str) -> Vec<u8> {
    let digits = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("two digits");
    (0..hex.len()).step_by(2).map(digits).collect()
}
