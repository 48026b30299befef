//! `cargo xtask ci`: every check that a change has to pass, the cheap ones first.

use std::{
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result};

use crate::{hf_check, process, shared_build, tidy};

/// Pinned, so that a release that asks for a newer Rust does not stop the gate.
const NEXTEST: &str = "0.9.143";

type Step = (&'static str, fn() -> Result<()>);

/// Clippy and rustdoc share one check of the dependencies, the tests compile them to machine code;
/// all in the release profile, so that no dependency is built twice for one purpose.
const STEPS: [Step; 10] = [
    ("format", format),
    ("tidy", tidy::run),
    ("shared build", shared_build::run),
    ("clippy", clippy),
    ("clippy with GPUs", gpu_clippy),
    ("documentation", documentation),
    ("tests", tests),
    ("examples", examples),
    ("cache laboratory", cache_laboratory),
    ("transformers", hf_check::run),
];

/// The same for the backend that computes on GPUs. An adapter in software will do.
const GPU_STEPS: [Step; 2] = [
    ("tests on a GPU", gpu_tests),
    ("cache laboratory on a GPU", gpu_cache_laboratory),
];

/// Runs all steps of the gate.
///
/// # Errors
///
/// That of the first step that fails.
pub fn run() -> Result<()> {
    run_steps(&STEPS)
}

/// Runs what needs a GPU.
///
/// # Errors
///
/// That of the first step that fails.
pub fn run_gpu() -> Result<()> {
    run_steps(&GPU_STEPS)
}

fn run_steps(steps: &[Step]) -> Result<()> {
    for (name, step) in steps {
        eprintln!("ci: {name}");
        let start = Instant::now();
        step().with_context(|| format!("ci: {name} failed"))?;
        eprintln!(
            "ci: {name} passed in {:.1} s",
            start.elapsed().as_secs_f64()
        );
    }
    Ok(())
}

fn format() -> Result<()> {
    process::run(process::cargo().args(["fmt", "--all", "--check"]))
}

fn clippy() -> Result<()> {
    let arguments = "clippy --workspace --all-targets --release -- -D warnings";
    process::run(process::cargo().args(arguments.split(' ')))
}

/// Checked and not compiled to machine code, which takes longer than all else here.
fn gpu_clippy() -> Result<()> {
    let arguments = "clippy --all-targets --release --features wgpu -- -D warnings";
    process::run(process::cargo().args(arguments.split(' ')))
}

fn documentation() -> Result<()> {
    let arguments = "doc --workspace --no-deps --release";
    process::run(
        process::cargo()
            .args(arguments.split(' '))
            .env("RUSTDOCFLAGS", "-D warnings"),
    )
}

fn tests() -> Result<()> {
    install_nextest()?;
    let arguments = "nextest run --workspace --release";
    process::run(process::cargo().args(arguments.split(' ')))
}

/// The examples of the libraries: those in their documentation, and the acrostic.
fn examples() -> Result<()> {
    for arguments in [
        "test --workspace --doc --release",
        "run --release --example acrostic -p tang-generate",
    ] {
        process::run(process::cargo().args(arguments.split(' ')))?;
    }
    Ok(())
}

/// What the page says is counted and timed on the committed models, in its quick form.
fn cache_laboratory() -> Result<()> {
    let arguments = [
        "bench-cache",
        "--quick",
        "--out",
        "target/bench-cache-quick",
    ];
    process::output(process::tang().args(arguments)).map(drop)
}

fn gpu_tests() -> Result<()> {
    install_nextest()?;
    let arguments = "nextest run --release --features wgpu --test gpu";
    process::run(quick_to_tune(process::cargo().args(arguments.split(' '))))
}

fn gpu_cache_laboratory() -> Result<()> {
    let arguments = "bench-cache --quick --out target/bench-cache-gpu --device wgpu \
                     --checkpoint checkpoints/tang-4l";
    let mut tang = process::tang_with(&["--features", "wgpu"]);
    tang.args(arguments.split(' '));
    process::output(quick_to_tune(&mut tang)).map(drop)
}

/// Burn tries several kernels for each shape and keeps the fastest; here it tries few, for in software
/// each takes long.
fn quick_to_tune(command: &mut Command) -> &mut Command {
    command.env("CUBECL_AUTOTUNE_LEVEL", "minimal")
}

/// Installs cargo-nextest where it is missing, without its self-update, which nothing here uses.
fn install_nextest() -> Result<()> {
    let found = process::cargo()
        .args(["nextest", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("cannot start cargo")?;
    if found.success() {
        return Ok(());
    }
    eprintln!("ci: cargo-nextest is missing; installing {NEXTEST}");
    let options = "--locked --no-default-features --features default-no-update";
    process::run(
        process::cargo()
            .args(["install", "cargo-nextest", "--version", NEXTEST])
            .args(options.split(' ')),
    )
}
