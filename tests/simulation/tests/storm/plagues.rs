//! Plagues of processes, of their ways to the servers, and of the servers.

use core::ops::Range;
use core::time::Duration;

use tokio::time::sleep;
use zk_embedded::Throttling;

use crate::network::{Flow, Port, Way, Weather};
use crate::process::Order;
use crate::scene::Scene;
use crate::servers::{Condition, Impairment, Line, Servers};
use crate::setting::LONGEST;

/// The longest time that bytes of a process with a slow way take.
const SLOW: Duration = Duration::from_millis(200);

impl Scene {
    pub(crate) fn plague(&mut self) {
        let victim = self.rng.usize(0..self.ways.len());
        let way = self.ways[victim].clone();
        let plague = self.rng.u8(0..26);
        self.laws.tell(|| format!("plague {plague} for process {victim}"));
        match plague {
            0 | 1 => way.cut(),
            2 => self.for_a_while(way, |weather| weather.port = Port::Closed),
            3 => self.for_a_while(way, |weather| weather.to_server = Flow::Held),
            4 => self.for_a_while(way, |weather| weather.to_client = Flow::Held),
            5 => self.for_a_while(way, |weather| weather.latency = SLOW),
            6 => {
                for way in self.ways.clone() {
                    self.for_a_while(way, |weather| {
                        weather.to_server = Flow::Held;
                        weather.to_client = Flow::Held;
                    });
                }
            }
            7 | 8 => (0..self.servers.count()).for_each(|at| self.servers.drop_connections(at)),
            order @ 9..16 => {
                let order = match order {
                    9 | 10 => Order::HandOver,
                    11 | 12 => Order::Crash,
                    13 => Order::Close,
                    14 => Order::Drop,
                    _ => Order::Resign,
                };
                // One that has not come round to the last order yet is spared this one.
                let _ = self.orders[victim].try_send(order);
            }
            _ => self.plague_of_servers(),
        }
    }

    /// Begins a plague of servers. A server on its own knows some of them only.
    fn plague_of_servers(&mut self) {
        let victim = self.rng.usize(0..self.servers.count());
        let leader = self.servers.leader().unwrap_or(victim);
        let plague = self.rng.u8(0..16);
        self.laws.tell(|| format!("plague {plague} for server {victim}; {leader} leads"));
        match plague {
            0 | 1 => self.crash(victim),
            2 => self.crash(leader),
            3 => self.pause(victim),
            4 => self.pause(leader),
            5 => self.throttle(victim),
            6 => self.servers.drop_connections(victim),
            7 => self.break_lines(both_ways(victim, leader), Impairment::Held),
            8 => self.break_lines(vec![Line { from: victim, to: leader }], Impairment::Held),
            9 => self.break_lines(vec![Line { from: leader, to: victim }], Impairment::Held),
            10 => self.break_lines(self.all_lines_of(victim), Impairment::Held),
            11 | 12 => self.depose(leader),
            13 => self.break_lines(self.all_lines_of(victim), Impairment::Slow),
            14 => self.servers.lose(Line { from: victim, to: leader }),
            _ => self.raise_the_longest_timeout(),
        }
    }

    /// Changes the way for a while. Bytes that are held back are delivered in the end, or lost with
    /// their connection.
    fn for_a_while(&mut self, way: Way, change: impl FnOnce(&mut Weather)) {
        way.change(change);
        let (time, is_lost) = (self.millis(50..4000), self.rng.bool());
        self.healers.spawn(async move {
            sleep(time).await;
            if is_lost {
                way.cut();
            }
            way.change(Weather::clear_up);
        });
    }

    /// Kills the process, and starts it again with all that it had on disk.
    fn crash(&mut self, place: usize) {
        let time = self.millis(50..3000);
        let servers = self.servers.clone();
        self.healers.spawn(async move { start_again(&servers, place, time).await });
    }

    fn pause(&mut self, place: usize) {
        let time = self.millis(50..3000);
        let servers = self.servers.clone();
        if servers.turn(place, Condition::Running, Condition::Paused) {
            self.healers.spawn(async move {
                sleep(time).await;
                servers.turn(place, Condition::Paused, Condition::Running);
            });
        }
    }

    fn throttle(&mut self, place: usize) {
        let time = self.millis(50..1000);
        let servers = self.servers.clone();
        servers.set_throttling(place, Throttling::On);
        self.healers.spawn(async move {
            sleep(time).await;
            servers.set_throttling(place, Throttling::Off);
        });
    }

    fn break_lines(&mut self, lines: Vec<Line>, impairment: Impairment) {
        let (time, is_lost) = (self.millis(50..4000), self.rng.bool());
        let servers = self.servers.clone();
        for line in &lines {
            servers.impair(*line, impairment);
        }
        self.healers.spawn(async move {
            sleep(time).await;
            for line in lines {
                if is_lost {
                    servers.lose(line);
                }
                servers.repair(line, impairment);
            }
        });
    }

    /// Deposes the leader: the others are rid of it, and it hears nothing of that; it goes on answering its clients
    /// until it misses its followers.
    fn depose(&mut self, leader: usize) {
        let others = (0..self.servers.count()).filter(|other| *other != leader);
        let lines: Vec<Line> = others.map(|from| Line { from, to: leader }).collect();
        for line in &lines {
            self.servers.lose(*line);
        }
        self.break_lines(lines, Impairment::Held);
    }

    /// Stops all servers, as the operator, raises `maxSessionTimeout`, and starts one after the other,
    /// once. Clients ask for more than the former bound, so no server may run with that beside
    /// another.
    fn raise_the_longest_timeout(&mut self) {
        let servers = self.servers.clone();
        let pauses: Vec<Duration> = (0..servers.count()).map(|_| self.millis(100..1000)).collect();
        self.healers.spawn(async move {
            let places = 0..servers.count();
            let stop = |place: &usize| servers.turn(*place, Condition::Running, Condition::Down);
            let stopped: Vec<usize> = places.clone().filter(stop).collect();
            places.for_each(|place| servers.set_longest_timeout(place, LONGEST));
            for (place, pause) in stopped.into_iter().zip(pauses) {
                sleep(pause).await;
                servers.turn(place, Condition::Down, Condition::Running);
            }
        });
    }

    fn all_lines_of(&self, place: usize) -> Vec<Line> {
        let others = (0..self.servers.count()).filter(|other| *other != place);
        others.flat_map(|other| both_ways(place, other)).collect()
    }

    pub(crate) fn millis(&mut self, range: Range<u64>) -> Duration {
        Duration::from_millis(self.rng.u64(range))
    }
}

fn both_ways(one: usize, other: usize) -> Vec<Line> {
    let line = Line { from: one, to: other };
    vec![line, line.back()]
}

/// Spares a server that something else has befallen.
async fn start_again(servers: &Servers, place: usize, time: Duration) {
    if servers.turn(place, Condition::Running, Condition::Down) {
        sleep(time).await;
        servers.turn(place, Condition::Down, Condition::Running);
    }
}
