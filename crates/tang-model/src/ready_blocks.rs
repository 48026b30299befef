//! The blocks as kernels read them.

use std::{
    ptr,
    sync::{Arc, Mutex, PoisonError},
};

use burn::{
    module::{Module, ModuleVisitor, Param},
    tensor::Tensor,
};

use crate::{block::Block, block_part::BlockPart, side::Side};

/// The parts of all blocks, `[layers, sides]`.
pub(crate) type Parts = Vec<Vec<BlockPart>>;

/// Parts of blocks, made when they are first needed and kept as long as the blocks are the same: the whole,
/// and two sides.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadyBlocks(Arc<Mutex<[Option<Made>; 2]>>);

#[derive(Debug)]
struct Made {
    addresses: Vec<usize>,
    /// What they were made of. As long as it is held, no other parameter has its address.
    _blocks: Vec<Block>,
    parts: Arc<Parts>,
}

impl ReadyBlocks {
    /// The parts that one side has, the whole, or each of two.
    pub(crate) fn of(&self, blocks: &Vec<Block>, sides: &[Side]) -> Arc<Parts> {
        // Whoever panicked here left either nothing or something whole.
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let made = &mut made[sides.len() - 1];
        let mut addresses = Addresses(Vec::new());
        blocks.visit(&mut addresses);
        if let Some(Made {
            addresses: known,
            parts,
            ..
        }) = made
            && *known == addresses.0
        {
            return Arc::clone(parts);
        }
        let of_block = |block: &Block| sides.iter().map(|side| block.part(*side)).collect();
        let parts: Arc<Parts> = Arc::new(blocks.iter().map(of_block).collect());
        *made = Some(Made {
            addresses: addresses.0,
            _blocks: blocks.clone(),
            parts: Arc::clone(&parts),
        });
        parts
    }
}

/// Where the values of all parameters lie. A parameter that is changed gets another one.
struct Addresses(Vec<usize>);

impl ModuleVisitor for Addresses {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.0.push(ptr::from_ref::<Tensor<D>>(param).addr());
    }
}

#[cfg(test)]
mod tests {
    use burn::module::ModuleMapper;

    use tang_checkpoint::{ModelConfig, Weights};

    use super::*;
    use crate::{device, loader::Loader};

    struct Double;

    impl ModuleMapper for Double {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            param.map(|tensor| tensor * 2.0)
        }
    }

    #[test]
    fn changed_blocks_get_their_own() {
        let config = ModelConfig::tang_4l(10);
        let mut loader = Loader {
            weights: Weights::random(&config, 0),
            device: &device::cpu(),
        };
        let block = Block::load(&config, &mut loader, "blocks.0");
        let blocks = vec![block.unwrap()];
        let ready = ReadyBlocks::default();
        let columns = |parts: &Parts| {
            let part = parts[0][0].feed_forward.as_ref().unwrap();
            let mut unit = vec![0.0; config.width];
            unit[0] = 1.0;
            part.input.of_rows(&unit)
        };
        let parts = ready.of(&blocks, &Side::TWO);
        assert!(Arc::ptr_eq(&parts, &ready.of(&blocks, &Side::TWO)));
        assert!(Arc::ptr_eq(&parts, &ready.of(&blocks.clone(), &Side::TWO)));
        let doubled = blocks.map(&mut Double);
        let changed = ready.of(&doubled, &Side::TWO);
        for (old, new) in columns(&parts).iter().zip(columns(&changed)) {
            assert_eq!(2.0 * old, new);
        }
        assert_ne!(columns(&changed)[0], 0.0);
    }
}
