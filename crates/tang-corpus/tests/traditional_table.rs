//! `data/traditional.tsv` comes from the published collection, and serves it well.

#![cfg(test)]

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt::Write,
    fs,
    path::Path,
};

use tang_corpus::{Collections, Converter, Npm, Traditional};
use tang_prosody::{Form, is_han};

const TABLE: &str = include_str!("../../../data/traditional.tsv");
const LISTED: &str = include_str!("../../../data/opencc/STCharacters.txt");

/// A poem of the source: its own characters, and simplified ones.
struct Poem {
    source: Vec<char>,
    simplified: Vec<char>,
}

impl Poem {
    /// Simplified Han characters with the forms they have in the source, and their neighbours, `|`
    /// for one that is no Han character.
    fn characters(&self) -> impl Iterator<Item = (char, char, [char; 2])> {
        let neighbour = |index: usize| {
            let character = self.simplified.get(index).copied();
            character.filter(|c| is_han(*c)).unwrap_or('|')
        };
        let characters = self.simplified.iter().zip(&self.source).enumerate();
        characters.filter(|(_, (simplified, _))| is_han(**simplified)).map(
            move |(index, (simplified, form))| {
                let beside = [index.wrapping_sub(1), index + 1].map(neighbour);
                (*simplified, *form, beside)
            },
        )
    }
}

/// Counts of forms.
type Counts = BTreeMap<char, usize>;

/// The poems of right form, repeats included.
fn poems(texts: &[String]) -> Vec<Poem> {
    let converter = Converter::traditional_to_simplified();
    let pairs = texts.iter().map(|text| (text, converter.convert(text)));
    pairs
        .filter(|(_, simplified)| Form::of(simplified).is_some())
        .map(|(source, simplified)| Poem {
            source: source.chars().collect(),
            simplified: simplified.chars().collect(),
        })
        .collect()
}

/// The commonest form; of several the first by code point.
fn commonest(counts: &Counts) -> char {
    let most = counts.iter().rev().max_by_key(|(_, count)| **count);
    *most.expect("no empty counts").0
}

/// The forms of each simplified character: those that OpenCC lists, and others of which the source
/// has at least 1 %.
fn forms<'a>(poems: impl Iterator<Item = &'a Poem>) -> BTreeMap<char, Counts> {
    let listed = listed();
    let mut forms: BTreeMap<char, Counts> = BTreeMap::new();
    for (simplified, form, _) in poems.flat_map(Poem::characters) {
        *forms.entry(simplified).or_default().entry(form).or_default() += 1;
    }
    for (simplified, counts) in &mut forms {
        let all: usize = counts.values().sum();
        let most = commonest(counts);
        let is_listed = |form| listed.get(simplified).is_some_and(|l| l.contains(&form));
        counts.retain(|form, count| *form == most || 100 * *count >= all || is_listed(*form));
    }
    forms
}

fn listed() -> HashMap<char, Vec<char>> {
    let rows = LISTED.lines().filter(|row| !row.starts_with('#'));
    rows.filter_map(|row| row.split_once('\t'))
        .map(|(simplified, targets)| {
            let targets = targets.chars().filter(|c| *c != ' ').collect();
            (simplified.chars().next().unwrap(), targets)
        })
        .collect()
}

/// The table that these poems give.
fn table(poems: &[&Poem]) -> String {
    let mut forms = forms(poems.iter().copied());
    let listed = listed();
    // No row repeats the list.
    forms.retain(|simplified, counts| {
        let first = listed.get(simplified).map_or(*simplified, |l| l[0]);
        counts.len() > 1 || !counts.contains_key(&first)
    });
    let mut beside: [BTreeMap<(char, char), Counts>; 2] = Default::default();
    for (simplified, form, neighbours) in poems.iter().flat_map(|poem| poem.characters()) {
        let known = forms.get(&simplified).filter(|counts| counts.len() > 1);
        if !known.is_some_and(|counts| counts.contains_key(&form)) {
            continue;
        }
        for (side, neighbour) in beside.iter_mut().zip(neighbours) {
            if is_han(neighbour) {
                let counts = side.entry((simplified, neighbour)).or_default();
                *counts.entry(form).or_default() += 1;
            }
        }
    }
    for side in &mut beside {
        // One or two of the commonest form say nothing.
        side.retain(|(simplified, _), counts| {
            let most = commonest(&forms[simplified]);
            counts.len() > 1 || counts.get(&most).is_none_or(|count| *count >= 3)
        });
    }
    let plain = written(&forms, &beside, &BTreeMap::new());
    let between = between(poems, &forms, &Traditional::new(&plain));
    written(&forms, &beside, &between)
}

