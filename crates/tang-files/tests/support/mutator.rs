//! Damage to files, drawn from a seed: to single bytes, and to what the bytes mean, so that much of it
//! passes the outermost check of a reader.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};

/// Replacements of a number in a text.
const NUMBERS: [&str; 24] = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "0.5",
    "1e-300",
    "1e308",
    "1e999",
    "-1e308",
    "255",
    "256",
    "65536",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "99999999999999999999",
    "null",
    "true",
    "\"x\"",
    "[]",
    "{}",
    "",
];
/// Replacements of a byte.
const BYTES: [u8; 10] = [0, 1, 0x7f, 0x80, 0xff, b'{', b'"', b'\n', b'0', b','];
/// Replacements of a 32-bit float.
const FLOATS: [f32; 8] =
    [f32::NAN, f32::INFINITY, f32::MAX, f32::MIN, f32::MIN_POSITIVE, 0.0, -1.0, 1e20];

/// Damages files.
pub struct Mutator {
    rng: ChaCha8Rng,
}

impl Mutator {
    /// The same seed gives the same damage.
    pub fn new(seed: u64) -> Self {
        Self { rng: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.rng.random_range(0..end)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Other bytes: one to three times a bit, a byte, or a piece is changed, left out, put in, or doubled.
    pub fn bytes(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.below(3) {
            if bytes.is_empty() {
                bytes.push(b'?');
            }
            let place = self.below(bytes.len());
            let piece = place..(place + 1 + self.below(16)).min(bytes.len());
            match self.below(7) {
                0 => bytes[place] ^= 1 << self.below(8),
                1 => bytes[place] = self.pick(&BYTES),
                2 => bytes.insert(place, self.pick(&BYTES)),
                3 => drop(bytes.drain(piece)),
                4 => {
                    let piece = bytes[piece].to_vec();
                    bytes.splice(place..place, piece);
                }
                5 => {
                    let other = self.below(bytes.len());
                    bytes.swap(place, other);
                }
                _ => bytes.truncate(place),
            }
        }
        bytes
    }

    /// Another text: three times in four it has another number somewhere, or a line or a word of it is
    /// left out, doubled or moved; else other bytes.
    pub fn text(&mut self, text: &[u8]) -> Vec<u8> {
        let is_digit = |byte: &u8| byte.is_ascii_digit();
        let starts: Vec<usize> = (0..text.len())
            .filter(|i| is_digit(&text[*i]) && (*i == 0 || !is_digit(&text[i - 1])))
            .collect();
        match self.below(4) {
            0 => self.bytes(text),
            1 | 2 if !starts.is_empty() => {
                let start = self.pick(&starts);
                let is_number = |byte: &u8| is_digit(byte) || b".eE+-".contains(byte);
                let length = text[start..].iter().take_while(|b| is_number(b)).count();
                let number = match self.below(3) {
                    0 => self.below(300).to_string(),
                    _ => self.pick(&NUMBERS).to_owned(),
                };
                [&text[..start], number.as_bytes(), &text[start + length..]].concat()
            }
            _ => {
                let separator = self.pick(b"\n,\" ");
                let mut pieces: Vec<&[u8]> = text.split(|byte| *byte == separator).collect();
                let (place, other) = (self.below(pieces.len()), self.below(pieces.len()));
                match self.below(3) {
                    0 => drop(pieces.remove(place)),
                    1 => pieces.insert(other, pieces[place]),
                    _ => pieces.swap(place, other),
                }
                pieces.join(&separator)
            }
        }
    }

    /// Other 32-bit floats, little-endian: some of them are NaN, infinite, huge or negative.
    pub fn floats(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        let (floats, _) = bytes.as_chunks_mut::<4>();
        for _ in 0..=self.below(3) {
            let place = self.below(floats.len());
            floats[place] = self.pick(&FLOATS).to_le_bytes();
        }
        bytes
    }

    /// Another safetensors file: its header, whose length is set right, its numbers, or its bytes differ.
    pub fn tensors(&mut self, file: &[u8]) -> Vec<u8> {
        let (length, rest) = file.split_first_chunk::<8>().expect("a header");
        let (header, data) = rest.split_at(u64::from_le_bytes(*length) as usize);
        let (header, data) = match self.below(4) {
            0 => return self.bytes(file),
            1 => (header.to_vec(), self.floats(data)),
            _ => (self.text(header), data.to_vec()),
        };
        let length = (header.len() as u64).to_le_bytes();
        [&length[..], &header, &data].concat()
    }
}

/// Hands `times` damaged inputs to a reader. It must not panic, its errors must say something, and both
/// results must occur, or the damage was of one kind only.
pub fn attack<I>(
    what: &str,
    times: usize,
    mut damage: impl FnMut(&mut Mutator) -> I,
    mut read: impl FnMut(&I) -> Result<(), String>,
) {
    let mut read_well = 0;
    for seed in 0..times {
        let input = damage(&mut Mutator::new(seed as u64));
        let result = catch_unwind(AssertUnwindSafe(|| read(&input)));
        match result {
            Ok(Ok(())) => read_well += 1,
            Ok(Err(message)) => assert!(!message.trim().is_empty(), "{what}, seed {seed}"),
            Err(_) => panic!("{what}: the reader panics at what seed {seed} gives"),
        }
    }
    println!("{what}: {read_well} of {times} are read, the others refused");
    assert!(read_well > 0 && read_well < times, "{what}: {read_well} of {times}");
}

/// The most memory that this process had, in MiB, where the system says so.
pub fn peak_mebibytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: usize = peak.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib / 1024)
}
