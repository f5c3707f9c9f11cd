//! Four-letter words in place of a first frame, answered in plain text (docs/protocol.md#frames).

use alloc::format;
use alloc::string::String;
use core::fmt::Write as _;

use super::Replica;
use super::connection::Phase;
use crate::mode::ServerMode;
use crate::transport::ConnectionId;

/// The version that the words report: the release that this server follows, and a mark that it is
/// another server.
const VERSION: &str = concat!("3.9.5-zk-embedded-", env!("CARGO_PKG_VERSION"));
const BUILT_ON: &str = "01/01/1970 00:00 UTC";

/// Four letters that ZooKeeper knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word(&'static str);

const WORDS: [&str; 17] = [
    "conf", "cons", "crst", "dirs", "dump", "envi", "gtmk", "hash", "isro", "mntr", "ruok", "srst",
    "srvr", "stat", "stmk", "wchc", "wchs",
];

/// Returns the word that a connection begins with.
pub(super) fn recognise(input: &[u8]) -> Option<Word> {
    let head = input.get(..4)?;
    let word = WORDS.iter().find(|word| word.as_bytes() == head)?;
    Some(Word(word))
}

impl Replica {
    /// Answers a word, then closes. A word that this server does not answer gets the text for a
    /// word that the administrator has not allowed.
    pub(super) fn answer_four_letters(&mut self, id: ConnectionId, word: Word) {
        let text = match word.0 {
            "ruok" => String::from("imok"),
            "isro" => String::from(match self.mode {
                ServerMode::ReadOnly => "ro",
                ServerMode::NotServing => "null",
                ServerMode::Standalone
                | ServerMode::Leader
                | ServerMode::Follower
                | ServerMode::Observer => "rw",
            }),
            "envi" => format!("Environment:\nzookeeper.version={VERSION}, built on {BUILT_ON}\n"),
            "srvr" | "mntr" | "cons" | "wchs" if self.mode == ServerMode::NotServing => {
                String::from("This ZooKeeper instance is not currently serving requests\n")
            }
            "srvr" => self.srvr(),
            "mntr" => self.mntr(),
            "cons" => self.cons(),
            "wchs" => self.wchs(),
            other => format!("{other} is not executed because it is not in the whitelist.\n"),
        };
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.send_text(&text);
        }
        self.end(id);
    }

    fn srvr(&self) -> String {
        format!(
            "Zookeeper version: {VERSION}, built on {BUILT_ON}\n\
             Latency min/avg/max: 0/0.0/0\n\
             Received: {}\n\
             Sent: {}\n\
             Connections: {}\n\
             Outstanding: {}\n\
             Zxid: {}\n\
             Mode: {}\n\
             Node count: {}\n",
            self.frames_received,
            self.frames_sent(),
            self.connections.len(),
            self.outstanding(),
            self.database.last_zxid(),
            self.mode.name(),
            self.database.tree().iter().len(),
        )
    }

    fn mntr(&self) -> String {
        let tree = self.database.tree();
        let values = [
            ("num_alive_connections", self.connections.len()),
            ("outstanding_requests", self.outstanding()),
            ("znode_count", tree.iter().len()),
            ("watch_count", self.watches.counts().watches),
            ("ephemerals_count", tree.count_ephemerals()),
            ("approximate_data_size", tree.data_bytes()),
            ("global_sessions", self.database.sessions().len()),
            ("local_sessions", self.local_sessions.len()),
        ];
        let mut text = format!(
            "zk_version\t{VERSION}, built on {BUILT_ON}\n\
             zk_server_state\t{}\n\
             zk_packets_received\t{}\n\
             zk_packets_sent\t{}\n",
            self.mode.name(),
            self.frames_received,
            self.frames_sent(),
        );
        for (name, value) in values {
            let _ = writeln!(text, "zk_{name}\t{value}");
        }
        text
    }

    fn cons(&self) -> String {
        let mut text = String::new();
        for connection in self.connections.values() {
            let _ = write!(
                text,
                " /{}[1](queued=0,recved={},sent={}",
                connection.peer, connection.frames_received, connection.frames_sent
            );
            if let Phase::Established(established) = &connection.phase {
                let _ = write!(
                    text,
                    ",sid=0x{:x},to={}",
                    established.session.get(),
                    established.timeout.as_millis()
                );
            }
            text.push_str(")\n");
        }
        text.push('\n');
        text
    }

    fn wchs(&self) -> String {
        let counts = self.watches.counts();
        format!(
            "{} connections watching {} paths\nTotal watches:{}\n",
            counts.connections, counts.paths, counts.watches
        )
    }

    fn outstanding(&self) -> usize {
        let pending = |phase: &Phase| match phase {
            Phase::Established(established) => established.pending.len(),
            Phase::Greeting | Phase::Handshaking(_) | Phase::Closing => 0,
        };
        let connections = self.connections.values();
        connections.map(|connection| pending(&connection.phase)).sum()
    }

    fn frames_sent(&self) -> u64 {
        let open: u64 = self.connections.values().map(|c| c.frames_sent).sum();
        self.frames_sent + open
    }
}
