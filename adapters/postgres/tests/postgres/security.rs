//! Passwords, TLS modes, certificates, the address guard; and that nothing secret is told.

use std::fs;
use std::sync::Arc;

use fetcher_engine::{Category, ConnectionInput, PortError, Secret};
use fetcher_postgres::{PostgresConnectors, SslMode};

use crate::support::{Db, with_own_db};
use crate::testing::reading::{Fixed, build, told};
use crate::testing::security::{gives_up, guards, refuses};

/// Connects; whether the connection is encrypted, as the server sees it.
pub(crate) async fn encrypted(
    factory: &PostgresConnectors,
    input: ConnectionInput,
    db: &Db,
) -> Result<bool, PortError> {
    let name = format!("tls_{}", db.name);
    let factory = factory.clone().application_name(name.as_str());
    let mut connector = build(&factory, input)?;
    let answer = connector.connect().await;
    let sql = format!(
        "SELECT ssl::text FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
         WHERE application_name = '{name}'"
    );
    let seen = db.texts(&sql).await;
    connector.close().await.map_err(told).unwrap();
    for _ in 0..200 {
        if db.texts(&sql).await.is_empty() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    answer.map(|()| seen == [Some("true".to_owned())])
}

#[test]
fn each_mode_is_what_it_says() {
    with_own_db(async |db| {
        db.run("DROP ROLE IF EXISTS only_tls; CREATE ROLE only_tls LOGIN SUPERUSER").await;
        db.run("DROP ROLE IF EXISTS plain_only; CREATE ROLE plain_only LOGIN SUPERUSER").await;
        let (root, other) = (db.server.pem("root.crt"), db.server.pem("other.crt"));
        let none = "";
        // Mode, host, root certificates, whether it connects and then whether it is encrypted.
        let cases = [
            ("disable", "127.0.0.1", none, Some(false)),
            ("prefer", "127.0.0.1", none, Some(true)),
            ("require", "127.0.0.1", none, Some(true)),
            ("require", "127.0.0.1", &root, Some(true)),
            ("require", "127.0.0.1", &other, None),
            ("verify-ca", "127.0.0.1", &root, Some(true)),
            ("verify-ca", "127.0.0.1", &other, None),
            ("verify-full", "localhost", &root, Some(true)),
            ("verify-full", "127.0.0.1", &root, None),
            ("verify-full", "localhost", &other, None),
        ];
        for (mode, host, roots, expected) in cases {
            let mut input = db.input().host(host).option("sslMode", mode);
            if !roots.is_empty() {
                input = input.option("sslRootCert", roots);
            }
            let answer = encrypted(&PostgresConnectors::new(), input, db).await;
            assert_eq!(answer.ok(), expected, "{mode} {host}");
        }
        let is = |user: &str, mode: &str| db.input().username(user).option("sslMode", mode);
        let plain = PostgresConnectors::new();
        assert!(encrypted(&plain, is("only_tls", "disable"), db).await.is_err());
        assert!(encrypted(&plain, is("only_tls", "require"), db).await.unwrap());
        // The server takes this user in plain text only: no mode that encrypts gives way.
        for mode in ["prefer", "require"] {
            assert!(encrypted(&plain, is("plain_only", mode), db).await.is_err(), "{mode}");
        }
        assert!(!encrypted(&plain, is("plain_only", "disable"), db).await.unwrap());
    });
}

#[test]
fn a_server_without_tls_is_refused_where_tls_is_required() {
    with_own_db(async |db| {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            use tokio::io::{AsyncReadExt, AsyncWriteExt};
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                let mut request = [0; 8];
                let _ = socket.read_exact(&mut request).await;
                let _ = socket.write_all(b"N").await;
                // Whatever else it says would be in plain text.
                let mut rest = Vec::new();
                let _ = socket.read_to_end(&mut rest).await;
                assert!(rest.is_empty(), "nothing is sent in plain text");
            }
        });
        let root = db.server.pem("root.crt");
        for mode in ["require", "verify-ca", "verify-full"] {
            let input = db.input().host("localhost").port(port).option("sslMode", mode);
            let input = input.option("sslRootCert", root.as_str());
            assert!(encrypted(&PostgresConnectors::new(), input, db).await.is_err(), "{mode}");
        }
    });
}

