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

use super::{
    archive::read_archive,
    poem_files::Texts,
    program::{Ending, run},
};
use crate::{Collections, CorpusError, Progress, Step};

/// Longest time of a download: enough for 85 MB at 50 kB per second.
const LIMIT: Duration = Duration::from_secs(30 * 60);
/// The most bytes of a package that are read: three times those of the one that is fetched.
const MAX_PACKAGE: u64 = 256 << 20;
/// The most bytes of messages that are read.
const MAX_MESSAGES: u64 = 1 << 20;

/// A published package and the checksum by which it is known.
struct Package {
    /// Name and version.
    spec: &'static str,
    /// The archive that `npm pack` writes.
    file: &'static str,
    /// `sha512-` and the SHA-512 in base64, as npm writes it.
    integrity: &'static str,
}

/// The collection from which the corpus is built.
const CHINESE_POETRY: Package = Package {
    spec: "chinese-poetry@2.0.1",
    file: "chinese-poetry-2.0.1.tgz",
    integrity: "sha512-KtYARvV7CWNtax0na9+Jn6PlhGgSoid7PWyDzXI4KsCEm2odZcqEQyval5koaLygZnM/EQ3lfJ//25K8p3uHNg==",
};

/// The npm client.
#[derive(Debug, Clone)]
pub struct Npm {
    program: OsString,
    limit: Duration,
    stop: Arc<AtomicBool>,
}

impl Default for Npm {
    /// The `npm` of the search path.
    fn default() -> Self {
        Self {
            program: if cfg!(windows) { "npm.cmd" } else { "npm" }.into(),
            limit: LIMIT,
            stop: Arc::default(),
        }
    }
}

impl Npm {
    /// This client, which is stopped once `stop` is set.
    pub fn until(self, stop: Arc<AtomicBool>) -> Self {
        Self { stop, ..self }
    }

