//! Ends a server and removes its files when this process dies without doing so itself.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Waits for a word that says that all is over, or for the end of whoever should say it. The server
/// has five seconds to end by itself. Its process id is `$0`, what is removed `$@`.
const SCRIPT: &str = r#"
read -r over && exit
kill -s QUIT "$0" 2>/dev/null
left=50
while kill -s 0 "$0" 2>/dev/null && [ "$left" -gt 0 ]; do
    sleep 0.1
    left=$((left - 1))
done
kill -s KILL "$0" 2>/dev/null
sleep 0.5
rm -rf -- "$@"
"#;

/// Dropping it sends it away: the server is stopped and its files are removed by then.
#[derive(Debug)]
pub(super) struct Guard(Child);

impl Guard {
    pub(super) fn over(server: u32, files: &[&Path]) -> Result<Self, String> {
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", SCRIPT])
            .arg(server.to_string())
            .args(files)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // An interrupt from the terminal is what it is there for.
            .process_group(0);
        shell
            .spawn()
            .map(Self)
            .map_err(|error| format!("/bin/sh: {error}"))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(mut stdin) = self.0.stdin.take() {
            // Fails only if it is gone.
            let _ = stdin.write_all(b"over\n");
        }
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    struct Scene {
        server: Child,
        file: std::path::PathBuf,
    }

    impl Scene {
        fn new(name: &str) -> Self {
            let file = std::env::temp_dir().join(format!("guard-{name}-{}", std::process::id()));
            std::fs::write(&file, "").unwrap();
            let server = Command::new("sleep").arg("60").spawn().unwrap();
            Self { server, file }
        }

        fn guard(&self) -> Guard {
            Guard::over(self.server.id(), &[&self.file]).unwrap()
        }
    }

    #[test]
    fn without_a_word_the_server_ends_and_its_files_go() {
        let mut scene = Scene::new("silent");
        let mut guard = scene.guard();
        // As it is when the process that holds it dies.
        drop(guard.0.stdin.take());
        assert!(!scene.server.wait().unwrap().success());
        let begun = Instant::now();
        while scene.file.exists() && begun.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!scene.file.exists());
    }

    #[test]
    fn one_that_is_sent_away_does_nothing() {
        let mut scene = Scene::new("told");
        drop(scene.guard());
        assert!(scene.file.exists());
        assert!(scene.server.try_wait().unwrap().is_none());
        scene.server.kill().unwrap();
        scene.server.wait().unwrap();
        std::fs::remove_file(&scene.file).unwrap();
    }
}
