//! Reading of pipes and of other files that may block.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
    sync::mpsc::{self, RecvTimeoutError, SyncSender},
    thread,
    time::Duration,
};

use crate::bounded_read::too_large;

/// Bytes per read.
const CHUNK: usize = 1 << 16;

/// Reads a pipe of at most `limit` bytes to its end, or a file that may block like one. `open` is
/// the longest wait for a writer, `idle` the longest wait for more bytes or the end.
pub(crate) fn read_patiently(
    limit: u64,
    path: &Path,
    open: Duration,
    idle: Duration,
) -> io::Result<Vec<u8>> {
    let (sender, chunks) = mpsc::sync_channel(1);
    let pipe = path.to_owned();
    // Another thread reads, because a blocking read cannot be cancelled; after a time-out the
    // thread is abandoned.
    thread::Builder::new().spawn(move || {
        if let Err(error) = send(&pipe, &sender) {
            // After a time-out the receiver is gone.
            let _ = sender.send(Err(error));
        }
    })?;
    let mut bytes = Vec::new();
    let (mut wait, mut complaint) = (open, "nobody writes to it: waited");
    loop {
        match chunks.recv_timeout(wait) {
            Ok(chunk) => bytes.extend(chunk?),
            Err(RecvTimeoutError::Disconnected) => return Ok(bytes),
            Err(RecvTimeoutError::Timeout) => {
                let message = format!("{complaint} {} s", wait.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
        }
        if bytes.len() as u64 > limit {
            return Err(too_large(limit));
        }
        (wait, complaint) = (idle, "it gave nothing for");
    }
}

/// Sends an empty message once the pipe is open, then its bytes, until its end or until the
/// receiver is gone.
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

    const LONG: Duration = Duration::from_secs(10);
    const SHORT: Duration = Duration::from_millis(200);

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
            assert_eq!(read_patiently(1 << 20, &path, LONG, LONG).unwrap(), bytes);
            writer.join().unwrap().unwrap();
        }
        let end = path.clone();
        let writer = thread::spawn(move || fs::write(end, vec![0; 3_000_000]));
        let error = read_patiently(200_000, &path, LONG, LONG).unwrap_err();
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
        let error = read_patiently(100, &path, SHORT, SHORT).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(error.to_string().contains("nobody writes"), "{error}");
        assert!(start.elapsed() < LONG);
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
        let error = read_patiently(100, &path, SHORT, SHORT).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(error.to_string().contains("gave nothing"), "{error}");
        drop(done);
        writer.join().unwrap();
    }
}
