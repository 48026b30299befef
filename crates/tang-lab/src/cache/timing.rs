//! Times of whole texts, of their tokens and of prompts, with the cache and without.

use serde::Serialize;
use tang_engine::Decoder;
use tang_generate::Task;

use crate::{
    BenchPlan, LabError, LabModel,
    cache::{
        cases::{TestCase, endless},
        comparison::{Exactness, Other, Tolerance},
        counting::{TimedGeneration, Way},
        prompts::{PrefillTiming, prefill_timings},
    },
    page::{count, table, times},
    stats::{Growth, Spread, after_warm_up},
    subject::Subject,
};

/// Positions of the network with random weights.
const LONG_CONTEXT: usize = 512;

/// Times with the cache and without.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Timing {
    /// Timed runs of each kind, after one to warm up.
    runs: usize,
    pub trained: LengthSeries,
    /// The same geometry with random weights, which has positions for longer texts.
    pub long: LengthSeries,
    /// Prompts alone, on the trained model.
    pub prefill: Vec<PrefillTiming>,
}

/// Times of one network at several lengths.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct LengthSeries {
    pub subject: Subject,
    /// One entry per length, the shortest first.
    pub rows: Vec<LengthTiming>,
    /// Growth with the length, where there are two lengths or more.
    pub growth: Option<SeriesGrowth>,
}

/// Times for one number of characters.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct LengthTiming {
    /// Characters generated, from a prompt of one newline.
    pub characters: usize,
    pub cached: RunsTiming,
    pub uncached: RunsTiming,
    /// Median of the whole without the cache over that with it.
    pub speed_up: f64,
}

/// Times of one way to generate, sampling included.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RunsTiming {
    pub total: Spread,
    /// Until the first token: the prefill.
    time_to_first_token: Spread,
    /// A token after the first, the mean of a run.
    time_per_later_token: Spread,
    /// A token in the last quarter of the text, the mean of a run.
    time_per_late_token: Spread,
    /// Tokens that went through the model.
    forwarded_tokens: usize,
}

/// Growth of time and of counted tokens with the length of the text.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct SeriesGrowth {
    pub cached_time: Growth,
    pub uncached_time: Growth,
    cached_tokens: Growth,
    uncached_tokens: Growth,
}

/// Times a model. Call it only after the check that the cache changes no token.
pub(crate) fn timing(lab: &LabModel, plan: &BenchPlan) -> Result<Timing, LabError> {
    let trained = length_series(lab, lab.subject(), plan.lengths, plan.runs)?;
    let (random, subject) = lab.with_random_weights(LONG_CONTEXT)?;
    let long = length_series(&random, subject, plan.long_lengths, plan.runs)?;
    lab.note("timing the prefill");
    let prefill = prefill_timings(lab, plan.prompts, plan.runs)?;
    Ok(Timing { runs: plan.runs, trained, long, prefill })
}

/// Times every length that the model has positions for, `runs` times after a warm-up.
pub(crate) fn length_series(
    lab: &LabModel,
    subject: Subject,
    lengths: &[usize],
    runs: usize,
) -> Result<LengthSeries, LabError> {
    let fitting = lengths.iter().filter(|characters| **characters <= lab.context());
    let rows = fitting.map(|characters| {
        lab.note(format_args!("timing {characters} characters ({subject})"));
        length_timing(|way| way.decoder(lab), lab.tolerance(), *characters, runs)
    });
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    Ok(LengthSeries { subject, growth: series_growth(&rows), rows })
}

fn length_timing(
    decoder: impl Fn(Way) -> Box<dyn Decoder>,
    tolerance: Tolerance,
    characters: usize,
    runs: usize,
) -> Result<LengthTiming, LabError> {
    let case = TestCase {
        name: format!("{characters} characters"),
        task: Task::open(),
        config: endless(characters),
    };
    // With and without the cache in turns, so that a slower minute of the machine affects both.
    let runs = after_warm_up(runs, |run| {
        let [with, without] = [Way::Cached, Way::Uncached]
            .map(|way| TimedGeneration::run(&mut *decoder(way), &case.task, characters));
        let (with, without) = (with?, without?);
        let mut pairs = with.generated.iter().zip(&without.generated);
        if let Some(step) = pairs.position(|(a, b)| a != b) {
            let mut result = Exactness::new(1);
            let (mut cached, mut full) = (decoder(Way::Cached), decoder(Way::Uncached));
            let other = Other::Generator(case.generator(&mut *full)?);
            let compared = result.compare(&case, &mut *cached, other, tolerance);
            if compared.is_err() || result.ties == 0 {
                return Err(LabError::TimedTexts(format!(
                    "timing {characters} characters, run {run}: the texts with the cache and without differ from \
                    token {step} on"
                )));
            }
        }
        with.counted(Way::Cached, 1)?;
        without.counted(Way::Uncached, 1)?;
        Ok([with, without])
    })?;
    let [cached, uncached] = [0, 1].map(|way| {
        let spread = |time: fn(&TimedGeneration) -> f64| Spread::over(&runs, |run| time(&run[way]));
        RunsTiming {
            total: spread(TimedGeneration::total_ms),
            time_to_first_token: spread(TimedGeneration::first_ms),
            time_per_later_token: spread(TimedGeneration::later_ms),
            time_per_late_token: spread(TimedGeneration::late_ms),
            forwarded_tokens: runs[0][way].forwarded,
        }
    });
    let speed_up = uncached.total.median_ms / cached.total.median_ms;
    Ok(LengthTiming { characters, cached, uncached, speed_up })
}

