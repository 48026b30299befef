//! Muon for the matrices of the blocks, AdamW for the rest.

use burn::{
    module::ParamGroup,
    optim::{
        self, AdamWConfig, AdamWState, AdaptiveMomentumState, AdjustLrFn, LearningRate,
        ModuleOptimizer, MuonConfig, Optimizer, decay::WeightDecayConfig,
    },
    tensor::{Device, Tensor},
};
use tang_checkpoint::{ModelConfig, ParameterSpec, parameters};
use tang_model::{FLOATS, device::is_cpu, parameter_id};

use super::sound_classes::SoundClasses;

/// Muon (Jordan et al., *Muon*, 2024) for the matrices of the blocks: it turns a gradient into the
/// nearest orthogonal matrix, so that small directions of it count as much as large ones. Its steps
/// have the scale of AdamW's (Liu et al., *Muon is Scalable for LLM Training*, 2025), so that one
/// learning rate serves both. Embeddings, biases and norms have AdamW (Loshchilov & Hutter,
/// *Decoupled Weight Decay Regularization*, 2019) with the betas that small language models use;
/// biases and norms are not decayed.
///
/// The tokens of a class share a part of their embedding, which has a step of its own.
pub(crate) fn optimizer(
    model: &ModelConfig,
    weight_decay: f32,
    classes: SoundClasses,
) -> ModuleOptimizer {
    let specs = parameters(model);
    let (hidden, others): (Vec<_>, Vec<_>) = specs.iter().partition(|spec| takes_muon(spec));
    let embeddings = others.into_iter().filter(|spec| is_matrix(spec));
    let (tokens, others) = embeddings.partition(|spec| has_classes(spec));
    let group = |specs: Vec<&ParameterSpec>| {
        ParamGroup::from_ids(specs.iter().map(|s| parameter_id(&s.path)).collect())
    };
    let muon = MuonConfig::new()
        .with_adjust_lr_fn(AdjustLrFn::MatchRmsAdamW)
        .with_weight_decay(Some(WeightDecayConfig::new(weight_decay)));
    ModuleOptimizer::from(AdamW { weight_decay: 0.0 })
        .with_group(group(others), AdamW { weight_decay }, None)
        .with_group(group(tokens), ClassAdamW { adam_w: AdamW { weight_decay }, classes }, None)
        .with_group(group(hidden), muon.build(), None)
}

fn is_matrix(spec: &ParameterSpec) -> bool {
    spec.shape.len() == 2
}

/// Whether Muon steps this parameter, with one moment; AdamW steps the others, with two.
pub(crate) fn takes_muon(spec: &ParameterSpec) -> bool {
    is_matrix(spec) && spec.path.starts_with("blocks.")
}

/// Whether the moments of this parameter have a row per class below those of the tokens.
pub(crate) fn has_classes(spec: &ParameterSpec) -> bool {
    spec.path == "token_embedding"
}

const BETAS: [f32; 2] = [0.9, 0.95];
const EPSILON: f32 = 1e-8;

/// Burn's optimiser of the same name, with the same state, but in one pass instead of twelve on the CPU.
#[derive(Clone)]
struct AdamW {
    weight_decay: f32,
}

impl AdamW {
    fn of_burn(&self) -> optim::AdamW {
        AdamWConfig::new()
            .with_beta_1(BETAS[0])
            .with_beta_2(BETAS[1])
            .with_epsilon(EPSILON)
            .with_weight_decay(self.weight_decay)
            .build()
    }
}

impl Optimizer for AdamW {
    type State<const D: usize> = AdamWState<D>;

