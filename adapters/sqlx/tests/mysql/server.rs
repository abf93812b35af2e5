//! Servers: the one that is given, or a private one that lives as long as the test process.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::str::FromStr as _;
use std::sync::OnceLock;
use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::mysql::MySqlConnectOptions;

/// Where a server listens, and a user who may do everything.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) password: Option<String>,
    /// Where certificates and the Unix socket lie; empty for a server that was given.
    pub(crate) folder: PathBuf,
}

impl Server {
    /// Whether it was started here, with certificates and nobody else on it.
    pub(crate) fn is_own(&self) -> bool {
        !self.folder.as_os_str().is_empty()
    }

    pub(crate) fn options(&self) -> MySqlConnectOptions {
        let options = MySqlConnectOptions::new()
            .host(&self.host)
            .port(self.port)
            .username(&self.user)
            .statement_cache_capacity(0);
        let is_socket = self.host.starts_with('/');
        let options = if is_socket { options.socket(&self.host) } else { options };
        match &self.password {
            Some(password) => options.password(password),
            None => options,
        }
    }
}

/// The server for most tests.
pub(crate) fn any() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    let server = SERVER.get_or_init(|| match std::env::var("FETCHER_TEST_MYSQL") {
        Ok(url) => Some(given(&url)),
        Err(_) => private().cloned(),
    });
    or_skip(server.as_ref())
}

/// A server of our own.
pub(crate) fn own() -> Option<&'static Server> {
    or_skip(private())
}

fn or_skip(server: Option<&'static Server>) -> Option<&'static Server> {
    if server.is_none() {
        let forbidden = std::env::var_os("FETCHER_TEST_FORBID_SKIP").is_some();
        assert!(!forbidden, "no MySQL server, and skipping is forbidden");
        let _ = writeln!(
            std::io::stderr(),
            "SKIP: no MySQL or MariaDB: set FETCHER_TEST_MYSQL or install a server"
        );
    }
    server
}

fn given(url: &str) -> Server {
    let options = MySqlConnectOptions::from_str(url).expect("FETCHER_TEST_MYSQL is a URL");
    let password = url.split_once("://").and_then(|(_, rest)| rest.split_once('@'));
    let password = password.and_then(|(login, _)| login.split_once(':'));
    Server {
        host: match options.get_socket() {
            Some(path) => path.display().to_string(),
            None => options.get_host().to_owned(),
        },
        port: options.get_port(),
        user: options.get_username().to_owned(),
        password: password.map(|(_, it)| it.to_owned()).filter(|it| !it.is_empty()),
        folder: PathBuf::new(),
    }
}

fn private() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<(Server, Child)>> = OnceLock::new();
    let started = SERVER.get_or_init(|| {
        let started = start();
        if let Err(error) = &started {
            let _ = writeln!(std::io::stderr(), "no server of our own: {error}");
        }
        started.ok()
    });
    started.as_ref().map(|(server, _)| server)
}

fn find(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<_> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    let candidates = names.iter().flat_map(|name| folders.iter().map(move |it| it.join(name)));
    candidates.into_iter().find(|it| it.exists())
}

/// Users that may do everything and need no password; nobody without a name.
const INIT: &str = "
CREATE USER 'fetcher'@'%';
GRANT ALL PRIVILEGES ON *.* TO 'fetcher'@'%' WITH GRANT OPTION;
CREATE USER 'fetcher'@'localhost';
GRANT ALL PRIVILEGES ON *.* TO 'fetcher'@'localhost' WITH GRANT OPTION;
";

/// A shell that ends the server, and removes the folder, when its input ends: that is, when this
/// process does, however it does; a signal to all of them does not end the shell before that.
const KEEPER: &str = r#"
set -e
trap '' HUP INT TERM
cd "$1"
if [ -n "$4" ]; then
  "$4" --no-defaults --datadir="$1/data" --auth-root-authentication-method=normal \
    --skip-test-db --skip-name-resolve >init.log 2>&1
else
  "$2" --no-defaults --initialize-insecure --datadir="$1/data" >init.log 2>&1
