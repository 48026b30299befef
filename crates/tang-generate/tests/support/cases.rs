//! Tasks of all kinds, and settings.

use tang_engine::Decoder;
use tang_generate::{GenerationConfig, Generator, Task};
use tang_prosody::{Form, Layout, LineLength};
use tang_tokenizer::{TokenId, Vocabulary};

/// Settings that reach the sampler in different ways.
pub fn configs() -> Vec<GenerationConfig> {
    let base = GenerationConfig::default();
    vec![
        GenerationConfig { temperature: 0.0, ..base.clone() },
        base.clone(),
        GenerationConfig { temperature: 1.5, top_k: 0, top_p: 1.0, ..base.clone() },
        GenerationConfig { repetition_penalty: 1.3, stop_at_end: false, ..base },
    ]
}

/// Prompts of different lengths, with constraints and without.
pub fn tasks(vocabulary: &Vocabulary) -> Vec<Task> {
    let acrostic = |heads: &str| {
        let layout = Layout::new(heads.chars().count(), LineLength::Five);
        Task::acrostic(heads, layout, vocabulary).unwrap()
    };
    vec![
        Task::continuation("七上三", vocabulary).unwrap(),
        Task::continuation("一", vocabulary).unwrap(),
        Task::form(Form::QiJue.into(), vocabulary).unwrap(),
        acrostic("七上丁丁"),
        acrostic("三"),
    ]
}

/// The tokens of one generation.
pub fn run(decoder: &mut dyn Decoder, task: &Task, config: &GenerationConfig) -> Vec<TokenId> {
    let generator = Generator::new(decoder, task.clone(), config).unwrap();
    generator.finish().unwrap().tokens().to_vec()
}
