//! How long a text of some length takes with the cache and without.

use serde::Serialize;
use tang_engine::Decoder;
use tang_generate::Task;

use crate::{
    Growth, LabError, LabModel, Spread, Subject,
    counting::{cached_tokens, forwarded_as_wanted, uncached_tokens},
    exactness::{Exactness, compare},
    table::{table, thousands, times},
    test_cases::TestCase,
    timed_generation::TimedGeneration,
};

/// Times of one network at several lengths.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LengthSeries {
    /// The network.
    pub subject: Subject,
    /// One entry a length, the shortest first.
    pub rows: Vec<LengthTiming>,
    /// How the figures grow with length, where there are two lengths or more.
    pub growth: Option<SeriesGrowth>,
}

/// Times for one number of characters.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LengthTiming {
    /// Characters generated, from a prompt of one newline.
    pub characters: usize,
    /// With the cache.
    pub cached: RunsTiming,
    /// Without.
    pub uncached: RunsTiming,
    /// Median of the whole without the cache over that with it.
    pub speed_up: f64,
}

/// Times of one way to generate, sampling included.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunsTiming {
    /// The whole generation.
    pub total: Spread,
    /// Until the first token: the prefill.
    pub time_to_first_token: Spread,
    /// A token after the first, the mean of a run.
    pub time_per_later_token: Spread,
    /// A token in the last quarter of the text, the mean of a run.
    pub time_per_late_token: Spread,
    /// Tokens that went through the model.
    pub forwarded_tokens: usize,
}

/// How time and work grow with the length of the text.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SeriesGrowth {
    /// Time with the cache.
    pub cached_time: Growth,
    /// Time without.
    pub uncached_time: Growth,
    /// Counted tokens with the cache.
    pub cached_tokens: Growth,
    /// Counted tokens without.
    pub uncached_tokens: Growth,
}

