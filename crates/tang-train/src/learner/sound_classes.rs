//! Tones and rhyme groups, whose characters share a part of their embedding.

use burn::tensor::{Device, Tensor, TensorData};
use tang_prosody::{Readings, RhymeGroup, Tone};
use tang_tokenizer::Vocabulary;

/// The embedding of a token is the sum of a vector of its own and one of each of its classes: two tones and 30 rhyme
/// groups, by the usual readings (features of a token as in Bilmes & Kirchhoff, *Factored Language Models*, 2003).
///
/// Only the sum is kept, so the model is a plain one. A step of the sum is the step of its own vector plus those of the
/// class vectors, each with moments of its own; the gradient of a class is the sum over its tokens.
#[derive(Debug, Clone)]
pub(crate) struct SoundClasses {
    /// Row-major `[tokens, COUNT]`: 1 where the token belongs to the class, else 0.
    members: Vec<f32>,
}

impl SoundClasses {
    /// Count of classes.
    pub(crate) const COUNT: usize = 32;

    pub(crate) fn new(vocabulary: &Vocabulary) -> Self {
        let groups: Vec<RhymeGroup> = RhymeGroup::all().collect();
        assert_eq!(groups.len() + 2, Self::COUNT, "30 rhyme groups and 2 tones");
        let mut members = vec![0.0; vocabulary.len() * Self::COUNT];
        for (row, (_, character)) in members.chunks_mut(Self::COUNT).zip(vocabulary.iter()) {
            for reading in Readings::of(character).map(Readings::usual).unwrap_or_default() {
                row[usize::from(reading.tone == Tone::Oblique)] = 1.0;
                if let Some(group) = groups.iter().position(|group| Some(*group) == reading.group) {
                    row[2 + group] = 1.0;
                }
            }
        }
        Self { members }
    }

    /// A row per class below the rows of the tokens, the sum of its tokens' rows: `[tokens, width]` ->
    /// `[tokens + COUNT, width]`.
    pub(crate) fn with_sums(&self, tokens: Tensor<2>) -> Tensor<2> {
        let sums = self.members(&tokens.device()).transpose().matmul(tokens.clone());
        Tensor::cat(vec![tokens, sums], 0)
    }

    /// The rows of the tokens, each plus those of its classes: `[tokens + COUNT, width]` -> `[tokens, width]`.
    pub(crate) fn added(&self, rows: Tensor<2>) -> Tensor<2> {
        let [count, _] = rows.dims();
        let tokens = count - Self::COUNT;
        let classes = rows.clone().narrow(0, tokens, Self::COUNT);
        rows.narrow(0, 0, tokens) + self.members(&classes.device()).matmul(classes)
    }

    fn members(&self, device: &Device) -> Tensor<2> {
        let shape = [self.members.len() / Self::COUNT, Self::COUNT];
        Tensor::from_data(TensorData::new(self.members.clone(), shape), device)
    }
}

#[cfg(test)]
mod tests {
    use tang_model::device;

    use super::*;

    /// 春 and 人 are level and in 真; 红 is level and in 东; 月 is oblique; 看 has both tones and 寒.
    fn classes() -> (Vocabulary, SoundClasses) {
        let vocabulary = Vocabulary::from_texts(["春人红月看。"]);
        let classes = SoundClasses::new(&vocabulary);
        (vocabulary, classes)
    }

    fn row(classes: &SoundClasses, vocabulary: &Vocabulary, c: char) -> Vec<usize> {
        let start = vocabulary.id(c).unwrap() as usize * SoundClasses::COUNT;
        let row = &classes.members[start..start + SoundClasses::COUNT];
        (0..SoundClasses::COUNT).filter(|class| row[*class] == 1.0).collect()
    }

    #[test]
    fn characters_are_in_the_classes_of_their_readings() {
        let (vocabulary, classes) = classes();
        let row = |c| row(&classes, &vocabulary, c);
        assert_eq!((row('春').len(), row('春') == row('人')), (2, true));
        assert_eq!((row('红')[0], row('红')[1] != row('春')[1]), (0, true));
        assert_eq!(row('月'), [1]);
        assert_eq!((row('看').len(), row('看')[..2] == [0, 1]), (3, true));
        assert_eq!((row('。'), row('\n')), (vec![], vec![]));
    }

    #[test]
    fn sums_and_parts_are_each_others_transpose() {
        let (vocabulary, classes) = classes();
        let device = device::cpu();
        let tokens = vocabulary.len();
        let table = |rows: usize, seed: f32| -> Tensor<2> {
            let values = (0..rows * 3).map(|i| (i as f32 * 0.618 + seed).sin());
            let data = TensorData::new(values.collect::<Vec<f32>>(), [rows, 3]);
            Tensor::from_data(data, &device)
        };
        let (a, b) = (table(tokens, 0.1), table(tokens + SoundClasses::COUNT, 0.7));
        let product = |x: Tensor<2>, y: Tensor<2>| (x * y).sum().into_scalar::<f32>();
        let (sums, parts) = (classes.with_sums(a.clone()), classes.added(b.clone()));
        assert!((product(sums, b) - product(a, parts)).abs() < 1e-4);
    }
}
