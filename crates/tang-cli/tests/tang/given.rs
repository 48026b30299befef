//! Characters are printed as they were given, and errors name them so.

use crate::work::{fails, prints, run, tang};

const CHECKPOINT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../checkpoints/tang-4l");

/// The ways to print a poem.
const OUTPUTS: [&[&str]; 6] = [
    &[],
    &["--traditional"],
    &["--stream"],
    &["--stream", "--traditional"],
    &["--json"],
    &["--json", "--traditional"],
];

fn with<'a>(words: &[&'a str], flags: &[&'a str]) -> Vec<&'a str> {
    [words, &["--seed", "3", "--checkpoint", CHECKPOINT], flags].concat()
}

/// The text of a poem that was printed in whatever way.
fn poem(words: &[&str], output: &[&str]) -> String {
    let printed = prints(&with(words, output));
    if !output.contains(&"--json") {
        return printed.replace('\n', "");
    }
    let json: serde_json::Value = serde_json::from_str(&printed).unwrap();
    json["text"].as_str().unwrap().to_owned()
}

fn heads(poem: &str) -> String {
    let lines = poem.split_terminator(['，', '。']);
    lines.filter_map(|line| line.chars().next()).collect()
}

#[test]
fn heads_are_printed_as_they_were_given() {
    for given in [
        "王后千秋",
        "征人未還",
        "乾乾乾乾",
        "徵於蒐沈",
        "深沈里裏",
        "烟煙峰峯",
        "春眠不覺",
        "采採云雲",
        "玥爸晗鑫",
        "玥玉鑫金",
        "媽讌㑮馬",
        "爸爸爸爸",
    ] {
        for output in OUTPUTS {
            let poem = poem(&["acrostic", given], output);
            assert_eq!(heads(&poem), given, "{output:?}: {poem}");
        }
    }
}

#[test]
fn simplified_heads_are_traditional_on_request_only() {
    for (given, wanted) in [
        ("春眠不觉", "春眠不覺"),
        ("云里龙飞", "雲裏龍飛"),
        ("后来见云", "後來見雲"),
        ("妈们爱您", "媽們愛您"),
    ] {
        for output in OUTPUTS {
            let is_traditional = output.contains(&"--traditional");
            let wanted = if is_traditional { wanted } else { given };
            assert_eq!(heads(&poem(&["acrostic", given], output)), wanted);
        }
    }
}

#[test]
fn openings_are_printed_as_they_were_given() {
    for (given, traditional) in [
        ("双袖龙钟泪不干，", "雙袖龍鍾淚不乾，"),
        ("雙袖龍鍾淚不乾，", "雙袖龍鍾淚不乾，"),
        ("王后千秋", "王后千秋"),
        ("徵於蒐深沈乾", "徵於蒐深沈乾"),
        ("千里江陵一日還，", "千里江陵一日還，"),
        ("她们在丛中笑，", "她們在叢中笑，"),
        ("玥玉玉玥", "玥玉玉玥"),
    ] {
        for output in OUTPUTS {
            let is_traditional = output.contains(&"--traditional");
            let wanted = if is_traditional { traditional } else { given };
            let poem = poem(&["continue", given], output);
            assert!(poem.starts_with(wanted), "{output:?}: {poem}");
        }
    }
}

#[test]
fn templates_are_printed_as_they_were_given() {
    for template in ["**乾**，于****。****徵，裏**沈*。", "玥玉爸**，****父。*父爸**，*****。"]
    {
        given_places_are_printed(template);
    }
}

fn given_places_are_printed(template: &str) {
    for output in OUTPUTS {
        for rules in [[].as_slice(), &["--no-repeat"]] {
            let words = [["write", "--template", template].as_slice(), rules].concat();
            let poem = poem(&words, output);
            for (wanted, got) in template.chars().zip(poem.chars()) {
                assert!(wanted == '*' || wanted == got, "{output:?}: {poem}");
            }
            assert_eq!(poem.chars().count(), template.chars().count());
        }
    }
}

/// 乾 is known to the model, but not with 還, which makes the text a traditional one.
#[test]
fn the_model_reads_a_traditional_text_in_simplified_characters() {
    for (given, common) in [("乾還乾還", "干还干还"), ("徵還蒐裏", "征还搜里")] {
        let (typed, common) = (poem(&["acrostic", given], &[]), poem(&["acrostic", common], &[]));
        let free = |poem: &str| -> Vec<String> {
            let lines = poem.split_terminator(['，', '。']);
            lines.map(|line| line.chars().skip(1).collect()).collect()
        };
        assert_eq!(free(&typed), free(&common));
    }
}

#[test]
fn every_poem_of_many_keeps_what_was_given() {
    for flags in
        [["-n", "3"].as_slice(), &["--best-of", "2", "-n", "2"], &["--regulated", "--relax"]]
    {
        let words = [["acrostic", "後里乾裏", "--traditional"].as_slice(), flags].concat();
        for poem in prints(&with(&words, &[])).split("\n\n") {
            assert_eq!(heads(&poem.replace('\n', "")), "後里乾裏", "{flags:?}");
        }
    }
}

#[test]
fn a_rule_that_what_was_given_cannot_keep_names_it() {
    // 徵 is read as 征: level at the end of a line that has to be level and rhyme with 後, oblique.
    let words = ["acrostic", "徵後徵後", "--regulated", "--place", "7"];
    let message = fails(&with(&words, &[]), 1, "`後`, does not keep the rhyme");
    assert!(!message.contains('后'), "{message}");
    let ended = run(&mut tang(with(&words, &["--relax"])));
    assert!(ended.stderr.contains("relaxed: "), "{}", ended.stderr);
    assert!(ended.stderr.contains('後') && !ended.stderr.contains('后'));
}

#[test]
fn errors_name_all_that_was_given_and_nothing_else() {
    let unknown = |position, character: char| {
        let code_point = u32::from(character);
        format!("character {position} of the text, `{character}` (U+{code_point:04X})")
    };
    for (words, wanted) in [
        (
            vec!["acrostic", "𠀀集山林"],
            format!("{}, is not in the vocabulary: use another", unknown(1, '𠀀')),
        ),
        (
            vec!["acrostic", "𠮷春𠀀a"],
            format!(
                "{}, cannot stand in a line: use Han characters only; {}, and {}, are not in the \
                 vocabulary: use others",
                unknown(4, 'a'),
                unknown(1, '𠮷'),
                unknown(3, '𠀀')
            ),
        ),
        (
            vec!["continue", "春 𠀀\n𠮷風"],
            format!(
                "{}, and {}, are not in the vocabulary: use others",
                unknown(3, '𠀀'),
                unknown(5, '𠮷')
            ),
        ),
        (
            vec!["write", "--template", "𠀀**b*，****c。"],
            format!(
                "{}, and {}, cannot stand in a line: use Han characters only; {}, is not in the \
                 vocabulary: use another",
                unknown(4, 'b'),
                unknown(11, 'c'),
                unknown(1, '𠀀')
            ),
        ),
    ] {
        fails(&with(&words, &[]), 1, &wanted);
    }
    for command in ["next", "logits"] {
        let words = [command, "𠀀𠮷", "--checkpoint", CHECKPOINT];
        let wanted = format!("{}, and {}", unknown(1, '𠀀'), unknown(2, '𠮷'));
        fails(&words, 1, &wanted);
    }
}
