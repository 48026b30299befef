//! The sentences of comments: none begins with a word that hides its noun.

/// See docs/STYLE.md.
const REFUSED: [&str; 3] = ["What ", "Whoever ", "Of "];
/// The beginnings of list items and headings.
const MARKS: [char; 4] = ['-', '*', '#', ' '];

/// Finds sentences of comments that begin with one of the refused words.
pub fn check(path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let mut is_start = true;
    for (index, line) in text.lines().enumerate() {
        let Some(comment) = comment(line) else {
            is_start = true;
            continue;
        };
        is_start |= comment.starts_with(MARKS);
        let comment = comment.trim_start_matches(MARKS);
        for word in REFUSED {
            if is_start && comment.starts_with(word) || comment.contains(&format!(". {word}")) {
                let advice = "begin the sentence with the noun that is documented";
                findings.push(format!("{path}:{}: \"{word}…\": {advice}", index + 1));
            }
        }
        is_start = comment.is_empty() || comment.ends_with(['.', ':', '!', '?']);
    }
    findings
}

/// The text of the comment on a line.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let comment = match line.strip_prefix("//") {
        Some(comment) => comment,
        None => line.split_once(" // ")?.1,
    };
    Some(comment.trim_start_matches(['/', '!', ' ']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_beginnings_of_sentences_are_found() {
        for (text, lines) in [
            ("/// What it is.\nfn f() {}\n// Whoever asks.\n", &[1, 3][..]),
            ("//! A list\n//! Of rows. Of columns.\n", &[2]),
            ("//! A list.\n//! Of rows.\n//!\n//! - What\n//! # What it is\n", &[2, 5]),
            ("    one(); /\u{2f} Of two.\n    let a = \"// What \";\n", &[1]),
            ("/// Whatever. Offsets: what of it.\nlet a = \"What is it? Of note. What \";\n", &[]),
        ] {
            let findings = check("a.rs", text);
            let found: Vec<_> = findings.iter().map(|it| it.split(':').nth(1).unwrap()).collect();
            let wanted: Vec<_> = lines.iter().map(ToString::to_string).collect();
            assert_eq!(found, wanted, "{text}");
        }
    }
}
