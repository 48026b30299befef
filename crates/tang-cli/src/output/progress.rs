//! Bars on stderr. Where stderr is no terminal they are not drawn.

use std::{thread, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};
use tang_corpus::{Progress, Step};

/// One bar after the other, for the steps of building a corpus.
pub struct CorpusBars {
    step: Option<Step>,
    bar: ProgressBar,
}

impl CorpusBars {
    /// No bar yet.
    pub fn new() -> Self {
        Self { step: None, bar: ProgressBar::hidden() }
    }

    /// Shows the progress of a step.
    pub fn show(&mut self, progress: Progress) {
        if self.step != Some(progress.step) {
            self.bar.finish_and_clear();
            self.bar = corpus_bar(progress);
            self.step = Some(progress.step);
        }
        self.bar.set_position(progress.done);
    }
}

impl Drop for CorpusBars {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn corpus_bar(progress: Progress) -> ProgressBar {
    let template = match progress.step {
        Step::Fetch => "{spinner} fetching {elapsed}",
        Step::Read => "reading  {bar:30} {bytes}/{total_bytes}",
        Step::Clean => "cleaning {bar:30} {pos}/{len} poems",
    };
    let bar = progress.total.map_or_else(ProgressBar::no_length, ProgressBar::new);
    let bar = bar.with_style(style(template));
    if progress.step == Step::Fetch {
        tick(bar.clone());
    }
    bar
}

/// Turns the spinner of a bar until the bar is finished. The bar's own ticks would panic where the
/// system gives no thread; this spinner then does not turn.
fn tick(bar: ProgressBar) {
    let _ = thread::Builder::new().spawn(move || {
        while !bar.is_finished() {
            bar.tick();
            thread::sleep(Duration::from_millis(200));
        }
    });
}

/// A style from a template of this program.
pub fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates of this program are well formed")
}
