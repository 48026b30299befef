//! The commit of the source, from an environment variable.

use std::env;

use tang_lab::Commit;

/// Set by `cargo xtask`: a commit, and ` modified` after it if files differed from it.
const VARIABLE: &str = "TANG_COMMIT";

/// The commit that the environment names. This program never asks git, whose settings belong to the owner of the
/// folder and can name programs to run.
pub fn source_commit() -> Option<Commit> {
    commit(&env::var(VARIABLE).ok()?)
}

/// `None` if the text is no commit.
fn commit(text: &str) -> Option<Commit> {
    let modified = text.strip_suffix(" modified");
    let id = modified.unwrap_or(text);
    let is_id = (7..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| Commit { id: id.to_owned(), modified: modified.is_some() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commits_are_read() {
        let shown = |text| commit(text).map(|Commit { id, modified }| (id, modified));
        let id = "0123456789ab".to_owned();
        assert_eq!(shown("0123456789ab"), Some((id.clone(), false)));
        assert_eq!(shown("0123456789ab modified"), Some((id, true)));
        for wrong in
            ["", "main", "012345", "0123456789ab dirty", "0123456789ab\n# page", " modified"]
        {
            assert_eq!(shown(wrong), None, "{wrong:?}");
        }
    }
}
