//! The file that lists the texts of a corpus.

use tang_files::sha256_hex;

/// The first line while the files are being replaced. The `sha256sum` command takes it for a comment.
const UNFINISHED: &str = "# not built to its end";

/// Files by SHA-256 and name, in the format of the `sha256sum` command, which can check them.
///
/// While files are replaced it has the old ones and the new ones, so that each file is known after an interrupt
/// at any time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checksums {
    pub is_finished: bool,
    lines: Vec<String>,
}

impl Checksums {
    /// The checksums of files with these names and texts.
    pub(crate) fn of<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self {
            is_finished: true,
            lines: files.into_iter().map(|(name, text)| line(name, text.as_bytes())).collect(),
        }
    }

    /// Reads the text of the file. `None` unless it has a line for each of `names`, perhaps for `optional`, and for
    /// no other, and one only, unless the files were being replaced.
    pub(crate) fn parse(text: &str, names: &[&str], optional: &str) -> Option<Self> {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let is_finished = lines.first().is_none_or(|line| line != UNFINISHED);
        if !is_finished {
            lines.remove(0);
        }
        let count = |name| lines.iter().filter(|line| is_of(line, name)).count();
        let counts: Vec<usize> = names.iter().map(|name| count(name)).collect();
        let extra = count(optional);
        let is_ours = counts.iter().sum::<usize>() + extra == lines.len()
            && counts.iter().all(|count| *count > 0)
            && (!is_finished || lines.len() == names.len() + extra.min(1));
        is_ours.then_some(Self { is_finished, lines })
    }

    /// These checksums with those of the files that are being replaced.
    pub(crate) fn replacing(&self, old: &[(&str, Vec<u8>)]) -> Self {
        let old = old.iter().map(|(name, bytes)| line(name, bytes));
        Self { is_finished: false, lines: self.lines.iter().cloned().chain(old).collect() }
    }

    /// Whether a file of this name is listed.
    pub(crate) fn names(&self, name: &str) -> bool {
        self.lines.iter().any(|line| is_of(line, name))
    }

    /// Whether a file of this name and with these bytes is known.
    pub(crate) fn has(&self, name: &str, bytes: &[u8]) -> bool {
        self.lines.contains(&line(name, bytes))
    }

    /// The text of the file.
    pub(crate) fn to_text(&self) -> String {
        let mark = (!self.is_finished).then_some(UNFINISHED);
        mark.into_iter()
            .chain(self.lines.iter().map(String::as_str))
            .flat_map(|line| [line, "\n"])
            .collect()
    }
}

fn line(name: &str, bytes: &[u8]) -> String {
    format!("{}  {name}", sha256_hex(bytes))
}

/// Whether this is the line of a file of that name.
fn is_of(line: &str, name: &str) -> bool {
    /// Digits of a SHA-256.
    const DIGITS: usize = 64;

    line.split_once("  ").is_some_and(|(sum, of)| {
        of == name && sum.len() == DIGITS && sum.chars().all(|c| c.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 2] = ["a.txt", "b.txt"];

    fn sums() -> Checksums {
        Checksums::of([("a.txt", "一"), ("b.txt", "二")])
    }

    #[test]
    fn only_a_line_for_each_name_is_a_corpus() {
        let text = sums().to_text();
        assert_eq!(Checksums::parse(&text, &NAMES, "song.txt"), Some(sums()));
        let (first, second) = text.split_once('\n').unwrap();
        assert!(Checksums::parse(&format!("{second}{first}"), &NAMES, "song.txt").is_some());
        for other in [
            String::new(),
            format!("{first}\n"),
            format!("{text}{first}\n"),
            format!("{text}{}\n", first.replace("a.txt", "c.txt")),
            text.replace("a.txt", "../a.txt"),
            text.replace("  a.txt", " *a.txt"),
            text[1..].to_owned(),
            text.replacen(&first[..1], "g", 1),
            format!("{text}\n"),
            format!("# mine\n{text}"),
        ] {
            assert_eq!(Checksums::parse(&other, &NAMES, "song.txt"), None, "{other}");
        }
        let with_song = format!("{text}{}\n", first.replace("a.txt", "song.txt"));
        assert!(Checksums::parse(&with_song, &NAMES, "song.txt").unwrap().names("song.txt"));
    }

    #[test]
    fn old_and_new_files_are_known_while_they_are_replaced() {
        let both = sums().replacing(&[("a.txt", b"old".to_vec())]);
        let read = Checksums::parse(&both.to_text(), &NAMES, "song.txt").unwrap();
        assert_eq!(read, both);
        assert!(!read.is_finished);
        assert!(read.has("a.txt", b"old") && read.has("a.txt", "一".as_bytes()));
        assert!(!read.has("b.txt", b"old") && read.has("b.txt", "二".as_bytes()));
    }
}
