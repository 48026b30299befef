//! The output head in the layout that many rows are multiplied with.

use std::sync::{Arc, Mutex, PoisonError};

use tang_kernels::Panels;

use crate::cpu_tensor::CpuTensor;

/// Panels of a head, made when they are first needed and kept as long as the head is the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct HeadPanels(Arc<Mutex<Option<Made>>>);

#[derive(Debug)]
struct Made {
    /// What they were made of. As long as it is held, no other tensor lies in its memory and nothing
    /// is written there.
    head: CpuTensor,
    panels: Arc<Panels>,
}

impl HeadPanels {
    /// # Shapes
    ///
    /// - head: `[vocab_size, width]`
    pub(crate) fn of(&self, head: CpuTensor, width: usize) -> Arc<Panels> {
        // Whoever panicked here left either nothing or something whole.
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Made {
            head: known,
            panels,
        }) = &*made
            && known.values().as_ptr_range() == head.values().as_ptr_range()
        {
            return Arc::clone(panels);
        }
        let panels = Arc::new(Panels::transposed(head.values(), width));
        *made = Some(Made {
            head,
            panels: Arc::clone(&panels),
        });
        panels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_head_gets_its_own() {
        let panels = HeadPanels::default();
        let head = |first| CpuTensor::of(CpuTensor::tensor(vec![first, 2.0, 3.0, 4.0], [2, 2]));
        let product = |head: &CpuTensor| {
            let mut out = [0.0; 2];
            panels.of(head.clone(), 2).multiply(&[1.0, 1.0], &mut out);
            out
        };
        let first = head(1.0);
        assert_eq!(product(&first), [3.0, 7.0]);
        let made = panels.of(first.clone(), 2);
        assert!(Arc::ptr_eq(&made, &panels.of(first.clone(), 2)));
        assert_eq!(product(&head(5.0)), [7.0, 7.0]);
        // A change does not reach the memory that the panels were made of.
        let mut changed = first.clone();
        drop(first);
        panels.of(changed.clone(), 2);
        changed.values_mut()[0] = -2.0;
        assert_eq!(product(&changed), [0.0, 7.0]);
    }
}
