//! Reports: tables and numbers in Markdown, and the folder that a report is written to.

pub(crate) mod chart;

use std::{
    fmt::{self, Display},
    fs,
    path::{Path, PathBuf},
    str::FromStr,
};

use indicatif::HumanCount;
use serde::Serialize;
use serde_json::Value;
use tang_files::{escape_lines, read_bounded, write_atomically};

use crate::LabError;

/// A Markdown table. The header and each row have their cells between ` | `. Columns are
/// right-aligned, or left-aligned if the name begins with a colon.
pub(crate) fn table(header: &str, rows: impl IntoIterator<Item = String>) -> String {
    let columns: Vec<&str> = header.split(" | ").collect();
    let name = |column: &&'_ str| column.trim_start_matches(':').to_owned();
    let rule = |column: &&str| {
        if column.starts_with(':') { "---|" } else { "---:|" }
    };
    let names: Vec<String> = columns.iter().map(name).collect();
    let mut lines = vec![
        format!("| {} |", names.join(" | ")),
        format!("|{}", columns.iter().map(rule).collect::<String>()),
    ];
    lines.extend(rows.into_iter().map(|row| format!("| {row} |")));
    lines.join("\n")
}

/// Shows a whole number with a comma between its thousands: 13,728.
pub(crate) fn count(number: usize) -> HumanCount {
    HumanCount(number as u64)
}

/// A factor with one decimal, or none from 10 on: 2.2x, 17x.
pub(crate) fn times(factor: f64) -> String {
    if factor < 10.0 { format!("{factor:.1}x") } else { format!("{}x", factor.round()) }
}

/// A number with some decimals, or `-` for none.
pub(crate) fn decimal(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
}

/// The binary units, each 1,024 times the one before.
const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// A number of bytes. It displays in the binary unit that gives the shortest number, and is read
/// with its unit: `24GiB`, `1.5 TiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scaled = |power: usize| self.0 as f64 / 1024_f64.powi(power as i32);
        // A number that two decimals would round up to 1,024 belongs to the next unit.
        let fits = |power: &usize| scaled(*power) < 1023.995;
        let power = (0..UNITS.len()).find(fits).unwrap_or(UNITS.len() - 1);
        let is_whole = self.0.is_multiple_of(1 << (10 * power));
        let decimals = if is_whole { 0 } else { 2 };
        write!(f, "{:.decimals$} {}", scaled(power), UNITS[power])
    }
}

impl FromStr for Bytes {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let size = text.trim();
        let end = size.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, unit) = size.split_at(end.unwrap_or(size.len()));
        let scale = UNITS.iter().position(|name| name.eq_ignore_ascii_case(unit.trim_start()));
        let bytes = number.parse::<f64>().ok().zip(scale);
        let bytes = bytes.map(|(number, power)| number * 1024_f64.powi(power as i32));
        // The largest u64 rounds up to 2^64 as a float, which is one too many.
        match bytes.filter(|bytes| (1.0..u64::MAX as f64).contains(bytes)) {
            Some(bytes) => Ok(Self(bytes as u64)),
            None => Err(LabError::Input(format!(
                "`{text}` is no size of memory: write a number above 0 and a unit, B, KiB, MiB, GiB, TiB, PiB or \
                EiB, as in 24GiB; below 16 EiB"
            ))),
        }
    }
}

/// A measurement, which displays itself as a page in Markdown.
pub trait Report: Display + Serialize {
    /// The pictures that the page shows: names of files, and SVG.
    ///
    /// # Errors
    ///
    /// [`LabError::Plot`] if one cannot be drawn.
    fn plots(&self) -> Result<Vec<(String, String)>, LabError>;
}

/// A folder that a report can be written to.
pub struct ReportFolder(PathBuf);

impl ReportFolder {
    /// Makes the folder and checks that it can be written to, so that an error comes before the
    /// measurement.
    ///
    /// # Errors
    ///
    /// [`LabError::File`] if it cannot be made, read or written; [`LabError::Exists`] if it has a
    /// `report.json` of another kind, or a page or a picture without one.
    pub fn create(folder: &Path) -> Result<Self, LabError> {
        fs::create_dir_all(folder).map_err(LabError::file("create", folder))?;
        check_measurement(folder)?;
        tempfile::tempfile_in(folder).map_err(LabError::file("write into", folder))?;
        Ok(Self(folder.to_owned()))
    }

    /// Writes a measurement, and gives the path of its page.
    ///
    /// # Errors
    ///
    /// [`LabError::File`] if a file cannot be written, [`LabError::Plot`] if a picture cannot be drawn.
    pub fn write(&self, report: &impl Report) -> Result<PathBuf, LabError> {
        let json = serde_json::to_string_pretty(report).expect("the keys of a report are texts");
        let page = escape_lines(&report.to_string()) + "\n";
        let mut files = report.plots()?;
        // The page comes last, since it shows the pictures.
        files.extend([("report.json".into(), json), ("report.md".into(), page)]);
        for (name, contents) in files {
            let path = self.0.join(name);
            write_atomically(&path, contents.as_bytes()).map_err(LabError::file("write", path))?;
        }
        Ok(self.0.join("report.md"))
    }
}

