//! Commands and devices that this build lacks say which build has them.

use crate::work::{fails, prints, run, tang};

const BUILD: &str = "built without training and GPUs: build it with `cargo build --release`";

#[test]
fn a_missing_command_names_the_build_that_has_it() {
    for words in [
        &["train"][..],
        &["train", "--help"],
        &["train", "--steps", "-1", "春"],
        &["bench-train", "--peer", "python3 -V"],
        &["devices"],
    ] {
        fails(words, 2, BUILD);
    }
    let help = prints(&["--help"]);
    assert!(help.contains("\n  train "), "{help}");
}

#[test]
fn a_missing_device_names_the_build_that_has_it() {
    fails(&["write", "--device", "wgpu"], 2, BUILD);
    let words = ["write", "--seed", "1"];
    let poem = prints(&words);
    assert_eq!(prints(&["write", "--seed", "1", "--device", "flex"]), poem);
    let auto = run(tang(words).args(["--device", "auto"]));
    assert_eq!((auto.code, auto.stdout), (Some(0), poem));
    assert!(auto.stderr.contains(BUILD), "{}", auto.stderr);
    assert!(auto.stderr.ends_with("\ndevice: CPU\n"), "{}", auto.stderr);
}
