//! Loops in the widest vectors of the processor.

/// Not `Copy`, so that a closure that consumes it can be called only once.
pub(crate) struct Once;

/// Runs a block that is compiled for several instruction sets, in the widest that the processor has.
/// Functions that the block calls are compiled with it if they are `#[inline(always)]`.
///
/// The closure is called only once because any other is called through a shim, which is not always inlined.
macro_rules! vectorized {
    ($body:block) => {{
        let once = crate::simd::Once;
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                let _once = once;
                $body
            },
        )
    }};
}

pub(crate) use vectorized;
