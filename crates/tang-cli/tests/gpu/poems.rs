//! Poems are the same.

use tang_engine::{Model, Threads};
use tang_generate::{GenerationConfig, Generator, Sequence, Task};
use tang_tokenizer::Vocabulary;

use crate::{TOLERANCE, at_root, on_both};

const OPENINGS: [&str; 6] = ["春", "春风", "白日依山尽，", "明月", "何处", "故人西辞"];

/// Generates a poem greedily, and gives the lead of each token over the second.
fn greedy(model: &dyn Model, task: &Task) -> (Sequence, Vec<f32>) {
    let config = GenerationConfig { temperature: 0.0, ..GenerationConfig::default() };
    let mut decoder = model.cached(Threads::ONE);
    let mut generator = Generator::new(&mut *decoder, task.clone(), &config).unwrap();
    let leads = generator.by_ref().map(|step| step.unwrap().margin).collect();
    (generator.sequence().clone(), leads)
}

#[test]
fn greedy_poems_are_those_of_the_cpu_but_for_ties() {
    for name in ["checkpoints/tang-4l", "checkpoints/minimind-4l"] {
        let checkpoint = at_root(name);
        let vocabulary = Vocabulary::load(&checkpoint).unwrap();
        let [cpu, gpu] = on_both(&checkpoint);
        let (mut tokens, mut ties) = (0, 0);
        for opening in OPENINGS {
            let task = Task::continuation(opening, &vocabulary).unwrap();
            let ((cpu, _), (gpu, leads)) = (greedy(&*cpu, &task), greedy(&*gpu, &task));
            let pairs = cpu.generated().iter().zip(gpu.generated());
            let same = pairs.take_while(|(a, b)| a == b).count();
            tokens += same;
            if same < cpu.generated().len().max(gpu.generated().len()) {
                assert!(leads[same] < 2.0 * TOLERANCE, "{name}, {opening}: {leads:?}");
                ties += 1;
            }
        }
        assert!(tokens >= 20 * OPENINGS.len(), "{name}: {tokens} tokens");
        assert!(ties <= 1, "{name}: {ties} ties");
    }
}
