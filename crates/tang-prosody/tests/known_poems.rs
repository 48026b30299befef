//! Verdicts of the checker on famous poems, in the wording of the corpus.

#![cfg(test)]

use tang_prosody::{Fault, Judging, LineType, Verdict, check, check_by};

fn verdict(poem: &str) -> Verdict {
    check(poem).unwrap_or_else(|| panic!("{poem} has a form"))
}

fn rhyme(verdict: &Verdict) -> String {
    verdict.rhyme.map_or_else(String::new, |group| group.to_string())
}

/// The faults of each line, counted from 1, that has some.
fn faults(verdict: &Verdict) -> Vec<(usize, Vec<Fault>)> {
    (1..)
        .zip(&verdict.lines)
        .filter(|(_, line)| !line.faults.is_empty())
        .map(|(number, line)| (number, line.faults.clone()))
        .collect()
}

#[test]
fn regular_poems_have_no_fault() {
    for (group, sequence, poem) in [
        ("尤", "ACBD", "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。"),
        ("支", "ACBD", "红豆生南国，秋来发故枝。愿君多采撷，此物最相思。"),
        // ACBD fits as well, but its first line rhymes.
        ("刪", "DCBD", "朝辞白帝彩云间，千里江陵一日还。两岸猨声啼不尽，轻舟已过万重山。"),
        ("先", "CDAC", "月落乌啼霜满天，江枫渔父对愁眠。姑苏城外寒山寺，夜半钟声到客船。"),
        (
            "侵",
            "ACBD",
            "国破山河在，城春草木深。感时花溅泪，恨别鸟惊心。\
             烽火连三月，家书抵万金。白头搔更短，浑欲不胜簪。",
        ),
        (
            "尤",
            "BDAC",
            "空山新雨后，天气晚来秋。明月松间照，清泉石上流。\
             竹喧归浣女，莲动下渔舟。随意春芳歇，王孙自可留。",
        ),
        (
            "庚",
            "BDAC",
            "青山横北郭，白水绕东城。此地一为别，孤蓬万里征。\
             浮云游子意，落日故人情。挥手自兹去，萧萧班马鸣。",
        ),
        (
            "灰",
            "CDAC",
            "风急天高猨啸哀，渚清沙白鸟飞回。无边落木萧萧下，不尽长江衮衮来。\
             万里悲秋常作客，百年多病独登台。艰难苦恨繁霜鬓，潦倒新停浊酒桮。",
        ),
        (
            "先",
            "CDAC",
            "锦瑟无端五十弦，一弦一柱思华年。庄生晓梦迷蝴蝶，望帝春心托杜鹃。\
             沧海月明珠有泪，蓝田日暖玉生烟。此情可待成追忆，只是当时已惘然。",
        ),
    ] {
        let verdict = verdict(poem);
        assert_eq!(faults(&verdict), [], "{poem}");
        assert!(verdict.passes_strictly(), "{poem}");
        assert_eq!(rhyme(&verdict), group, "{poem}");
        assert_eq!(verdict.sequence.to_string(), sequence, "{poem}");
        let first = verdict.lines[0].line_type;
        let ends_level = [LineType::C, LineType::D].contains(&first);
        assert_eq!(verdict.first_line_rhymes, ends_level, "{poem}");
    }
}

#[test]
fn the_special_line_is_right_and_counts_as_the_usual_one() {
    let poem = "城阙辅三秦，风烟望五津。与君离别意，同是宦游人。\
                海内存知己，天涯若比邻。无为在岐路，儿女共沾巾。";
    let regular = verdict(poem);
    assert_eq!(faults(&regular), []);
    let special: Vec<_> = (1..)
        .zip(&regular.lines)
        .filter_map(|(number, line)| line.special.then_some(number))
        .collect();
    // 无为在岐路 is 平平仄平仄.
    assert_eq!(special, [7]);
    // With an oblique tone in its first place it is no special line.
    let broken = verdict(&poem.replace("无为在", "月为在"));
    assert!(!broken.lines[6].special);
    assert_eq!(broken.lines[6].wrong, [4]);
}

#[test]
fn silent_night_rhymes_but_its_tones_fail() {
    let verdict = verdict("床前看月光，疑是地上霜。举头望山月，低头思故乡。");
    assert_eq!(rhyme(&verdict), "陽");
    assert!(verdict.rhymes() && verdict.first_line_rhymes);
    assert!(!verdict.tones_fit() && !verdict.passes());
}

