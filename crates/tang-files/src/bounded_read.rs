//! Reading of untrusted files, with limits on size and time.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
    time::Duration,
};

use crate::pipe::read_patiently;

/// The largest file that [`read_bounded`] reads: far above every file of this project.
const LIMIT: u64 = 1 << 30;
/// The longest stream that [`read_stream_bounded`] reads: a stream has text only.
const STREAM_LIMIT: u64 = 256 << 20;
/// Longest wait for a writer to open a pipe, and for the bytes of a system file.
const OPEN: Duration = Duration::from_secs(10);
/// Longest wait for more bytes of a pipe, whose writer may have to compute them.
const IDLE: Duration = Duration::from_secs(600);

/// Reads a whole file of at most 1 GiB.
///
/// # Errors
///
/// Those of [`read_at_most`].
pub fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    read_at_most(LIMIT, path)
}

/// Reads a whole file of at most `limit` bytes, or a pipe to its end. Nothing is read of a file
/// whose metadata give a larger size.
///
/// # Errors
///
/// Those of the file system; [`io::ErrorKind::InvalidInput`] for a folder or a device,
/// [`io::ErrorKind::FileTooLarge`] for a larger file or pipe, [`io::ErrorKind::OutOfMemory`] if the
/// memory does not suffice, and [`io::ErrorKind::TimedOut`] for a pipe that no writer opens within
/// 10 seconds or that gives nothing for 10 minutes, and for a system file that gives nothing for 10
/// seconds.
pub fn read_at_most(limit: u64, path: &Path) -> io::Result<Vec<u8>> {
    let metadata = fs::metadata(path)?;
    if is_pipe(metadata.file_type()) {
        return read_patiently(limit, path, OPEN, IDLE);
    }
    if !metadata.is_file() {
        let message = "it is neither a file nor a pipe";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let length = metadata.len();
    if length == 0 {
        // System files have the length 0; they may have bytes all the same, or block, such as
        // Linux's `/proc/kmsg`.
        return read_patiently(limit, path, OPEN, OPEN);
    }
    if length > limit {
        return Err(too_large(limit));
    }
    let mut bytes = Vec::new();
    // One byte more than the file has, so that the read that finds its end needs no larger buffer.
    bytes.try_reserve_exact(length as usize + 1)?;
    read_into(bytes, limit, File::open(path)?)
}

/// Reads a stream of at most 256 MiB to its end.
///
/// # Errors
///
/// Those of the stream, and [`io::ErrorKind::FileTooLarge`] if it gives more.
pub fn read_stream_bounded(stream: impl Read) -> io::Result<Vec<u8>> {
    read_stream_at_most(STREAM_LIMIT, stream)
}

/// Reads a stream of at most `limit` bytes to its end.
///
/// # Errors
///
/// Those of the stream, and [`io::ErrorKind::FileTooLarge`] if it gives more.
pub fn read_stream_at_most(limit: u64, stream: impl Read) -> io::Result<Vec<u8>> {
    read_into(Vec::new(), limit, stream)
}

fn read_into(mut bytes: Vec<u8>, limit: u64, stream: impl Read) -> io::Result<Vec<u8>> {
    stream.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(too_large(limit));
    }
    Ok(bytes)
}

/// The error for more bytes than `limit`.
pub(crate) fn too_large(limit: u64) -> io::Error {
    const MIB: u64 = 1 << 20;

    let limit = if limit < MIB { format!("{limit} bytes") } else { format!("{} MiB", limit / MIB) };
    let message = format!("it has more than {limit}, which no file of this kind has");
    io::Error::new(io::ErrorKind::FileTooLarge, message)
}

#[cfg(unix)]
fn is_pipe(kind: fs::FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&kind)
}

#[cfg(not(unix))]
fn is_pipe(_: fs::FileType) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_and_folders_and_devices_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "text").unwrap();
        assert_eq!(read_bounded(&path).unwrap(), b"text");
        fs::write(&path, "").unwrap();
        assert_eq!(read_bounded(&path).unwrap(), b"");
        let kind = |path: &Path| read_bounded(path).unwrap_err().kind();
        assert_eq!(kind(folder.path()), io::ErrorKind::InvalidInput);
        assert_eq!(kind(&folder.path().join("b")), io::ErrorKind::NotFound);
        #[cfg(unix)]
        for device in ["/dev/zero", "/dev/null", "/dev/tty"] {
            assert_eq!(kind(Path::new(device)), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn a_file_too_large_is_not_begun() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "texts").unwrap();
        assert_eq!(read_at_most(5, &path).unwrap(), b"texts");
        let error = read_at_most(4, &path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert!(error.to_string().contains("more than 4 bytes"), "{error}");

        // A sparse file: it takes no space on the disk, but would fill the memory.
        let file = File::create(&path).unwrap();
        file.set_len(1 << 42).unwrap();
        let error = read_bounded(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert!(error.to_string().contains("more than 1024 MiB"), "{error}");
    }

    /// Linux says that the files below `/proc` have no bytes.
    #[cfg(target_os = "linux")]
    #[test]
    fn files_that_say_nothing_of_their_length_are_read() {
        let path = Path::new("/proc/self/status");
        assert_eq!(fs::metadata(path).unwrap().len(), 0);
        assert!(read_at_most(1 << 20, path).unwrap().len() > 100);
        let error = read_at_most(100, path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_stream_without_end_is_given_up() {
        assert_eq!(read_stream_bounded(&b"text"[..]).unwrap(), b"text");
        assert_eq!(read_stream_at_most(4, &b"text"[..]).unwrap(), b"text");
        let error = read_stream_at_most(4, io::repeat(0)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }
}