/// Checks that a report replaces an older measurement, which has left its `report.json`, or nothing.
fn check_measurement(folder: &Path) -> Result<(), LabError> {
    let json = folder.join("report.json");
    if let Some(bytes) = read_if_file(&json)? {
        let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        return replaceable(&json, value.get("provenance").is_some());
    }
    let unreadable = || LabError::file("read", folder);
    for entry in fs::read_dir(folder).map_err(unreadable())? {
        let path = entry.map_err(unreadable())?.path();
        let is_page = path.file_name().is_some_and(|name| name == "report.md");
        let is_picture = path.extension().is_some_and(|end| end == "svg");
        replaceable(&path, !is_page && !is_picture)?;
    }
    Ok(())
}

/// Checks that a page is missing, or has this line, as an older page of the same kind does.
pub(crate) fn check_page(path: &Path, line: &str) -> Result<(), LabError> {
    let bytes = read_if_file(path)?;
    let is_older = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().any(|own| own == line);
    replaceable(path, bytes.is_none_or(|bytes| is_older(&bytes)))
}

fn replaceable(path: &Path, is_replaceable: bool) -> Result<(), LabError> {
    if is_replaceable {
        return Ok(());
    }
    Err(LabError::Exists {
        path: path.to_owned(),
        advice: ", and no such measurement has written it: move it away, or use another folder",
    })
}

/// The bytes of a file; `None` if the path is missing or no file.
fn read_if_file(path: &Path) -> Result<Option<Vec<u8>>, LabError> {
    if !path.is_file() {
        return Ok(None);
    }
    read_bounded(path).map(Some).map_err(LabError::file("read", path))
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn a_table_has_a_header_a_rule_and_rows() {
        let text = table(":a | b", ["1 | 2".to_owned()]);
        assert_eq!(text, "| a | b |\n|---|---:|\n| 1 | 2 |");
    }

    #[test]
    fn thousands_are_set_apart() {
        let texts = [0, 246, 1000, 13_728, usize::MAX].map(|n| count(n).to_string());
        let largest = "18,446,744,073,709,551,615";
        assert_eq!(texts, ["0", "246", "1,000", "13,728", largest]);
    }

    #[test]
    fn large_factors_are_whole() {
        assert_eq!([2.24, 9.94, 16.5, 55.8].map(times), ["2.2x", "9.9x", "17x", "56x"]);
    }

    #[test]
    fn the_unit_fits_the_size() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (4096, "4 KiB"),
            (1 << 19, "512 KiB"),
            (1_100_000, "1.05 MiB"),
            ((1 << 20) - 1, "1.00 MiB"),
            (12 << 30, "12 GiB"),
            (u64::MAX, "16.00 EiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }

    #[test]
    fn a_size_is_read_with_its_unit() {
        for (text, bytes) in
            [("24GiB", 24 << 30), (" 1.5 tib ", 3 << 39), ("1B", 1), ("15.5EiB", 31 << 59)]
        {
            assert_eq!(text.parse::<Bytes>().unwrap(), Bytes(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in [
            "", "24", "GiB", "24XB", "24GB", "-1GiB", "1e3GiB", "1.2.3GiB", ".GiB", "0GiB", "0.5B",
            "16EiB", "nanGiB", "infGiB", "２GiB",
        ] {
            let error = text.parse::<Bytes>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{text}`")), "{error}");
        }
    }

    const SECTION: &str = "## The cache changes no result";

    #[test]
    fn only_older_reports_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let measurement = || check_measurement(folder.path());
        assert!(check_page(&file("report.md"), SECTION).is_ok());
        fs::write(file("config.json"), "{}").unwrap();
        measurement().unwrap();

        fs::write(file("report.md"), "# Our annual report\n").unwrap();
        for error in [measurement(), check_page(&file("report.md"), SECTION)] {
            let error = error.unwrap_err().to_string();
            assert!(error.contains("report.md is there already"), "{error}");
        }
        fs::write(file("report.md"), format!("# a\n\n{SECTION}\n")).unwrap();
        check_page(&file("report.md"), SECTION).unwrap();
        fs::remove_file(file("report.md")).unwrap();

        fs::write(file("loss.svg"), "<svg/>").unwrap();
        let error = measurement().unwrap_err().to_string();
        assert!(error.contains("loss.svg is there already"), "{error}");
        for (json, is_ours) in [
            ("{\"provenance\": {}}", true),
            ("{\"accuracy\": 1}", false),
            ("[]", false),
            ("", false),
        ] {
            fs::write(file("report.json"), json).unwrap();
            assert_eq!(measurement().is_ok(), is_ours, "{json}");
        }
    }
}