impl LengthTiming {
    /// A figure at this length.
    pub fn point(&self, figure: fn(&Self) -> f64) -> (f64, f64) {
        (self.characters as f64, figure(self))
    }
}

fn series_growth(rows: &[LengthTiming]) -> Option<SeriesGrowth> {
    let growth = |figure: fn(&LengthTiming) -> f64| {
        let points: Vec<_> = rows.iter().map(|row| row.point(figure)).collect();
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
    pub fn totals(&self) -> String {
        let rows = self.rows.iter().map(|row| {
            let (with, without) = (&row.cached, &row.uncached);
            let through = [with, without].map(|way| count(way.forwarded_tokens));
            let (n, with, without, speed_up) =
                (row.characters, with.total, without.total, times(row.speed_up));
            format!("{n} | {with} | {without} | {speed_up} | {} | {}", through[0], through[1])
        });
        let header = "characters | with the cache, ms | without, ms | speed-up | tokens through the model, with | \
            without";
        table(header, rows)
    }

    /// The first token apart from the later ones.
    pub fn tokens(&self) -> String {
        let rows = self.rows.iter().map(|row| {
            let both = |time: fn(&RunsTiming) -> Spread| {
                format!("{} | {}", time(&row.cached), time(&row.uncached))
            };
            let first = both(|way| way.time_to_first_token);
            let later = both(|way| way.time_per_later_token);
            let late = both(|way| way.time_per_late_token);
            format!("{} | {first} | {later} | {late}", row.characters)
        });
        let header = "characters | first token with the cache, ms | without, ms | later token with, ms | without, \
            ms | token of the last quarter with, ms | without, ms";
        table(header, rows)
    }

    /// The fitted exponents, where there are two lengths or more.
    pub fn exponents(&self) -> String {
        let row = |what: &str, growth: Growth| {
            let (all, longest) = (growth.all.exponent, growth.longest.exponent);
            format!("{what} | {all:.2} | {longest:.2}")
        };
        let rows = self.growth.iter().flat_map(|growth| {
            [
                row("time with the cache", growth.cached_time),
                row("time without", growth.uncached_time),
                row("counted tokens with the cache", growth.cached_tokens),
                row("counted tokens without", growth.uncached_tokens),
            ]
        });
        let header = ":figure | k over all lengths | k over the two longest";
        table(header, rows)
    }
}

#[cfg(test)]
mod tests {
    use crate::cache::fake_decoder::FakeDecoder;

    use super::*;

    /// Decoders with the cache and without.
    fn pair(
        cached: impl Fn() -> FakeDecoder,
        uncached: impl Fn() -> FakeDecoder,
    ) -> impl Fn(Way) -> Box<dyn Decoder> {
        move |way| match way {
            Way::Cached => Box::new(cached()),
            Way::Uncached => Box::new(uncached()),
        }
    }

    #[test]
    fn texts_that_differ_give_no_time() {
        let wrong = || FakeDecoder { fault: Some((7, 3e4)), ..FakeDecoder::default() };
        let error = length_timing(pair(FakeDecoder::default, wrong), Tolerance::ROUNDING, 10, 2)
            .unwrap_err();
        assert!(matches!(error, LabError::TimedTexts(_)), "{error}");
        let message = error.to_string();
        let wanted = "timing 10 characters, run 0: the texts with the cache and without differ from token 7 on";
        assert!(message.contains(wanted), "{message}");
    }

    #[test]
    fn texts_that_differ_at_a_tie_are_timed() {
        // The likeliest token alone has the probability 0.8, at which top-p ends.
        let near = |fault| FakeDecoder {
            lead: 0.9 * (0.8_f32 / 0.2).ln(),
            others: -100.0,
            fault,
            ..FakeDecoder::default()
        };
        let text = |fault| TimedGeneration::run(&mut near(fault), &Task::open(), 40).unwrap();
        let mut ties = 0;
        for fault in (0..40).flat_map(|step| [(step, 1e-5), (step, -1e-5)]) {
            ties += usize::from(text(None).generated != text(Some(fault)).generated);
            let decoders = pair(|| near(None), || near(Some(fault)));
            let error = length_timing(decoders, Tolerance::ROUNDING, 40, 1).unwrap_err();
            // The fake counts as the cache does; counts are checked only after the texts.
            assert!(matches!(error, LabError::Count(_)), "{error}");
        }
        assert!(ties > 3, "{ties}");
    }

    #[test]
    fn work_that_the_formula_does_not_say_gives_no_time() {
        // The fake counts as the cache does, so it is wrong where there is none.
        let fake = FakeDecoder::default;
        let error =
            length_timing(pair(fake, fake), Tolerance::ROUNDING, 10, 2).unwrap_err().to_string();
        assert!(error.contains("10") && error.contains("55"), "{error}");
        assert!(error.contains("without the cache"), "{error}");
    }

    #[test]
    fn a_series_counts_and_fits() {
        let spread = |ms: f64| Spread::over(&[ms], |ms| *ms);
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
                cached: timing(n as f64, Way::Cached.tokens([1, n])),
                uncached: timing((n * n) as f64, Way::Uncached.tokens([1, n])),
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
