//! The poems on the pages are those that the committed model writes.

use std::fs;

use tang_prosody::check;

use crate::work::{run, tang};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The commands of the pages' console blocks, each with its output.
fn shown() -> Vec<(String, String)> {
    let page = |name| fs::read_to_string(format!("{ROOT}/{name}")).unwrap();
    let pages = page("README.md") + &page("docs/writing.md");
    let blocks = pages.split("```console\n").skip(1);
    blocks
        .map(|block| block.split_once("```").unwrap().0)
        .flat_map(|block| block.split("$ tang ").skip(1))
        .map(|one| {
            let (command, output) = one.split_once('\n').unwrap();
            (command.to_owned(), output.to_owned())
        })
        .collect()
}

#[test]
fn the_readme_shows_what_the_committed_model_writes() {
    let shown = shown();
    assert!(shown.len() >= 4, "{shown:?}");
    let checkpoint = format!("{ROOT}/checkpoints/tang-4l");
    for (command, output) in shown {
        let words = command.split_whitespace();
        let words: Vec<&str> = words.chain(["--checkpoint", &checkpoint]).collect();
        let ended = run(&mut tang(&words));
        assert_eq!(ended.stderr + &ended.stdout, output, "{command}");
        if words.contains(&"--regulated") {
            let verdict = check(&ended.stdout.replace('\n', "")).unwrap();
            assert!(verdict.passes_strictly(), "{output}");
        }
    }
}
