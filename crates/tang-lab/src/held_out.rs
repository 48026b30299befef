//! Real poems, read by the model.

use tang_generate::{GenerateError, position_logits};
use tang_tokenizer::NEWLINE;

use crate::{
    LabError, LabModel,
    poem_set::{Poem, PoemSet},
};

/// Reads poems as the model would have to write them: behind a newline, up to the newline that ends
/// them. A poem with a character that the model does not know is refused.
///
/// # Errors
///
/// If the model's logits overflow.
pub(crate) fn held_out<'a>(
    lab: &LabModel,
    poems: impl IntoIterator<Item = &'a str>,
) -> Result<PoemSet, LabError> {
    let mut set = PoemSet::default();
    for (number, text) in poems.into_iter().enumerate() {
        match read(lab, number, text) {
            Ok(poem) => set.poems.push(poem),
            Err(error) => set.refuse(error, 1)?,
        }
    }
    Ok(set)
}

fn read(lab: &LabModel, number: usize, text: &str) -> Result<Poem, GenerateError> {
    let mut tokens = vec![NEWLINE];
    tokens.extend(lab.vocabulary.encode(text)?);
    let logits = position_logits(&lab.model, &tokens, None)?;
    tokens.push(NEWLINE);
    let mut all = Mean::default();
    let mut free = Mean::default();
    for (row, token) in tokens[1..].iter().enumerate() {
        let nats = -logits.log_prob(row, *token);
        all.add(nats);
        // The form forces marks and newline, as it does where poems are written.
        if lab.vocabulary.is_han(*token) {
            free.add(nats);
        }
    }
    Ok(Poem {
        number,
        text: text.to_owned(),
        nats_per_char: all.value(),
        nats_per_free_char: Some(free.value()).filter(|nats| !nats.is_nan()),
    })
}

#[derive(Default)]
struct Mean {
    sum: f64,
    count: usize,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn value(&self) -> f64 {
        self.sum / self.count as f64
    }
}
