//! Help, and words that are none.

use crate::work::{fails, prints, run, tang};

const COMMANDS: [&str; 15] = [
    "data",
    "train",
    "acrostic",
    "continue",
    "write",
    "check",
    "next",
    "logits",
    "eval",
    "report",
    "bench-cache",
    "bench-decode",
    "bench-train",
    "kv-cost",
    "devices",
];

#[test]
fn help_names_every_command_and_each_has_an_example() {
    let help = prints(&["--help"]);
    let (_, listed) = help.split_once("Commands:\n").unwrap();
    let listed = listed.lines().take_while(|line| !line.is_empty());
    assert_eq!(listed.count(), COMMANDS.len() + 1, "these and help: {help}");
    for command in COMMANDS {
        assert!(help.contains(&format!("\n  {command} ")), "{command}");
        let own = prints(&[command, "--help"]);
        let example = own.split("Example:\n").nth(1).unwrap();
        assert!(example.trim_start().starts_with(&format!("tang {command}")), "{own}");
    }
    assert!(prints(&["--version"]).starts_with("tang "));
}

#[test]
fn examples_are_well_formed() {
    for command in COMMANDS {
        let help = prints(&[command, "--help"]);
        let example = help.split("Example:\n").nth(1).unwrap();
        let words = example.split_whitespace().skip(1);
        // Usage is right, whatever file is missing.
        let code = match command {
            "check" => 2,
            "acrostic" | "continue" | "write" | "next" | "logits" | "kv-cost" | "devices" => 0,
            _ => 1,
        };
        let folder = tempfile::TempDir::new().unwrap();
        let ended = run(tang(words).current_dir(folder.path()));
        assert_eq!(ended.code, Some(code), "{example}: {}", ended.stderr);
        assert!(!ended.stderr.contains("--help"), "{}", ended.stderr);
    }
}

/// A flag that takes one of a few values names them all.
#[test]
fn help_names_what_a_flag_takes() {
    let forms = "五绝, 七绝, 五律 or 七律";
    for (command, flag, values) in [
        ("acrostic", "--form", forms),
        ("write", "--form", forms),
        ("eval", "--form", forms),
        ("acrostic", "--line", "5 or 7"),
        ("write", "--sequence", "auto, ACBD, DCBD, BDAC or CDAC"),
        ("train", "--preset", "quick (about 5 minutes), default (11), best (22), or song (45)"),
        ("train", "--model", "tang-4l (GPT-2) or minimind-4l (Llama)"),
        ("train", "--kv-heads", "4, 2 or 1"),
        ("bench-train", "--model", "tang-4l, which has the geometry of the peer, or minimind-4l"),
        ("kv-cost", "--dtype", "f32, f16, bf16 or int8"),
        ("write", "--device", "flex (the CPU), wgpu (a GPU) or auto"),
        ("logits", "--ids", "with commas between them"),
    ] {
        let help = prints(&[command, "--help"]);
        let line = help.lines().find(|line| line.trim_start().starts_with(flag));
        assert!(line.unwrap().contains(values), "{command} {flag}: {line:?}");
    }
}

#[test]
fn wrong_usage_is_refused() {
    fails(&["sing"], 2, "unrecognized subcommand 'sing'");
    fails(&["write", "--loud"], 2, "unexpected argument '--loud'");
    assert_eq!(run(&mut tang([""; 0])).code, Some(2));
}
