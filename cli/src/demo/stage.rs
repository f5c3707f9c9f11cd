//! Shows leaders and followers: on a terminal as a table that is redrawn, elsewhere as plain lines.

use core::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};

use anstyle::{AnsiColor, Style};
use election_tokio::Token;
use election_tokio::election::{CandidateName, Role, Sequence, Status};
use tokio::time::Instant;

use super::nominee::{Change, Seat};

const LEADER: Style = AnsiColor::Green.on_default().bold();
const GONE: Style = Style::new().dimmed();

/// The last state of a nominee.
struct Row {
    name: String,
    /// How many nominees have had this place.
    life: u32,
    state: State,
    /// By what it followed last.
    followed: Option<CandidateName>,
}

enum State {
    /// No status has come yet.
    Awaited,
    Heard(Box<Status>),
    /// No status will come any more.
    Crashed,
}

impl Row {
    /// Returns the role; `None` for a crashed nominee.
    fn role(&self) -> Option<&Role> {
        const CONNECTING: &Role = &Role::Connecting;
        match &self.state {
            State::Awaited => Some(CONNECTING),
            State::Heard(status) => Some(&status.role),
            State::Crashed => None,
        }
    }

    fn candidate(&self) -> Option<&CandidateName> {
        match &self.state {
            State::Heard(status) => status.candidate.as_ref(),
            State::Awaited | State::Crashed => None,
        }
    }

    fn hear(&mut self, status: Status) {
        if let Role::Following { .. } = status.role {
            self.followed.clone_from(&status.candidate);
        }
        self.state = State::Heard(Box::new(status));
    }

    /// Whether it had a place by its present candidate.
    fn has_followed(&self) -> bool {
        self.followed.is_some() && self.followed.as_ref() == self.candidate()
    }

    fn leads(&self, seat: Seat) -> Option<Leader> {
        match self.role() {
            Some(&Role::Leading { token }) => Some(Leader { seat, token }),
            _ => None,
        }
    }
}

pub(super) struct Stage {
    rows: Vec<Row>,
    start: Instant,
    output: Output,
}

enum Output {
    Lines,
    /// Redrawn over this many lines.
    Table {
        drawn: usize,
    },
}

/// The leader, by what is known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leader {
    pub(super) seat: Seat,
    pub(super) token: Token,
}

impl Stage {
    pub(super) fn new(nominees: usize) -> Self {
        Self {
            rows: (1..=nominees)
                .map(|number| Row {
                    name: format!("n{number}"),
                    life: 0,
                    state: State::Awaited,
                    followed: None,
                })
                .collect(),
            start: Instant::now(),
            output: if io::stdout().is_terminal() {
                Output::Table { drawn: 0 }
            } else {
                Output::Lines
            },
        }
    }

    pub(super) fn seats(&self) -> impl Iterator<Item = Seat> + use<> {
        (0..self.rows.len()).map(Seat)
    }

    pub(super) fn name(&self, seat: Seat) -> String {
        self.rows.get(seat.0).map(|row| row.name.clone()).unwrap_or_default()
    }

    /// Puts a new nominee at a place, and returns its number there.
    pub(super) fn next_life(&mut self, seat: Seat) -> u32 {
        self.rows.get_mut(seat.0).map_or(0, |row| {
            row.life += 1;
            row.life
        })
    }

    pub(super) fn crashed(&mut self, seat: Seat) {
        if let Some(row) = self.rows.get_mut(seat.0) {
            row.life += 1;
            row.state = State::Crashed;
        }
        self.draw("");
    }

    /// Records a change, and returns the leader if the change made one.
    pub(super) fn heard(&mut self, change: Change) -> Option<Leader> {
        let seat = change.seat;
        let before = self.describe(seat);
        let row = self.rows.get_mut(seat.0)?;
        if row.life != change.life {
            return None;
        }
        row.hear(change.status);
        let leads = row.leads(seat);
        let after = self.describe(seat);
        match self.output {
            Output::Lines if before != after => self.say(&after),
            Output::Lines => {}
            Output::Table { .. } => self.draw(""),
        }
        leads
    }

    /// Returns the leader, once all others follow.
    pub(super) fn settled(&self) -> Option<Leader> {
        let is_settled = self
            .rows
            .iter()
            .all(|row| matches!(row.role(), Some(Role::Leading { .. } | Role::Following { .. })));
        self.leader().filter(|_| is_settled)
    }