/// The pairs of neighbours between which the counts of both sides mislead, by simplified character
/// and form.
fn between(
    poems: &[&Poem],
    forms: &BTreeMap<char, Counts>,
    traditional: &Traditional,
) -> BTreeMap<(char, char), String> {
    let mut counts: BTreeMap<(char, [char; 2]), (char, Counts)> = BTreeMap::new();
    for poem in poems {
        let simplified: String = poem.simplified.iter().collect();
        let written = traditional.convert(&simplified);
        let written = written.chars().filter(|c| is_han(*c));
        for ((simplified, form, neighbours), written) in poem.characters().zip(written) {
            let entry = counts.entry((simplified, neighbours));
            let (_, counts) = entry.or_insert_with(|| (written, Counts::new()));
            *counts.entry(form).or_default() += 1;
        }
    }
    let mut between: BTreeMap<(char, char), String> = BTreeMap::new();
    for ((simplified, neighbours), (written, counts)) in counts {
        let most = commonest(&counts);
        let is_form = forms.get(&simplified).is_some_and(|f| f.contains_key(&most));
        if is_form && counts[&most] > counts.get(&written).copied().unwrap_or(0) {
            between.entry((simplified, most)).or_default().extend(neighbours);
        }
    }
    between
}

fn written(
    forms: &BTreeMap<char, Counts>,
    beside: &[BTreeMap<(char, char), Counts>; 2],
    between: &BTreeMap<(char, char), String>,
) -> String {
    let mut table = String::new();
    for (simplified, counts) in forms {
        let mut rows: Vec<(char, usize)> = counts.iter().map(|(f, n)| (*f, *n)).collect();
        rows.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        for (form, count) in rows {
            let [before, after] = beside.each_ref().map(|side| {
                let mut groups: BTreeMap<usize, String> = BTreeMap::new();
                let neighbours = side.range((*simplified, '\0')..=(*simplified, char::MAX));
                for ((_, neighbour), counts) in neighbours {
                    if let Some(count) = counts.get(&form) {
                        groups.entry(*count).or_default().push(*neighbour);
                    }
                }
                let groups = groups.iter().rev();
                groups.map(|(count, all)| format!("{count}{all}")).collect::<String>()
            });
            let between = between.get(&(*simplified, form)).map_or("", |b| b);
            let row = format!("{simplified}\t{form}\t{count}\t{before}\t{after}\t{between}");
            writeln!(table, "{}", row.trim_end()).unwrap();
        }
    }
    table
}

/// Differences between poems and those that a table makes of their simplified form.
#[derive(Debug, PartialEq, Eq)]
struct Changed {
    poems: usize,
    changed_poems: usize,
    characters: usize,
    changed_characters: usize,
}

fn changed(traditional: &Traditional, poems: &[&Poem]) -> Changed {
    let mut sum =
        Changed { poems: poems.len(), changed_poems: 0, characters: 0, changed_characters: 0 };
    for poem in poems {
        let simplified: String = poem.simplified.iter().collect();
        let written = traditional.convert(&simplified);
        let pairs = written.chars().zip(&poem.source);
        let changed = pairs.filter(|(written, source)| written != *source).count();
        sum.characters += poem.characters().count();
        sum.changed_characters += changed;
        sum.changed_poems += usize::from(changed > 0);
    }
    sum
}

/// A table that differs is left in the folder for temporary files of the build, to be copied.
#[test]
#[ignore = "fetches 85 MB with npm"]
fn table_is_counted_in_the_published_collection() {
    let texts = Npm::default().fetch(Collections::Tang, &mut |_| {}).unwrap().tang;
    let poems = poems(&texts);
    let all: Vec<&Poem> = poems.iter().collect();
    let made = table(&all);
    if made != TABLE {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("traditional.tsv");
        fs::write(&path, made).unwrap();
        panic!("data/traditional.tsv differs from {}", path.display());
    }

    // Every tenth poem: of the table's own poems, then held back from it.
    let every_tenth = |wanted: bool| {
        let numbered = all.iter().enumerate();
        numbered.filter(move |(index, _)| index.is_multiple_of(10) == wanted)
    };
    let tenth: Vec<&Poem> = every_tenth(true).map(|(_, poem)| *poem).collect();
    let rest: Vec<&Poem> = every_tenth(false).map(|(_, poem)| *poem).collect();
    let seen: HashSet<&[char]> = rest.iter().map(|poem| &poem.simplified[..]).collect();
    let mut held_back = tenth.clone();
    held_back.retain(|poem| !seen.contains(&poem.simplified[..]));
    let table_of_rest = table(&rest);
    assert_eq!(
        [
            changed(&Traditional::default(), &tenth),
            changed(&Traditional::new(&table_of_rest), &held_back),
        ],
        [
            Changed {
                poems: 3_665,
                changed_poems: 174,
                characters: 138_524,
                changed_characters: 184
            },
            Changed {
                poems: 3_574,
                changed_poems: 721,
                characters: 135_828,
                changed_characters: 816
            },
        ]
    );
}
