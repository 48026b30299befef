//! Pipes that are named as files.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
    sync::mpsc::{self, RecvTimeoutError, SyncSender},
    thread,
    time::Duration,
};

use crate::bounded_read::too_large;

/// Bytes that are read at once.
const CHUNK: usize = 1 << 16;

/// How long a pipe is waited for.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// Until somebody opens it for writing.
    writer: Duration,
    /// Until there is more in it, or its end.
    bytes: Duration,
}

impl Patience {
    /// With a pipe, whose writer may have to compute.
    const PIPE: Self = Self {
        writer: Duration::from_secs(10),
        bytes: Duration::from_secs(600),
    };
    /// With a file of the system.
    const FILE: Self = Self {
        writer: Duration::from_secs(10),
        bytes: Duration::from_secs(10),
    };
}

/// Reads a pipe of at most `limit` bytes to its end.
///
/// # Errors
///
/// Those of the pipe, [`io::ErrorKind::FileTooLarge`] if it gives more, and
/// [`io::ErrorKind::TimedOut`] if it keeps its reader waiting.
pub(crate) fn read_pipe(limit: u64, path: &Path) -> io::Result<Vec<u8>> {
    read_patiently(limit, path, Patience::PIPE)
}

/// Reads a file of at most `limit` bytes that says it has none. It may be one of the system that gives
/// more, or that is waited for, such as Linux's `/proc/kmsg`.
///
/// # Errors
///
/// Those of [`read_pipe`].
pub(crate) fn read_silent_file(limit: u64, path: &Path) -> io::Result<Vec<u8>> {
    read_patiently(limit, path, Patience::FILE)
}

/// Another thread waits, because nothing ends a wait of the system. If it waits in vain it is
/// left behind.
fn read_patiently(limit: u64, path: &Path, patience: Patience) -> io::Result<Vec<u8>> {
    let (sender, chunks) = mpsc::sync_channel(1);
    let pipe = path.to_owned();
    thread::Builder::new().spawn(move || {
        if let Err(error) = send(&pipe, &sender) {
            // Nobody listens any more to what comes too late.
            let _ = sender.send(Err(error));
        }
    })?;

    let timed_out = |message: String| Err(io::Error::new(io::ErrorKind::TimedOut, message));
    match chunks.recv_timeout(patience.writer) {
        Ok(opened) => drop(opened?),
        Err(_) => {
            let seconds = patience.writer.as_secs();
            return timed_out(format!("nobody writes to it: waited {seconds} s"));
        }
    }
    let mut bytes = Vec::new();
    loop {
        match chunks.recv_timeout(patience.bytes) {
            Ok(chunk) => bytes.extend(chunk?),
            Err(RecvTimeoutError::Disconnected) => return Ok(bytes),
            Err(RecvTimeoutError::Timeout) => {
                let seconds = patience.bytes.as_secs();
                return timed_out(format!("it gave nothing for {seconds} s"));
            }
        }
        if bytes.len() as u64 > limit {
            return Err(too_large(limit));
        }
    }
}

/// Sends no bytes once the pipe is open, then all that comes from it, until its end or until nobody
/// listens any more.
fn send(path: &Path, sender: &SyncSender<io::Result<Vec<u8>>>) -> io::Result<()> {
    let mut pipe = File::open(path)?;
    let mut buffer = vec![0; CHUNK];
    let mut read = 0;
    while sender.send(Ok(buffer[..read].to_vec())).is_ok() {
        read = match pipe.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
    }
    Ok(())
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::{fs, fs::OpenOptions, io::Write, process::Command, time::Instant};

    use super::*;

    const IMPATIENT: Patience = Patience {
        writer: Duration::from_millis(200),
        bytes: Duration::from_millis(200),
    };

    fn pipe(folder: &tempfile::TempDir) -> std::path::PathBuf {
        let path = folder.path().join("pipe");
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        path
    }

    #[test]
    fn all_that_comes_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = pipe(&folder);
        let bytes: Vec<u8> = (0..300_000_u32).map(|number| number as u8).collect();
        for bytes in [&bytes[..], b"text", b""] {
            let (end, wanted) = (path.clone(), bytes.to_vec());
            let writer = thread::spawn(move || fs::write(end, wanted));
            assert_eq!(read_pipe(1 << 20, &path).unwrap(), bytes);
            writer.join().unwrap().unwrap();
        }
        let end = path.clone();
        let writer = thread::spawn(move || fs::write(end, vec![0; 3_000_000]));
        let error = read_pipe(200_000, &path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        // Its reader has gone.
        let error = writer.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_pipe_that_nobody_writes_to_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = pipe(&folder);
        let start = Instant::now();
        let error = read_patiently(100, &path, IMPATIENT).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(error.to_string().contains("nobody writes"), "{error}");
        assert!(start.elapsed() < Patience::PIPE.writer);
        // Lets the thread that waits for it go.
        drop(OpenOptions::new().write(true).open(&path).unwrap());
    }

    #[test]
    fn a_writer_that_says_no_more_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = pipe(&folder);
        let end = path.clone();
        let (done, wait) = mpsc::channel::<()>();
        let writer = thread::spawn(move || {
            let mut end = OpenOptions::new().write(true).open(end).unwrap();
            end.write_all(b"half").unwrap();
            wait.recv().unwrap_err();
        });
        let error = read_patiently(100, &path, IMPATIENT).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(error.to_string().contains("gave nothing"), "{error}");
        drop(done);
        writer.join().unwrap();
    }
}
