//! Poems are read however people type, paste and save them.

#![cfg(test)]

use tang_corpus::{Page, Unread};

const POEM: &str = "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。";
const SEVEN: &str = "朝辞白帝彩云间，千里江陵一日还。两岸猿声啼不住，轻舟已过万重山。";

/// The poems of a page, of which every text is one.
fn poems(text: &str) -> Vec<String> {
    let texts = Page::read(text).texts.into_iter();
    texts.map(|read| read.poem.unwrap_or_else(|unread| panic!("{text}: {unread}"))).collect()
}

/// Where the only text of a page stops being a poem.
fn unread(text: &str) -> Unread {
    let page = Page::read(text);
    assert_eq!(page.texts.len(), 1, "{text}: {page:?}");
    page.texts[0].poem.clone().unwrap_err()
}

/// The lines of verse without their marks.
fn lines(poem: &str) -> Vec<&str> {
    poem.split_terminator(['，', '。']).collect()
}

#[test]
fn marks_of_every_kind_close_lines() {
    for (text, typed) in [
        (
            "白日依山尽？黄河入海流！欲穷千里目；更上一层楼？",
            "白日依山尽？黄河入海流！欲穷千里目；更上一层楼？",
        ),
        ("白日依山尽,黄河入海流.欲穷千里目,更上一层楼.", POEM),
        (
            "白日依山尽?黄河入海流!欲穷千里目;更上一层楼:",
            "白日依山尽？黄河入海流！欲穷千里目；更上一层楼：",
        ),
        (
            "白日依山尽、黄河入海流．欲穷千里目﹐更上一层楼｡",
            "白日依山尽、黄河入海流。欲穷千里目，更上一层楼。",
        ),
        (
            "白日依山尽。黄河入海流。欲穷千里目。更上一层楼。",
            "白日依山尽。黄河入海流。欲穷千里目。更上一层楼。",
        ),
        ("白日依山尽黄河入海流。欲穷千里目更上一层楼。", POEM),
        ("白日依山尽，黄河入海流。欲穷千里目，更上一层楼", POEM),
        (
            "白日依山尽……，黄河入海流！！欲穷千里目，更上一层楼？！",
            "白日依山尽，黄河入海流！欲穷千里目，更上一层楼？",
        ),
    ] {
        let page = Page::read(text);
        assert_eq!(page.texts.len(), 1, "{text}");
        assert_eq!(page.texts[0].poem.as_deref(), Ok(POEM), "{text}");
        assert_eq!(page.texts[0].typed, typed);
    }
}

#[test]
fn rows_may_be_lines_couplets_or_poems_with_every_line_end() {
    let lines = POEM.replace('，', "，\n").replace('。', "。\n");
    let couplets = POEM.replace('。', "。\n");
    let bare = lines.replace(['，', '。'], "");
    let bare_couplets = couplets.replace(['，', '。'], "");
    let spaced = bare.replace('\n', " ");
    let far: String = POEM.chars().flat_map(|c| [c, ' ']).collect();
    for one in [POEM, &lines, &couplets, &bare, &bare_couplets, &spaced, &far] {
        for end in ["\n", "\r\n", "\r", "\u{2028}", "\u{b}"] {
            let one = one.trim_end().replace('\n', end);
            for between in [format!("{end}{end}"), format!("{end} \u{3000}{end}{end}")] {
                let text = format!("\u{feff}{end}{one}{between}{one}{end}");
                assert_eq!(poems(&text), [POEM; 2], "{text:?}");
            }
        }
    }
    // Empty lines between couplets and lines.
    for one in [&lines, &couplets, &bare] {
        let apart = one.trim_end().replace('\n', "\n\n");
        assert_eq!(poems(&apart), [POEM], "{apart:?}");
        let text = format!("登鹳雀楼\n{apart}\n\n\n王之涣\n\n{SEVEN}");
        assert_eq!(poems(&text), [POEM, SEVEN], "{text:?}");
    }
    assert_eq!(poems(&format!("{POEM}\r{SEVEN}\r")), [POEM, SEVEN]);
    assert_eq!(poems(&format!("{POEM}\n{POEM}\n")), [POEM; 2]);
    assert_eq!(poems(" \n\u{3000}\n"), [""; 0]);
    assert_eq!(poems("白日依山尽黄河入海流欲穷千里目更上一层楼"), [POEM]);
}

