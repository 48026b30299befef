//! What the rules of regulated verse say about a poem, without any model.
//!
//! Its [`Form`] fixes the number of lines and their length, and its [`Layout`] says where the marks
//! fall. Its characters have [`Readings`]: tones, and rhyme groups. A [`LineSequence`] says which
//! [`LineType`] each line has, and the type which tones may stand where: a poem is written by its
//! [`LinePattern`]s, and judged by [`check`], which knows nothing of them.
//!
//! ```
//! use tang_prosody::{Form, check};
//!
//! let verdict = check("白日依山尽，黄河入海流。欲穷千里目，更上一层楼。").unwrap();
//! assert_eq!(verdict.form, Form::WuJue);
//! assert!(verdict.passes());
//! assert!(check("白日依山尽").is_none());
//! ```

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
