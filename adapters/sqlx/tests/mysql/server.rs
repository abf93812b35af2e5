//! Servers: the one that is given, or a private one that lives as long as the test process.

use std::io;
use std::path::PathBuf;
use std::process::Child;
use std::str::FromStr as _;

use sqlx::ConnectOptions as _;
use sqlx::mysql::MySqlConnectOptions;

use crate::testing::private::Recipe;
use crate::testing::server::{Server, Servers};

static SERVERS: Servers = Servers::new("MySQL or MariaDB", "FETCHER_TEST_MYSQL", given, start);

/// The server for most tests.
pub(crate) fn any() -> Option<&'static Server> {
    SERVERS.any()
}

/// A server of our own.
pub(crate) fn own() -> Option<&'static Server> {
    SERVERS.own()
}

/// How the driver itself connects.
pub(crate) fn options(server: &Server) -> MySqlConnectOptions {
    let options = MySqlConnectOptions::new()
        .host(&server.host)
        .port(server.port)
        .username(&server.user)
        .statement_cache_capacity(0);
    let is_socket = server.host.starts_with('/');
    let options = if is_socket { options.socket(&server.host) } else { options };
    match &server.password {
        Some(password) => options.password(password),
        None => options,
    }
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

/// See [`Recipe::keeper`]; a signal to all of them does not end the shell before the process.
const KEEPER: &str = r#"
set -e
trap '' HUP INT TERM
cd "$1"
if [ -n "$4" ]; then
  "$4" --no-defaults --datadir="$1/data" --auth-root-authentication-method=normal \
    --skip-test-db --skip-name-resolve >init.log 2>&1
else
  "$3" --no-defaults --initialize-insecure --datadir="$1/data" >init.log 2>&1
fi
"$3" --no-defaults --datadir="$1/data" --socket="$1/socket" --pid-file="$1/pid" --port="$2" \
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

fn start() -> io::Result<(Server, Child)> {
    let install = find(&["mariadb-install-db"]);
    let daemon = find(if install.is_some() { &["mariadbd", "mysqld"] } else { &["mysqld"] });
    let daemon = daemon.ok_or(io::ErrorKind::NotFound)?;
    let install = install.unwrap_or_default();
    let recipe = Recipe {
        runs_as: "mysql",
        user: "fetcher",
        file: ("init.sql", INIT),
        keeper: KEEPER,
        programs: &[daemon.as_os_str(), install.as_os_str()],
    };
    recipe.start(async |server| options(server).connect().await.is_ok())
}
