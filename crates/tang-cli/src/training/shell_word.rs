//! Paths in commands that are printed for a shell.

use std::path::Path;

use tang_files::is_invisible;

/// A path as one word of a POSIX shell, on one line and without invisible characters.
pub fn shell_word(path: &Path) -> String {
    let is_flag = path.as_os_str().as_encoded_bytes().starts_with(b"-");
    let path = if is_flag { &Path::new(".").join(path) } else { path };
    match path.to_str().map(shlex::try_quote) {
        Some(Ok(word)) if !word.contains(is_invisible) => word.into_owned(),
        _ => octal(path.as_os_str().as_encoded_bytes()),
    }
}

/// Bytes as `"$(printf 'a\033')"`. A shell cuts off line breaks at the end; a slash after them keeps them, and
/// makes the name one of a folder.
fn octal(bytes: &[u8]) -> String {
    let mut word = String::from("\"$(printf '");
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(byte) {
            word.push(char::from(*byte));
        } else {
            word += &format!("\\{byte:03o}");
        }
    }
    if bytes.ends_with(b"\n") {
        word.push('/');
    }
    word + "')\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_path_stays_as_it_is() {
        for path in ["checkpoints/runs/tang-4l-quick", "/tmp/a_b.txt", "../x"] {
            assert_eq!(shell_word(Path::new(path)), path);
        }
        assert_eq!(shell_word(Path::new("my run")), "'my run'");
    }

    #[cfg(unix)]
    #[test]
    fn a_shell_reads_the_path_again() {
        use std::{ffi::OsStr, os::unix::ffi::OsStrExt, process::Command};

        for path in [
            b"my run".as_slice(),
            b"my run's $(touch x)",
            b"`a` \"b\" \\c",
            b"~",
            b"a;b&c|d>e<f*g?[h]!{i}#j",
            b"-n",
            b"-\x1b",
            "春眠 不觉".as_bytes(),
            b"a\nb\tc",
            b"\x1b[31mred",
            "\u{202e}txt\u{200b}'".as_bytes(),
            b"not \xff UTF-8 %s %d \\n",
        ] {
            let word = shell_word(Path::new(OsStr::from_bytes(path)));
            assert!(!word.contains(is_invisible), "{word:?}");
            let output =
                Command::new("sh").args(["-c", &format!("printf '<%s>' {word}")]).output().unwrap();
            let here: &[u8] = if path.starts_with(b"-") { b"./" } else { b"" };
            let wanted = [b"<", here, path, b">"].concat();
            assert_eq!(output.stdout, wanted, "{word}");
        }
        let folder = shell_word(Path::new("a\n"));
        assert_eq!(folder, r#""$(printf 'a\012/')""#);
    }
}
