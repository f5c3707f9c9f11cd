//! Errors of running a server, with advice.

use core::net::SocketAddr;
use core::time::Duration;
use std::io;
use std::path::PathBuf;

/// Java or Apache ZooKeeper is not there.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// Neither `ZOOKEEPER_CLASSPATH` nor Debian's package.
    #[error(
        "no Apache ZooKeeper found: install it \
         (Debian, Ubuntu: `apt-get install libzookeeper-java default-jre-headless`), \
         or set ZOOKEEPER_CLASSPATH to the Java class path of a server, such as \
         `/opt/apache-zookeeper/lib/*`"
    )]
    NoZooKeeper,
    /// `ZOOKEEPER_CLASSPATH` leads nowhere.
    #[error("ZOOKEEPER_CLASSPATH names {}, which does not exist: correct or unset it", .0.display())]
    NoSuchEntry(PathBuf),
    /// No Java runtime.
    #[error(
        "no `java` in JAVA_HOME or PATH: install a Java runtime \
         (Debian, Ubuntu: `apt-get install default-jre-headless`)"
    )]
    NoJava,
}

/// A server did not come up.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Something has to be installed first.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// The supervisor, its folder or a port could not be had.
    #[error("the server's surroundings could not be set up")]
    Surroundings(#[from] io::Error),
    /// Another program took one of the server's ports.
    #[error("the server at {address} found a port taken; its log ends with:\n{log}")]
    PortTaken {
        /// The client port.
        address: SocketAddr,
        /// The end of the server's log.
        log: String,
    },
    /// The process ended by itself.
    #[error("the server at {address} ended while starting; its log ends with:\n{log}")]
    Exited {
        /// The client port.
        address: SocketAddr,
        /// The end of the server's log.
        log: String,
    },
    /// The process runs, but serves no client.
    #[error("the server at {address} does not serve after {bound:?}; its log ends with:\n{log}")]
    NotServing {
        /// The client port.
        address: SocketAddr,
        /// How long was waited.
        bound: Duration,
        /// The end of the server's log.
        log: String,
    },
}

/// A four-letter word was not answered as expected.
#[derive(Debug, thiserror::Error)]
pub enum FourLetterError {
    /// No connection, or no whole answer in time.
    #[error("`{word}` was not answered by {address}")]
    Unanswered {
        /// The word sent.
        word: String,
        /// The client port asked.
        address: SocketAddr,
        /// The socket's error.
        source: io::Error,
    },
    /// The server runs, but serves no client now (an election is going on, for instance).
    #[error("the server at {0} is not serving now")]
    NotServing(SocketAddr),
    /// The answer lacks what was looked for.
    #[error("the answer of {address} to `{word}` has no readable `{field}`:\n{answer}")]
    Unreadable {
        /// The word sent.
        word: String,
        /// The client port asked.
        address: SocketAddr,
        /// The field that was looked for.
        field: String,
        /// The whole answer.
        answer: String,
    },
}
