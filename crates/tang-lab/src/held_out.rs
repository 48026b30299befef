//! Real poems, read by the model.

use tang_generate::GenerateError;
use tang_tokenizer::NEWLINE;

use crate::{
    LabError, LabModel,
    average::mean,
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
    let logits = lab.position_logits(&tokens)?;
    tokens.push(NEWLINE);
    let mut all = Vec::new();
    let mut free = Vec::new();
    for (row, token) in tokens[1..].iter().enumerate() {
        let nats = -logits.log_prob(row, *token);
        all.push(nats);
        // The form forces marks and newline, as it does where poems are written.
        if lab.vocabulary.is_han(*token) {
            free.push(nats);
        }
    }
    Ok(Poem {
        number,
        text: text.to_owned(),
        nats_per_char: mean(&all).expect("a poem has an end"),
        nats_per_free_char: mean(&free),
    })
}
