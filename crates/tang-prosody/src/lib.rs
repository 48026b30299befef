//! The rules of regulated verse, without any model.
//!
//! The [`Form`] of a poem fixes the number of lines and their length, and its [`Layout`] the places of the marks.
//! Characters have [`Readings`]: tones, and rhyme groups. A [`LineSequence`] gives each line its [`LineType`], and
//! the type gives the tones of its characters: a poem is written by the [`LinePattern`]s of the types, and judged by
//! [`check`], which does not use them.
//!
//! ```
//! use tang_prosody::{Form, check};
//!
//! let verdict = check("白日依山尽，黄河入海流。欲穷千里目，更上一层楼。").unwrap();
//! assert_eq!(verdict.form, Form::WuJue);
//! assert!(verdict.passes());
//! assert!(check("白日依山尽").is_none());
//! ```

mod absent_characters;
mod checker;
mod error;
mod form;
mod layout;
mod line_pattern;
mod line_sequence;
mod line_type;
mod mark;
mod placed_character;
mod readings;
mod rhyme;
mod rhyme_group;
mod scores;
mod template;
mod tone;
mod verdict;

pub use absent_characters::stand_in;
pub use checker::{Judging, check, check_by};
pub use error::ProsodyError;
pub use form::{COMMA, FULL_STOP, Form, LineLength, is_han};
pub use layout::{Layout, Slot};
pub use line_pattern::LinePattern;
pub use line_sequence::LineSequence;
pub use line_type::LineType;
pub use mark::{line_mark, plain_marks};
pub use placed_character::PlacedCharacter;
pub use readings::{Reading, Readings};
pub use rhyme_group::RhymeGroup;
pub use scores::{Scores, Share};
pub use template::Template;
pub use tone::{Tone, ToneSet};
pub use verdict::{Fault, LineVerdict, Verdict};