    pub(super) fn leader(&self) -> Option<Leader> {
        self.rows.iter().enumerate().find_map(|(index, row)| row.leads(Seat(index)))
    }

    /// Prints a line that stays.
    pub(super) fn say(&mut self, text: &str) {
        let seconds = self.start.elapsed().as_secs_f64();
        self.draw(&format!("{seconds:8.3} s  {text}\n"));
    }

    /// Prints text that stays; on a terminal, with the table below it. Errors are ignored: no
    /// reader is left to tell.
    fn draw(&mut self, text: &str) {
        let mut stdout = anstream::stdout();
        let Output::Table { drawn } = &mut self.output else {
            let _ = write!(stdout, "{text}");
            let _ = stdout.flush();
            return;
        };
        let mut screen = match drawn {
            0 => String::new(),
            // Back to the table's first line, and clear from there on.
            _ => format!("\x1b[{drawn}A\x1b[J"),
        };
        *drawn = self.rows.len() + 2;
        screen.push_str(text);
        screen.push('\n');
        // Writing to a `String` cannot fail.
        let _ = writeln!(screen, "  {:<6}{:<14}{:<14}", "", "candidate", "role");
        for row in &self.rows {
            let _ = writeln!(screen, "  {}", self.table_line(row));
        }
        let _ = stdout.write_all(screen.as_bytes());
        let _ = stdout.flush();
    }

    fn table_line(&self, row: &Row) -> String {
        let style = match row.role() {
            Some(Role::Leading { .. }) => LEADER,
            Some(Role::Following { .. }) => Style::new(),
            _ => GONE,
        };
        let sequence = |candidate| sequence(candidate).to_string();
        let number = row.candidate().map_or_else(|| "-".to_owned(), sequence);
        let role = self.role_of(row);
        format!("{style}{:<6}{number:<14}{role}{style:#}", row.name)
    }

    fn describe(&self, seat: Seat) -> String {
        self.rows
            .get(seat.0)
            .map(|row| format!("{} {}", row.name, self.role_of(row)))
            .unwrap_or_default()
    }

    fn role_of(&self, row: &Row) -> String {
        match row.role() {
            None => "crashed".to_owned(),
            Some(Role::Connecting) => "connects".to_owned(),
            Some(Role::Standing) if row.has_followed() => "looks again".to_owned(),
            Some(Role::Standing) => "stands for election".to_owned(),
            Some(Role::Following { predecessor, .. }) => {
                format!("follows {}", self.name_of(predecessor))
            }
            Some(Role::AwaitingLease { .. }) => "is the first, and waits for its lease".to_owned(),
            Some(Role::Leading { token }) => format!("leads with token {token}"),
            Some(Role::Suspended { .. }) => "leads, but has no connection".to_owned(),
            Some(Role::Leaving) => "leaves".to_owned(),
            Some(Role::Ended(reason)) => reason.to_string(),
            Some(_) => String::new(),
        }
    }

    fn name_of(&self, candidate: &CandidateName) -> String {
        self.rows
            .iter()
            .find(|row| row.candidate() == Some(candidate))
            .map_or_else(|| format!("candidate {}", sequence(candidate)), |row| row.name.clone())
    }
}

/// Returns the number at the end of a candidate's name.
fn sequence(candidate: &CandidateName) -> Sequence {
    candidate.sequence()
}

#[cfg(test)]
mod tests {
    use election_tokio::format::Format;

    use super::*;

    #[test]
    fn a_nominee_whose_predecessor_has_gone_looks_again() {
        let mut stage = Stage::new(1);
        let life = stage.next_life(Seat(0));
        let candidate =
            |number| Format::curator_latch().parse(&format!("a-latch-000000000{number}")).ok();
        let mut heard = |role, candidate| {
            let mut status = Status::new();
            (status.role, status.candidate) = (role, candidate);
            stage.heard(Change { seat: Seat(0), life, at: Instant::now(), status });
            stage.describe(Seat(0))
        };
        let (own, other) = (candidate(2), candidate(1));
        let following = Role::Following {
            predecessor: other.clone().expect("a name"),
            previous: None,
            leader: other.expect("a name"),
        };
        assert_eq!(heard(Role::Standing, None), "n1 stands for election");
        assert_eq!(heard(Role::Standing, own.clone()), "n1 stands for election");
        assert!(heard(following, own.clone()).starts_with("n1 follows "));
        assert_eq!(heard(Role::Standing, own), "n1 looks again");
        assert_eq!(heard(Role::Standing, candidate(3)), "n1 stands for election");
    }
}
