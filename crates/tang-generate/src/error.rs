//! Errors of generation.

use tang_engine::EngineError;
use tang_prosody::ProsodyError;
use tang_tokenizer::TokenizerError;

use crate::{DeadEnd, Exemption, Rule};

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// A sampling setting has an impossible value.
    #[error("{name} is {value}: it must be {wanted}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// The value it was given.
        value: f32,
        /// The values it may have.
        wanted: &'static str,
    },
    /// No token at all may come next.
    #[error("{0}: ask for fewer rules")]
    NothingAllowed(DeadEnd),
    /// There is nothing to start from.
    #[error("the text is empty: give at least one character")]
    Empty,
    /// The lines do not fit into the model's context.
    #[error(
        "{lines} lines have {characters} characters, but the model's context holds {context}: use fewer or shorter lines"
    )]
    TooLong {
        /// Lines asked for.
        lines: usize,
        /// Their characters, marks counted.
        characters: usize,
        /// Most characters that fit into the context after the first newline.
        context: usize,
    },
    /// Fixed characters cannot keep the rules.
    #[error(
        "{}: give other characters, or let these rules be relaxed there",
        exemptions.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    )]
    Unkept {
        /// The characters, with the rules that they break.
        exemptions: Vec<Exemption>,
    },
    /// A word is longer than the lines.
    #[error(
        "`{word}` has {} characters, and a line has {line}: give a shorter word, or take longer lines",
        word.chars().count()
    )]
    LongWord {
        /// The word.
        word: String,
        /// Characters of a line.
        line: usize,
    },
    /// The poem has no places for words.
    #[error("{}", no_place(words, rules))]
    NoPlace {
        /// One or two words that have no places, or else all.
        words: Vec<String>,
        /// The rules without which they have places; none if the lines and the given characters leave too little
        /// room.
        rules: Vec<Rule>,
    },
    /// There are too few characters that rhyme.
    #[error(
        "the rhyme needs {want} characters of one group, and the model knows {have}: ask for another group or for none"
    )]
    FewRhymes {
        /// Characters of the group, or of the largest one.
        have: usize,
        /// Characters that are needed.
        want: usize,
    },
    /// No rule lays down the tones of a poem with this number of lines.
    #[error(
        "the tones are laid down for poems of 4 or 8 lines, and there are {lines}: leave the tones out, or change the number of lines"
    )]
    NoTones {
        /// Lines of the poem.
        lines: usize,
    },
    /// The model cannot compute the poem.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A template cannot be written.
    #[error(transparent)]
    Prosody(#[from] ProsodyError),
    /// The vocabulary lacks a character or token.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}

fn no_place(words: &[String], rules: &[Rule]) -> String {
    let names: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    let subject = match &names[..] {
        [word] => format!("{word} has no place in the poem"),
        words => format!("{} have no places in one poem", listed(words)),
    };
    if rules.is_empty() {
        return format!(
            "{subject}, as the lines and the given characters leave too little room: give fewer or shorter words, or take more lines"
        );
    }
    let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
    let rules = listed(&rules);
    format!(
        "{subject} because of {rules}: give other words, or let these rules be relaxed for them"
    )
}

fn listed(names: &[String]) -> String {
    match names {
        [names @ .., last] if !names.is_empty() => format!("{} and {last}", names.join(", ")),
        names => names.concat(),
    }
}
