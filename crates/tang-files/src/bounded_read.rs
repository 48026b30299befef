//! Reading files that may be anything.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

/// The largest file that is read: far above every file of this project.
const LIMIT: u64 = 1 << 30;

/// Reads a whole file of at most 1 GiB.
///
/// # Errors
///
/// Whatever the file system answers; [`io::ErrorKind::InvalidInput`] for a device, and
/// [`io::ErrorKind::FileTooLarge`] for a larger file, or a pipe that gives more.
pub fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let kind = fs::metadata(path)?.file_type();
    if !kind.is_file() && !is_pipe(kind) {
        let message = "it is neither a file nor a pipe";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    read_stream_bounded(File::open(path)?)
}

/// Reads at most 1 GiB to the end.
///
/// # Errors
///
/// Those of the stream, and [`io::ErrorKind::FileTooLarge`] if it gives more.
pub fn read_stream_bounded(stream: impl Read) -> io::Result<Vec<u8>> {
    read_up_to(LIMIT, stream)
}

fn read_up_to(limit: u64, stream: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let message = "it has more than 1 GiB, which no file of this kind has";
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
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
        let kind = |path: &Path| read_bounded(path).unwrap_err().kind();
        assert_eq!(kind(folder.path()), io::ErrorKind::InvalidInput);
        assert_eq!(kind(&folder.path().join("b")), io::ErrorKind::NotFound);
        #[cfg(unix)]
        assert_eq!(kind(Path::new("/dev/zero")), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_stream_without_end_is_given_up() {
        assert_eq!(read_stream_bounded(&b"text"[..]).unwrap(), b"text");
        assert_eq!(read_up_to(4, &b"text"[..]).unwrap(), b"text");
        let error = read_up_to(4, io::repeat(0)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }
}
