//! Words that belong to few places of the crates, or to none.

/// A piece of code, whether the file at a path may have it, and advice for the others.
type Rule = (&'static str, fn(&str) -> bool, &'static str);

/// The files that run programs: npm, from the user's path and in an empty folder; a peer and a Python that a
/// flag names; and this program itself.
const RUNS_PROGRAMS: [&str; 5] = [
    "crates/tang-corpus/src/source/npm.rs",
    "crates/tang-lab/src/train/peer.rs",
    "crates/tang-lab/src/decode/programs.rs",
    "crates/tang-lab/src/decode.rs",
    "crates/tang-cli/src/training/environment.rs",
];
const SPIN_WORKER: &str = "crates/tang-kernels/src/threads/spin_worker.rs";
const DEVICE: &str = "crates/tang-model/src/device.rs";
const FUSED: &str = "crates/tang-model/src/fused";

const RULES: [Rule; 6] = [
    (
        "Device::default",
        |_| false,
        "the default device depends on the features of the build; name the backend",
    ),
    (
        "Device::",
        |path| path == DEVICE,
        "only device.rs of tang-model makes devices; call it, or take one as an argument",
    ),
    (
        "backend::",
        |path| path == DEVICE || path.starts_with(FUSED),
        "only device.rs and fused of tang-model name backends; take a device",
    ),
    (
        "feature = \"wgpu\"",
        |path| path == DEVICE,
        "only device.rs of tang-model knows the compiled backends; ask it",
    ),
    (
        "unsafe_code",
        |path| path == SPIN_WORKER,
        "only lending work to the spinning worker is unsafe",
    ),
    (
        "Command::new",
        |path| {
            path.contains("/tests/") || path.ends_with("/tests.rs") || RUNS_PROGRAMS.contains(&path)
        },
        "few files run programs, none that a folder or its settings name: RUNS_PROGRAMS of xtask has them",
    ),
];

/// Joined from halves, so that this file passes its own check.
const NOTES: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];

/// Finds words at places that may not have them. Comments may have all but notes of work left undone; unit tests
/// may run programs.
pub fn check(path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let mut in_test = false;
    for (index, line) in text.lines().enumerate() {
        in_test |= line == "#[cfg(test)]";
        let place = format!("{path}:{}", index + 1);
        if let Some(note) = NOTES.iter().find(|note| line.contains(**note)) {
            findings.push(format!("{place}: `{note}`: do it now or delete the note"));
        }
        if line.trim_start().starts_with("//") || !path.starts_with("crates/") {
            continue;
        }
        for (words, allowed, advice) in RULES {
            let is_free = in_test && words == "Command::new";
            if line.contains(words) && !is_free && !allowed(path) {
                findings.push(format!("{place}: `{words}` has no place here: {advice}"));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: &str = "crates/tang-model/src/block.rs";
    const GELU: &str = "crates/tang-model/src/fused/gelu.rs";
    const FUSED_RS: &str = "crates/tang-model/src/fused.rs";

    #[test]
    fn words_are_found_outside_their_places() {
        for (line, places) in [
            ("    let a = Device::flex();", &[DEVICE][..]),
            ("    let a = burn::tensor::Device::default();", &[]),
            ("use burn::backend::Flex;", &[DEVICE, FUSED_RS, GELU]),
            ("#[cfg(feature = \"wgpu\")]", &[DEVICE]),
            ("    #[allow(unsafe_code)]", &["crates/tang-kernels/src/threads/spin_worker.rs"]),
            ("    Command::new(a)", &[RUNS_PROGRAMS[0], "crates/tang-cli/tests/tang/work.rs"]),
            ("use burn::tensor::{Device, Tensor};", &[BLOCK]),
            ("    // Like Device::default().", &[BLOCK]),
        ] {
            for path in [BLOCK, DEVICE, GELU, FUSED_RS, "crates/a/tests/a.rs", RUNS_PROGRAMS[0]] {
                let allowed = places.contains(&path)
                    || places.contains(&BLOCK)
                    || line.contains("Command") && path.contains("/tests/");
                assert_eq!(check(path, line).is_empty(), allowed, "{path} {line}");
            }
        }
    }

    #[test]
    fn unit_tests_may_run_programs() {
        let text =
            "//! Doc.\n#[cfg(test)]\nmod tests {\n    Command::new(a)\n    Device::default()\n";
        let findings = check(BLOCK, text);
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(
            findings[0].starts_with(&format!("{BLOCK}:5: `Device::default` has no place here: "))
        );
    }

    #[test]
    fn notes_are_found_in_comments_too() {
        for note in NOTES {
            let findings = check("xtask/src/a.rs", &format!("//! Doc.\n// {note}: later\n"));
            assert_eq!(
                findings,
                [format!("xtask/src/a.rs:2: `{note}`: do it now or delete the note")]
            );
        }
    }
}
