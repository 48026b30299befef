//! Figures on the pages: text between marks, made from a template in `xtask/figures` and the reports in
//! `checkpoints`.
//!
//! A template is Markdown with references `{FILE PATH}` or `{FILE PATH|FORM}`. FILE is a JSON file in
//! `checkpoints`, or one with a JSON object per line, the last of which counts. PATH has field names and
//! `FIELD=TEXT`, which picks the entry of a list, between slashes. FORM is a count of digits after the
//! point, after `%` for shares of 1 or `MiB` for bytes. First lines `$name = text` are abbreviations.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::workspace;

const BEGIN: &str = "<!-- figures: ";
const END: &str = "<!-- end of figures -->";

/// Writes the text between the marks of all pages.
///
/// # Errors
///
/// If a report is missing or lacks a figure.
pub fn write() -> Result<()> {
    for (path, _, new) in pages()? {
        fs::write(workspace::root().join(&path), new)
            .with_context(|| format!("cannot write {path}"))?;
    }
    Ok(())
}

/// Compares the pages with the reports.
///
/// # Errors
///
/// As [`write()`], and if a page has another text.
pub fn check() -> Result<()> {
    for (path, old, new) in pages()? {
        ensure!(old == new, "{path} has other figures than the reports: run `cargo xtask readme`");
    }
    Ok(())
}

/// The pages with marks: path, text, and text with the figures of the reports.
fn pages() -> Result<Vec<(String, String, String)>> {
    let mut pages = Vec::new();
    for path in workspace::files()?.into_iter().filter(|path| path.ends_with(".md")) {
        let old = workspace::read(&path)?;
        let fill =
            |name: &str| fill(&workspace::read(&format!("xtask/figures/{name}.md"))?, &report);
        let new = between_marks(&old, &fill).with_context(|| path.clone())?;
        pages.push((path, old, new));
    }
    Ok(pages)
}

fn between_marks(page: &str, fill: &dyn Fn(&str) -> Result<String>) -> Result<String> {
    let mut parts = page.split(BEGIN);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" -->\n").context("a mark does not end its line")?;
        let (_, rest) = rest.split_once(END).with_context(|| format!("{name}: no `{END}`"))?;
        let figures = fill(name).with_context(|| format!("figures {name}"))?;
        text += &format!("{BEGIN}{name} -->\n{figures}{END}{rest}");
    }
    Ok(text)
}

fn report(file: &str) -> Result<Value> {
    let text = workspace::read(&format!("checkpoints/{file}"))?;
    let is_log = file.ends_with(".jsonl");
    let json = text.lines().last().filter(|_| is_log).unwrap_or(&text);
    serde_json::from_str(json).with_context(|| format!("checkpoints/{file} is not JSON"))
}

fn fill(template: &str, report: &dyn Fn(&str) -> Result<Value>) -> Result<String> {
    let mut template = template.to_owned();
    while let Some((line, rest)) = template.split_once('\n')
        && let Some((name, text)) = line.split_once(" = ")
        && name.starts_with('$')
    {
        template = rest.replace(name, text);
    }
    let mut parts = template.split('{');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (reference, rest) = part.split_once('}').context("`{` without `}`")?;
        let (file, path) = reference.split_once(' ').context("a reference without a path")?;
        let (path, form) = path.split_once('|').unwrap_or((path, ""));
        let report = report(file)?;
        let value = find(&report, path);
        let figure = value.and_then(|value| show(value, form));
        text += &figure.with_context(|| format!("no single figure `{reference}`"))?;
        text += rest;
    }
    Ok(text)
}

/// The only value at `path`.
fn find<'a>(report: &'a Value, path: &str) -> Option<&'a Value> {
    let mut found = vec![report];
    for step in path.split('/') {
        let entries = found.into_iter().flat_map(|value| match value {
            Value::Array(entries) => entries.iter().collect(),
            other => vec![other],
        });
        found = match step.split_once('=') {
            Some((field, text)) => {
                entries.filter(|entry| entry[field].to_string().trim_matches('"') == text).collect()
            }
            None => entries.filter_map(|entry| entry.get(step)).collect(),
        };
    }
    let [value] = found[..] else { return None };
    Some(value)
}

