//! Words that are kept to some places of the code base, or out of it.

use super::{Finding, tokens::Token};

/// A row of tokens and the places that may hold it.
struct Rule {
    pattern: &'static [&'static str],
    allowed: fn(&Place) -> bool,
    advice: &'static str,
}

struct Place<'a> {
    path: &'a str,
    in_test: bool,
}

const UNDONE: &str = "write it now or delete it";
const PRINTED: &str = "only tang-cli, xtask and examples print; return the value or an error";

/// The files that run programs: npm by the user's path, in an empty folder; a peer and a Python that a flag
/// names; this program itself; and whatever a chore needs.
const RUNS_PROGRAMS: [&str; 6] = [
    "crates/tang-corpus/src/fetch.rs",
    "crates/tang-lab/src/train/peer.rs",
    "crates/tang-lab/src/decode/programs.rs",
    "crates/tang-lab/src/decode.rs",
    "crates/tang-cli/src/training_environment.rs",
    "xtask/src/process.rs",
];

const RULES: [Rule; 15] = [
    rule(&["todo", "!"], nowhere, UNDONE),
    rule(&["unimplemented", "!"], nowhere, UNDONE),
    rule(&["print", "!"], printing, PRINTED),
    rule(&["println", "!"], printing, PRINTED),
    rule(&["eprint", "!"], printing, PRINTED),
    rule(&["eprintln", "!"], printing, PRINTED),
    rule(&["dbg", "!"], |place| place.in_test, UNDONE),
    rule(
        &[".", "unwrap", "(", ")"],
        |place| place.in_test,
        "return an error, or `expect` with the reason why it cannot happen",
    ),
    rule(
        &["Device", ":", ":"],
        |place| place.path == "crates/tang-model/src/device.rs",
        "only crates/tang-model/src/device.rs makes devices; call it, or take one as an argument",
    ),
    rule(
        &["Device", ":", ":", "default"],
        nowhere,
        "the default device depends on what is compiled in; name the backend",
    ),
    rule(
        &[".", "autodiff", "(", ")"],
        |place| !place.path.starts_with("crates/tang-generate/src/"),
        "generation needs no gradients; only training asks for them",
    ),
    rule(
        &["backend", ":", ":"],
        |place| {
            let file = place.path.strip_prefix("crates/tang-model/src/");
            file.is_some_and(|file| {
                matches!(file, "device.rs" | "fused.rs") || file.starts_with("fused/")
            })
        },
        "only device.rs, fused.rs and fused/ of tang-model name backends; take a device",
    ),
    rule(
        &["feature", "=", "\"wgpu\""],
        |place| {
            let file = place.path.strip_prefix("crates/tang-model/src/");
            matches!(file, Some("device.rs" | "fused.rs"))
        },
        "device.rs and fused.rs of tang-model alone know which backends are compiled in; ask `device`",
    ),
    rule(
        &["unsafe_code"],
        |place| place.path == "crates/tang-kernels/src/threads/spin_worker.rs",
        "unsafe code is kept to lending work to the spinning worker, in crates/tang-kernels/src/threads/spin_worker.rs",
    ),
    rule(
        &["Command", ":", ":", "new"],
        |place| place.in_test || RUNS_PROGRAMS.contains(&place.path),
        "few files run programs, none that a folder or its settings name; see RUNS_PROGRAMS in xtask/src/tidy/words.rs",
    ),
];

const fn rule(
    pattern: &'static [&'static str],
    allowed: fn(&Place) -> bool,
    advice: &'static str,
) -> Rule {
    Rule {
        pattern,
        allowed,
        advice,
    }
}

fn nowhere(_place: &Place) -> bool {
    false
}

fn printing(place: &Place) -> bool {
    let folder_prints = ["crates/tang-cli/", "xtask/"]
        .iter()
        .any(|folder| place.path.starts_with(folder));
    place.in_test || place.path.contains("/examples/") || folder_prints
}

/// Finds words at places that may not hold them.
pub fn check(path: &str, tokens: Vec<Token>) -> Vec<Finding> {
    let is_test_file = path.contains("/tests/") || path.ends_with("/tests.rs");
    let mut findings = Vec::new();
    for start in 0..tokens.len() {
        let place = Place {
            path,
            in_test: is_test_file || tokens[start].in_test,
        };
        for rule in RULES
            .iter()
            .filter(|rule| matches(&tokens[start..], rule.pattern))
        {
            if !(rule.allowed)(&place) {
                let found = rule.pattern.concat();
                let message = format!("`{found}` has no place here; {}", rule.advice);
                findings.push(Finding::new(path, tokens[start].line, message));
            }
        }
    }
    findings
}

fn matches(tokens: &[Token], pattern: &[&str]) -> bool {
    tokens.len() >= pattern.len()
        && tokens
            .iter()
            .zip(pattern)
            .all(|(token, text)| token.text == *text)
}

#[cfg(test)]
mod tests {
    use super::{super::tokens::flatten, *};

    const MODEL: &str = "crates/tang-model/src/block.rs";
    const DEVICE: &str = "crates/tang-model/src/device.rs";

