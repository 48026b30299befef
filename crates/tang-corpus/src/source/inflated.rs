//! Compressed data, with a limit on the size that they inflate to.

use std::{
    cell::Cell,
    io::{self, Read},
};

/// The most that an archive is inflated to: three times the published package.
const MAX_INFLATED: u64 = 1 << 30;

/// Counts of a stream, shared with the code outside of the readers around it.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// Compressed bytes that were read.
    pub packed: Cell<u64>,
    /// Inflated bytes that may be read from here on.
    pub allowed: Cell<u64>,
    /// Whether the end of the inflated bytes was reached.
    pub has_ended: Cell<bool>,
    inflated: Cell<u64>,
}

/// Compressed bytes.
pub(crate) struct Packed<'a> {
    pub rest: &'a [u8],
    pub meter: &'a Meter,
}

impl Read for Packed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.rest.read(buffer)?;
        self.meter.packed.update(|packed| packed + read as u64);
        Ok(read)
    }
}

/// Inflated bytes.
pub(crate) struct Inflated<'a, R> {
    pub stream: R,
    pub meter: &'a Meter,
}

impl<R: Read> Read for Inflated<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let meter = self.meter;
        let too_large = |message: &str| Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        if meter.inflated.get() >= MAX_INFLATED {
            return too_large("unpacked it has more than 1024 MiB, which no archive of poems has");
        }
        if meter.allowed.get() == 0 && !buffer.is_empty() {
            return too_large("a header in it has more than 1 MiB, which no archive of poems has");
        }
        let length = (buffer.len() as u64).min(meter.allowed.get()) as usize;
        let read = self.stream.read(&mut buffer[..length])?;
        meter.inflated.update(|inflated| inflated + read as u64);
        meter.allowed.update(|allowed| allowed - read as u64);
        meter.has_ended.update(|ended| ended || (read == 0 && !buffer.is_empty()));
        Ok(read)
    }
}
