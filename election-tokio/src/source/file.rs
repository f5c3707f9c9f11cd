//! Lists of servers in a file.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use zk_session::{ConnectString, ServerAddress};

use super::{Locating, ServerSource};

/// The most bytes to read, more than any list of servers needs: an endless file must not fill the
/// memory.
const LONGEST: u64 = 1024 * 1024;

/// A file with the list of servers, read anew each time. Its writer should replace it in one step,
/// by renaming.
///
/// Each line has one server, or several as in a connect string: `host[:port][,host[:port]…]`. A
/// comment begins with `#`. A chroot does not belong there: it is the client's.
///
/// ```
/// use election_tokio::{source::ServerFile, Client};
///
/// let builder = Client::builder_from(ServerFile::new("/etc/zookeeper-servers"), "/app");
/// ```
#[derive(Clone, Debug)]
pub struct ServerFile {
    path: PathBuf,
}

impl ServerFile {
    /// Names the file at this path. It need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }
}

impl ServerSource for ServerFile {
    fn servers(&self) -> Locating<'_> {
        let path = self.path.clone();
        Box::pin(async move {
            tokio::task::spawn_blocking(move || read(&path)).await.map_err(io::Error::other)?
        })
    }
}

fn read(path: &Path) -> io::Result<Vec<ServerAddress>> {
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let mut text = String::new();
    let file = File::open(path).map_err(named)?;
    file.take(LONGEST).read_to_string(&mut text).map_err(named)?;
    parse(&text).map_err(|error| named(io::Error::new(io::ErrorKind::InvalidData, error)))
}

fn parse(text: &str) -> Result<Vec<ServerAddress>, String> {
    let mut servers = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let entries = line.split('#').next().unwrap_or_default().trim();
        if entries.is_empty() {
            continue;
        }
        if entries.contains('/') {
            return Err(format!("line {number}: a chroot has no place in a list of servers"));
        }
        let listed: ConnectString =
            entries.parse().map_err(|error| format!("line {number}: {error}"))?;
        servers.extend(listed.servers().cloned());
    }
    Ok(servers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_servers_in_lines_and_in_connect_strings() {
        let text = "# the ensemble\n\nzk1\n zk2:2182 # spare\r\n[::1]:7,10.0.0.1:8\n";
        let servers: Vec<_> = parse(text).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(servers, ["zk1:2181", "zk2:2182", "[::1]:7", "10.0.0.1:8"]);
        assert_eq!(parse("#\n \n"), Ok(Vec::new()));
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named() {
        for (text, reason) in [
            ("zk1\nzk2:port", "line 2: invalid port"),
            ("zk1/app", "line 1: a chroot"),
            ("zk1\n\n,", "line 3: no server"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(reason), "{error}");
        }
    }

    #[tokio::test]
    async fn a_file_that_is_not_there_is_named() {
        let error = ServerFile::new("/no/such/file").servers().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("/no/such/file"), "{error}");
    }
}
