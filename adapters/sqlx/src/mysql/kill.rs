//! Connecting, and stopping from outside: a second connection that kills the query of the first.
//!
//! Keeps true: a guarded connection goes to the very address that was checked, and so does its
//! kill; a kill reaches the server that counts connections by that number, or none; nothing that a
//! server has as its default changes what is read.

use std::time::{Duration, Instant};

use fetcher_engine::{Category, PortError, Secret};
use fetcher_sql::address::{Host, guard};
use fetcher_sql::fault::invalid;
use fetcher_sql::tls::SslMode;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection as _, Executor};

use super::fault;
use super::options::Target;
use super::wire::texts;

/// How long a kill may take, or the goodbye.
const PARTING: Duration = Duration::from_secs(2);

/// How many prepared statements are kept: those of all tables of a query.
const STATEMENTS: usize = 128;

/// `sql_mode` without any: quotes, escapes, padding and dates are as they are by default in MySQL
/// itself. No limit of rows; no end of a connection while the engine waits for a sink.
const SESSION: &str = "SET SESSION sql_mode = '', sql_select_limit = 18446744073709551615, \
    sql_big_selects = 1, autocommit = 1, sql_quote_show_create = 1, net_write_timeout = 86400, \
    wait_timeout = 86400";

/// The same for what only MariaDB has: tables as they are now, and no end of an idle transaction.
const SESSION_MARIADB: &str = "SET SESSION system_versioning_asof = DEFAULT, \
    idle_transaction_timeout = 0, idle_readonly_transaction_timeout = 0";

/// What tells one server from another.
const SERVER: &str = "CONCAT_WS(' ', @@hostname, @@port, @@server_id)";

/// A connection that is logged in.
pub(crate) struct Link {
    pub(super) connection: MySqlConnection,
    pub(super) is_mariadb: bool,
    /// That of the query, once the server was told.
    pub(super) deadline: Option<Instant>,
}

impl Link {
    /// What the server said before the first row.
    pub(super) fn fault(&self, error: sqlx::Error) -> PortError {
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        fault::querying(error, late)
    }
}

/// What is needed to reach a running query. It has no printable form.
#[derive(Clone)]
pub(crate) struct Stop {
    id: u64,
    /// Which server counts connections by that number.
    server: String,
    options: MySqlConnectOptions,
}

pub(super) async fn connect(
    target: &Target,
    password: Option<&Secret>,
) -> Result<(Link, Stop), PortError> {
    let connecting = tokio::time::timeout(target.connect_timeout, dial(target, password));
    let late = |_| PortError::from(Category::Timeout).caused_by("connecting took too long");
    connecting.await.map_err(late)?
}

async fn dial(target: &Target, password: Option<&Secret>) -> Result<(Link, Stop), PortError> {
    let shows_key = target.material.key.is_some();
    let failed = |error| fault::connecting(error, shows_key);
    let mut last = None;
    for options in candidates(target, password).await? {
        match options.connect().await {
            Ok(connection) => return login(connection, options).await.map_err(failed),
            // Another address is of no use to a server that has answered.
            Err(error) if !matches!(error, sqlx::Error::Io(_)) => return Err(failed(error)),
            Err(error) => last = Some(error),
        }
    }
    match last {
        Some(error) => Err(failed(error)),
        None => Err(PortError::unavailable().caused_by("the host has no address")),
    }
}

/// The options for each address that may be tried.
async fn candidates(
    target: &Target,
    password: Option<&Secret>,
) -> Result<Vec<MySqlConnectOptions>, PortError> {
    let options = options(target, password)?;
    if target.guarded {
        target.host.guard()?;
    }
    let (name, port) = match &target.host {
        Host::Unix(path) => return Ok(vec![options.socket(path)]),
        Host::Tcp(name, port) => (name.as_str(), *port),
    };
    let options = options.port(port);
    if !target.guarded {
        return Ok(vec![options.host(name)]);
    }
    let found = tokio::net::lookup_host((name, port)).await;
    let found: Vec<_> = found.map_err(|error| PortError::unavailable().caused_by(error))?.collect();
    guard(&found)?;
    Ok(found.iter().map(|address| options.clone().host(&address.ip().to_string())).collect())
}

