//! `tang continue` and `tang write`: what a poem looks like.

use tang_prosody::Form;

use crate::{
    model::model,
    work::{fails, prints, run, tang},
};

#[test]
fn a_continuation_prints_prefix_and_all_in_couplets() {
    let model = model();
    let prefix = "白日依山尽，黄河入海流。欲穷";
    let words = ["continue", prefix, "--seed", "1", "--checkpoint", &model];
    let poem = prints(&words);
    assert!(poem.starts_with("白日依山尽，黄河入海流。\n欲穷"), "{poem}");
    assert!(poem.ends_with('\n') && !poem.ends_with("\n\n"), "{poem:?}");
    for line in poem.lines() {
        let inside = &line[..line.len() - line.chars().last().unwrap().len_utf8()];
        assert!(!inside.contains('。'), "one couplet a line: {poem}");
    }
}

#[test]
fn a_form_is_kept_to_the_letter() {
    let model = model();
    for form in Form::ALL {
        let words = ["write", "--form", form.name(), "--checkpoint", &model];
        let poem = prints(&words);
        assert_eq!(poem.lines().count(), form.lines() / 2, "{poem}");
        assert_eq!(Form::of(&poem.replace('\n', "")), Some(form), "{poem}");
    }
    let poem = prints(&["write", "--checkpoint", &model]);
    assert_eq!(Form::of(&poem.replace('\n', "")), Some(Form::QiJue), "the default");
}

#[test]
fn typed_text_may_be_traditional_and_have_ascii_marks_and_line_breaks() {
    let model = model();
    let poem = |text| prints(&["continue", text, "--seed", "5", "--checkpoint", &model]);
    let wanted = poem("白日依山尽，黄河入海流。欲穷");
    for typed in ["白日依山尽,黄河入海流.欲穷", " 白日依山尽，\n　黄河入海流。\n欲穷\n"]
    {
        assert_eq!(poem(typed), wanted, "{typed}");
    }
    let (_, rest) = wanted.split_once("欲穷").unwrap();
    assert_eq!(
        poem("白日依山盡，黃河入海流。欲窮"),
        format!("白日依山盡，黃河入海流。\n欲窮{rest}")
    );
}

/// The model reads them as the two marks that it knows; printed is what was given.
#[test]
fn any_mark_closes_a_given_line() {
    let model = model();
    let poem = |text| prints(&["continue", text, "--seed", "5", "--checkpoint", &model]);
    for (typed, given, plain) in [
        ("春眠不觉晓？", "春眠不觉晓？", "春眠不觉晓，"),
        ("白日依山尽?黄河!欲穷", "白日依山尽？黄河！\n欲穷", "白日依山尽，黄河。欲穷"),
        ("白日；黄河：欲穷", "白日；黄河：\n欲穷", "白日，黄河。欲穷"),
        ("白日依山尽、黄河入海流．", "白日依山尽、黄河入海流。", "白日依山尽，黄河入海流。"),
    ] {
        let wanted = poem(plain);
        let shown = plain.chars().count()
            + wanted.chars().take(plain.chars().count()).filter(|c| *c == '\n').count();
        let rest: String = wanted.chars().skip(shown).collect();
        assert_eq!(poem(typed), format!("{given}{rest}"), "{typed}");
        for command in ["next", "logits"] {
            let said = |text| prints(&[command, text, "--checkpoint", &model]);
            assert_eq!(said(typed), said(plain), "{command} {typed}");
        }
    }
}

#[test]
fn a_template_may_have_any_marks_and_rows() {
    let model = model();
    let poem = |template| {
        prints(&["write", "--template", template, "--seed", "5", "--checkpoint", &model])
    };
    let wanted = poem("春****，眠****。");
    for typed in [
        "春****？眠****！",
        "春****:眠****;",
        "春****\n眠****\n",
        "春****\r\n眠****",
        "春**** 眠****",
        "春 * * * *，\n眠 * * * *。",
    ] {
        assert_eq!(poem(typed), wanted, "{typed}");
    }
}

#[test]
fn traditional_output_says_the_same() {
    let model = model();
    let words = ["acrostic", "处处闻啼", "--seed", "2", "--checkpoint", &model];
    let simplified = prints(&words);
    let traditional = prints(&[words.as_slice(), &["--traditional"]].concat());
    let heads: String = traditional.lines().filter_map(|line| line.chars().next()).collect();
    assert_eq!(heads, "處處聞啼");
    assert_eq!(traditional.chars().count(), simplified.chars().count());
    assert_ne!(traditional, simplified);
}

#[test]
fn an_unfinished_poem_is_told() {
    let model = model();
    for (words, wanted) in [
        (["continue", "春风", "--max-new-tokens", "3"], "--max-new-tokens 3 is reached "),
        (
            ["write", "--form=五绝", "--max-new-tokens", "23"],
            "--max-new-tokens 23 is reached and cuts line 4 after character 5",
        ),
    ] {
        let ended = run(&mut tang(words.iter().chain(&["--seed", "9", "--checkpoint", &model])));
        assert_eq!(ended.code, Some(0));
        let wanted = format!("the poem of seed 9 is unfinished: {wanted}");
        assert!(ended.stderr.starts_with(&wanted), "{}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1);
    }
    // Only the newline is missing.
    let ended = run(&mut tang([
        "write",
        "--form=五绝",
        "--max-new-tokens",
        "24",
        "--seed",
        "9",
        "--checkpoint",
        &model,
    ]));
    assert_eq!(ended.stderr, "");
}

#[test]
fn the_end_of_the_context_is_told() {
    let model = model();
    let prefix = "春风".repeat(63) + "春";
    let ended = run(&mut tang(["continue", &prefix, "--seed", "9", "--checkpoint", &model]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("context of 128 characters is full"), "{}", ended.stderr);
}

#[test]
fn what_cannot_be_continued_is_refused() {
    let model = model();
    let long = "春".repeat(200);
    for (text, wanted) in [
        ("", "the text is empty"),
        (" \n", "the text is empty"),
        ("春A", "character 2 of the text, `A` (U+0041)"),
        (
            long.as_str(),
            "the text takes 201 positions, the newline before it included, and the model has 128",
        ),
    ] {
        for flags in [[].as_slice(), &["--stream"], &["--no-cache"]] {
            let words = ["continue", text, "--seed", "1", "--checkpoint", &model];
            fails(&[words.as_slice(), flags].concat(), 1, wanted);
        }
    }
}
