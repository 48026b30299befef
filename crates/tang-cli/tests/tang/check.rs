//! `tang check`.

use std::{fs, io::Write, process::Stdio};

use tempfile::TempDir;

use crate::{
    model::{argument, model},
    work::{Ended, SAMPLE, fails, prints, run, sample, tang},
};

const STRICT: &str = "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。";
const TRADITIONAL: &str = "白日依山盡，黃河入海流。欲窮千里目，更上一層樓。";
/// Its fourth and last rhyme are one character after they are simplified.
const TWO_RHYMES: &str = "華堂良宴開，星使自天來。舞轉朱絲逐，歌餘素扇回。\
                          水光凌曲檻，夜色靄高臺。不在賓階末，何由接上台。";
/// 士有不得志 has an oblique tone for a level one, and 吴 of the next line saves it.
const SAVED: &str = "士有不得志，栖栖吴楚间。广陵相遇罢，彭蠡泛舟还。";
/// 孤平 in the second line, else as the one above.
const LENIENT: &str = "白日依山尽，日河入海流。欲穷千里目，更上一层楼。";
/// Rhymes, but not in its tones.
const WRONG: &str = "床前看月光，疑是地上霜。举头望山月，低头思故乡。";

/// `tang check` of this on stdin.
fn check(stdin: impl AsRef<[u8]>, flags: &[&str]) -> Ended {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("stdin");
    fs::write(&path, stdin).unwrap();
    run(tang(["check"]).args(flags).stdin(fs::File::open(path).unwrap()))
}

#[test]
fn a_poem_that_passes_is_shown_with_its_tones() {
    let ended = check(STRICT, &[]);
    assert_eq!(ended.code, Some(0));
    assert_eq!(ended.stderr, "");
    assert_eq!(
        ended.stdout,
        "五绝  rhyme 尤 (yes)  tones 仄起首句不入韵 ACBD (yes)\n  \
           白日依山尽，  仄  仄  平  平  仄   A\n  \
           黄河入海流。  平  平  仄  仄  平   C\n  \
           欲穷千里目，  仄  平  平  仄  仄   B\n  \
           更上一层楼。  中  仄  仄  平  平   D\n\
         passes\n"
    );
}

#[test]
fn what_is_wrong_is_marked_and_named() {
    let ended = check(WRONG, &[]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stdout.contains("rhyme 陽 (yes)"), "{}", ended.stdout);
    let line = ended.stdout.lines().nth(2).unwrap();
    assert!(line.contains("疑是地上霜。"), "{line}");
    assert!(line.contains("[仄]") && line.ends_with("D 出律 失对"), "{line}");
    let last = ended.stdout.lines().last().unwrap();
    assert!(last.starts_with("broken: 出律 (a tone out of place), 失对"), "{last}");
}

#[test]
fn strict_forbids_a_lone_level_tone() {
    let lenient = check(LENIENT, &[]);
    let strict = check(LENIENT, &["--strict"]);
    assert_eq!((lenient.code, strict.code), (Some(0), Some(1)));
    assert_eq!(lenient.stdout, strict.stdout);
    let last = lenient.stdout.lines().last().unwrap();
    assert_eq!(last, "passes, but not --strict: 孤平 (a lone level tone)");
    assert_eq!(check(STRICT, &["--strict"]).code, Some(0));
}

/// No rhyme book has 妈 and 们, level today, 玥, oblique, and 㑮, whose simplified form 𫝈 is in no table at all.
#[test]
fn characters_that_verse_lacks_have_modern_tones_and_are_listed() {
    let poem = STRICT.replace("黄河", "媽河").replace('楼', "们");
    let ended = check(&poem, &["--strict"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stdout);
    assert!(ended.stdout.contains("媽河入海流。  平"), "{}", ended.stdout);
    assert!(
        ended.stdout.contains("\n媽们: in no rhyme book; tone of a modern pronunciation\npasses")
    );
    let json: serde_json::Value = serde_json::from_str(&check(&poem, &["--json"]).stdout).unwrap();
    let modern = |line: usize| json["verdict"]["lines"][line]["modern"].clone();
    assert_eq!([0, 1, 3].map(modern), [vec![], vec![1], vec![5]].map(serde_json::Value::from));

    let unknown = check(poem.replace('流', "㑮"), &[]).stdout;
    assert!(unknown.starts_with("五绝  rhyme ？ (yes)"), "{unknown}");
    let oblique = check(STRICT.replace('楼', "玥"), &[]);
    assert_eq!(oblique.code, Some(1));
    assert!(oblique.stdout.contains("[仄]  D 出律 出韵"), "{}", oblique.stdout);
}

#[test]
fn one_wrong_poem_of_many_decides() {
    let ended = check(format!("{STRICT}\n\n{WRONG}\n\n{STRICT}"), &["-"]);
    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.stdout.split("\n\n").count(), 3);
}

