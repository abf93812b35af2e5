//! A private server in a temporary folder, which lives as long as the test process.

use std::ffi::OsStr;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{fs, io};

use super::certificates::certificates;
use super::server::Server;

/// How a server of one database is started.
pub(crate) struct Recipe<'a> {
    /// The user of the system that it runs as where this is root, and it refuses to.
    pub(crate) runs_as: &'a str,
    /// The user of its own who may do everything, without a password.
    pub(crate) user: &'a str,
    /// A file that it needs besides its certificates, and what is in that.
    pub(crate) file: (&'a str, &'a str),
    /// A shell script that ends the server, and removes the folder, when its input ends: that is,
    /// when this process does, however it does. It is told the folder, the port, and `programs`;
    /// its server logs to `server.log`.
    pub(crate) keeper: &'a str,
    pub(crate) programs: &'a [&'a OsStr],
}

impl Recipe<'_> {
    /// Starts it, and waits until it `answers`.
    pub(crate) fn start(
        &self,
        answers: impl AsyncFn(&Server) -> bool,
    ) -> io::Result<(Server, Child)> {
        // Free a moment ago.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let folder = self.folder()?;
        let child = self
            .shell(&folder)?
            .args(["-c", self.keeper, "keeper"])
            .arg(&folder)
            .arg(port.to_string())
            .args(self.programs)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let (host, user) = ("127.0.0.1".to_owned(), self.user.to_owned());
        let server = Server { host, port, user, password: None, folder };
        await_start(&server, answers)?;
        Ok((server, child))
    }

    fn folder(&self) -> io::Result<PathBuf> {
        let name = format!("fetcher-{}-{}", self.runs_as, std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        certificates(&folder)?;
        let (name, content) = self.file;
        fs::write(folder.join(name), content)?;
        Ok(folder)
    }

    /// A shell of the user that the server runs as, to whom the folder then belongs.
    fn shell(&self, folder: &Path) -> io::Result<Command> {
        let is_root = Command::new("id").arg("-u").output().is_ok_and(|it| it.stdout == b"0\n");
        if !is_root {
            return Ok(Command::new("sh"));
        }
        let name = self.runs_as;
        run("chown", &["-R", name, &folder.display().to_string()], folder)?;
        let mut shell = Command::new("setpriv");
        shell.args([&format!("--reuid={name}"), &format!("--regid={name}")]);
        shell.args(["--clear-groups", "sh"]);
        Ok(shell)
    }
}

fn await_start(server: &Server, answers: impl AsyncFn(&Server) -> bool) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        for _ in 0..600 {
            if answers(server).await {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let log = fs::read_to_string(server.folder.join("server.log")).unwrap_or_default();
        Err(io::Error::other(log))
    })
}

/// Runs a program in a folder, to its end.
pub(crate) fn run(program: &str, arguments: &[&str], folder: &Path) -> io::Result<()> {
    let output = Command::new(program).args(arguments).current_dir(folder).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(io::Error::other(format!("{program}: {said}")))
}
