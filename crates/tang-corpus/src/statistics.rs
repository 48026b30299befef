//! Counts of a corpus.

use std::fmt;

use tang_prosody::Form;
use tang_tokenizer::Vocabulary;

/// Counts of the poems of a corpus. They print as a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statistics {
    /// The four forms in the order of [`Form::ALL`].
    pub forms: [FormStatistics; 4],
    /// The size of the vocabulary, with the newline and the two marks.
    pub vocabulary: usize,
}

/// The poems of one form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormStatistics {
    /// The form.
    pub form: Form,
    /// Count of poems.
    pub poems: usize,
    /// Count of their characters, with the marks and the newline that ends each poem.
    pub characters: usize,
}

impl Statistics {
    /// Counts `poems`; one without a strict form counts for the vocabulary only.
    pub fn of(poems: &[String]) -> Self {
        let mut forms = Form::ALL.map(|form| FormStatistics { form, poems: 0, characters: 0 });
        for form in poems.iter().filter_map(|poem| Form::of(poem)) {
            for row in forms.iter_mut().filter(|row| row.form == form) {
                row.poems += 1;
                row.characters += form.char_count() + 1;
            }
        }
        let vocabulary = Vocabulary::from_texts(poems.iter().map(String::as_str)).len();
        Self { forms, vocabulary }
    }

    /// Count of poems of all forms.
    pub fn poems(&self) -> usize {
        self.forms.iter().map(|row| row.poems).sum()
    }

    /// Count of characters of all forms.
    pub fn characters(&self) -> usize {
        self.forms.iter().map(|row| row.characters).sum()
    }
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The name of a form is four columns wide, as `form` and `all ` are.
        writeln!(f, "form {:>10} {:>12}", "poems", "characters")?;
        for row in &self.forms {
            writeln!(f, "{} {:>10} {:>12}", row.form, row.poems, row.characters)?;
        }
        writeln!(f, "all  {:>10} {:>12}", self.poems(), self.characters())?;
        write!(f, "vocabulary: {} characters", self.vocabulary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_prints() {
        let couplet = "两个黄鹂鸣翠柳，一行白鹭上青天。";
        let poems = [
            couplet.repeat(2),
            couplet.repeat(4),
            couplet.repeat(2),
            "白日依山尽，黄河入海流。".repeat(2),
        ];
        let statistics = Statistics::of(&poems);
        // 14 + 10 different Han characters, 黄 and 白 in both, and the three fixed tokens.
        assert_eq!(statistics.vocabulary, 25);
        assert_eq!(
            statistics.to_string(),
            "form      poems   characters\n\
             五绝          1           25\n\
             七绝          2           66\n\
             五律          0            0\n\
             七律          1           65\n\
             all           4          156\n\
             vocabulary: 25 characters"
        );
    }
}