fn options(target: &Target, password: Option<&Secret>) -> Result<MySqlConnectOptions, PortError> {
    let mode = match target.ssl_mode {
        SslMode::Disable => MySqlSslMode::Disabled,
        SslMode::Prefer => MySqlSslMode::Preferred,
        SslMode::Require => MySqlSslMode::Required,
        SslMode::VerifyCa | SslMode::VerifyFull => MySqlSslMode::VerifyIdentity,
    };
    let mut options = MySqlConnectOptions::new()
        .username(&target.user)
        .database(&target.database)
        .ssl_mode(mode)
        .charset("utf8mb4")
        .collation("utf8mb4_bin")
        .timezone(Some("+00:00".to_owned()))
        // `SESSION` says all of it.
        .pipes_as_concat(false)
        .no_engine_substitution(false)
        .statement_cache_capacity(STATEMENTS)
        .disable_statement_logging();
    // An empty password is none, to the server.
    if let Some(password) = password.filter(|it| !it.is_empty()) {
        let text = password.expose_str();
        let text = text.ok_or_else(|| invalid("the driver takes passwords in UTF-8 only"))?;
        options = options.password(text);
    }
    let material = &target.material;
    if let Some(roots) = &material.roots {
        options = options.ssl_ca_from_pem(roots.as_bytes().to_vec());
    }
    if let (Some(certificate), Some(key)) = (&material.certificate, &material.key) {
        options = options
            .ssl_client_cert_from_pem(certificate.as_bytes())
            .ssl_client_key_from_pem(key.expose());
    }
    Ok(options)
}

async fn login(
    mut connection: MySqlConnection,
    options: MySqlConnectOptions,
) -> Result<(Link, Stop), sqlx::Error> {
    connection.execute(SESSION).await?;
    let sql = format!("SELECT {SERVER}, CAST(CONNECTION_ID() AS CHAR), VERSION()");
    let rows = texts(&mut connection, &sql, &[]).await?;
    let mut cells = rows.into_iter().flatten().map(Option::unwrap_or_default);
    let server = cells.next().unwrap_or_default();
    let id = cells.next().and_then(|id| id.parse().ok());
    let id = id.ok_or_else(|| sqlx::Error::Protocol("a connection without an id".into()))?;
    let is_mariadb = cells.next().unwrap_or_default().to_ascii_lowercase().contains("mariadb");
    if is_mariadb {
        /// Versions before 10.3 have none of these variables.
        const UNKNOWN_VARIABLE: u16 = 1193;
        match connection.execute(SESSION_MARIADB).await {
            Err(error) if fault::number(&error) != Some(UNKNOWN_VARIABLE) => return Err(error),
            _ => {}
        }
    }
    Ok((Link { connection, is_mariadb, deadline: None }, Stop { id, server, options }))
}

/// Kills the query that runs on the connection.
pub(super) async fn stop(stop: &Stop) -> Result<(), PortError> {
    kill(stop.clone()).await
}

/// The same on its own, if a runtime is there.
pub(super) fn abandon(stop: &Stop) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        let killing = kill(stop.clone());
        runtime.spawn(async {
            // Nobody is left to be told.
            let _ = killing.await;
        });
    }
}

async fn kill(stop: Stop) -> Result<(), PortError> {
    /// There is no such connection, so nothing is left to be killed.
    const UNKNOWN: u16 = 1094;
    let killing = async {
        let mut connection = stop.options.connect().await?;
        let found = texts(&mut connection, &format!("SELECT {SERVER}"), &[]).await?;
        // A name may lead to several servers, and there the number is somebody else's.
        if found.into_iter().flatten().flatten().next() != Some(stop.server) {
            return Err(sqlx::Error::Protocol("the host leads to another server now".into()));
        }
        let killed = connection.execute(AssertSqlSafe(format!("KILL QUERY {}", stop.id))).await;
        connection.close().await?;
        killed
    };
    match tokio::time::timeout(PARTING, killing).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) if fault::number(&error) == Some(UNKNOWN) => Ok(()),
        Ok(Err(error)) => Err(PortError::unavailable().caused_by(error)),
        Err(_) => Err(PortError::unavailable().caused_by("killing the query took long")),
    }
}

/// Says goodbye where that makes sense, and closes the socket.
pub(super) async fn close(link: Link, clean: bool) -> Result<(), PortError> {
    if !clean {
        // The server still sends; its query was killed, and the socket goes with the connection.
        return Ok(());
    }
    match tokio::time::timeout(PARTING, link.connection.close()).await {
        // A server that is gone already needs no goodbye.
        Ok(_) => Ok(()),
        Err(_) => Err(PortError::unavailable().caused_by("the goodbye took long")),
    }
}
