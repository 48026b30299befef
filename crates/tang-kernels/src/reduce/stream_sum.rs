//! The sum of numbers in one pass, limited by the speed of the memory.

use pulp::{Arch, Simd, WithSimd};

/// Count of streams that are read at the same time: a processor prefetches several streams at once,
/// which is faster than one.
const STREAMS: usize = 8;

/// Reads every number once and returns the sum. A decoding step must read each weight once, too, so
/// this is the least time that it can take on one thread.
pub fn stream_sum(numbers: &[f32]) -> f32 {
    Arch::new().dispatch(StreamSum(numbers))
}

struct StreamSum<'a>(&'a [f32]);

impl WithSimd for StreamSum<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let (vectors, rest) = S::as_simd_f32s(self.0);
        let length = vectors.len() / STREAMS;
        let mut streams: [&[S::f32s]; STREAMS] = [&[]; STREAMS];
        for (s, stream) in streams.iter_mut().enumerate() {
            *stream = &vectors[s * length..(s + 1) * length];
        }
        // sums[s] += streams[s][i]
        let mut sums = [simd.splat_f32s(0.0); STREAMS];
        for i in 0..length {
            for (sum, stream) in sums.iter_mut().zip(&streams) {
                *sum = simd.add_f32s(*sum, stream[i]);
            }
        }
        let vectors = sums.iter().chain(&vectors[STREAMS * length..]);
        vectors.map(|sum| simd.reduce_sum_f32s(*sum)).sum::<f32>() + rest.iter().sum::<f32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_read() {
        for length in [0, 1, 15, 16, 127, 128, 129, 1000] {
            let numbers: Vec<f32> = (1..=length).map(|i| i as f32).collect();
            let sum = length * (length + 1) / 2;
            assert_eq!(stream_sum(&numbers), sum as f32, "{length}");
        }
    }
}
