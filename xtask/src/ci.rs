//! `cargo xtask ci`: every check that a change has to pass, the cheap ones first.

use std::{process::Stdio, time::Instant};

use anyhow::{Context, Result};

use crate::{hf_check, process, shared_build, tidy};

/// Pinned, so that a release that asks for a newer Rust does not stop the gate.
const NEXTEST: &str = "0.9.143";

type Step = (&'static str, fn() -> Result<()>);

/// Clippy and rustdoc share one check of the dependencies, the tests compile them to machine code;
/// all in the release profile, so that no dependency is built twice for one purpose.
const STEPS: [Step; 8] = [
    ("format", format),
    ("tidy", tidy::run),
    ("shared build", shared_build::run),
    ("clippy", clippy),
    ("documentation", documentation),
    ("tests", tests),
    ("cache laboratory", cache_laboratory),
    ("transformers", hf_check::run),
];

/// Runs the steps in order and stops at the first that fails.
pub fn run() -> Result<()> {
    for (name, step) in STEPS {
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