    fn step<const D: usize>(
        &self,
        rate: LearningRate,
        parameter: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<Self::State<D>>,
    ) -> (Tensor<D>, Option<Self::State<D>>) {
        let device = parameter.device();
        if !is_cpu(&device) {
            return self.of_burn().step(rate, parameter, gradient, state);
        }
        let (time, moment_1, moment_2) = match state.map(|state| state.momentum) {
            Some(old) => (old.time + 1, old.moment_1, old.moment_2),
            None => (1, parameter.zeros_like(), parameter.zeros_like()),
        };
        let settings = tang_kernels::AdamW {
            rate: rate as f32,
            decay: self.weight_decay,
            betas: BETAS,
            epsilon: EPSILON,
            time: i32::try_from(time).unwrap_or(i32::MAX),
        };
        // Tensors that are not shared change in place.
        let mut changed = [parameter, moment_1, moment_2].map(Tensor::into_data);
        let [parameter, moment_1, moment_2] = &mut changed;
        settings.step(
            parameter.as_mut_slice().expect(FLOATS),
            gradient.into_data().as_slice().expect(FLOATS),
            moment_1.as_mut_slice().expect(FLOATS),
            moment_2.as_mut_slice().expect(FLOATS),
        );
        let [parameter, moment_1, moment_2] =
            changed.map(|data| Tensor::<D>::from_data(data, &device));
        let momentum = AdaptiveMomentumState { time, moment_1, moment_2, max_moment_2: None };
        (parameter, Some(AdamWState { momentum }))
    }

    fn to_device<const D: usize>(mut state: Self::State<D>, device: &Device) -> Self::State<D> {
        state.momentum = state.momentum.to_device(device);
        state
    }
}

/// AdamW on the vectors of the tokens and, apart, on those of their classes.
#[derive(Clone)]
struct ClassAdamW {
    adam_w: AdamW,
    classes: SoundClasses,
}

impl Optimizer for ClassAdamW {
    type State<const D: usize> = AdamWState<D>;

    fn step<const D: usize>(
        &self,
        rate: LearningRate,
        parameter: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<Self::State<D>>,
    ) -> (Tensor<D>, Option<Self::State<D>>) {
        let shape = parameter.dims();
        let [tokens, width] = [shape[0], shape[1]];
        let rows = tokens + SoundClasses::COUNT;
        let mut extended = shape;
        extended[0] = rows;
        // The vectors of the classes are part of those of the tokens, so here they are 0 and only their change counts.
        let none = Tensor::zeros([SoundClasses::COUNT, width], &parameter.device());
        let parameter = Tensor::cat(vec![parameter.reshape([tokens, width]), none], 0);
        let gradient = self.classes.with_sums(gradient.reshape([tokens, width]));
        let (parameter, gradient) = (parameter.reshape(extended), gradient.reshape(extended));
        let (changed, state) = self.adam_w.step(rate, parameter, gradient, state);
        (self.classes.added(changed.reshape([rows, width])).reshape(shape), state)
    }

    fn to_device<const D: usize>(state: Self::State<D>, device: &Device) -> Self::State<D> {
        AdamW::to_device(state, device)
    }
}

#[cfg(test)]
mod tests {
    use burn::{
        module::{Module, ModuleVisitor, Param},
        optim::GradientsParams,
        tensor::{Tensor, TensorData},
    };
    use tang_checkpoint::Weights;
    use tang_model::{Transformer, device};
    use tang_tokenizer::Vocabulary;

    use super::*;

    /// Gives every parameter a gradient: a wave of this height.
    struct Waves {
        height: f32,
        gradients: GradientsParams,
    }

