//! The pipe by which COMMAND says that it has taken over, in lines.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;

/// The longest line. The rest of a longer one is left out.
const LONGEST: usize = 1024;

/// The reading end of the pipe.
pub(super) struct Ready {
    pipe: Option<Receiver>,
    /// Bytes that came and were not returned yet: whole lines, and the beginning of the next one.
    unread: Vec<u8>,
}

impl Ready {
    /// Makes one without a pipe, from which no line comes.
    pub(super) const fn none() -> Self {
        Self { pipe: None, unread: Vec::new() }
    }

    /// Makes a pipe, and returns the end for COMMAND.
    pub(super) fn pipe() -> io::Result<(Self, OwnedFd)> {
        let (reader, writer) = io::pipe()?;
        let pipe = Some(Receiver::from_owned_fd(reader.into())?);
        Ok((Self { pipe, unread: Vec::new() }, writer.into()))
    }

    /// Waits for the next line; for ever, once COMMAND has closed its end.
    ///
    /// Cancel safe.
    pub(super) async fn line(&mut self) -> String {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                let line = line.get(..end.min(LONGEST)).unwrap_or_default();
                return String::from_utf8_lossy(line).trim_end_matches('\r').to_owned();
            }
            // Of a line without an end, the part beyond the bound is not kept.
            self.unread.truncate(LONGEST);
            self.read().await;
        }
    }

    async fn read(&mut self) {
        let Some(pipe) = &mut self.pipe else {
            return core::future::pending().await;
        };
        let mut bytes = [0; LONGEST];
        match pipe.read(&mut bytes).await {
            Ok(0) | Err(_) => self.pipe = None,
            Ok(count) => self.unread.extend_from_slice(bytes.get(..count).unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;

    use super::*;
    use crate::future::now;

    #[tokio::test]
    async fn lines_come_one_by_one_and_are_bounded() {
        let (mut ready, writer) = Ready::pipe().expect("a pipe");
        let mut writer = File::from(writer);
        writer.write_all(b"one\r\ntwo\nthr").expect("there is room");
        assert_eq!(ready.line().await, "one");
        assert_eq!(ready.line().await, "two");
        assert_eq!(now(ready.line()), None);
        writer.write_all(b"ee\n\n").expect("there is room");
        assert_eq!(ready.line().await, "three");
        assert_eq!(ready.line().await, "");
        writer.write_all(&[b'x'; 3 * LONGEST]).expect("there is room");
        writer.write_all(b"\nlast\n").expect("there is room");
        assert_eq!(ready.line().await, "x".repeat(LONGEST));
        assert_eq!(ready.line().await, "last");
        drop(writer);
        assert_eq!(now(ready.line()), None);
        assert_eq!(now(Ready::none().line()), None);
    }
}
