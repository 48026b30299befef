//! Markdown tables and the numbers in them.

use std::fmt::Display;

/// A Markdown table, every column set to the right.
pub(crate) fn table<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let header = header.map(str::to_owned);
    let mut lines = vec![line(&header), format!("|{}", "---:|".repeat(N))];
    lines.extend(rows.into_iter().map(|row| line(&row)));
    lines.join("\n")
}

/// A whole number with a comma between its thousands: 13,728.
pub(crate) fn thousands(number: impl Display) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How many times as much: 2.2x, and whole from 10x on.
pub(crate) fn times(factor: f64) -> String {
    if factor < 10.0 {
        format!("{factor:.1}x")
    } else {
        format!("{}x", factor.round())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_header_a_rule_and_rows() {
        let text = table(["a", "b"], [["1".to_owned(), "2".to_owned()]]);
        assert_eq!(text, "| a | b |\n|---:|---:|\n| 1 | 2 |");
    }

    #[test]
    fn thousands_are_set_apart() {
        let texts = [0, 246, 1000, 13_728, u64::MAX].map(thousands);
        let largest = "18,446,744,073,709,551,615";
        assert_eq!(texts, ["0", "246", "1,000", "13,728", largest]);
    }

    #[test]
    fn large_factors_are_whole() {
        assert_eq!(
            [2.24, 9.94, 16.5, 55.8].map(times),
            ["2.2x", "9.9x", "17x", "56x"]
        );
    }
}
