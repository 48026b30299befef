//! The checks that a change has to pass, in three lists of steps without a repeated one.

use std::{
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, ensure};

use crate::{figures, process, shared_build, tidy, transformers};

type Step = (&'static str, fn() -> Result<()>);

/// The steps of `cargo xtask test`, which need nothing but crates.
pub const TEST: [Step; 3] = [
    ("tests", || {
        let targets = "--workspace --lib --bins --tests --release";
        process::run(test_runner().args(targets.split(' ')))
    }),
    ("examples in the documentation", || cargo("test --workspace --doc --release")),
    ("acrostic example", || cargo("run --release --example acrostic")),
];

/// The steps of `cargo xtask ci`, the cheap ones first. Clippy and rustdoc share one check of the
/// dependencies; all steps use the release profile, so that no dependency is built twice for one purpose.
pub const GATE: [Step; 10] = [
    ("format", || cargo("fmt --all --check")),
    ("tidy", tidy::run),
    ("figures of the README", figures::check),
    ("shared build", shared_build::check),
    ("clippy", || cargo("clippy --workspace --all-targets --release -- -D warnings")),
    // Checked and not compiled to machine code, which takes longer than all other steps together.
    ("clippy with GPUs", || cargo("clippy --all-targets --release --features wgpu -- -D warnings")),
    ("without Burn", without_burn),
    ("documentation", documentation),
    ("cache laboratory", cache_laboratory),
    ("transformers", transformers::check),
];

/// The steps of `cargo xtask ci-gpu`. A GPU in software is enough.
pub const GPU: [Step; 2] = [
    ("tests on a GPU", || {
        let mut tests = test_runner();
        tests.args("--release --features wgpu --test gpu".split(' '));
        process::run(quick_to_tune(&mut tests))
    }),
    ("cache laboratory on a GPU", gpu_cache_laboratory),
];

/// Runs the steps in their order.
///
/// # Errors
///
/// That of the first step that fails.
pub fn run(steps: &[Step]) -> Result<()> {
    for (name, step) in steps {
        eprintln!("ci: {name}");
        let start = Instant::now();
        step().with_context(|| format!("ci: {name} failed"))?;
        let seconds = start.elapsed().as_secs_f64();
        eprintln!("ci: {name} passed in {seconds:.1} s");
    }
    Ok(())
}

fn cargo(arguments: &str) -> Result<()> {
    process::run(process::cargo().args(arguments.split(' ')))
}

/// `cargo nextest run` where it is installed, else `cargo test`.
fn test_runner() -> Command {
    let mut version = process::cargo();
    version.args(["nextest", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    let words: &[&str] = if version.status().is_ok_and(|status| status.success()) {
        &["nextest", "run"]
    } else {
        &["test"]
    };
    let mut runner = process::cargo();
    runner.args(words);
    runner
}

/// `tang` without its feature `train`: no crate of Burn is below it, and it compiles. Only the crates of the
/// workspace are checked once more, and those from elsewhere that have fewer features in it.
fn without_burn() -> Result<()> {
    let tree = "tree -p tang-cli --no-default-features -e normal --prefix none";
    let tree = process::output(process::cargo().args(tree.split(' ')))?;
    let burn = tree.lines().find(|line| line.starts_with("burn"));
    ensure!(
        burn.is_none(),
        "`tang` without default features needs {burn:?}; `cargo tree -p tang-cli \
         --no-default-features -i burn` says through which crate"
    );
    cargo("clippy -p tang-cli --no-default-features --all-targets --release -- -D warnings")
}

fn documentation() -> Result<()> {
    let arguments = "doc --workspace --no-deps --release";
    process::run(process::cargo().args(arguments.split(' ')).env("RUSTDOCFLAGS", "-D warnings"))
}

/// The quick form of the measurement: the statements of the page are counted and timed on the committed models.
fn cache_laboratory() -> Result<()> {
    let arguments = "bench-cache --quick --out target/bench-cache-quick";
    process::output(process::tang(&[]).args(arguments.split(' '))).map(drop)
}

fn gpu_cache_laboratory() -> Result<()> {
    let arguments = "bench-cache --quick --out target/bench-cache-gpu --device wgpu \
                     --checkpoint checkpoints/tang-4l";
    let mut tang = process::tang(&["--features", "wgpu"]);
    tang.args(arguments.split(' '));
    process::output(quick_to_tune(&mut tang)).map(drop)
}

/// Burn tries several kernels per shape and keeps the fastest; here it tries few, for each takes long in
/// software.
fn quick_to_tune(command: &mut Command) -> &mut Command {
    command.env("CUBECL_AUTOTUNE_LEVEL", "minimal")
}
