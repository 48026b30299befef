//! The published collection, fetched with the npm client.

use std::{
    ffi::OsString,
    fs::File,
    io,
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use sha2::{Digest, Sha512};
use tang_files::read_at_most;

use crate::{
    CorpusError, Progress, Step,
    archive::read_archive,
    program::{Ending, run},
};

/// Time enough for 85 MB at 50 kB a second.
const LIMIT: Duration = Duration::from_secs(30 * 60);
/// The most bytes of a package that are read: three times those of the one that is fetched.
const MAX_PACKAGE: u64 = 256 << 20;
/// The most bytes of messages that are read.
const MAX_MESSAGES: u64 = 1 << 20;

/// A published package and the checksum by which it is known.
struct Package {
    name: &'static str,
    version: &'static str,
    /// `sha512-` and the SHA-512 in base64, as npm writes it.
    integrity: &'static str,
}

/// The collection from which the corpus is built.
const CHINESE_POETRY: Package = Package {
    name: "chinese-poetry",
    version: "2.0.1",
    integrity: "sha512-KtYARvV7CWNtax0na9+Jn6PlhGgSoid7PWyDzXI4KsCEm2odZcqEQyval5koaLygZnM/EQ3lfJ//25K8p3uHNg==",
};

impl Package {
    fn spec(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    /// The name that `npm pack` gives the archive of a package without a scope.
    fn file_name(&self) -> String {
        format!("{}-{}.tgz", self.name, self.version)
    }

    fn verify(&self, archive: &[u8]) -> Result<(), CorpusError> {
        let got = format!("sha512-{}", BASE64_STANDARD.encode(Sha512::digest(archive)));
        if got == self.integrity {
            return Ok(());
        }
        Err(CorpusError::Integrity {
            package: self.spec(),
            wanted: self.integrity.to_owned(),
            got,
        })
    }
}

/// The npm client.
#[derive(Debug, Clone)]
pub struct Npm {
    program: OsString,
    limit: Duration,
    stop: Arc<AtomicBool>,
}

impl Default for Npm {
    /// The client that the search path has.
    fn default() -> Self {
        Self::new(if cfg!(windows) { "npm.cmd" } else { "npm" })
    }
}

impl Npm {
    /// The client at this path or of this name.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            limit: LIMIT,
            stop: Arc::default(),
        }
    }

    /// The same client, which is ended once `stop` is set.
    pub fn until(self, stop: Arc<AtomicBool>) -> Self {
        Self { stop, ..self }
    }

    /// The texts of all poems in the npm package `chinese-poetry` 2.0.1 (85 MB), which is fetched
    /// into a temporary folder within 30 minutes, and checked against its published SHA-512. The
    /// folder is gone before the poems are read, and after an error.
    ///
    /// # Errors
    ///
    /// [`CorpusError::NpmMissing`], [`CorpusError::NpmFailed`], [`CorpusError::NpmTimedOut`] or
    /// [`CorpusError::Integrity`], all of which name the other sources; [`CorpusError::Interrupted`] if
    /// it was stopped; [`CorpusError::Io`] if there is no room.
    pub fn fetch(&self, on_progress: &mut dyn FnMut(Progress)) -> Result<Vec<String>, CorpusError> {
        on_progress(Progress {
            step: Step::Fetch,
            done: 0,
            total: None,
        });
        let folder =
            tempfile::tempdir().map_err(CorpusError::io("create", &std::env::temp_dir()))?;
        let archive = self.pack(&CHINESE_POETRY, folder.path())?;
        drop(folder);
        read_archive(
            Path::new(&CHINESE_POETRY.file_name()),
            &archive,
            on_progress,
        )
    }

    /// Fetches the archive of a package by way of `folder`, and verifies it.
    fn pack(&self, package: &Package, folder: &Path) -> Result<Vec<u8>, CorpusError> {
        let messages = folder.join("messages");
        let stderr = File::create(&messages).map_err(CorpusError::io("create", &messages))?;
        let mut command = Command::new(&self.program);
        command
            .args(["pack", "--loglevel=error", &package.spec()])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr);
        let ending = run(&mut command, self.limit, &self.stop).map_err(|source| {
            let program = self.program.to_string_lossy().into_owned();
            if source.kind() == io::ErrorKind::NotFound {
                CorpusError::NpmMissing { program }
            } else {
                CorpusError::io("run", Path::new(&program))(source)
            }
        })?;
        match ending {
            Ending::Exit(status) if status.success() => {}
            Ending::Exit(status) => {
                let stderr = read_at_most(MAX_MESSAGES, &messages).unwrap_or_default();
                return Err(CorpusError::NpmFailed {
                    package: package.spec(),
                    status,
                    stderr: String::from_utf8_lossy(&stderr).trim().to_owned(),
                });
            }
            Ending::Stopped => return Err(CorpusError::Interrupted),
            Ending::TimedOut => {
                return Err(CorpusError::NpmTimedOut {
                    package: package.spec(),
                    minutes: self.limit.as_secs() / 60,
                });
            }
        }
        let path = folder.join(package.file_name());
        let archive = read_at_most(MAX_PACKAGE, &path).map_err(CorpusError::io("read", &path))?;
        package.verify(&archive)?;
        Ok(archive)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::program::tests::one_at_a_time;

    /// An npm that runs this shell script instead.
    #[cfg(unix)]
    fn fake_npm(folder: &Path, script: &str) -> Npm {
        use std::os::unix::fs::PermissionsExt;

        let path = folder.join("npm");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Npm::new(path)
    }

    #[cfg(unix)]
    const ABC: Package = Package {
        name: "abc",
        version: "1.0.0",
        // The test vector `abc` of FIPS 180-4.
        integrity: "sha512-3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw==",
    };

    #[test]
    fn missing_npm_names_the_other_sources() {
        let _guard = one_at_a_time();
        let error = Npm::new("no-such-npm").fetch(&mut |_| {}).unwrap_err();
        assert!(matches!(&error, CorpusError::NpmMissing { program } if program == "no-such-npm"));
        for wanted in ["no-such-npm", "Node.js", "--from PATH", "one poem a line"] {
            assert!(error.to_string().contains(wanted), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn failing_npm_is_quoted() {
        let _guard = one_at_a_time();
        let folder = tempfile::tempdir().unwrap();
        let npm = fake_npm(folder.path(), "echo network is down >&2; exit 7");
        let error = npm.fetch(&mut |_| {}).unwrap_err();
        assert!(matches!(&error, CorpusError::NpmFailed { .. }), "{error:?}");
        for wanted in [
            "chinese-poetry@2.0.1",
            "exit status: 7",
            "network is down",
            "--from PATH",
        ] {
            assert!(error.to_string().contains(wanted), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn packs_and_verifies() {
        let _guard = one_at_a_time();
        let folder = tempfile::tempdir().unwrap();
        let npm = fake_npm(
            folder.path(),
            "test \"$1 $3\" = 'pack abc@1.0.0' && printf abc > abc-1.0.0.tgz",
        );
        assert_eq!(npm.pack(&ABC, folder.path()).unwrap(), b"abc");
    }

    #[cfg(unix)]
    #[test]
    fn changed_package_is_refused() {
        let _guard = one_at_a_time();
        let folder = tempfile::tempdir().unwrap();
        let npm = fake_npm(folder.path(), "printf abd > abc-1.0.0.tgz");
        let error = npm.pack(&ABC, folder.path()).unwrap_err();
        assert!(
            matches!(
                &error,
                CorpusError::Integrity { wanted, got, .. }
                    if wanted == ABC.integrity && got.starts_with("sha512-") && got != wanted
            ),
            "{error:?}"
        );
        for wanted in ["abc@1.0.0", "--from PATH"] {
            assert!(error.to_string().contains(wanted), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn npm_is_not_waited_for_for_ever() {
        let _guard = one_at_a_time();
        let folder = tempfile::tempdir().unwrap();
        let npm = fake_npm(folder.path(), "sleep 100");
        let hasty = Npm {
            limit: Duration::from_millis(200),
            ..npm.clone()
        };
        let error = hasty.fetch(&mut |_| {}).unwrap_err();
        assert!(
            matches!(error, CorpusError::NpmTimedOut { .. }),
            "{error:?}"
        );
        for wanted in ["chinese-poetry@2.0.1", "minutes", "--from PATH"] {
            assert!(error.to_string().contains(wanted), "{error}");
        }
        let stopped = npm.until(Arc::new(AtomicBool::new(true)));
        let error = stopped.fetch(&mut |_| {}).unwrap_err();
        assert!(matches!(error, CorpusError::Interrupted), "{error:?}");
    }
}
