//! Servers: the one that is given, or private ones that live as long as the test process.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// Where a server listens, and its superuser.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) password: Option<String>,
    /// Where certificates and the Unix socket lie; empty for a server that was given.
    pub(crate) folder: PathBuf,
}

/// The server for most tests.
pub(crate) fn any() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    let server = SERVER.get_or_init(|| match std::env::var("FETCHER_TEST_POSTGRES") {
        Ok(url) => Some(given(&url)),
        Err(_) => private().cloned(),
    });
    or_skip(server.as_ref())
}

/// A server of our own, with certificates, passwords and a log that may be read.
pub(crate) fn own() -> Option<&'static Server> {
    or_skip(private())
}

fn or_skip(server: Option<&'static Server>) -> Option<&'static Server> {
    if server.is_none() {
        let forbidden = std::env::var_os("FETCHER_TEST_FORBID_SKIP").is_some();
        assert!(!forbidden, "no PostgreSQL server, and skipping is forbidden");
        let _ = writeln!(
            std::io::stderr(),
            "SKIP: no PostgreSQL: set FETCHER_TEST_POSTGRES or install a server"
        );
    }
    server
}

fn given(url: &str) -> Server {
    let config: tokio_postgres::Config = url.parse().expect("FETCHER_TEST_POSTGRES is a URL");
    let host = match config.get_hosts().first() {
        Some(tokio_postgres::config::Host::Tcp(host)) => host.clone(),
        Some(tokio_postgres::config::Host::Unix(path)) => path.display().to_string(),
        None => panic!("FETCHER_TEST_POSTGRES names a host"),
    };
    Server {
        host,
        port: config.get_ports().first().copied().unwrap_or(5432),
        user: config.get_user().expect("FETCHER_TEST_POSTGRES names a user").to_owned(),
        password: config.get_password().map(|it| String::from_utf8_lossy(it).into_owned()),
        folder: PathBuf::new(),
    }
}

fn private() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<(Server, Child)>> = OnceLock::new();
    SERVER.get_or_init(|| start().ok()).as_ref().map(|(server, _)| server)
}

/// Where `initdb` and `postgres` are.
fn binaries() -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .map(|versions| versions.flatten().map(|version| version.path().join("bin")).collect())
        .unwrap_or_default();
    folders.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders.extend(std::env::split_paths(&path));
    folders.into_iter().rev().find(|it| it.join("initdb").exists() && it.join("postgres").exists())
}

const HBA: &str = "
local all all trust
hostssl all only_tls 127.0.0.1/32 trust
host all only_tls 127.0.0.1/32 reject
hostssl all with_certificate 127.0.0.1/32 cert
hostnossl all plain_only 127.0.0.1/32 trust
host all plain_only 127.0.0.1/32 reject
host all with_password,with_binding,overheard 127.0.0.1/32 scram-sha-256
host all with_plain,overheard_plain 127.0.0.1/32 password
host all with_md5 127.0.0.1/32 md5
host all all 127.0.0.1/32 trust
";

/// A shell that ends the server, and removes the folder, when its input ends: that is, when this
/// process does, however it does. A server refuses to run as root, so then it runs as `postgres`.
const KEEPER: &str = r#"
set -e
cd "$1"
"$2/initdb" -D data -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync >init.log
cp hba.conf data/pg_hba.conf
cp server.crt server.key root.crt data
chmod 600 data/server.key
"$2/postgres" -D data -k "$1" -p "$3" -c listen_addresses=127.0.0.1 -c fsync=off \
  -c ssl=on -c ssl_ca_file=root.crt -c max_connections=200 \
  -c log_destination=stderr -c log_line_prefix='%m [%p] %u: ' >server.log 2>&1 </dev/null &
cat >/dev/null
kill -INT $! && wait $! || true
cd /
rm -rf "$1"
"#;

fn start() -> std::io::Result<(Server, Child)> {
    let binaries = binaries().ok_or(std::io::ErrorKind::NotFound)?;
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    drop(listener);
    let folder = std::env::temp_dir().join(format!("fetcher-postgres-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    certificates(&folder)?;
    fs::write(folder.join("hba.conf"), HBA)?;
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|it| it.stdout == b"0\n");
    let mut shell = if is_root {
        run("chown", &["-R", "postgres", &folder.display().to_string()], &folder)?;
        let mut shell = Command::new("setpriv");
        shell.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "sh"]);
        shell
    } else {
        Command::new("sh")
    };
    let child = shell
        .args(["-c", KEEPER, "keeper"])
        .arg(&folder)
        .arg(&binaries)
        .arg(port.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let user = "postgres".to_owned();
    let server = Server { host: "127.0.0.1".to_owned(), port, user, password: None, folder };
    await_start(&server)?;
    Ok((server, child))
}

fn await_start(server: &Server) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        for _ in 0..300 {
            let mut config = tokio_postgres::Config::new();
            config.host("127.0.0.1").port(server.port).user("postgres").dbname("postgres");
            if config.connect(tokio_postgres::NoTls).await.is_ok() {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err(std::io::ErrorKind::TimedOut.into())
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