#[test]
fn what_was_typed_is_judged_and_shown() {
    let typed = TRADITIONAL.replace('，', "?\n").replace('。', ".\n");
    let ended = check(typed, &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stdout);
    assert_eq!(ended.stderr, "");
    let shown = [
        ("白日依山尽，", "白日依山盡？"),
        ("黄河入海流。", "黃河入海流。"),
        ("欲穷千里目，", "欲窮千里目？"),
        ("更上一层楼。", "更上一層樓。"),
    ];
    let wanted = check(STRICT, &[]).stdout;
    let wanted = shown.iter().fold(wanted, |text, (from, to)| text.replace(from, to));
    assert_eq!(ended.stdout, wanted);
}

#[test]
fn two_rhyme_characters_that_are_simplified_to_one_are_two() {
    let json = |text: &str| -> serde_json::Value {
        serde_json::from_str(&check(text, &["--json"]).stdout).unwrap()
    };
    assert_eq!(check(TWO_RHYMES, &["--strict"]).code, Some(0));
    let poem = json(TWO_RHYMES);
    assert_eq!((&poem["text"], &poem["unread"]), (&TWO_RHYMES.into(), &().into()));
    assert_eq!(poem["verdict"]["rhyme"], "灰");
    for twice in [TWO_RHYMES.replace("上台", "上臺"), TWO_RHYMES.replace("高臺", "高台")] {
        let poem = json(&twice);
        assert_eq!(poem["faults"], serde_json::json!(["重韵"]), "{twice}");
        assert_eq!((&poem["passes"], &poem["text"]), (&false.into(), &twice.into()));
    }
}

#[test]
fn a_tone_that_the_next_line_saves_is_named_and_not_strict() {
    let (lenient, strict) = (check(SAVED, &[]), check(SAVED, &["--strict"]));
    assert_eq!((lenient.code, strict.code), (Some(0), Some(1)));
    assert_eq!(lenient.stdout, strict.stdout);
    let lines: Vec<&str> = lenient.stdout.lines().collect();
    assert!(lines[1].ends_with("A 对句救"), "{}", lenient.stdout);
    assert_eq!(
        lines[5],
        "passes, but not --strict: 对句救 (a tone out of place, saved in the next line)"
    );
    // The table counts as `tang eval` does, and with what is saved in a column of its own.
    let table = check(SAVED, &["--summary"]).stdout;
    let last: Vec<&str> = table.lines().last().unwrap().split_whitespace().collect();
    assert_eq!(last[..6], ["all", "1", "100.0", "0.0", "0.0", "0.0"]);
    assert_eq!(last.last(), Some(&"100.0"), "{table}");
    assert_eq!(check(SAVED, &["--summary"]).code, Some(0));
}

#[test]
fn a_pasted_page_is_read() {
    let page = "《登鹳雀楼》\n[唐] 王之涣\n\n１　白日依山尽[1]，黄河入海流。\n\
                ２　欲穷千里目，更上一层楼（一作更上）。\n\n寻隐者不遇\n床前看月光\n疑是地上霜\n\
                举头望山月\n低头思故乡\n";
    let ended = check(page, &["--json"]);
    let poems: Vec<serde_json::Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let texts: Vec<&str> = poems.iter().filter_map(|poem| poem["text"].as_str()).collect();
    assert_eq!(texts, [STRICT, WRONG]);
    assert_eq!(
        ended.stderr,
        "left out: 3 titles or authors (《登鹳雀楼》, [唐]王之涣, 寻隐者不遇), 3 notes in brackets, 2 numbers\n"
    );
    assert_eq!(ended.code, Some(1));
    assert_eq!(check(STRICT.replace('，', "。"), &["--strict"]).code, Some(0));
    assert_eq!(check(STRICT.replace(['，', '。'], "\r"), &["--strict"]).code, Some(0));
}

#[test]
fn the_place_that_cannot_be_read_is_named() {
    let text = "登鹳雀楼\n白日依山尽，\n黄河a海流。\n欲穷千里目，\n更上一层楼。\n";
    let ended = check(text, &[]);
    assert_eq!(ended.code, Some(1));
    let wanted = "broken: no form; line 3, character 3: `a` (U+0061) is neither a Han character nor a mark: put \
                  the right one, or delete it; wanted are 4 or 8 lines";
    assert!(ended.stdout.contains(wanted), "{}", ended.stdout);
    let json: serde_json::Value = serde_json::from_str(&check(text, &["--json"]).stdout).unwrap();
    let unread = &json["unread"];
    assert_eq!((&unread["line"], &unread["character"]), (&3.into(), &3.into()));
    assert_eq!(unread["text"], "a");
    assert!(unread["reason"].as_str().unwrap().ends_with("or delete it"));
}

/// `head` closes the pipe before all is written.
#[test]
fn the_exit_code_is_the_verdict_though_nobody_reads_it() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("poems.txt");
    let code = |text: &str, flags: &[&str]| {
        fs::write(&path, text).unwrap();
        let mut child =
            tang(["check"]).arg(&path).args(flags).stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        child.wait().unwrap().code()
    };
    for flags in [[].as_slice(), &["--json"], &["--summary"]] {
        let many = format!("{STRICT}\n").repeat(3_000);
        assert_eq!(code(&many, flags), Some(0), "{flags:?}");
        assert_eq!(code(&format!("{many}{WRONG}\n"), flags), Some(1), "{flags:?}");
        assert_eq!(code(&format!("{many}{LENIENT}\n"), &[flags, &["--strict"]].concat()), Some(1));
        assert_eq!(code("", flags), Some(2), "{flags:?}");
    }
}