    impl ModuleVisitor for Waves {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let value = param.val().inner();
            let count = value.shape().num_elements();
            let waves = (0..count).map(|i| self.height * (i as f32 * i as f32).sin());
            let waves = TensorData::new(waves.collect::<Vec<f32>>(), value.shape());
            let waves = Tensor::<D>::from_data(waves, &value.device());
            self.gradients.register(param.id, waves);
        }
    }

    /// Seven tokens: two level ones of one rhyme group, two oblique ones, and three that are no characters.
    fn vocabulary() -> Vocabulary {
        Vocabulary::from_texts(["春人月雪"])
    }

    fn tiny() -> ModelConfig {
        ModelConfig { width: 8, feed_forward_width: 16, layers: 1, ..ModelConfig::tang_4l(7) }
    }

    /// Weights before and after a step at rate 0.1.
    fn one_step(weight_decay: f32, height: f32) -> [Weights; 2] {
        let before = Weights::random(&tiny(), 4);
        let device = device::with_gradients(&device::cpu());
        let model = Transformer::new(tiny(), before.clone(), &device).unwrap();
        let mut waves = Waves { height, gradients: GradientsParams::new() };
        model.visit(&mut waves);
        let optimizer = &mut optimizer(&tiny(), weight_decay, SoundClasses::new(&vocabulary()));
        let after = optimizer.step(0.1, model, waves.gradients);
        [before, after.valid().weights()]
    }

    #[test]
    fn matrices_decay_and_vectors_do_not() {
        let [before, after] = one_step(0.5, 0.0);
        for spec in parameters(&tiny()) {
            // With no gradient a step is the decay alone: 1 - rate x decay.
            let factor = if spec.shape.len() == 2 { 0.95 } else { 1.0 };
            let pairs = before.values(&spec.path).iter().zip(after.values(&spec.path));
            for (a, b) in pairs {
                assert!((a * factor - b).abs() < 1e-7, "{}: {a} {b}", spec.path);
            }
        }
    }

    #[test]
    fn matrices_of_blocks_take_orthogonal_steps() {
        let [before, after] = one_step(0.0, 1.0);
        let step = |path: &str| -> Vec<f32> {
            let pairs = after.values(path).iter().zip(before.values(path));
            pairs.map(|(a, b)| a - b).collect()
        };
        // [8, 8]: rows at right angles, each as long as 0.1 x 0.2 x sqrt(8) x about 1.
        let unit = 0.1 * 0.2 * 8_f32.sqrt();
        let hidden = step("blocks.0.attention.output.weight");
        for (i, a) in hidden.chunks(8).enumerate() {
            for (j, b) in hidden.chunks(8).enumerate() {
                let product: f32 = a.iter().zip(b).map(|(a, b)| a * b).sum();
                let wanted = if i == j { 1.0 } else { 0.0 };
                let got = product / (unit * unit);
                assert!((got - wanted).abs() < 0.5, "{i} {j}: {got}");
            }
        }
        // AdamW's first step has the gradient's sign and one length; the first gradient is 0.
        let positions = step("position_embedding");
        assert!(positions[1..].iter().all(|s| (s.abs() - 0.1).abs() < 1e-4));
    }

    #[test]
    fn tokens_of_a_class_take_its_step_too() {
        let [before, after] = one_step(0.0, 1.0);
        let vocabulary = vocabulary();
        let step = |c: char, i: usize| {
            let at = vocabulary.id(c).unwrap() as usize * 8 + i;
            after.values("token_embedding")[at] - before.values("token_embedding")[at]
        };
        // Each part of the first step is +0.1 or -0.1: one of the token, one of its tone, one of its rhyme group.
        for i in 1..8 {
            assert!((step('。', i).abs() - 0.1).abs() < 1e-4);
            let own = |c| -step_sign(&vocabulary, c, i) * 0.1;
            let of_class = |a, b| {
                let (a, b) = (step(a, i) - own(a), step(b, i) - own(b));
                assert!((a - b).abs() < 1e-4, "{a} {b}");
                a
            };
            let (level, oblique) = (of_class('春', '人'), of_class('月', '雪'));
            assert!((level.abs() - 0.2).abs() < 1e-4 || level.abs() < 1e-4, "{level}");
            assert!((oblique.abs() - 0.1).abs() < 1e-4, "{oblique}");
        }
    }

    /// The sign of the gradient in [`Waves`].
    fn step_sign(vocabulary: &Vocabulary, c: char, i: usize) -> f32 {
        let at = (vocabulary.id(c).unwrap() as usize * 8 + i) as f32;
        (at * at).sin().signum()
    }

    #[test]
    fn equals_burns_own() {
        let device = device::cpu();
        let numbers = |seed: f32| -> Tensor<1> {
            let values: Vec<f32> = (0..100).map(|i| (i as f32 * 0.618 + seed).sin()).collect();
            Tensor::from_floats(values.as_slice(), &device)
        };
        let ours = AdamW { weight_decay: 0.1 };
        let burns = ours.of_burn();
        let (mut a, mut b) = ((numbers(0.0), None), (numbers(0.0), None));
        for step in 1..=5 {
            let gradient = numbers(step as f32);
            a = ours.step(0.01, a.0, gradient.clone(), a.1);
            b = burns.step(0.01, b.0, gradient, b.1);
        }
        let values =
            |tensor: Tensor<1>| -> Vec<f32> { tensor.into_data().try_into_vec_as().unwrap() };
        for (a, b) in values(a.0).into_iter().zip(values(b.0)) {
            assert!((a - b).abs() < 1e-6, "{a} {b}");
        }
    }
}