#[test]
fn what_editors_add_is_left_out() {
    let quoted = "“白日依山尽，黄河入海流。”「欲穷千里目，更上一层楼。」";
    let noted = "白日依山尽[1]，黄河入海流（一作归）。欲穷千里目②，更上一层楼。【注】";
    let numbered = "１　白日依山尽，黄河入海流。\n２　欲穷千里目，更上一层楼。";
    let listed = "1. 白日依山尽，\n2. 黄河入海流。\n3. 欲穷千里目，\n4. 更上一层楼。";
    let counted = "一、白日依山尽，黄河入海流。欲穷千里目，更上一层楼。";
    let marked = "> **白日依山尽**，\n> **黄河入海流**。\n> **欲穷千里目**，\n> **更上一层楼**。";
    let hidden = "白\u{200b}日依山尽，黄河入海流\u{feff}。欲\u{fe00}穷千里目，更上一层楼。";
    let decorated = "🌸白日依山尽，黄河入海流。♪\n❤️欲穷千里目，👍🏽更上一层楼。→";
    for text in [quoted, noted, numbered, listed, counted, marked, hidden, decorated] {
        assert_eq!(poems(text), [POEM], "{text}");
    }
    let left_out = Page::read(noted).left_out;
    assert_eq!((left_out.notes, left_out.numbers), (3, 1));
    assert_eq!(Page::read(listed).left_out.numbers, 4);
    assert_eq!(Page::read(counted).left_out.numbers, 1);
    assert_eq!(poems(&format!("（{POEM}）")), [POEM]);
}

#[test]
fn titles_and_authors_are_left_out_and_told() {
    let rows = POEM.replace('。', "。\n");
    let bare = rows.replace(['，', '。'], "\n").replace("\n\n", "\n");
    for (text, titles, poem) in [
        (format!("登鹳雀楼\n王之涣\n{rows}"), vec!["登鹳雀楼", "王之涣"], POEM),
        (format!("登鹳雀楼\n王之涣\n{POEM}"), vec!["登鹳雀楼", "王之涣"], POEM),
        (format!("登鹳雀楼\n王之涣\n{bare}"), vec!["登鹳雀楼", "王之涣"], POEM),
        (
            format!("登鹳雀楼\n\n王之涣（688—742）\n\n{rows}"),
            vec!["登鹳雀楼", "王之涣（688—742）"],
            POEM,
        ),
        (format!("《登鹳雀楼》 [唐] 王之涣\n{rows}"), vec!["《登鹳雀楼》[唐]王之涣"], POEM),
        (format!("登鹳雀楼 王之涣 {POEM}"), vec!["登鹳雀楼", "王之涣"], POEM),
        (format!("登鹳雀楼：{rows}"), vec!["登鹳雀楼"], POEM),
        // As long as a line of verse.
        (format!("寻隐者不遇\n{rows}"), vec!["寻隐者不遇"], POEM),
        (format!("寻隐者不遇\n贾岛\n{bare}"), vec!["寻隐者不遇", "贾岛"], POEM),
        (format!("寻隐者不遇\n{bare}"), vec!["寻隐者不遇"], POEM),
        (format!("寻隐者不遇\n\n{POEM}"), vec!["寻隐者不遇"], POEM),
        (format!("早发白帝城\n李白\n{SEVEN}"), vec!["早发白帝城", "李白"], SEVEN),
        (format!("赋得古原草送别\n{SEVEN}"), vec!["赋得古原草送别"], SEVEN),
        (format!("Climbing Stork Tower\n{POEM}"), vec!["ClimbingStorkTower"], POEM),
        (format!("{POEM}\n——王之涣《登鹳雀楼》"), vec!["王之涣登鹳雀楼"], POEM),
        (format!("{POEM}——王之涣"), vec!["王之涣"], POEM),
        (format!("{rows}王之涣《登鹳雀楼》"), vec!["王之涣《登鹳雀楼》"], POEM),
        (format!("{rows}-- 王之涣"), vec!["王之涣"], POEM),
    ] {
        assert_eq!(poems(&text), [poem], "{text}");
        assert_eq!(Page::read(&text).left_out.titles, titles, "{text}");
    }
    let two = format!("其一\n{rows}其二\n{rows}\n登鹳雀楼\n{rows}");
    assert_eq!(poems(&two), [POEM; 3]);
    assert_eq!(Page::read(&two).left_out.titles, ["其一", "其二", "登鹳雀楼"]);
    assert_eq!(poems(&format!("1.\n{rows}2.\n{rows}")), [POEM; 2]);
}

