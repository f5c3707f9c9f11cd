//! Writing without waiting: a thread writes the lines, and lines without room are counted instead.

use core::time::Duration;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Instant;

/// How many lines may wait for a slow reader.
const ROOM: usize = 1024;

/// How long the end waits for lines to be written.
const PATIENCE: Duration = Duration::from_secs(1);

/// Takes whole lines.
pub(crate) struct Outlet {
    jobs: SyncSender<Job>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    /// Lines that wait to be written.
    waiting: AtomicU64,
    /// Lines that were left out, or failed, and were not reported.
    missed: AtomicU64,
}

enum Job {
    Line(Vec<u8>),
    /// Its sender is dropped when the lines before it are written.
    Mark(#[expect(dead_code, reason = "only its end counts")] SyncSender<()>),
}

impl Outlet {
    /// Writes each line in one write to `file`. After lines were left out, or failed, `missed`
    /// makes a line of their number and of the last error; that line is written before the next
    /// one.
    pub(crate) fn new(
        file: impl Write + Send + 'static,
        missed: impl Fn(u64, Option<&io::Error>) -> Option<Vec<u8>> + Send + 'static,
    ) -> io::Result<Self> {
        Self::with_room(ROOM, file, missed)
    }

    fn with_room(
        room: usize,
        file: impl Write + Send + 'static,
        missed: impl Fn(u64, Option<&io::Error>) -> Option<Vec<u8>> + Send + 'static,
    ) -> io::Result<Self> {
        let (jobs, queue) = sync_channel(room);
        let counts = Arc::new(Counts::default());
        let writer = Writer { file, missed, counts: Arc::clone(&counts), error: None };
        thread::Builder::new()
            .name("outlet".to_owned())
            .spawn(move || writer.write(&queue))
            .map(drop)?;
        Ok(Self { jobs, counts })
    }

