//! A byte stream that takes its time: each read and each write waits for up to [`LONGEST`], at random.
//!
//! `scripts/stress` puts it around the connections of the client in a copy of the repository, to which this file belongs
//! then, too: so it uses nothing but tokio.

use core::hash::{BuildHasher as _, Hasher as _};
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::hash::RandomState;
use std::io;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// The longest time for which a read or a write waits.
pub const LONGEST: Duration = Duration::from_millis(40);

/// More than a socket usually has for one read: a long answer is to be late, and not slow.
const PIECE: usize = 256 << 10;

/// A stream, with delays.
#[derive(Debug)]
pub struct Delayed<T> {
    inner: T,
    /// The bytes that have arrived, and those of them that were read.
    arrived: Vec<u8>,
    read: usize,
    /// Until then, what has arrived is not read.
    reading: Option<Pin<Box<Sleep>>>,
    /// Until then, nothing is written.
    writing: Option<Pin<Box<Sleep>>>,
}

impl<T> Delayed<T> {
    /// Puts delays around a stream.
    pub fn new(inner: T) -> Self {
        Self { inner, arrived: Vec::new(), read: 0, reading: None, writing: None }
    }
}

/// Begins a delay of random length.
fn delay() -> Pin<Box<Sleep>> {
    let random = RandomState::new().build_hasher().finish();
    let longest = u64::try_from(LONGEST.as_micros()).unwrap_or(u64::MAX);
    Box::pin(sleep(Duration::from_micros(random % longest)))
}

impl<T: AsyncRead + Unpin> AsyncRead for Delayed<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.read == this.arrived.len() {
            this.arrived.resize(PIECE, 0);
            let mut arriving = ReadBuf::new(&mut this.arrived);
            let polled = Pin::new(&mut this.inner).poll_read(cx, &mut arriving);
            let count = arriving.filled().len();
            this.arrived.truncate(count);
            this.read = 0;
            ready!(polled)?;
            if count == 0 {
                return Poll::Ready(Ok(()));
            }
            this.reading = Some(delay());
        }
        if let Some(reading) = &mut this.reading {
            ready!(reading.as_mut().poll(cx));
            this.reading = None;
        }
        let unread = this.arrived.get(this.read..).unwrap_or_default();
        let now = unread.get(..buffer.remaining()).unwrap_or(unread);
        buffer.put_slice(now);
        this.read += now.len();
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Delayed<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.writing.get_or_insert_with(delay).as_mut().poll(cx));
        let written = ready!(Pin::new(&mut this.inner).poll_write(cx, bytes));
        this.writing = None;
        Poll::Ready(written)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::Instant;

    use super::{Delayed, LONGEST, PIECE};

    #[tokio::test(start_paused = true)]
    async fn all_bytes_arrive_in_their_order_and_late() {
        let sent: Vec<u8> = (0..PIECE * 3).map(|at| at.to_le_bytes()[at % 3]).collect();
        let (near, mut far) = duplex(PIECE);
        let mut near = Delayed::new(near);
        let mut received = vec![0; sent.len()];
        let begun = Instant::now();
        let (written, read) = tokio::join!(far.write_all(&sent), near.read_exact(&mut received));
        written.expect("written");
        read.expect("read");
        assert_eq!(received, sent);
        let between = |from: Instant| (!from.elapsed().is_zero(), from.elapsed() < LONGEST * 20);
        assert_eq!(between(begun), (true, true), "{:?}", begun.elapsed());

        let begun = Instant::now();
        let (written, read) = tokio::join!(near.write_all(&sent), far.read_exact(&mut received));
        written.expect("written");
        read.expect("read");
        assert_eq!(received, sent);
        assert_eq!(between(begun), (true, true), "{:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_a_stream_is_its_end() {
        let (near, far) = duplex(16);
        drop(far);
        assert_eq!(Delayed::new(near).read(&mut [0]).await.expect("the end"), 0);
    }
}
