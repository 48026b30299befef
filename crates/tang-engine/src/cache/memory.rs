//! The memory that this process can still have.

use std::{fs, path::Path};

use tang_checkpoint::ModelConfig;

use crate::EngineError;

/// Where Linux shows control groups (version 2).
const GROUPS: &str = "/sys/fs/cgroup";

/// Bytes below which the memory is not checked, since that takes as long as a token.
const LITTLE: usize = 32 << 20;

/// Checks that the available memory suffices to grow `rows` rows from `capacity` to `tokens` tokens
/// each. A quarter of these bytes, two copies of the logits and 32 MiB for the computation are
/// added.
///
/// # Errors
///
/// [`EngineError::CacheTooLarge`] if there is not enough.
pub(crate) fn check_cache_memory(
    config: &ModelConfig,
    rows: usize,
    capacity: usize,
    tokens: usize,
) -> Result<(), EngineError> {
    let numbers = rows.saturating_mul(tokens.saturating_sub(capacity));
    let bytes = numbers.saturating_mul(config.cache_bytes_per_token());
    if bytes < LITTLE {
        return Ok(());
    }
    let logits = rows.saturating_mul(2 * size_of::<f32>() * config.vocab_size);
    let needed = [bytes / 4, logits, LITTLE];
    let needed = needed.into_iter().fold(bytes, usize::saturating_add);
    let too_large =
        |available| EngineError::CacheTooLarge { rows, tokens, bytes: bytes as u64, available };
    if let Some(available) = available()
        && available < needed as u64
    {
        return Err(too_large(Some(available)));
    }
    // The address space may have a limit of its own, so the bytes are reserved, and freed unused.
    let reserved = Vec::<u8>::new().try_reserve_exact(needed);
    reserved.map_err(|_| too_large(None))
}

/// Bytes that are available without swapping, within the limits of this process's control groups;
/// `None` where the system does not say.
fn available() -> Option<u64> {
    let all = fs::read_to_string("/proc/meminfo").ok()?;
    let all = field(&all, "MemAvailable:")? * 1024;
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"));
    let groups = own.map(|own| Path::new(GROUPS).join(own));
    let left = groups.iter().flat_map(|group| group.ancestors());
    let left = left.take_while(|group| group.starts_with(GROUPS)).filter_map(left_in);
    Some(left.fold(all, u64::min))
}

/// Bytes that a control group may still have; `None` if it has no limit.
fn left_in(group: &Path) -> Option<u64> {
    let read = |name| fs::read_to_string(group.join(name)).ok();
    let limit: u64 = read("memory.max")?.trim().parse().ok()?;
    let used: u64 = read("memory.current")?.trim().parse().ok()?;
    // Cached files that are not in use can be dropped.
    let files = field(&read("memory.stat")?, "inactive_file")?;
    Some(limit.saturating_sub(used.saturating_sub(files)))
}

/// The number after a name, in a text with one name and number per line.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_behind_their_names() {
        let text =
            "MemTotal:       24684084 kB\nMemAvailable:   24153556 kB\nfile 7\ninactive_file 5\n";
        assert_eq!(field(text, "MemAvailable:"), Some(24_153_556));
        assert_eq!(field(text, "inactive_file"), Some(5));
        assert_eq!(field(text, "MemFree:"), None);
        assert_eq!(field("MemFree: x", "MemFree:"), None);
    }

    #[test]
    fn a_group_leaves_its_limit_without_what_is_in_use() {
        let group = tempfile::tempdir().unwrap();
        let write = |name, text| fs::write(group.path().join(name), text).unwrap();
        assert_eq!(left_in(group.path()), None);
        write("memory.current", "700\n");
        write("memory.stat", "anon 300\ninactive_file 400\n");
        for (limit, left) in [("max\n", None), ("1000\n", Some(700)), ("100\n", Some(0))] {
            write("memory.max", limit);
            assert_eq!(left_in(group.path()), left, "{limit}");
        }
    }

    #[test]
    fn a_cache_beyond_the_memory_is_an_error_with_its_size() {
        let config = ModelConfig { context: 8192, ..ModelConfig::tang_4l(97) };
        check_cache_memory(&config, 1, 0, 8192).unwrap();
        check_cache_memory(&config, usize::MAX, 8192, 8192).unwrap();
        assert_eq!(available().is_some(), cfg!(target_os = "linux"));
        // 4,096 bytes per token; 2^49 bytes in all.
        let error = check_cache_memory(&config, 1 << 24, 0, 8192).unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("16777216 texts of 8192 characters take 562949953421312 bytes"),
            "{message}"
        );
        let huge = check_cache_memory(&config, usize::MAX, 0, usize::MAX);
        assert!(matches!(huge, Err(EngineError::CacheTooLarge { .. })));
    }
}
