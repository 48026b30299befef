//! The loss at each part of the context.

use std::fmt;

use serde::Serialize;
use tang_generate::GenerateError;
use tang_tokenizer::{NEWLINE, TokenId};

use crate::{LabError, LabModel, table::table};

/// Parts that the context is cut into.
const PARTS: usize = 8;

/// Mean loss by position, over held-out poems that are read one after the other without a break
/// until the context is full. Whatever a model has not been trained on stands out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PositionLoss {
    /// Contexts that were read.
    pub rows: usize,
    /// One entry a part of the context.
    pub parts: Vec<PartLoss>,
}

/// The loss of the characters behind some positions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PartLoss {
    /// The first position, counted from 1.
    pub first: usize,
    /// The last one.
    pub last: usize,
    /// Mean loss, nats a character.
    pub nats_per_char: f64,
}

impl fmt::Display for PositionLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.parts.iter().map(|part| {
            [
                format!("{}-{}", part.first, part.last),
                format!("{:.2}", part.nats_per_char),
            ]
        });
        f.write_str(&table(["positions", "nats a character"], rows))
    }
}

/// Reads `poems` in whole contexts; what is left at the end is not read.
///
/// # Errors
///
/// If the model's logits overflow.
pub(crate) fn position_loss<'a>(
    lab: &LabModel,
    poems: impl IntoIterator<Item = &'a str>,
) -> Result<PositionLoss, LabError> {
    let context = lab.context();
    let mut sums = vec![0.0; context];
    let mut rows = 0;
    let mut text: Vec<TokenId> = vec![NEWLINE];
    for poem in poems {
        // A poem with a character that the model does not know is left out.
        let Ok(tokens) = lab.vocabulary.encode(poem) else {
            continue;
        };
        text.extend(tokens);
        text.push(NEWLINE);
        while text.len() > context {
            let logits = lab
                .position_logits(&text[..context])
                .map_err(GenerateError::from)?;
            for (position, sum) in sums.iter_mut().enumerate() {
                *sum -= logits.log_prob(position, text[position + 1]);
            }
            rows += 1;
            // A context begins where a poem does.
            let begin = text[context..].iter().position(|token| *token == NEWLINE);
            text.drain(..begin.map_or(text.len() - 1, |behind| context + behind));
        }
    }
    let parts = (0..PARTS)
        .map(|part| (part * context / PARTS, (part + 1) * context / PARTS))
        .filter(|(from, to)| from < to && rows > 0)
        .map(|(from, to)| PartLoss {
            first: from + 1,
            last: to,
            nats_per_char: sums[from..to].iter().sum::<f64>() / ((to - from) * rows) as f64,
        })
        .collect();
    Ok(PositionLoss { rows, parts })
}

#[cfg(test)]
mod tests {
    use tang_checkpoint::ModelConfig;

    use super::*;
    use crate::lab_model::tests::small;

    #[test]
    fn contexts_are_filled_and_each_begins_a_poem() {
        // Context 48, poems of 11 characters with their newline: 4 of them and a part of a fifth.
        let lab = small(ModelConfig::tang_4l);
        let poem = "床前明月光疑是地上霜";
        let loss = position_loss(&lab, [poem; 9]).unwrap();
        assert_eq!((loss.rows, loss.parts.len()), (1, 8));
        assert_eq!(position_loss(&lab, [poem; 10]).unwrap().rows, 2);
        assert_eq!(position_loss(&lab, ["龙"; 100]).unwrap().rows, 0);
        let range = |part: &PartLoss| (part.first, part.last);
        assert_eq!(range(&loss.parts[0]), (1, 6));
        assert_eq!(range(&loss.parts[7]), (43, 48));
        // Untrained: about as open as the vocabulary.
        let uniform = (lab.vocabulary.len() as f64).ln();
        for part in &loss.parts {
            assert!((part.nats_per_char - uniform).abs() < 0.3, "{part:?}");
        }
        assert!(loss.to_string().contains("| 43-48 |"), "{loss}");
    }
}