#[test]
fn a_title_as_long_as_a_line_may_stand_before_it() {
    for (text, titles) in [
        ("王之涣《登楼》：“白日依山尽，黄河入海流。欲穷千里目，更上一层楼。”", &["王之涣登楼"][..]),
        ("登鹳雀楼诗：白日依山尽，黄河入海流。欲穷千里目，更上一层楼。", &["登鹳雀楼诗"]),
        ("《登鹳雀楼诗》白日依山尽，黄河入海流。欲穷千里目，更上一层楼。", &["登鹳雀楼诗"]),
        ("登鹳雀楼诗　白日依山尽，黄河入海流。欲穷千里目，更上一层楼。", &["登鹳雀楼诗"]),
    ] {
        assert_eq!(poems(text), [POEM], "{text}");
        assert_eq!(Page::read(text).left_out.titles, titles, "{text}");
    }
    let five = unread("白日依山尽，黄河入海流。欲穷千里目，更上一层楼。白日依山尽。");
    assert!(five.to_string().contains("ends a text of 5 lines"), "{five}");
}

#[test]
fn a_title_without_a_poem_is_a_text() {
    for text in ["登鹳雀楼\n", "登鹳雀楼\n王之涣\n", "天地玄黄"] {
        assert_eq!(unread(text).line, 1);
        assert!(Page::read(text).left_out.titles.is_empty());
    }
    let page = Page::read(&format!("{POEM}\n春\n"));
    assert_eq!(page.texts.len(), 2);
    assert_eq!(page.texts[1].typed, "春");
}

#[test]
fn a_broken_poem_among_poems_of_one_row_stays_alone() {
    let broken = "黄河入海流。";
    let text = format!("{broken}\n{POEM}\n{broken}\n\n{broken}\n{broken}");
    let typed: Vec<String> = Page::read(&text).texts.into_iter().map(|text| text.typed).collect();
    assert_eq!(typed, [broken, POEM, broken, &broken.repeat(2)]);
    // Marks that make no couplets are shown as they are.
    let page = Page::read("白日依山尽。黄河入海流，");
    assert_eq!(page.texts[0].typed, "白日依山尽。黄河入海流，");
    assert!(page.texts[0].poem.is_err());
}

#[test]
fn what_cannot_be_read_has_a_place_and_a_next_step() {
    for (text, wanted) in [
        (
            "白日依山尽，\n黄河a海流。\n欲穷千里目，\n更上一层楼。",
            "line 2, character 3: `a` (U+0061) is neither a Han character nor a mark",
        ),
        (
            "登鹳雀楼\n白日依山尽，\n黄河入海。\n欲穷千里目，\n更上一层楼。",
            "line 3, character 1: `黄河入海` has length 4, and the lines around it 5: complete it",
        ),
        (
            "  白日依山尽，黄河□海流。欲穷千里目，更上一层楼。",
            "line 1, character 11: `□` (U+25A1) is neither",
        ),
        (
            "白日\u{1b}[31m依山尽，黄河入海流。",
            "line 1, character 3: `\\u{1b}` (U+001B) is neither",
        ),
        (
            "白日依山尽\n黄河入海\n欲穷千里目\n更上一层楼",
            "line 2, character 1: `黄河入海` has length 4",
        ),
        (
            "白日依山尽，\r黄河入海流。\r欲穷千里目，",
            "line 3, character 1: `欲穷千里目` ends a text of 3 lines of 5, and a poem has 4 or 8",
        ),
        (
            "白日依山尽黄河入海流\n欲穷千里目更上一层楼\n白日依山尽黄河入海流",
            "line 3, character 1: `白日依山尽黄河入海流` ends a text of 6 lines of 5",
        ),
        ("春", "line 1, character 1: `春` has length 1, and a line of verse 5 or 7"),
        (
            "白日依山尽，朝辞白帝彩云间。白日依山尽，更上一层楼。",
            "line 1, character 7: `朝辞白帝彩云间` has length 7",
        ),
        ("白日依山[1，黄河入海流。欲穷千里目，更上一层楼。", "line 1, character 5: `[` (U+005B)"),
        ("カタカナ", "line 1, character 1: `カ` (U+30AB)"),
    ] {
        let unread = unread(text).to_string();
        assert!(unread.starts_with(wanted), "{text}: {unread}");
        assert!(unread.contains(": complete it") || unread.contains(": put the right one"));
    }
    // The fifth line of eight spoils all of them.
    let eight = POEM.repeat(2).replace('。', "。\n").replacen("欲穷千里目", "欲穷千里", 2);
    let eight = eight.replacen("欲穷千里，", "欲穷千里目，", 1);
    assert_eq!(unread(&eight).line, 4);
}

