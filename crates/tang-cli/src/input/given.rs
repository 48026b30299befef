//! The characters of a poem that were given.

use std::collections::HashMap;

use tang_corpus::Traditional;
use tang_prosody::{Template, is_han};
use tang_tokenizer::Vocabulary;

use crate::input::{StandIn, UserText};

/// The given characters and their places in the poem. They are printed as they were typed, whatever the model
/// reads instead.
#[derive(Debug, Default)]
pub struct Given {
    text: UserText,
    /// The characters by which the model reads the text.
    read: Vec<char>,
    /// The place in the poem, counted from 0, of each character of the text; `None` for the characters of a
    /// template that are not in the poem.
    places: Vec<Option<usize>>,
}

impl Given {
    /// The poem begins with this text, which the model reads by the characters `read`.
    pub fn opening(text: UserText, read: &str) -> Self {
        let places = (0..text.len()).map(Some).collect();
        Self { text, read: read.chars().collect(), places }
    }

    /// The Han characters of this text, which the model reads by the characters `read`, are the fixed ones of a
    /// template, in order.
    pub fn fixed(text: UserText, read: &str, template: &Template) -> Self {
        let mut fixed = template
            .fixed()
            .map(|(line, column, _)| template.layout().position(line, column))
            .peekable();
        let places = text.typed();
        let places = places.map(|typed| fixed.next_if(|_| is_han(typed)));
        Self { places: places.collect(), read: read.chars().collect(), text }
    }

    /// The character that was typed for this place of the poem.
    pub fn typed(&self, place: usize) -> Option<char> {
        let mut typed = self.places.iter().zip(self.text.typed());
        typed.find(|(given, _)| **given == Some(place)).map(|(_, typed)| typed)
    }

    /// The characters for which the model reads stand-ins, in the order of the poem.
    pub fn stand_ins(&self, vocabulary: &Vocabulary) -> Vec<StandIn> {
        let characters = self.places.iter().zip(self.text.typed()).zip(&self.read);
        let absent = characters.filter(|(_, read)| vocabulary.id(**read).is_none());
        let stand_in = |((place, given), read): ((&Option<usize>, char), &char)| {
            let read = vocabulary.char(vocabulary.given_id(*read)?)?;
            Some(StandIn { place: (*place)? + 1, given, read })
        };
        absent.filter_map(stand_in).collect()
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
        let opening = Given::opening(UserText::new("春風,"), "春风，");
        assert_eq!(opening.printed(None), HashMap::from([(0, '春'), (1, '風'), (2, '，')]));

        let template = Template::parse("**干**，风****。").unwrap();
        let fixed = Given::fixed(UserText::new("**乾** , 风****."), "**干**，风****。", &template);
        assert_eq!(fixed.printed(None), HashMap::from([(2, '乾'), (6, '风')]));
        let traditional = Traditional::default();
        assert_eq!(fixed.printed(Some(&traditional)), HashMap::from([(2, '乾'), (6, '風')]));
        assert_eq!((fixed.typed(2), fixed.typed(3)), (Some('乾'), None));
        assert!(Given::default().printed(None).is_empty());
    }
    #[test]
    fn stand_ins_have_their_places() {
        let vocabulary = Vocabulary::from_texts(["春女"]);
        let text = "春*媽** 妈****";
        let template = Template::parse("春*妈**，妈****。").unwrap();
        let given = Given::fixed(UserText::new(text), "春*妈**妈****", &template);
        let stand_in = |place, given| StandIn { place, given, read: '女' };
        assert_eq!(given.stand_ins(&vocabulary), [stand_in(3, '媽'), stand_in(7, '妈')]);
        let opening = Given::opening(UserText::new("春女"), "春女");
        assert_eq!(opening.stand_ins(&vocabulary), []);
    }
}
