//! Running another program with a time limit.

use std::{
    io,
    process::{Child, Command},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

/// Time between two checks whether the program has ended.
const INTERVAL: Duration = Duration::from_millis(20);
/// Time in which a program that is told to end may clean up.
const GRACE: Duration = Duration::from_secs(2);

/// The way in which a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// By itself.
    Exit(std::process::ExitStatus),
    /// `stop` was set.
    Stopped,
    /// Its time was over.
    TimedOut,
}

/// Runs a program until it ends, `stop` is set, or `limit` is over. In the last two cases it is ended
/// with all programs that it started, and waited for. None of its streams may be a pipe, which nobody
/// would read.
pub(crate) fn run(command: &mut Command, limit: Duration, stop: &AtomicBool) -> io::Result<Ending> {
    // A group of its own: Ctrl-C reaches it by way of `stop` only, and ends all of it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let start = Instant::now();
    let mut program = command.spawn()?;
    let ending = loop {
        if let Some(status) = program.try_wait()? {
            return Ok(Ending::Exit(status));
        }
        if stop.load(Ordering::Relaxed) {
            break Ending::Stopped;
        }
        if start.elapsed() >= limit {
            break Ending::TimedOut;
        }
        thread::sleep(INTERVAL);
    };
    // A program that cannot be ended is left running.
    let _ = end(&mut program);
    Ok(ending)
}

#[cfg(unix)]
fn end(program: &mut Child) -> io::Result<()> {
    use nix::{
        sys::signal::{Signal, killpg},
        unistd::Pid,
    };

    let group = Pid::from_raw(program.id() as i32);
    killpg(group, Signal::SIGTERM)?;
    let start = Instant::now();
    while program.try_wait()?.is_none() && start.elapsed() < GRACE {
        thread::sleep(INTERVAL);
    }
    // Programs that it started may still run.
    let _ = killpg(group, Signal::SIGKILL);
    program.wait()?;
    Ok(())
}

#[cfg(not(unix))]
fn end(program: &mut Child) -> io::Result<()> {
    program.kill()?;
    program.wait()?;
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{
        fs,
        path::Path,
        process::Stdio,
        sync::{Mutex, MutexGuard, PoisonError},
    };

    use super::*;

    /// Taken by each test that starts a program: while one thread forks, a script that another has
    /// just written still counts as open for writing, and cannot be run.
    pub(crate) fn one_at_a_time() -> MutexGuard<'static, ()> {
        static RUNNING: Mutex<()> = Mutex::new(());
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(unix)]
    fn shell(script: &str, folder: &Path) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Whether a process exists and is no zombie.
    #[cfg(target_os = "linux")]
    fn is_running(process: &str) -> bool {
        let status = format!("/proc/{}/status", process.trim());
        fs::read_to_string(status).is_ok_and(|status| !status.contains("State:\tZ"))
    }

    #[cfg(unix)]
    #[test]
    fn a_program_ends_by_itself() {
        let _guard = one_at_a_time();
        let folder = tempfile::tempdir().unwrap();
        let never = AtomicBool::new(false);
        let ending = run(&mut shell("exit 7", folder.path()), GRACE, &never).unwrap();
        assert!(matches!(ending, Ending::Exit(status) if status.code() == Some(7)), "{ending:?}");
        let missing = run(&mut Command::new("no-such-program"), GRACE, &never).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_that_goes_on_is_ended_with_those_it_started() {
        let _guard = one_at_a_time();
        // The second ignores the request to end.
        for script in [
            "echo $$ > main; sleep 100 & echo $! > other; wait",
            "trap '' TERM; echo $$ > main; sleep 100 & echo $! > other; wait; sleep 100",
        ] {
            let folder = tempfile::tempdir().unwrap();
            let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
            let never = AtomicBool::new(false);
            let limit = Duration::from_millis(500);
            let start = Instant::now();
            let ending = run(&mut shell(script, folder.path()), limit, &never).unwrap();
            assert_eq!(ending, Ending::TimedOut);
            assert!(start.elapsed() < limit + 3 * GRACE);
            thread::sleep(Duration::from_millis(100));
            for process in [read("main"), read("other")] {
                assert!(!is_running(&process), "{script}");
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_program_is_stopped_from_outside() {
        let _guard = one_at_a_time();
        let folder = tempfile::tempdir().unwrap();
        let stop = AtomicBool::new(false);
        let start = Instant::now();
        let ending = thread::scope(|scope| {
            let running =
                scope.spawn(|| run(&mut shell("sleep 100", folder.path()), 50 * GRACE, &stop));
            thread::sleep(Duration::from_millis(200));
            stop.store(true, Ordering::Relaxed);
            running.join().unwrap().unwrap()
        });
        assert_eq!(ending, Ending::Stopped);
        assert!(start.elapsed() < 2 * GRACE);
    }
}
