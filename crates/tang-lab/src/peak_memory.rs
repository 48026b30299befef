//! The most memory that a process has had.

use std::fs;

use crate::Bytes;

/// The most memory that a running process has had resident, where the system says so: Linux, in
/// `/proc`.
pub fn peak_memory(process: u32) -> Option<Bytes> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(kibibytes * 1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_was_used_counts_when_it_is_given_back() {
        let large = 64 << 20;
        drop(std::hint::black_box(vec![1_u8; large]));
        let own = peak_memory(std::process::id());
        assert_eq!(own.is_some(), cfg!(target_os = "linux"));
        assert!(own.is_none_or(|own| own >= Bytes(large as u64)));
        assert_eq!(peak_memory(0), None, "no process has the number 0");
    }
}
