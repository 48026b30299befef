//! Compressed data that may inflate to any size.

use std::{
    cell::Cell,
    io::{self, Read},
};

/// The most that an archive is inflated to: three times the published package.
const MAX_INFLATED: u64 = 1 << 30;

/// What is known of a stream from outside the readers around it, and how far it may be read.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    packed: Cell<u64>,
    inflated: Cell<u64>,
    allowed: Cell<u64>,
    ended: Cell<bool>,
}

impl Meter {
    /// A reader of compressed bytes that are counted.
    pub(crate) fn packed<'a>(&'a self, rest: &'a [u8]) -> Packed<'a> {
        Packed { rest, meter: self }
    }

    /// A reader of inflated bytes, of which no more are read than is allowed.
    pub(crate) fn inflated<R: Read>(&self, stream: R) -> Inflated<'_, R> {
        Inflated {
            stream,
            meter: self,
        }
    }

    /// Compressed bytes that were read.
    pub(crate) fn packed_bytes(&self) -> u64 {
        self.packed.get()
    }

    /// Whether the end of the inflated bytes was met.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.get()
    }

    /// Lets this many inflated bytes be read from here on, and no more.
    pub(crate) fn allow(&self, bytes: u64) {
        self.allowed.set(bytes);
    }
}

/// Compressed bytes.
pub(crate) struct Packed<'a> {
    rest: &'a [u8],
    meter: &'a Meter,
}

impl Read for Packed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.rest.read(buffer)?;
        self.meter.packed.set(self.meter.packed.get() + read as u64);
        Ok(read)
    }
}

/// Inflated bytes.
pub(crate) struct Inflated<'a, R> {
    stream: R,
    meter: &'a Meter,
}

impl<R: Read> Read for Inflated<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Meter {
            inflated,
            allowed,
            ended,
            ..
        } = self.meter;
        let too_large = |message: &str| Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        if inflated.get() >= MAX_INFLATED {
            return too_large("unpacked it has more than 1024 MiB, which no archive of poems has");
        }
        if allowed.get() == 0 && !buffer.is_empty() {
            return too_large("a header in it has more than 1 MiB, which no archive of poems has");
        }
        let length = (buffer.len() as u64).min(allowed.get()) as usize;
        let read = self.stream.read(&mut buffer[..length])?;
        inflated.set(inflated.get() + read as u64);
        allowed.set(allowed.get() - read as u64);
        ended.set(ended.get() || (read == 0 && !buffer.is_empty()));
        Ok(read)
    }
}