    /// Hands over a line without waiting. If there is no room, it counts the line and leaves it
    /// out.
    pub(crate) fn line(&self, line: Vec<u8>) {
        self.counts.waiting.fetch_add(1, Ordering::Relaxed);
        if self.jobs.try_send(Job::Line(line)).is_err() {
            self.counts.waiting.fetch_sub(1, Ordering::Relaxed);
            self.counts.missed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all lines are written, a second at most. Returns how many are not.
    pub(crate) fn settle(&self) -> u64 {
        let deadline = Instant::now() + PATIENCE;
        let (mark, written) = sync_channel(0);
        let mut job = Job::Mark(mark);
        while let Err(TrySendError::Full(refused)) = self.jobs.try_send(job) {
            if Instant::now() >= deadline {
                return self.unwritten();
            }
            job = refused;
            thread::sleep(Duration::from_millis(5));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        // Nothing is sent: the mark is dropped.
        let _ = written.recv_timeout(left);
        self.unwritten()
    }

    fn unwritten(&self) -> u64 {
        let Counts { waiting, missed } = &*self.counts;
        waiting.load(Ordering::Relaxed).saturating_add(missed.load(Ordering::Relaxed))
    }
}

struct Writer<W, F> {
    file: W,
    missed: F,
    counts: Arc<Counts>,
    error: Option<io::Error>,
}

impl<W: Write, F: Fn(u64, Option<&io::Error>) -> Option<Vec<u8>>> Writer<W, F> {
    fn write(mut self, queue: &Receiver<Job>) {
        while let Ok(job) = queue.recv() {
            self.tell_of_missed();
            if let Job::Line(line) = job {
                if let Err(error) = self.put(&line) {
                    self.counts.missed.fetch_add(1, Ordering::Relaxed);
                    self.error = Some(error);
                }
                self.counts.waiting.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    fn tell_of_missed(&mut self) {
        let count = self.counts.missed.load(Ordering::Relaxed);
        if count == 0 {
            return;
        }
        let told = (self.missed)(count, self.error.as_ref()).map(|line| self.put(&line));
        if let Some(Err(error)) = told {
            self.error = Some(error);
        } else {
            self.counts.missed.fetch_sub(count, Ordering::Relaxed);
            self.error = None;
        }
    }

    /// Writes in one write, so that the lines of several processes do not mix.
    fn put(&mut self, line: &[u8]) -> io::Result<()> {
        self.file.write_all(line)?;
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    /// Takes a line when it is allowed to, and keeps it.
    struct Slow {
        let_through: Receiver<()>,
        taken: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // Once the test has dropped its end, every line is allowed.
            let _ = self.let_through.recv();
            self.taken.lock().expect("no panic").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn slow() -> (Slow, Sender<()>, Arc<Mutex<Vec<u8>>>) {
        let (sender, let_through) = channel();
        let taken = Arc::new(Mutex::new(Vec::new()));
        (Slow { let_through, taken: Arc::clone(&taken) }, sender, taken)
    }

    #[expect(clippy::unnecessary_wraps, reason = "the writer may have nothing to say")]
    fn in_words(count: u64, error: Option<&io::Error>) -> Option<Vec<u8>> {
        Some(format!("missed {count} {}\n", error.is_some()).into_bytes())
    }

    /// Waits until so many lines are left, on a busy machine for longer than the program would.
    fn settles(outlet: &Outlet, left: u64) {
        assert!((0..60).any(|_| outlet.settle() == left), "{} are left", outlet.unwritten());
    }

    #[test]
    fn lines_without_room_are_counted_and_their_number_is_told() {
        let (file, let_through, taken) = slow();
        let outlet = Outlet::with_room(2, file, in_words).expect("a thread");
        for number in 0..10 {
            outlet.line(format!("{number}\n").into_bytes());
        }
        drop(let_through);
        settles(&outlet, 0);
        outlet.line(b"last\n".to_vec());
        settles(&outlet, 0);
        let taken = String::from_utf8(taken.lock().expect("no panic").clone()).expect("UTF-8");
        let lines: Vec<&str> = taken.lines().collect();
        let missed: usize = lines
            .iter()
            .filter_map(|line| line.strip_prefix("missed ")?.strip_suffix(" false"))
            .map(|count| count.parse::<usize>().expect("a number"))
            .sum();
        let told = lines.iter().filter(|line| line.starts_with("missed")).count();
        assert!(missed >= 7, "{lines:?}");
        assert_eq!(lines.len() - told + missed, 11, "{lines:?}");
        let written: Vec<&&str> = lines.iter().filter(|line| !line.starts_with("missed")).collect();
        assert_eq!(written[..2], [&"0", &"1"], "{lines:?}");
        assert_eq!(written.last(), Some(&&"last"), "{lines:?}");
    }

    #[test]
    fn a_file_that_takes_nothing_holds_no_end_up() {
        let (file, let_through, _taken) = slow();
        let outlet = Outlet::new(file, in_words).expect("a thread");
        let start = Instant::now();
        for _ in 0..ROOM * 2 {
            outlet.line(b"line\n".to_vec());
        }
        // A wait for each would take far longer.
        assert!(start.elapsed() < PATIENCE * 20);
        assert_eq!(outlet.settle(), u64::try_from(ROOM * 2).expect("a small number"));
        assert!(start.elapsed() < PATIENCE * 40);
        drop(let_through);
    }

    /// Fails the first write, and reports that write on its channel.
    struct Failing(Arc<Mutex<Option<Vec<u8>>>>, Sender<()>);

    impl Write for Failing {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match &mut *self.0.lock().expect("no panic") {
                None => {
                    let _ = self.1.send(());
                    Err(io::Error::other("full"))
                }
                Some(taken) => {
                    taken.extend_from_slice(bytes);
                    Ok(bytes.len())
                }
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_that_failed_are_told_with_the_error() {
        let taken = Arc::new(Mutex::new(None));
        let (failed, has_failed) = channel();
        let outlet = Outlet::new(Failing(Arc::clone(&taken), failed), in_words).expect("a thread");
        outlet.line(b"a\n".to_vec());
        has_failed.recv_timeout(PATIENCE * 60).expect("it is tried");
        settles(&outlet, 1);
        *taken.lock().expect("no panic") = Some(Vec::new());
        outlet.line(b"b\n".to_vec());
        settles(&outlet, 0);
        let taken = taken.lock().expect("no panic").clone().expect("it is taken");
        assert_eq!(String::from_utf8_lossy(&taken), "missed 1 true\nb\n");
    }
}
