//! What a connection's description says: host, database, user and options, checked without I/O.
//!
//! Keeps true: an option that is not known is refused, never ignored; certificates and keys are
//! texts, never paths, so that a tenant cannot name a file of the host's machine; a mode that the
//! driver cannot keep is refused.

use std::net::IpAddr;
use std::time::Duration;

use fetcher_engine::PortError;
use fetcher_engine::connection::Endpoint;
use fetcher_sql::address::Host;
use fetcher_sql::fault::invalid;
use fetcher_sql::tls::{Material, SslMode};

const DEFAULT_PORT: u16 = 3306;

/// The server's own databases: nothing in them is a tenant's.
const OWN_DATABASES: [&str; 4] = ["information_schema", "mysql", "performance_schema", "sys"];

/// What a host decides for all its connections.
#[derive(Clone)]
pub(super) struct Defaults {
    pub(super) ssl_mode: SslMode,
    pub(super) material: Material,
    pub(super) guarded: bool,
    pub(super) connect_timeout: Duration,
}

/// A connection's description, read.
pub(crate) struct Target {
    pub(super) host: Host,
    pub(super) database: String,
    pub(super) user: String,
    /// `Disable`, `Prefer`, `Require` or `VerifyFull`.
    pub(super) ssl_mode: SslMode,
    pub(super) material: Material,
    /// Whether addresses inside are refused.
    pub(super) guarded: bool,
    pub(super) connect_timeout: Duration,
}

impl Target {
    pub(super) fn read(endpoint: &Endpoint, defaults: &Defaults) -> Result<Self, PortError> {
        let mut mode = defaults.ssl_mode;
        let mut material = defaults.material.clone();
        for (option, value) in &endpoint.options {
            match option.as_str() {
                "sslMode" => {
                    mode = SslMode::parse(value).ok_or_else(|| invalid("sslMode is not known"))?;
                }
                _ if material.take(option, value) => {}
                _ => return Err(invalid(format!("the option {option} is not known"))),
            }
        }
        if mode == SslMode::VerifyCa {
            return Err(invalid(
                "sslMode verify-ca would take any public certificate here: use verify-full",
            ));
        }
        if endpoint.options.contains_key("sslRootCert") && mode != SslMode::VerifyFull {
            return Err(invalid("sslRootCert is given, and sslMode verifies nothing"));
        }
        check(&material)?;
        if endpoint.database.is_empty() || endpoint.username.is_empty() {
            return Err(invalid("a connection needs a database and a user"));
        }
        if OWN_DATABASES.iter().any(|own| endpoint.database.eq_ignore_ascii_case(own)) {
            return Err(invalid("the database is one of the server's own"));
        }
        let host = match endpoint.host.as_str() {
            "" => return Err(invalid("a connection needs a host")),
            path if path.starts_with('/') => {
                // A Unix socket does not leave the machine.
                mode = SslMode::Disable;
                Host::Unix(path.into())
            }
            name => {
                let is_name = name.parse::<IpAddr>().is_err();
                if defaults.guarded && is_name && mode == SslMode::VerifyFull {
                    return Err(invalid(
                        "verify-full under the address guard needs an address as its host",
                    ));
                }
                let port = if endpoint.port == 0 { DEFAULT_PORT } else { endpoint.port };
                Host::Tcp(name.to_owned(), port)
            }
        };
        Ok(Self {
            host,
            database: endpoint.database.clone(),
            user: endpoint.username.clone(),
            ssl_mode: mode,
            material,
            guarded: defaults.guarded,
            connect_timeout: defaults.connect_timeout,
        })
    }
}

/// Whether the texts look like PEM. The driver reads them when it connects.
fn check(material: &Material) -> Result<(), PortError> {
    let certificates = [("sslRootCert", &material.roots), ("sslCert", &material.certificate)];
    for (name, text) in certificates {
        if text.as_deref().is_some_and(|text| !is_pem(text, "CERTIFICATE-----")) {
            return Err(invalid(format!("{name} is not a certificate in PEM form")));
        }
    }
    if let Some(key) = &material.key
        && !key.expose_str().is_some_and(|key| is_pem(key, "PRIVATE KEY-----"))
    {
        return Err(invalid("sslKey is not a private key in PEM form"));
    }
    if material.certificate.is_some() != material.key.is_some() {
        return Err(invalid("a client's certificate and its key go together"));
    }
    Ok(())
}

/// Every line with dashes is a whole one: the driver's errors quote those that are not, and what
/// follows on such a line may be the key.
fn is_pem(text: &str, label: &str) -> bool {
    let lines = || text.lines().map(str::trim_end);
    lines().any(|line| line.starts_with("-----BEGIN ") && line.ends_with(label))
        && lines().filter(|line| line.contains("-----")).all(|line| {
            line.starts_with("-----")
                && line.ends_with("-----")
                && line.matches("-----").count() == 2
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pem_is_whole_lines() {
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        assert!(is_pem(key, "PRIVATE KEY-----"));
        assert!(is_pem(&key.replace('\n', "\r\n"), "PRIVATE KEY-----"));
        for broken in [
            "",
            "/etc/passwd",
            "-----BEGIN PRIVATE KEY----- AAAA",
            "-----BEGIN PRIVATE KEY-----AAAA-----END PRIVATE KEY-----",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
        ] {
            assert!(!is_pem(broken, "PRIVATE KEY-----"), "{broken}");
        }
    }
}
