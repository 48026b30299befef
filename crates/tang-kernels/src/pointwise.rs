//! Functions of one number each, their gradients, and steps of an optimiser.

pub(crate) mod adam_w;
pub(crate) mod gelu;
pub(crate) mod rotary;
pub(crate) mod swiglu;

/// e^x with a relative error below 2e-7, for x from -87.3 to 88; below it gives the smallest
/// normal float, above it e^88. NaN stays NaN.
///
/// Reduction by Cody & Waite (*Software Manual for the Elementary Functions*, 1980): with n the
/// integer next to x / ln 2, e^x = 2^n e^r, where r = x - n ln 2 is within ln 2 / 2 of 0 and ln 2
/// is subtracted in two parts. e^r is its Taylor polynomial of degree 7.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    // Adding and then subtracting 1.5 x 2^23 rounds to an integer, which is then in the low bits.
    const ROUND: f32 = 12_582_912.0;
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    // Comparisons and not f32::max, which would turn NaN into a number.
    let x = if x < -87.3 { -87.3 } else { x };
    let x = if x > 88.0 { 88.0 } else { x };
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = n.mul_add(-LN_2_LOW, n.mul_add(-LN_2_HIGH, x));
    let mut sum: f32 = 1.0 / 5040.0;
    for factorial in [720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0] {
        sum = sum.mul_add(r, 1.0 / factorial);
    }
    sum * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_close_to_the_exact_one() {
        let mut worst: f64 = 0.0;
        for i in -873_000..=880_000 {
            let x = i as f32 * 1e-4;
            let exact = f64::from(x).exp();
            worst = worst.max((f64::from(exp(x)) / exact - 1.0).abs());
        }
        assert!(worst < 2e-7, "{worst}");
    }

    #[test]
    fn stays_finite_and_keeps_what_is_no_number() {
        assert_eq!(exp(0.0), 1.0);
        for x in [-1e30, f32::NEG_INFINITY] {
            assert!(exp(x) > 0.0 && exp(x) < 1.3e-38, "{x}: {}", exp(x));
        }
        assert!(exp(f32::INFINITY).is_finite());
        assert!(exp(f32::NAN).is_nan());
    }
}
