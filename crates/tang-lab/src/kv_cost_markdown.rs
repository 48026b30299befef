//! The cost of a key/value cache as tables.

use std::fmt;

use crate::{Bytes, CacheCost, KvCost, table::thousands};

impl fmt::Display for KvCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "## What a key/value cache costs\n")?;
        writeln!(
            f,
            "{}; n = {} tokens. Worked out, not measured.\n",
            self.geometry,
            thousands(self.length)
        )?;
        self.fmt_summary(f)?;
        self.fmt_lengths(f)?;
        self.fmt_variants(f)?;
        write!(
            f,
            "\nThe weights are the textbook estimate: attention 4 D h d and feed-forward 8 D^2 numbers a layer; embeddings, gating and GQA's smaller projections are left out. n* is 2 L g d n = L (4 D h d + 8 D^2) solved for n: layers and bytes cancel. A number of the cache meets h/g query heads, with a multiplication and an addition each: at 2 bytes, h/g FLOP a byte that is read to decode one token. n tokens cost n(n + 1)/2 attention pairs with the cache and n(n + 1)(n + 2)/6 without; n and n(n + 1)/2 tokens go through the model."
        )
    }
}

impl KvCost {
    fn fmt_summary(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CacheCost {
            flop_per_byte,
            bytes_per_token,
            bytes,
            crossover_tokens,
            ..
        } = self.cache;
        let width = self.geometry.dtype.bytes();
        writeln!(f, "| quantity | value | how |\n|---|---:|---|")?;
        writeln!(
            f,
            "| cache a token | {bytes_per_token} | 2 x L x g x d x {width} bytes |"
        )?;
        writeln!(f, "| cache of n tokens | {bytes} | |")?;
        writeln!(
            f,
            "| weights | {} | L x (4 x D x h x d + 8 x D^2) x {width} bytes |",
            self.weight_bytes
        )?;
        writeln!(
            f,
            "| n*, whose cache weighs as much as the weights | {} tokens | D x (2 x h x d + 4 x D) / (g x d) |",
            thousands(crossover_tokens)
        )?;
        writeln!(
            f,
            "| arithmetic intensity of attention in decoding | {flop_per_byte} FLOP a byte of cache | 2 x (h/g) / {width} bytes |"
        )?;
        if let (Some(memory), Some(sequences)) = (self.memory, self.cache.sequences) {
            let how = if memory < self.weight_bytes {
                format!(
                    "the weights alone do not fit: they take {}",
                    self.weight_bytes
                )
            } else {
                let left = Bytes(memory.0 - self.weight_bytes.0);
                format!("{left} are left beside the weights")
            };
            writeln!(
                f,
                "| sequences of n tokens in {memory} | {} | {how} |",
                thousands(sequences)
            )?;
        }
        Ok(())
    }

    fn fmt_lengths(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\n| tokens | cache | of the weights | attention pairs without the cache, (n + 2)/3 | tokens through the model without, (n + 1)/2 |{}",
            self.memory_title()
        )?;
        writeln!(f, "|---:|---:|---:|---:|---:|{}", self.memory_rule())?;
        for row in &self.lengths {
            writeln!(
                f,
                "| {} | {} | {:.1}% | {}x | {}x |{}",
                thousands(row.tokens),
                row.bytes,
                100.0 * row.share_of_weights,
                ratio(row.pair_ratio),
                ratio(row.token_ratio),
                memory_cell(row.sequences)
            )?;
        }
        Ok(())
    }

    fn fmt_variants(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\n| sharing | g | h/g | FLOP a byte | cache a token | cache of {} tokens | n* |{}",
            thousands(self.length),
            self.memory_title()
        )?;
        writeln!(
            f,
            "|---|---:|---:|---:|---:|---:|---:|{}",
            self.memory_rule()
        )?;
        for row in &self.variants {
            let own = if row.kv_heads == self.cache.kv_heads {
                ", as given"
            } else {
                ""
            };
            writeln!(
                f,
                "| {}{own} | {} | {} | {} | {} | {} | {} |{}",
                row.sharing,
                thousands(row.kv_heads),
                thousands(row.heads_per_kv_head),
                row.flop_per_byte,
                row.bytes_per_token,
                row.bytes,
                thousands(row.crossover_tokens),
                memory_cell(row.sequences)
            )?;
        }
        Ok(())
    }

    fn memory_title(&self) -> String {
        self.memory
            .map_or(String::new(), |memory| format!(" sequences in {memory} |"))
    }

    fn memory_rule(&self) -> &'static str {
        self.memory.map_or("", |_| "---:|")
    }
}

fn memory_cell(sequences: Option<u64>) -> String {
    sequences.map_or(String::new(), |count| format!(" {} |", thousands(count)))
}

/// A ratio, with one decimal where it is not whole.
fn ratio(value: f64) -> String {
    let whole = thousands(value as u64);
    match (value.fract() * 10.0).round() {
        0.0 => whole,
        10.0 => thousands(value as u64 + 1),
        tenths => format!("{whole}.{tenths}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KvPreset;

    #[test]
    fn tables_have_as_many_cells_as_titles() {
        for memory in [None, Some(Bytes(24 << 30))] {
            let geometry = KvPreset::Llama70b.geometry();
            let text = KvCost::of(geometry, 4096, memory).unwrap().to_string();
            for table in text.split("\n\n").filter(|part| part.starts_with('|')) {
                let mut counts = table.lines().map(|line| line.matches('|').count());
                let first = counts.next().unwrap();
                assert!(counts.all(|count| count == first), "{table}");
            }
            assert!(text.contains("| GQA, as given | 8 | 8 | 8 | 320 KiB | 1.25 GiB | 393,216 |"));
            assert!(text.contains("| 4,096 | 1.25 GiB | 1.0% | 1,366x | 2,048.5x |"));
            assert_eq!(text.contains("sequences in 24 GiB"), memory.is_some());
        }
    }

    #[test]
    fn ratios_have_a_decimal_where_they_need_one() {
        for (value, text) in [
            (1366.0, "1,366"),
            (2048.5, "2,048.5"),
            (171.0 + 1.0 / 3.0, "171.3"),
            (0.97, "1"),
        ] {
            assert_eq!(ratio(value), text);
        }
    }
}
