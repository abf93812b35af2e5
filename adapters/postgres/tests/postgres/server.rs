//! Servers: the one that is given, or private ones that live as long as the test process.

use std::path::PathBuf;
use std::process::Child;
use std::{fs, io};

use tokio_postgres::{Config, NoTls};

use crate::testing::private::Recipe;
use crate::testing::server::{Server, Servers};

static SERVERS: Servers = Servers::new("PostgreSQL", "FETCHER_TEST_POSTGRES", given, start);

/// The server for most tests.
pub(crate) fn any() -> Option<&'static Server> {
    SERVERS.any()
}

/// A server of our own, with certificates, passwords and a log that may be read.
pub(crate) fn own() -> Option<&'static Server> {
    SERVERS.own()
}

fn given(url: &str) -> Server {
    let config: Config = url.parse().expect("FETCHER_TEST_POSTGRES is a URL");
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

/// See [`Recipe::keeper`].
const KEEPER: &str = r#"
set -e
cd "$1"
"$3/initdb" -D data -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync >init.log
cp hba.conf data/pg_hba.conf
cp server.crt server.key root.crt data
chmod 600 data/server.key
"$3/postgres" -D data -k "$1" -p "$2" -c listen_addresses=127.0.0.1 -c fsync=off \
  -c ssl=on -c ssl_ca_file=root.crt -c max_connections=200 \
  -c log_destination=stderr -c log_line_prefix='%m [%p] %u: ' >server.log 2>&1 </dev/null &
cat >/dev/null
kill -INT $! && wait $! || true
cd /
rm -rf "$1"
"#;

fn start() -> io::Result<(Server, Child)> {
    let binaries = binaries().ok_or(io::ErrorKind::NotFound)?;
    let recipe = Recipe {
        runs_as: "postgres",
        user: "postgres",
        file: ("hba.conf", HBA),
        keeper: KEEPER,
        programs: &[binaries.as_os_str()],
    };
    recipe.start(async |server| config(server, "postgres").connect(NoTls).await.is_ok())
}

/// How the driver itself connects.
pub(crate) fn config(server: &Server, database: &str) -> Config {
    let mut config = Config::new();
    config.host(&server.host).port(server.port).user(&server.user).dbname(database);
    if let Some(password) = &server.password {
        config.password(password);
    }
    config
}