#[test]
fn an_oblique_rhyme_is_none() {
    let verdict = verdict("锄禾日当午，汗滴禾下土。谁知盘中餐，粒粒皆辛苦。");
    assert_eq!(verdict.rhyme, None);
    assert!(!verdict.rhymes() && !verdict.first_line_rhymes);
    assert!(verdict.has(Fault::OffRhyme));
}

#[test]
fn a_couplet_that_is_not_linked_is_named() {
    let verdict = verdict("渭城朝雨浥轻尘，客舍青青杨柳春。劝君更尽一杯酒，西出阳关无故人。");
    assert_eq!(rhyme(&verdict), "真");
    assert!(verdict.rhymes() && !verdict.passes());
    let lost: Vec<_> = faults(&verdict)
        .into_iter()
        .filter(|(_, faults)| faults.contains(&Fault::Nian))
        .map(|(line, _)| line)
        .collect();
    assert_eq!(lost, [3]);
    assert!(!verdict.has(Fault::Dui));
}

#[test]
fn an_ancient_half_in_a_regulated_poem_is_found() {
    let verdict = verdict(
        "昔人已乘白云去，此地空余黄鹤楼。黄鹤一去不复返，白云千载空悠悠。\
         晴川历历汉阳树，春草萋萋鹦鹉洲。日暮乡关何处是，烟波江上使人愁。",
    );
    assert_eq!(rhyme(&verdict), "尤");
    assert!(verdict.rhymes() && !verdict.passes());
    // 黄鹤一去不复返 wants a level tone at 去.
    assert!(verdict.lines[2].faults.contains(&Fault::Tone));
    assert_eq!(verdict.lines[2].wrong, [4]);
}

#[test]
fn each_fault_is_found_alone() {
    let regular = "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。";
    for (from, to, line, wanted) in [
        // A lone level tone is none while one of its neighbours is level.
        ("黄河入", "日河入", 2, vec![Fault::GuPing]),
        ("黄河入", "日河山", 0, vec![]),
        ("一层楼", "山层楼", 4, vec![Fault::SanPing]),
        ("层楼", "层山", 4, vec![Fault::OffRhyme]),
        ("层楼", "层流", 4, vec![Fault::SameRhyme]),
        ("一层", "一月", 4, vec![Fault::Tone, Fault::Dui]),
    ] {
        let verdict = verdict(&regular.replace(from, to));
        let found = faults(&verdict);
        let wanted: Vec<_> = (line > 0).then_some((line, wanted)).into_iter().collect();
        assert_eq!(found, wanted, "{from} {to}");
    }
}

#[test]
fn what_is_not_known_stands_for_all_and_is_counted() {
    let poem = "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。";
    // No table has 𠮷.
    let unknown = verdict(&poem.replace("黄河", "黄𠮷").replace('楼', "𠮷"));
    assert_eq!(unknown.unknown(), 2);
    assert!(unknown.passes_strictly());
    assert_eq!(verdict(poem).unknown(), 0);
    // 更 and 上 are level or oblique by the table, and so are others.
    assert!(verdict(poem).two_tone() > 0);
}

/// No rhyme book has 妈 and 们, which are level today, and 玥, which is oblique.
#[test]
fn what_only_a_modern_pronunciation_has_keeps_its_tone_and_may_rhyme() {
    let poem = "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。";
    let level = verdict(&poem.replace("黄河", "妈河").replace('楼', "们"));
    assert!(level.passes_strictly() && level.unknown() == 0);
    assert_eq!(level.lines[1].modern, [1]);
    assert_eq!(level.lines[3].modern, [5]);
    assert_eq!(
        faults(&verdict(&poem.replace("黄河", "黄玥"))),
        [(2, vec![Fault::Tone, Fault::Dui]), (3, vec![Fault::Nian])]
    );
    let oblique = verdict(&poem.replace('楼', "玥"));
    assert_eq!(faults(&oblique), [(4, vec![Fault::Tone, Fault::OffRhyme])]);
    // No group is known, so none is broken.
    let rhymes = |poem: &str| {
        let verdict = verdict(poem);
        (verdict.rhyme, verdict.rhymes())
    };
    let poem = poem.replace('流', "妈");
    assert_eq!(rhymes(&poem.replace('楼', "们")), (None, true));
    assert_eq!(rhymes(&poem.replace('楼', "妈")), (None, false));
    assert_eq!(rhymes(&poem.replace('楼', "玥")), (None, false));
    assert_eq!(rhymes(&poem.replace('楼', "月")), (None, false));
}

#[test]
fn only_whole_poems_are_judged() {
    for text in ["", "白日依山尽，", "白日依山尽，黄河入海流。", "a"] {
        assert_eq!(check(text), None, "{text}");
    }
}