fi
"$2" --no-defaults --datadir="$1/data" --socket="$1/socket" --pid-file="$1/pid" --port="$3" \
  --bind-address=127.0.0.1 --skip-name-resolve --init-file="$1/init.sql" --tmpdir="$1" \
  --ssl-ca="$1/root.crt" --ssl-cert="$1/server.crt" --ssl-key="$1/server.key" \
  --max-connections=200 --max-allowed-packet=256M --innodb-buffer-pool-size=64M \
  --innodb-flush-log-at-trx-commit=0 --skip-log-bin --secure-file-priv="" \
  >server.log 2>&1 </dev/null &
cat >/dev/null
kill -KILL $! && wait $! 2>/dev/null || true
cd /
rm -rf "$1"
"#;

fn start() -> std::io::Result<(Server, Child)> {
    let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
    let install = find(&["mariadb-install-db"]);
    let daemon = find(if install.is_some() { &["mariadbd", "mysqld"] } else { &["mysqld"] });
    let daemon = daemon.ok_or_else(missing)?;
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    drop(listener);
    let folder = std::env::temp_dir().join(format!("fetcher-mysql-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    certificates(&folder)?;
    fs::write(folder.join("init.sql"), INIT)?;
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|it| it.stdout == b"0\n");
    // A server refuses to run as root, so then it runs as `mysql`.
    let mut shell = if is_root {
        run("chown", &["-R", "mysql", &folder.display().to_string()], &folder)?;
        let mut shell = Command::new("setpriv");
        shell.args(["--reuid=mysql", "--regid=mysql", "--clear-groups", "sh"]);
        shell
    } else {
        Command::new("sh")
    };
    let child = shell
        .args(["-c", KEEPER, "keeper"])
        .arg(&folder)
        .arg(&daemon)
        .arg(port.to_string())
        .arg(install.unwrap_or_default())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let user = "fetcher".to_owned();
    let server = Server { host: "127.0.0.1".to_owned(), port, user, password: None, folder };
    await_start(&server)?;
    Ok((server, child))
}

fn await_start(server: &Server) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        for _ in 0..600 {
            if server.options().connect().await.is_ok() {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let log = fs::read_to_string(server.folder.join("server.log")).unwrap_or_default();
        Err(std::io::Error::other(log))
    })
}

/// An authority, a server's certificate for `localhost` alone, a client's; and an authority that
/// has nothing to do with them.
fn certificates(folder: &Path) -> std::io::Result<()> {
    for authority in ["root", "other"] {
        let name = format!("/CN={authority}");
        let (key, crt) = (format!("{authority}.key"), format!("{authority}.crt"));
        let request = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
        let rest = ["-nodes", "-days", "3650", "-subj", &name, "-keyout", &key, "-out", &crt];
        let is_authority = ["-addext", "basicConstraints=critical,CA:TRUE"];
        run("openssl", &[&request[..], &rest[..], &is_authority[..]].concat(), folder)?;
    }
    for (name, common, extension) in [
        ("server", "localhost", "subjectAltName=DNS:localhost"),
        ("client", "with_certificate", "extendedKeyUsage=clientAuth"),
    ] {
        let subject = format!("/CN={common}");
        let [key, csr, crt, ext] = ["key", "csr", "crt", "ext"].map(|end| format!("{name}.{end}"));
        fs::write(folder.join(&ext), extension)?;
        let request = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
        let rest = ["-subj", &subject, "-keyout", &key, "-out", &csr];
        run("openssl", &[&request[..], &rest[..]].concat(), folder)?;
        let sign = ["x509", "-req", "-in", &csr, "-CA", "root.crt", "-CAkey", "root.key"];
        let rest = ["-CAcreateserial", "-days", "3650", "-extfile", &ext, "-out", &crt];
        run("openssl", &[&sign[..], &rest[..]].concat(), folder)?;
    }
    Ok(())
}

fn run(program: &str, arguments: &[&str], folder: &Path) -> std::io::Result<()> {
    let output = Command::new(program).args(arguments).current_dir(folder).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(std::io::Error::other(format!("{program}: {said}")))
}
