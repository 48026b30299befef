//! Where a measurement goes: a page, its pictures and its numbers in a folder, and stdout.

use std::{
    fmt::Display,
    fs,
    io::{self, Write},
    path::Path,
};

use anyhow::{Context, Result};
use serde::Serialize;
use tang_files::{escape_lines, write_atomically};

use crate::{json_output::write_json, note::note, older_report::check_measurement};

/// A folder for report.md, report.json and pictures.
pub struct BenchOutput<'a> {
    folder: &'a Path,
}

impl<'a> BenchOutput<'a> {
    /// Makes the folder and tries to write into it: before some minutes of work, not after.
    ///
    /// # Errors
    ///
    /// If it cannot be made, or written, or those of [`check_measurement`].
    pub fn create(folder: &'a Path) -> Result<Self> {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        check_measurement(folder)?;
        tempfile::tempfile_in(folder)
            .with_context(|| format!("cannot write into {}", folder.display()))?;
        Ok(Self { folder })
    }

    /// Writes a measurement and prints it, as Markdown and then as one line of JSON.
    ///
    /// # Errors
    ///
    /// If a file cannot be written. The measurement is printed all the same.
    pub fn write(
        &self,
        bench: &(impl Display + Serialize),
        plots: Vec<(String, String)>,
    ) -> Result<()> {
        let page = escape_lines(&bench.to_string());
        let written = self.write_files(bench, &page, plots);
        let mut out = io::stdout().lock();
        writeln!(out, "{page}\n")?;
        write_json(&mut out, bench)?;
        written
    }

    fn write_files(
        &self,
        bench: &impl Serialize,
        page: &str,
        plots: Vec<(String, String)>,
    ) -> Result<()> {
        let mut files = plots;
        files.push((
            "report.json".to_owned(),
            serde_json::to_string_pretty(bench)?,
        ));
        // Last, since it shows the pictures.
        files.push(("report.md".to_owned(), format!("{page}\n")));
        for (name, contents) in files {
            let path = self.folder.join(name);
            write_atomically(&path, contents.as_bytes())
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        note(format_args!(
            "written to {}",
            self.folder.join("report.md").display()
        ));
        Ok(())
    }
}