/// A verdict in which tones may be saved in the next line.
fn saving(poem: &str) -> Verdict {
    let judging = Judging { saves: true, ..Judging::default() };
    check_by(poem, judging).unwrap_or_else(|| panic!("{poem} has a form"))
}

#[test]
fn a_tone_that_the_next_line_saves_is_named_and_no_fault_of_the_poem() {
    for (line, poem) in [
        // 流水如有意 is 平仄平仄仄, 暮禽相与还 仄平平仄平.
        (
            3,
            "清川带长薄，车马去闲闲。流水如有意，暮禽相与还。\
             荒城临古渡，落日满秋山。迢递嵩高下，归来且闭关。",
        ),
        // 高阁客竟去 has a wrong tone at 4 and a free one at 3; 飞 of 小园花乱飞 saves it.
        (
            1,
            "高阁客竟去，小园花乱飞。参差连曲陌，迢递送斜晖。\
             肠断未忍扫，眼穿仍欲归。芳心向春尽，所得是沾衣。",
        ),
        // Five oblique tones, saved by 栖栖吴楚间.
        (
            1,
            "士有不得志，栖栖吴楚间。广陵相遇罢，彭蠡泛舟还。\
             樯出江中树，波连海上山。风帆明日远，何处更追攀。",
        ),
        // Seven characters: 南朝四百八十寺 is 平平仄仄仄仄仄, 多少楼台烟雨中 平仄平平平仄平.
        (3, "千里莺啼绿映红，水村山郭酒旗风。南朝四百八十寺，多少楼台烟雨中。"),
    ] {
        let plain = verdict(poem);
        assert!(!plain.passes() && !plain.has(Fault::Saved), "{poem}");
        let verdict = saving(poem);
        assert!(verdict.passes(), "{poem} {verdict:?}");
        assert!(!verdict.passes_strictly(), "{poem}");
        let found = faults(&verdict);
        assert_eq!(found[0], (line, vec![Fault::Saved]), "{poem}");
        assert!(found.iter().all(|(_, faults)| *faults == [Fault::Saved]));
        assert_eq!(verdict.lines[line - 1].line_type, LineType::A);
        assert_eq!(verdict.lines[line - 1].wrong, []);
    }
}

#[test]
fn only_that_tone_is_saved_and_only_by_the_next_line() {
    let saved = "士有不得志，栖栖吴楚间。广陵相遇罢，彭蠡泛舟还。";
    assert!(saving(saved).passes());
    for (from, to, line, wrong) in [
        // 越 is oblique: nothing is saved.
        ("吴楚", "越楚", 0, [4].as_slice()),
        // A second wrong tone of the line.
        ("士有", "士山", 0, &[2, 4]),
        // A line of type B has nobody to save it.
        ("相遇", "江逢", 2, &[4]),
    ] {
        let verdict = saving(&saved.replace(from, to));
        assert!(!verdict.passes(), "{from} {to}");
        assert_eq!(verdict.lines[line].wrong, wrong, "{from} {to}");
        assert!(!verdict.lines[line].faults.contains(&Fault::Saved));
    }
}

#[test]
fn a_poem_that_needs_nothing_saved_is_judged_as_before() {
    for poem in [
        "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。",
        "朝辞白帝彩云间，千里江陵一日还。两岸猨声啼不尽，轻舟已过万重山。",
        "渭城朝雨浥轻尘，客舍青青杨柳春。劝君更尽一杯酒，西出阳关无故人。",
    ] {
        assert_eq!(saving(poem), verdict(poem));
    }
}

#[test]
fn rhyme_characters_are_told_apart_as_they_were_written() {
    let simplified = "华堂良宴开，星使自天来。舞转朱丝逐，歌余素扇回。\
                      水光凌曲槛，夜色霭高台。不在宾阶末，何由接上台。";
    let written = "華堂良宴開，星使自天來。舞轉朱絲逐，歌餘素扇回。\
                   水光凌曲檻，夜色靄高臺。不在賓階末，何由接上台。";
    let by = |written| {
        let judging = Judging { written: Some(written), ..Judging::default() };
        check_by(simplified, judging).unwrap()
    };
    assert!(verdict(simplified).has(Fault::SameRhyme));
    assert!(by(simplified).has(Fault::SameRhyme));
    let verdict = by(written);
    assert_eq!((rhyme(&verdict), faults(&verdict)), ("灰".to_owned(), vec![]));
    // Twice the same one is one.
    let twice = by(&written.replace("上台", "上臺"));
    assert_eq!(faults(&twice), [(8, vec![Fault::SameRhyme])]);
}