#[test]
fn prose_below_a_poem_is_a_text_of_its_own() {
    let rows = POEM.replace('。', "。\n");
    let page = Page::read(&format!("{rows}注释：鹳雀楼在今山西永济，楼有三层。\n\n{SEVEN}"));
    let read: Vec<bool> = page.texts.iter().map(|text| text.poem.is_ok()).collect();
    assert_eq!(read, [true, false, true]);
    assert_eq!(page.texts[1].poem.as_ref().unwrap_err().line, 3);
}

#[test]
fn characters_stay_as_they_were_typed() {
    let traditional = "白日依山盡，黃河入海流。欲窮千里目，更上一層樓。";
    assert_eq!(poems(traditional), [traditional]);
    let eight = "風急天高猿嘯哀，渚清沙白鳥飛迴。無邊落木蕭蕭下，不盡長江滾滾來。\n\
                 萬里悲秋常作客，百年多病獨登臺。艱難苦恨繁霜鬢，潦倒新停濁酒杯。";
    assert_eq!(poems(&eight.replace('\n', "")).len(), 1);
    assert_eq!(lines(&poems(&eight.replace('\n', ""))[0]).len(), 8);
}

#[test]
fn rows_may_have_titles_of_their_own() {
    let [two, other] = [POEM, SEVEN].map(|poem| poem.replace('。', "。\n"));
    let page = format!("第一首：{two}第二首：{other}其三 {two}");
    assert_eq!(poems(&page), [POEM, SEVEN, POEM]);
    assert_eq!(Page::read(&page).left_out.titles, ["第一首", "第二首", "其三"]);
    let couplets: Vec<&str> = two.lines().collect();
    let spoken = format!("王：{}\n李：{}", couplets[0], couplets[1]);
    assert_eq!(poems(&spoken), [POEM]);
    assert_eq!(Page::read(&spoken).left_out.titles, ["王", "李"]);
    let lines = "起：白日依山尽，\n承：黄河入海流。\n转：欲穷千里目，\n合：更上一层楼。";
    assert_eq!(poems(lines), [POEM]);
}

#[test]
fn a_title_may_stand_above_a_poem_without_any_break() {
    let [bare, other] = [POEM, SEVEN].map(|poem| poem.replace(['，', '。'], ""));
    let page = Page::read(&format!("登鹳雀楼\n王之涣\n{bare}\n白帝城\n{other}"));
    let found: Vec<_> = page.texts.iter().map(|text| text.poem.as_deref()).collect();
    assert_eq!(found, [Ok(POEM), Ok(SEVEN)]);
    assert_eq!(page.left_out.titles, ["登鹳雀楼", "王之涣", "白帝城"]);
    // A title of twenty characters above lines is one.
    let title = "奉和圣制从蓬莱向兴庆阁道中留春雨中春望";
    let long = format!("{title}之\n{}", lines(POEM).join("\n"));
    assert_eq!(poems(&long), [POEM]);
}