#[test]
fn a_client_certificate_is_shown() {
    with_own_db(async |db| {
        db.run("DROP ROLE IF EXISTS with_certificate; CREATE ROLE with_certificate LOGIN").await;
        let input = db.input().username("with_certificate").option("sslMode", "require");
        let plain = PostgresConnectors::new();
        assert!(encrypted(&plain, input, db).await.is_err());
        let input = || db.input().username("with_certificate").option("sslMode", "require");
        let key = Secret::from(db.server.pem("client.key"));
        let shown = plain.clone().client_certificate(db.server.pem("client.crt"), key);
        shown_is_silent(&shown, &db.server.pem("client.key"));
        assert!(encrypted(&shown, input(), db).await.is_ok());
        let own = input().option("sslCert", db.server.pem("client.crt"));
        assert!(build(&plain, own).is_err(), "a certificate without its key");
        let own = input()
            .option("sslCert", db.server.pem("client.crt"))
            .option("sslKey", db.server.pem("client.key"));
        assert!(encrypted(&plain, own, db).await.is_ok());
    });
}

fn shown_is_silent(factory: &PostgresConnectors, key: &str) {
    let shown = format!("{factory:?}");
    let line = key.lines().nth(1).expect("a line of the key");
    assert!(!shown.contains(line) && !shown.contains("PRIVATE"), "{shown}");
}

#[test]
fn passwords_open_and_are_never_told() {
    with_own_db(async |db| {
        const RIGHT: &str = "correct horse battery";
        const WRONG: &str = "canary-7f3a9";
        db.run(&format!(
            "DROP ROLE IF EXISTS with_password; DROP ROLE IF EXISTS with_md5;
             CREATE ROLE with_password LOGIN PASSWORD '{RIGHT}';
             SET password_encryption = 'md5'; CREATE ROLE with_md5 LOGIN PASSWORD '{RIGHT}'"
        ))
        .await;
        let with = |password: &str| {
            PostgresConnectors::new().credentials(Arc::new(Fixed(password.to_owned())))
        };
        for user in ["with_password", "with_md5"] {
            // With TLS the login is bound to the channel, without it is not.
            for mode in ["require", "disable"] {
                let input = || db.input().username(user).option("sslMode", mode);
                let right = encrypted(&with(RIGHT), input(), db).await;
                assert_eq!(right.ok(), Some(mode == "require"), "{user} {mode}");
                let error = encrypted(&with(WRONG), input(), db).await.unwrap_err();
                assert_eq!(error.category(), Category::Unauthorized, "{user}");
                assert!(error.cause().is_some());
                for told in [format!("{error}"), format!("{error:?}"), told(error)] {
                    assert!(!told.contains(WRONG), "{told}");
                }
                let none = encrypted(&PostgresConnectors::new(), input(), db).await;
                assert!(none.is_err());
            }
        }
    });
}

#[test]
fn a_scram_login_over_tls_works_and_the_server_sees_no_broken_binding() {
    with_own_db(async |db| {
        db.run("DROP ROLE IF EXISTS with_binding").await;
        db.run("CREATE ROLE with_binding LOGIN PASSWORD 'p'").await;
        let with = PostgresConnectors::new().credentials(Arc::new(Fixed("p".to_owned())));
        let input = db.input().username("with_binding").option("sslMode", "require");
        assert!(encrypted(&with, input, db).await.unwrap());
        let log = fs::read_to_string(db.server.folder.join("server.log")).unwrap_or_default();
        let mut of_role = log.lines().filter(|line| line.contains(" with_binding: "));
        assert!(!of_role.any(|line| line.contains("channel binding check failed")), "{log}");
    });
}

#[test]
fn the_guard_refuses_addresses_inside() {
    with_own_db(async |db| {
        let guarded = PostgresConnectors::new().guard_addresses(true);
        let socket = db.server.folder.display().to_string();
        guards(&guarded, || db.input(), &socket).await;
    });
}

#[test]
fn unix_sockets() {
    with_own_db(async |db| {
        let socket = db.server.folder.display().to_string();
        let input = db.input().host(socket.as_str()).option("sslMode", "verify-full");
        // What does not leave the machine is not encrypted, whatever the mode; as libpq does.
        assert!(!encrypted(&PostgresConnectors::new(), input, db).await.unwrap());
    });
}

#[test]
fn what_a_connection_cannot_mean_is_refused_without_io() {
    with_own_db(async |db| {
        let plain = PostgresConnectors::new().default_ssl_mode(SslMode::VerifyFull);
        let cases = [
            db.input(),
            db.input().option("sslMode", "Require"),
            db.input().option("sslmode", "require"),
            db.input().option("sslMode", "verify-ca"),
            db.input().option("sslMode", "require").option("sslRootCert", "/etc/passwd"),
            db.input().option("sslMode", "disable").host(""),
            db.input().option("sslMode", "disable").database(""),
            db.input().option("sslMode", "disable").username(""),
        ];
        refuses(&plain, cases);
    });
}

#[test]
fn connecting_ends_in_time() {
    with_own_db(async |db| {
        let factory =
            PostgresConnectors::new().connect_timeout(std::time::Duration::from_millis(200));
        gives_up(&factory, db.input()).await;
    });
}