#[test]
fn a_text_without_a_form_is_wrong_and_shown_harmlessly() {
    let ended = check("白日\u{1b}[31m依山尽，黄河入海流。", &[]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stdout.contains("白日\\u{1b}[31m依山尽"));
    assert!(ended.stdout.contains("4 or 8 lines of 5 or 7"));
}

#[test]
fn json_has_an_object_a_poem() {
    let ended = check(format!("{STRICT}\n{LENIENT}\n{WRONG}\n春\n"), &["--json"]);
    assert_eq!(ended.code, Some(1));
    let poems: Vec<serde_json::Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(poems.len(), 4);
    let passes = |field: &str| -> Vec<_> { poems.iter().map(|poem| poem[field] == true).collect() };
    assert_eq!(passes("passes"), [true, true, false, false]);
    assert_eq!(passes("passes_strictly"), [true, false, false, false]);
    let verdict = &poems[0]["verdict"];
    assert_eq!(poems[0]["text"], STRICT);
    assert_eq!(verdict["form"], "五绝");
    assert_eq!(verdict["rhyme"], "尤");
    assert_eq!(verdict["sequence"], "ACBD");
    assert_eq!(verdict["lines"][3]["tones"][0], "中");
    assert_eq!(poems[1]["faults"], serde_json::json!(["孤平"]));
    assert_eq!(poems[2]["verdict"]["lines"][1]["wrong"], serde_json::json!([4]));
    assert!(poems[3]["verdict"].is_null());
}

#[test]
fn many_poems_are_a_table() {
    let ended = run(&mut tang(["check", SAMPLE]));
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("120 poems"), "{}", ended.stderr);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines.len(), 6, "{}", ended.stdout);
    for (line, wanted) in [(1, "五绝      36"), (5, "all      120    89.2    75.8    74.2    72.5")]
    {
        assert!(lines[line].starts_with(wanted), "{}", ended.stdout);
    }
    let asked = run(&mut tang(["check", SAMPLE, "--summary"]));
    assert_eq!((asked.stdout, asked.stderr), (ended.stdout, String::new()));
    let few = check(format!("{STRICT}\n春\n"), &["--summary"]).stdout;
    assert!(few.contains("\nnone       1     0.0"), "{few}");
    assert!(few.contains("\nall        2    50.0"), "{few}");
    let json = run(&mut tang(["check", SAMPLE, "--json"]));
    assert_eq!(json.stdout.lines().count(), sample().lines().count());
}

#[test]
fn what_tang_writes_can_be_piped() {
    let model = model();
    for flags in [
        ["write", "-n", "3", "--form", "五律"].as_slice(),
        &["write", "-n", "3", "--stream", "--traditional"],
        &["acrostic", "白日依山", "-n", "3", "--line", "5"],
    ] {
        let words = [flags, &["--seed", "1", "--checkpoint", &model]].concat();
        let written = prints(&words);
        let ended = check(&written, &["--json"]);
        // The model was trained for a moment: whatever the verdict, there are three poems of strict form.
        assert_eq!(ended.stdout.lines().count(), 3, "{written}");
        assert!(!ended.stdout.contains("\"verdict\":null"), "{written}");
    }
}

#[test]
fn a_pipe_is_read() {
    let mut child = tang(["check"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(STRICT.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().ends_with("passes\n"));
}

#[test]
fn what_cannot_be_read_is_told_with_another_code() {
    let folder = TempDir::new().unwrap();
    for (bytes, wanted) in [
        (b"\xff\xff".as_slice(), "not UTF-8"),
        (b"\xff\xfe", "UTF-16 text: convert it, for example `iconv -f UTF-16 -t UTF-8"),
        (b"PK\x03\x04", "a zip archive: unpack it"),
        (b"\x1f\x8b\x08", "compressed by gzip: unpack it"),
        (b"\xfd7zXZ\0", "compressed by xz: unpack it"),
        (b"[{\"paragraphs\": []}]", "JSON: take its poems out"),
        (b"", "is empty"),
        (" \n\u{3000}\n".as_bytes(), "is empty"),
    ] {
        let path = folder.path().join("poems.txt");
        fs::write(&path, bytes).unwrap();
        let message = fails(&["check", path.to_str().unwrap()], 2, wanted);
        assert!(message.contains("poems.txt"), "{message}");
        let ended = check(bytes, &[]);
        assert_eq!(ended.code, Some(2));
        assert!(ended.stderr.contains("stdin") && ended.stderr.contains(wanted));
    }
    fails(&["check", "missing.txt"], 2, "cannot read missing.txt");
    fails(&["check", argument(&folder)], 2, "neither a file nor a pipe");
    #[cfg(unix)]
    fails(&["check", "/dev/zero"], 2, "neither a file nor a pipe");
    fails(&["check", "--json", "--summary"], 2, "cannot be used with");
}
