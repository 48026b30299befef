//! The exponential function, in a form that compilers turn into vector instructions.

/// Below it, the result is 0; above its negative, infinite in [`exp`]'s own arithmetic.
const LOWEST: f32 = -87.3;
const HIGHEST: f32 = 88.3;

/// 1.5 x 2^23: adding it to a small number rounds that to a whole one, kept in the lowest bits.
const ROUND: f32 = 12_582_912.0;

/// e^x, to 3 units in the last place; for x below -87.3 e^-87.3, for x above 88.3 e^88.3.
///
/// e^x = 2^n e^r, n whole and |r| at most ln 2 / 2 (Cody & Waite, *Software Manual for the
/// Elementary Functions*, 1980); e^r by its Taylor polynomial of degree 7.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    // ln 2 in two parts; n times the first is exact.
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(LOWEST, HIGHEST);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = x - n * LN_2_HIGH - n * LN_2_LOW;
    let mut power = 1.0 / 5040.0;
    for coefficient in [
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ] {
        power = power * r + coefficient;
    }
    // 2^n: n, moved into the exponent.
    let scale = (shifted.to_bits() << 23).wrapping_add(1.0_f32.to_bits());
    power * f32::from_bits(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_exponential() {
        for i in -8_700..8_800 {
            let x = i as f32 / 100.0;
            let wanted = f64::from(x).exp();
            let error = (f64::from(exp(x)) - wanted).abs() / wanted;
            assert!(error < 3e-7, "{x}: off by {error}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(-1e30) < 1e-37 && exp(1e30) > 1e38);
    }
}
