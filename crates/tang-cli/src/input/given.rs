//! The characters of a poem that were given.

use std::collections::HashMap;

use tang_corpus::Traditional;
use tang_prosody::{Template, is_han};

use crate::input::UserText;

/// The given characters and their places in the poem. They are printed as they were typed, whatever the model
/// reads instead.
#[derive(Debug, Default)]
pub struct Given {
    text: UserText,
    /// The place in the poem, counted from 0, of each character of the text; `None` for the characters of a
    /// template that are not in the poem.
    places: Vec<Option<usize>>,
}

impl Given {
    /// The poem begins with this text.
    pub fn opening(text: UserText) -> Self {
        let places = (0..text.len()).map(Some).collect();
        Self { text, places }
    }

    /// The Han characters of this text are the fixed ones of a template, in order.
    pub fn fixed(text: UserText, template: &Template) -> Self {
        let mut fixed = template
            .fixed()
            .map(|(line, column, _)| template.layout().position(line, column))
            .peekable();
        let places = text.typed();
        let places = places.map(|typed| fixed.next_if(|_| is_han(typed)));
        Self { places: places.collect(), text }
    }

    /// The character that was typed for this place of the poem.
    pub fn typed(&self, place: usize) -> Option<char> {
        let mut typed = self.places.iter().zip(self.text.typed());
        typed.find(|(given, _)| **given == Some(place)).map(|(_, typed)| typed)
    }

    /// The characters as they are printed, by their places.
    pub fn printed(&self, traditional: Option<&Traditional>) -> HashMap<usize, char> {
        let printed = self.text.printed(traditional);
        let characters = self.places.iter().zip(printed.chars());
        characters.filter_map(|(place, character)| Some(((*place)?, character))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_stand_where_they_were_given() {
        let opening = Given::opening(UserText::new("春風,"));
        assert_eq!(opening.printed(None), HashMap::from([(0, '春'), (1, '風'), (2, '，')]));

        let template = Template::parse("**干**，风****。").unwrap();
        let fixed = Given::fixed(UserText::new("**乾** , 风****."), &template);
        assert_eq!(fixed.printed(None), HashMap::from([(2, '乾'), (6, '风')]));
        let traditional = Traditional::default();
        assert_eq!(fixed.printed(Some(&traditional)), HashMap::from([(2, '乾'), (6, '風')]));
        assert_eq!((fixed.typed(2), fixed.typed(3)), (Some('乾'), None));
        assert!(Given::default().printed(None).is_empty());
    }
}
