//! `tang acrostic`.

use tang_prosody::is_han;

use crate::{
    model::model,
    work::{fails, prints, run, sample, tang},
};

/// The first `count` Han characters of the sample.
fn heads(count: usize) -> String {
    sample().chars().filter(|c| is_han(*c)).take(count).collect()
}

/// Asserts that each line begins with its head and has `length` characters and the right mark.
fn assert_acrostic(poem: &str, heads: &str, length: usize) {
    let lines: Vec<&str> = poem.lines().collect();
    let count = heads.chars().count();
    assert_eq!(lines.len(), count, "{poem}");
    for (index, (line, head)) in lines.iter().zip(heads.chars()).enumerate() {
        let chars: Vec<char> = line.chars().collect();
        assert_eq!(chars[0], head, "{poem}");
        assert_eq!(chars.len(), length + 1, "{poem}");
        assert!(chars[..length].iter().all(|c| is_han(*c)), "{poem}");
        let closes = index % 2 == 1 || index + 1 == count;
        assert_eq!(chars[length], if closes { '。' } else { '，' }, "{poem}");
    }
}

#[test]
fn each_line_begins_with_its_head() {
    let model = model();
    for count in [1, 4, 8, 16] {
        let heads = heads(count);
        for (length, flags) in [(7, [].as_slice()), (5, &["--line", "5"]), (7, &["--line", "7"])] {
            let words = ["acrostic", &heads, "--checkpoint", &model, "--seed", "3"];
            let ended = run(tang(words).args(flags));
            assert_eq!(ended.code, Some(0), "{}", ended.stderr);
            assert_eq!(ended.stderr, "", "a poem of {count} heads is whole");
            assert_acrostic(&ended.stdout, &heads, length);
        }
    }
}

#[test]
fn a_form_fixes_the_length_of_the_lines() {
    let model = model();
    for (form, count, length) in [("五绝", 4, 5), ("七绝", 4, 7), ("五律", 8, 5), ("七律", 8, 7)]
    {
        let heads = heads(count);
        let words = ["acrostic", &heads, "--form", form, "--checkpoint", &model];
        assert_acrostic(&prints(&words), &heads, length);
    }
}

#[test]
fn every_poem_of_many_keeps_its_heads() {
    let heads = heads(4);
    let poems = prints(&["acrostic", &heads, "-n", "5", "--checkpoint", &model()]);
    let poems: Vec<&str> = poems.split("\n\n").collect();
    assert_eq!(poems.len(), 5);
    for poem in poems {
        assert_acrostic(poem, &heads, 7);
    }
}

/// The characters with which the lines begin.
fn heads_of(poem: &str) -> String {
    poem.lines().filter_map(|line| line.chars().next()).collect()
}

#[test]
fn traditional_heads_and_a_traditional_form_are_understood() {
    let model = model();
    let flags = ["--seed", "1", "--checkpoint", &model, "--form"];
    let poem = |heads, form| prints(&[["acrostic", heads].as_slice(), &flags, &[form]].concat());
    let typed = poem("處處聞啼", "五絕");
    assert_eq!(heads_of(&typed), "處處聞啼");
    let simplified = typed.replace('處', "处").replace('聞', "闻");
    assert_eq!(simplified, poem("处处闻啼", "五绝"));
}

#[test]
fn what_does_not_fit_is_refused() {
    let model = model();
    let (four, seventeen) = (heads(4), heads(17));
    for (words, code, wanted) in [
        (
            vec![four.as_str(), "--form", "七律"],
            1,
            "wants 8 characters, one per line, and there are 4",
        ),
        (vec![&four, "--form", "五绝", "--line", "7"], 1, "--line says 7"),
        (vec![&four, "--form", "六绝"], 2, "unknown form `六绝`"),
        (vec![&four, "--line", "6"], 2, "use 5 or 7"),
        (vec![&seventeen], 1, "there are 17"),
        (vec![""], 1, "there are 0"),
        (vec![" "], 1, "there are 0"),
        (vec!["春A"], 1, "`A` (U+0041), cannot stand in a line"),
        (vec!["春,"], 1, "`,` (U+002C), cannot stand in a line"),
        (vec!["春𠮷"], 1, "character 2 of the text, `𠮷`"),
        (vec![], 2, "<HEADS>"),
    ] {
        let words = [["acrostic", "--checkpoint", &model].as_slice(), &words].concat();
        fails(&words, code, wanted);
    }
}