    fn found(path: &str, text: &str) -> bool {
        !check(path, flatten(&text.parse().unwrap())).is_empty()
    }

    #[test]
    fn undone_work_is_found_everywhere() {
        for path in [MODEL, "crates/tang-model/tests/a.rs", "xtask/src/a.rs"] {
            assert!(found(path, "fn f() { todo!() }"));
            assert!(found(path, "fn f() { unimplemented!(\"later\") }"));
            assert!(!found(path, "fn f() { unreachable!() }"));
        }
    }

    #[test]
    fn printing_is_kept_to_the_programs_and_to_tests() {
        for call in ["print", "println", "eprint", "eprintln"] {
            let text = format!("fn f() {{ {call}!(\"x\") }}");
            let in_test = format!("#[cfg(test)] mod tests {{ {text} }}");
            assert!(found(MODEL, &text));
            assert!(found(MODEL, &format!("{in_test} {text}")));
            assert!(!found(MODEL, &in_test));
            for path in [
                "crates/tang-cli/src/main.rs",
                "xtask/src/main.rs",
                "crates/tang-model/examples/a.rs",
                "crates/tang-model/tests/a.rs",
            ] {
                assert!(!found(path, &text), "{path}");
            }
        }
    }

    #[test]
    fn debugging_is_kept_to_tests() {
        for path in [MODEL, "crates/tang-cli/src/main.rs"] {
            assert!(found(path, "fn f() { dbg!(1) }"));
            assert!(!found(path, "#[cfg(test)] mod a { fn f() { dbg!(1) } }"));
        }
    }

    #[test]
    fn comments_and_strings_are_not_code() {
        assert!(!found(
            MODEL,
            "/// Like `println!`.\nfn f() -> &str { \"dbg!()\" } // todo!()"
        ));
    }

    #[test]
    fn unwrap_is_kept_to_tests() {
        assert!(found(MODEL, "fn f() { a.unwrap() }"));
        assert!(!found(MODEL, "fn f() { a.unwrap_or(1) }"));
        assert!(!found(
            MODEL,
            "#[cfg(test)] mod tests { fn f() { a.unwrap() } }"
        ));
    }

    #[test]
    fn devices_are_made_in_one_file() {
        for text in [
            "fn f() { Device::flex() }",
            "fn f() { burn::tensor::Device::cuda(0) }",
        ] {
            for path in [MODEL, "crates/a/tests/a.rs"] {
                assert!(found(path, text), "{text}");
            }
            assert!(!found(DEVICE, text), "{text}");
        }
        for text in [
            "fn f(a: &Device) { device::cpu() }",
            "use burn::tensor::{Device, Tensor};",
        ] {
            assert!(!found(MODEL, text), "{text}");
        }
    }

    #[test]
    fn the_default_device_is_found_everywhere() {
        for path in [DEVICE, MODEL, "crates/a/tests/a.rs"] {
            assert!(found(path, "fn f() { Device::default() }"), "{path}");
        }
        assert!(!found(DEVICE, "fn f() { Config::default() }"));
    }

    #[test]
    fn generation_has_no_gradients() {
        let text = "fn f() { device.autodiff() }";
        assert!(found("crates/tang-generate/src/a.rs", text));
        assert!(!found("crates/tang-train/src/a.rs", text));
    }

    #[test]
    fn backends_are_named_in_few_files() {
        for text in ["use burn::backend::Flex;", "use burn::{backend::Flex};"] {
            assert!(found(MODEL, text), "{text}");
            assert!(found("crates/tang-train/tests/a.rs", text), "{text}");
            for path in [DEVICE, "crates/tang-model/src/fused/gelu.rs"] {
                assert!(!found(path, text), "{path}");
            }
        }
    }

    #[test]
    fn what_is_compiled_in_is_asked_in_two_files() {
        let text = "#[cfg(feature = \"wgpu\")] mod a {}";
        assert!(found(MODEL, text));
        assert!(found("crates/tang-cli/tests/gpu/main.rs", text));
        for path in [DEVICE, "crates/tang-model/src/fused.rs"] {
            assert!(!found(path, text), "{path}");
        }
    }

    #[test]
    fn unsafe_code_is_in_one_file() {
        let text = "fn f() { #[allow(unsafe_code)] let a = b; }";
        assert!(found(MODEL, text));
        assert!(!found(
            "crates/tang-kernels/src/threads/spin_worker.rs",
            text
        ));
    }

    #[test]
    fn programs_are_run_in_few_files() {
        for text in [
            "fn f() { Command::new(a) }",
            "fn f() { process::Command::new(a) }",
        ] {
            assert!(found("crates/tang-cli/src/source_commit.rs", text));
            assert!(found(MODEL, text));
            assert!(!found("crates/tang-lab/src/train/peer.rs", text));
            assert!(!found("crates/tang-cli/tests/tang/work.rs", text));
        }
    }

    #[test]
    fn the_message_says_where_what_and_what_to_do() {
        let findings = check(MODEL, flatten(&"\nfn f() { todo!() }".parse().unwrap()));
        let wanted = format!("{MODEL}:2: `todo!` has no place here; {UNDONE}");
        assert_eq!(findings[0].to_string(), wanted);
    }
}