    /// The texts of the npm package `chinese-poetry` 2.0.1 (85 MB), which is fetched into a temporary
    /// folder within 30 minutes, and checked against its published SHA-512. The folder is gone before
    /// the poems are read, and after an error.
    ///
    /// # Errors
    ///
    /// [`CorpusError::Fetch`], which names the other sources; [`CorpusError::Interrupted`] if
    /// it was stopped; [`CorpusError::Io`] if there is no room.
    pub fn fetch(
        &self,
        collections: Collections,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<Texts, CorpusError> {
        on_progress(Progress { step: Step::Fetch, done: 0, total: None });
        let folder =
            tempfile::tempdir().map_err(CorpusError::io("create", &std::env::temp_dir()))?;
        let archive = self.pack(&CHINESE_POETRY, folder.path())?;
        drop(folder);
        read_archive(Path::new(CHINESE_POETRY.file), &archive, collections, on_progress)
    }

    /// Fetches the archive of a package into `folder`, reads and verifies it.
    fn pack(&self, package: &Package, folder: &Path) -> Result<Vec<u8>, CorpusError> {
        let spec = package.spec;
        let messages = folder.join("messages");
        let stderr = File::create(&messages).map_err(CorpusError::io("create", &messages))?;
        let mut command = Command::new(&self.program);
        command
            .args(["pack", "--loglevel=error", spec])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr);
        let ending = run(&mut command, self.limit, &self.stop).map_err(|source| {
            let program = Path::new(&self.program);
            if source.kind() == io::ErrorKind::NotFound {
                CorpusError::Fetch(format!(
                    "`{}` was not found: install Node.js, which has it",
                    program.display()
                ))
            } else {
                CorpusError::io("run", program)(source)
            }
        })?;
        match ending {
            Ending::Exit(status) if status.success() => {}
            Ending::Exit(status) => {
                let stderr = read_at_most(MAX_MESSAGES, &messages).unwrap_or_default();
                let stderr = String::from_utf8_lossy(&stderr);
                let lines: Vec<&str> = stderr.trim().lines().collect();
                return Err(CorpusError::Fetch(format!(
                    "npm could not fetch {spec} ({status}; npm says: {}): check the network and try again",
                    lines.join("; ")
                )));
            }
            Ending::Stopped => return Err(CorpusError::Interrupted),
            Ending::TimedOut => {
                return Err(CorpusError::Fetch(format!(
                    "npm did not fetch {spec} within {} minutes: check the network and try again",
                    self.limit.as_secs() / 60
                )));
            }
        }
        let path = folder.join(package.file);
        let archive = read_at_most(MAX_PACKAGE, &path).map_err(CorpusError::io("read", &path))?;
        let got = format!("sha512-{}", BASE64_STANDARD.encode(Sha512::digest(&archive)));
        if got != package.integrity {
            return Err(CorpusError::Fetch(format!(
                "{spec} has the integrity {got}, wanted {}: it was damaged or changed on the way; try again",
                package.integrity
            )));
        }
        Ok(archive)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::source::program::tests::one_at_a_time;

    fn npm_at(program: impl Into<OsString>) -> Npm {
        Npm { program: program.into(), ..Npm::default() }
    }

    /// An npm that runs this shell script instead.
    #[cfg(unix)]
    fn fake_npm(folder: &Path, script: &str) -> Npm {
        use std::os::unix::fs::PermissionsExt;

        let path = folder.join("npm");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        npm_at(path)
    }

    #[cfg(unix)]
    const ABC: Package = Package {
        spec: "abc@1.0.0",
        file: "abc-1.0.0.tgz",
        // The test vector `abc` of FIPS 180-4.
        integrity: "sha512-3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw==",
    };

    #[test]
    fn missing_npm_names_the_other_sources() {
        let _guard = one_at_a_time();
        let error = npm_at("no-such-npm").fetch(Collections::Tang, &mut |_| {}).unwrap_err();
        assert!(matches!(error, CorpusError::Fetch(_)), "{error:?}");
        for wanted in
            ["`no-such-npm` was not found", "Node.js", "another source", "one poem per line"]
        {
            assert!(error.to_string().contains(wanted), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn failing_npm_is_quoted() {
        let _guard = one_at_a_time();
        let folder = tempfile::tempdir().unwrap();
        let npm = fake_npm(folder.path(), "echo network is down >&2; exit 7");
        let error = npm.fetch(Collections::Tang, &mut |_| {}).unwrap_err();
        assert!(matches!(error, CorpusError::Fetch(_)), "{error:?}");
        for wanted in [
            "npm could not fetch chinese-poetry@2.0.1",
            "exit status: 7",
            "npm says: network is down",
            "another source",
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
        assert!(matches!(error, CorpusError::Fetch(_)), "{error:?}");
        let error = error.to_string();
        let wanted = format!(", wanted {}: ", ABC.integrity);
        for wanted in ["abc@1.0.0 has the integrity sha512-", &wanted, "another source"] {
            assert!(error.contains(wanted), "{error}");
        }
        assert_eq!(error.matches(ABC.integrity).count(), 1, "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn npm_is_not_waited_for_for_ever() {
        let _guard = one_at_a_time();
        let folder = tempfile::tempdir().unwrap();
        let npm = fake_npm(folder.path(), "sleep 100");
        let hasty = Npm { limit: Duration::from_millis(200), ..npm.clone() };
        let error = hasty.fetch(Collections::Tang, &mut |_| {}).unwrap_err();
        assert!(matches!(error, CorpusError::Fetch(_)), "{error:?}");
        for wanted in ["npm did not fetch chinese-poetry@2.0.1 within", "minutes", "another source"]
        {
            assert!(error.to_string().contains(wanted), "{error}");
        }
        let stopped = npm.until(Arc::new(AtomicBool::new(true)));
        let error = stopped.fetch(Collections::Tang, &mut |_| {}).unwrap_err();
        assert!(matches!(error, CorpusError::Interrupted), "{error:?}");
    }
}
