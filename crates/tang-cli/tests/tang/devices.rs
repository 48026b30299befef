//! `--device` and `tang devices` of a program that was built for the CPU alone; `tests/gpu` has the other.

use tang_model::device;

use crate::{
    model::model,
    work::{fails, prints, run, tang},
};

const FEATURE: &str = "cargo build --release --features wgpu";

#[test]
fn a_gpu_needs_a_feature_that_the_error_names() {
    let model = model();
    let words = ["continue", "春", "--checkpoint", &model, "--device", "wgpu"];
    if !device::HAS_WGPU {
        let stderr = fails(&words, 1, FEATURE);
        assert!(stderr.contains("--device flex"), "{stderr}");
    }
}

#[test]
fn auto_takes_the_cpu_and_says_why() {
    let model = model();
    let words = ["continue", "春", "--checkpoint", &model, "--seed", "1"];
    let mut auto = tang(words);
    let auto = run(auto.args(["--device", "auto"]));
    assert_eq!(auto.stdout, prints(&words), "{}", auto.stderr);
    if !device::HAS_WGPU {
        let (why, device) = auto.stderr.split_once('\n').unwrap();
        assert!(why.contains("built without the wgpu backend"), "{why}");
        assert_eq!(device, "device: CPU\n");
    }
}

#[test]
fn the_cpu_is_listed_first() {
    let ended = run(&mut tang(["devices"]));
    assert_eq!(ended.code, Some(0));
    let first = "flex  CPU, Burn's flex backend\n";
    assert!(ended.stdout.starts_with(first), "{}", ended.stdout);
    if !device::HAS_WGPU {
        assert_eq!(ended.stdout, first);
        for part in [FEATURE, "--device flex"] {
            assert!(ended.stderr.contains(part), "{}", ended.stderr);
        }
    }
}

#[test]
fn another_device_is_wrong_usage() {
    fails(&["continue", "春", "--device", "cuda"], 2, "flex, wgpu, auto");
}