/// A text as it is, a number in its form, the median of a list of numbers. Without a form, a number that is no
/// integer has three significant digits.
fn show(value: &Value, form: &str) -> Option<String> {
    if let Some(text) = value.as_str() {
        return Some(text.to_owned());
    }
    let number = match value {
        Value::Array(entries) => {
            let mut numbers: Vec<f64> = entries.iter().filter_map(Value::as_f64).collect();
            numbers.sort_by(f64::total_cmp);
            *numbers.get(numbers.len() / 2)?
        }
        other => other.as_f64()?,
    };
    let (number, form) = match (form.strip_prefix('%'), form.strip_prefix("MiB")) {
        (Some(form), _) => (100.0 * number, form),
        (_, Some(form)) => (number / 1024.0 / 1024.0, form),
        _ => (number, form),
    };
    let digits = match form.parse() {
        Ok(digits) => digits,
        Err(_) if number.fract() == 0.0 => 0,
        Err(_) if number.abs() < 1e-3 => return Some(format!("{number:.1e}")),
        Err(_) => (2.0 - number.abs().log10().floor()).max(0.0) as usize,
    };
    Some(with_commas(&format!("{number:.digits$}")))
}

/// Sets commas between the thousands of the integer part.
fn with_commas(number: &str) -> String {
    let end = number.find('.').unwrap_or(number.len());
    let mut text = number.to_owned();
    for place in (1..end).filter(|place| (end - place).is_multiple_of(3)).rev() {
        if text.as_bytes()[place - 1].is_ascii_digit() {
            text.insert(place, ',');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn example(file: &str) -> Result<Value> {
        ensure!(file == "a.json", "no {file}");
        Ok(json!({
            "count": 1234567, "small": 0.0000123, "ms": 17.649, "whole": 250.0, "name": "CPU {0}",
            "models": [
                {"name": "b, 0.7", "rows": [{"n": 8, "rate": 0.4221}, {"n": 32, "rate": 1.0}]},
                {"name": "c", "rows": [{"n": 8, "rate": 0.5}], "speeds": [3.0, 1.0, 2.0], "bytes": 20447232},
            ],
        }))
    }

    #[test]
    fn references_become_figures() {
        for (template, text) in [
            ("| {a.json count} |", "| 1,234,567 |"),
            ("{a.json small} {a.json ms} {a.json ms|1} {a.json whole}", "1.2e-5 17.6 17.6 250"),
            ("{a.json models/name=b, 0.7/rows/n=8/rate|%1} %", "42.2 %"),
            ("{a.json models/name=c/rows/rate|2}{a.json models/speeds}", "0.502"),
            ("{a.json models/bytes|MiB} {a.json models/bytes|MiB0} MiB", "19.5 20 MiB"),
            ("{a.json name}", "CPU {0}"),
            (
                "$c = a.json models/name=c\n$n = $c/rows/n=8\n{$n/rate|%0} {$c/bytes}",
                "50 20,447,232",
            ),
        ] {
            assert_eq!(fill(template, &example).unwrap(), text);
        }
        for wrong in [
            "{a.json none}",
            "{a.json models/rows/rate}",
            "{b.json count}",
            "{a.json models}",
            "{a.json",
        ] {
            fill(wrong, &example).unwrap_err();
        }
    }

    #[test]
    fn text_between_marks_is_replaced() {
        let name = |name: &str| Ok(format!("<{name}>\n"));
        let page =
            |text: &str| format!("A\n{BEGIN}one -->\n{text}{END}\nB\n{BEGIN}two -->\n{END}\n");
        let new = between_marks(&page("old\n"), &name).unwrap();
        assert_eq!(new, page("<one>\n").replace("two -->\n", "two -->\n<two>\n"));
        assert_eq!(between_marks(&new, &name).unwrap(), new);
        assert!(between_marks(&format!("{BEGIN}one -->\n"), &name).is_err());
    }
}