/// Times every length that the model has positions for, `runs` times after a warm-up.
///
/// # Errors
///
/// [`LabError::TimedTexts`] if the texts of a run differ and rounding does not make it, [`LabError::Count`] if it took
/// another number of tokens than the formulas say.
pub(crate) fn length_series(
    lab: &LabModel,
    subject: Subject,
    lengths: &[usize],
    runs: usize,
    on_progress: &mut dyn FnMut(&str),
) -> Result<LengthSeries, LabError> {
    let rows = lengths
        .iter()
        .filter(|characters| **characters <= lab.context())
        .map(|characters| {
            on_progress(&format!(
                "{}: timing {characters} characters ({subject})",
                lab.name
            ));
            let cached = || lab.cached();
            let uncached = || lab.uncached();
            length_timing(cached, uncached, *characters, runs)
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(LengthSeries {
        subject,
        growth: series_growth(&rows),
        rows,
    })
}

fn length_timing(
    cached: impl Fn() -> Box<dyn Decoder>,
    uncached: impl Fn() -> Box<dyn Decoder>,
    characters: usize,
    runs: usize,
) -> Result<LengthTiming, LabError> {
    let mut cached_runs = Vec::new();
    let mut uncached_runs = Vec::new();
    // Interleaved, so that a slower minute of the machine meets both.
    for run in 0..=runs {
        let with = TimedGeneration::run(&mut *cached(), &Task::open(), characters)?;
        let without = TimedGeneration::run(&mut *uncached(), &Task::open(), characters)?;
        if let Some(step) = first_difference(&with, &without)
            && !is_tie(&cached, &uncached, characters)
        {
            return Err(LabError::TimedTexts {
                characters,
                run,
                step,
            });
        }
        if run > 0 {
            cached_runs.push(with);
            uncached_runs.push(without);
        }
    }
    let cached = runs_timing("with the cache", &cached_runs, cached_tokens(1, characters))?;
    let uncached = runs_timing(
        "without the cache",
        &uncached_runs,
        uncached_tokens(1, characters),
    )?;
    Ok(LengthTiming {
        characters,
        speed_up: uncached.total.median_ms / cached.total.median_ms,
        cached,
        uncached,
    })
}

fn first_difference(with: &TimedGeneration, without: &TimedGeneration) -> Option<usize> {
    let mut pairs = with.generated.iter().zip(&without.generated);
    pairs.position(|(a, b)| a != b)
}

/// Whether rounding makes the first difference between two texts that are timed together.
fn is_tie(
    cached: &impl Fn() -> Box<dyn Decoder>,
    uncached: &impl Fn() -> Box<dyn Decoder>,
    characters: usize,
) -> bool {
    let case = TestCase {
        name: format!("{characters} characters"),
        task: Task::open(),
        config: TimedGeneration::config(characters),
    };
    let mut result = Exactness::of(1);
    let compared = compare(&mut *cached(), &mut *uncached(), &case, &mut result);
    compared.is_ok() && result.ties > 0
}

fn runs_timing(
    what: &'static str,
    runs: &[TimedGeneration],
    wanted_tokens: usize,
) -> Result<RunsTiming, LabError> {
    for run in runs {
        let texts = [1, run.generated.len()];
        forwarded_as_wanted(what, texts, wanted_tokens, run.forwarded_tokens)?;
    }
    let spread = |time: fn(&TimedGeneration) -> f64| Spread::of(runs.iter().map(time).collect());
    Ok(RunsTiming {
        total: spread(TimedGeneration::total_ms),
        time_to_first_token: spread(TimedGeneration::first_ms),
        time_per_later_token: spread(TimedGeneration::later_ms),
        time_per_late_token: spread(TimedGeneration::late_ms),
        forwarded_tokens: wanted_tokens,
    })
}

fn series_growth(rows: &[LengthTiming]) -> Option<SeriesGrowth> {
    let growth = |figure: fn(&LengthTiming) -> f64| {
        let points: Vec<_> = rows
            .iter()
            .map(|row| (row.characters as f64, figure(row)))
            .collect();
        Growth::of(&points)
    };
    Some(SeriesGrowth {
        cached_time: growth(|row| row.cached.total.median_ms)?,
        uncached_time: growth(|row| row.uncached.total.median_ms)?,
        cached_tokens: growth(|row| row.cached.forwarded_tokens as f64)?,
        uncached_tokens: growth(|row| row.uncached.forwarded_tokens as f64)?,
    })
}

impl LengthSeries {
    /// Whole texts: times and counted tokens.
    pub(crate) fn totals(&self) -> String {
        let rows = self.rows.iter().map(|row| {
            [
                row.characters.to_string(),
                row.cached.total.to_string(),
                row.uncached.total.to_string(),
                times(row.speed_up),
                thousands(row.cached.forwarded_tokens),
                thousands(row.uncached.forwarded_tokens),
            ]
        });
        let header = [
            "characters",
            "with the cache, ms",
            "without, ms",
            "speed-up",
            "tokens through the model, with",
            "without",
        ];
        table(header, rows)
    }

    /// The first token apart from the later ones.
    pub(crate) fn tokens(&self) -> String {
        let rows = self.rows.iter().map(|row| {
            [
                row.characters.to_string(),
                row.cached.time_to_first_token.to_string(),
                row.uncached.time_to_first_token.to_string(),
                row.cached.time_per_later_token.to_string(),
                row.uncached.time_per_later_token.to_string(),
                row.cached.time_per_late_token.to_string(),
                row.uncached.time_per_late_token.to_string(),
            ]
        });
        let header = [
            "characters",
            "first token with the cache, ms",
            "without, ms",
            "later token with, ms",
            "without, ms",
            "token of the last quarter with, ms",
            "without, ms",
        ];
        table(header, rows)
    }

    /// The fitted exponents, where there are two lengths or more.
    pub(crate) fn exponents(&self) -> String {
        let rows = self.growth.iter().flat_map(|growth| {
            [
                ("time with the cache", growth.cached_time),
                ("time without", growth.uncached_time),
                ("counted tokens with the cache", growth.cached_tokens),
                ("counted tokens without", growth.uncached_tokens),
            ]
        });
        let rows = rows.map(|(what, growth)| {
            [
                what.to_owned(),
                format!("{:.2}", growth.all.exponent),
                format!("{:.2}", growth.longest.exponent),
            ]
        });
        let header = ["figure", "k over all lengths", "k over the two longest"];
        table(header, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_decoder::FakeDecoder;

    fn boxed(make: impl Fn() -> FakeDecoder) -> impl Fn() -> Box<dyn Decoder> {
        move || Box::new(make())
    }

    #[test]
    fn texts_that_differ_give_no_time() {
        let wrong = || FakeDecoder {
            fault: Some((7, 3e4)),
            ..FakeDecoder::default()
        };
        let error = length_timing(boxed(FakeDecoder::default), boxed(wrong), 10, 2).unwrap_err();
        let found = matches!(
            error,
            LabError::TimedTexts {
                characters: 10,
                run: 0,
                step: 7
            }
        );
        assert!(found, "{error}");
    }

    #[test]
    fn texts_that_differ_at_a_tie_are_timed() {
        // The likeliest token alone has 0.85, where top-p ends, but for rounding.
        let near = |fault| FakeDecoder {
            lead: 0.85 * (0.85_f32 / 0.15).ln(),
            others: -100.0,
            fault,
            ..FakeDecoder::default()
        };
        let text = |fault| TimedGeneration::run(&mut near(fault), &Task::open(), 40).unwrap();
        let mut ties = 0;
        for fault in (0..40).flat_map(|step| [(step, 1e-5), (step, -1e-5)]) {
            ties += usize::from(first_difference(&text(None), &text(Some(fault))).is_some());
            let error = length_timing(boxed(|| near(None)), boxed(|| near(Some(fault))), 40, 1)
                .unwrap_err();
            // The fake counts as the cache does, which is looked at once the texts are right.
            assert!(matches!(error, LabError::Count { .. }), "{error}");
        }
        assert!(ties > 3, "{ties}");
    }

    #[test]
    fn work_that_the_formula_does_not_say_gives_no_time() {
        // The fake counts as the cache does, so it is wrong where there is none.
        let fake = FakeDecoder::default;
        let error = length_timing(boxed(fake), boxed(fake), 10, 2)
            .unwrap_err()
            .to_string();
        assert!(error.contains("10") && error.contains("55"), "{error}");
        assert!(error.contains("without the cache"), "{error}");
    }

    #[test]
    fn a_series_counts_and_fits() {
        let spread = |ms| Spread::of(vec![ms]);
        let timing = |ms, forwarded_tokens| RunsTiming {
            total: spread(ms),
            time_to_first_token: spread(1.0),
            time_per_later_token: spread(1.0),
            time_per_late_token: spread(1.0),
            forwarded_tokens,
        };
        let rows: Vec<_> = [10, 20, 40]
            .map(|n| LengthTiming {
                characters: n,
                cached: timing(n as f64, cached_tokens(1, n)),
                uncached: timing((n * n) as f64, uncached_tokens(1, n)),
                speed_up: n as f64,
            })
            .into();
        let growth = series_growth(&rows).unwrap();
        assert!((growth.cached_time.all.exponent - 1.0).abs() < 1e-9);
        assert!((growth.uncached_time.all.exponent - 2.0).abs() < 1e-9);
        assert!((growth.cached_tokens.all.exponent - 1.0).abs() < 1e-9);
        assert!(growth.uncached_tokens.longest.exponent > growth.uncached_tokens.all.exponent);
        assert_eq!(series_growth(&rows[..1]), None);
    }
}
