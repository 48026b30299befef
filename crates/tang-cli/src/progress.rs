//! Bars on stderr. Where stderr is no terminal they are not drawn.

use std::{thread, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};
use tang_corpus::{Progress, Step};

/// One bar after the other, for the steps of building a corpus.
#[derive(Default)]
pub struct CorpusBars {
    current: Option<(Step, ProgressBar)>,
}

impl CorpusBars {
    /// Shows how far a step is.
    pub fn show(&mut self, progress: Progress) {
        if self
            .current
            .as_ref()
            .is_none_or(|(step, _)| *step != progress.step)
        {
            self.clear();
            self.current = Some((progress.step, corpus_bar(progress)));
        }
        if let Some((_, bar)) = &self.current {
            bar.set_position(progress.done);
        }
    }

    fn clear(&mut self) {
        if let Some((_, bar)) = self.current.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for CorpusBars {
    fn drop(&mut self) {
        self.clear();
    }
}

fn corpus_bar(progress: Progress) -> ProgressBar {
    let template = match progress.step {
        Step::Fetch => "{spinner} fetching {elapsed}",
        Step::Read => "reading  {bar:30} {bytes}/{total_bytes}",
        Step::Clean => "cleaning {bar:30} {pos}/{len} poems",
    };
    let bar = match progress.total {
        Some(total) => ProgressBar::new(total),
        None => ProgressBar::no_length(),
    };
    let bar = bar.with_style(style(template));
    if progress.step == Step::Fetch {
        tick(bar.clone());
    }
    bar
}

/// Turns the spinner of a bar until the bar is finished. The bar's own ticks would panic where the system
/// gives no thread; here the spinner then stands still.
fn tick(bar: ProgressBar) {
    let _ = thread::Builder::new().spawn(move || {
        while !bar.is_finished() {
            bar.tick();
            thread::sleep(Duration::from_millis(200));
        }
    });
}

/// The bar of a training run that has done `step` of `steps`.
pub fn training_bar(step: usize, steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64)
        .with_position(step as u64)
        .with_style(style("{bar:30} {pos}/{len}  {msg}  ETA {eta}"));
    bar.reset_eta();
    bar
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates of this file are well formed")
}
