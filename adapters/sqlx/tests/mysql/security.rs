//! Passwords, TLS modes, certificates, the address guard; and that nothing secret is told.

use std::sync::Arc;
use std::time::Duration;

use fetcher_engine::{Category, ConnectionInput, PortError, Secret};
use fetcher_sqlx::{MySqlConnectors, SslMode};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{Db, with_own_db};
use crate::testing::reading::{Fixed, build, drain, planned, told};
use crate::testing::security::{gives_up, guards, refuses};

/// Connects and reads; whether the connection is encrypted, as the server sees it.
async fn encrypted(
    factory: &MySqlConnectors,
    input: ConnectionInput,
    db: &Db,
) -> Result<bool, PortError> {
    let sql = "CREATE OR REPLACE SQL SECURITY INVOKER VIEW cipher AS SELECT VARIABLE_VALUE AS v \
        FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = 'Ssl_cipher'";
    db.run(sql).await;
    let mut connector = build(factory, input)?;
    let answer = async {
        connector.connect().await?;
        connector.open(planned("cipher", &["v"])).await?;
        drain(&mut *connector).await
    }
    .await;
    connector.close().await.map_err(told).unwrap();
    answer.map(|rows| rows[0].1 != r#"{"v":""}"#)
}

/// A user of this name who may do everything, on this condition.
async fn user(db: &Db, name: &str, condition: &str) {
    db.run(&format!(
        "DROP USER IF EXISTS {name}@'%'; CREATE USER {name}@'%' {condition}; \
         GRANT ALL PRIVILEGES ON *.* TO {name}@'%'"
    ))
    .await;
}

#[test]
fn each_mode_is_what_it_says() {
    with_own_db(async |db| {
        user(db, "only_tls", "REQUIRE SSL").await;
        let (root, other) = (db.server.pem("root.crt"), db.server.pem("other.crt"));
        let none = "";
        // Mode, host, root certificates, whether it connects and then whether it is encrypted.
        let cases = [
            ("disable", "127.0.0.1", none, Some(false)),
            ("prefer", "127.0.0.1", none, Some(true)),
            ("require", "127.0.0.1", none, Some(true)),
            ("verify-full", "localhost", &root, Some(true)),
            ("verify-full", "127.0.0.1", &root, None),
            ("verify-full", "localhost", &other, None),
            ("verify-full", "localhost", none, None),
            // What cannot be kept is refused, and never weaker than it says.
            ("verify-ca", "localhost", &root, None),
            ("require", "localhost", &root, None),
            ("prefer", "localhost", &root, None),
            ("disable", "localhost", &root, None),
        ];
        for (mode, host, roots, expected) in cases {
            let mut input = db.input().host(host).option("sslMode", mode);
            if !roots.is_empty() {
                input = input.option("sslRootCert", roots);
            }
            let answer = encrypted(&MySqlConnectors::new(), input, db).await;
            assert_eq!(answer.as_ref().ok(), expected.as_ref(), "{mode} {host}: {answer:?}");
        }
        // The factory's own are used by the mode that verifies, and by no other.
        let rooted = MySqlConnectors::new().root_certificates(root);
        let full = db.input().host("localhost").option("sslMode", "verify-full");
        assert!(encrypted(&rooted, full, db).await.unwrap());
        assert!(encrypted(&rooted, db.input().option("sslMode", "require"), db).await.unwrap());
        let is = |mode: &str| db.input().username("only_tls").option("sslMode", mode);
        let plain = MySqlConnectors::new();
        let error = encrypted(&plain, is("disable"), db).await.unwrap_err();
        assert_eq!(error.category(), Category::Unauthorized, "{}", told(error));
        assert!(encrypted(&plain, is("require"), db).await.unwrap());
    });
}

/// A server that says it has no TLS, and tells what it is sent.
async fn bare_server() -> (u16, Arc<std::sync::Mutex<Vec<u8>>>) {
    const GREETING: &[u8] = b"\x0a5.5.5-10.11.0-MariaDB\0\x01\0\0\0abcdefgh\0\x00\xa2\x21\x02\0\
        \x00\x00\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0mysql_native_password\0";
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let said = Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = Arc::clone(&said);
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let len = u8::try_from(GREETING.len()).unwrap();
            let _ = socket.write_all(&[&[len, 0, 0, 0], GREETING].concat()).await;
            let mut bytes = [0; 512];
            let read = socket.read(&mut bytes).await.unwrap_or(0);
            heard.lock().unwrap().extend_from_slice(&bytes[..read]);
        }
    });
    (port, said)
}

#[test]
fn a_server_without_tls_is_refused_where_tls_is_required() {
    with_own_db(async |db| {
        let (port, said) = bare_server().await;
        let root = db.server.pem("root.crt");
        for mode in ["require", "verify-full"] {
            let mut input = db.input().host("localhost").port(port).option("sslMode", mode);
            if mode == "verify-full" {
                input = input.option("sslRootCert", root.as_str());
            }
            let error = encrypted(&MySqlConnectors::new(), input, db).await.unwrap_err();
            assert_eq!(error.category(), Category::Unavailable, "{mode}");
            assert!(said.lock().unwrap().is_empty(), "nothing is sent in plain text: {mode}");
        }
        // `prefer` goes on, and logs in.
        let input = db.input().port(port).option("sslMode", "prefer");
        assert!(encrypted(&MySqlConnectors::new(), input, db).await.is_err());
        let said = String::from_utf8_lossy(&said.lock().unwrap()).into_owned();
        assert!(said.contains(&db.server.user), "{said:?}");
    });
}

#[test]
fn a_client_certificate_is_shown() {
    with_own_db(async |db| {
        user(db, "with_certificate", "REQUIRE SUBJECT '/CN=with_certificate'").await;
        let input = || db.input().username("with_certificate").option("sslMode", "require");
        let plain = MySqlConnectors::new();
        assert!(encrypted(&plain, input(), db).await.is_err());
        let (certificate, key) = (db.server.pem("client.crt"), db.server.pem("client.key"));
        let shown =
            plain.clone().client_certificate(certificate.as_str(), Secret::from(key.as_str()));
        is_silent(&format!("{shown:?}"), &key);
        assert!(encrypted(&shown, input(), db).await.unwrap());
        let own = input().option("sslCert", certificate.as_str());
        assert!(build(&plain, own).is_err(), "a certificate without its key");
        let own = input().option("sslCert", certificate.as_str()).option("sslKey", key.as_str());
        assert!(encrypted(&plain, own, db).await.unwrap());
        // A key that is none is refused without a word of it.
        let broken = key.replace('\n', "\n*");
        let odd = key.replacen("\nM", "\n!", 1);
        assert_ne!(odd, key);
        for key in
            [odd.as_str(), broken.as_str(), &key.replace('\n', " "), &key[..60], "/etc/passwd"]
        {
            let own = input().option("sslCert", certificate.as_str()).option("sslKey", key);
            let error = encrypted(&plain, own, db).await.unwrap_err();
            is_silent(&format!("{error:?} {error} {:?}", error.cause()), key);
        }
    });
}

fn is_silent(said: &str, key: &str) {
    assert!(!said.contains("PRIVATE"), "{said}");
    for word in key.split_whitespace().filter(|word| word.len() > 20) {
        assert!(!said.contains(word), "{said}");
    }
}

#[test]
fn passwords_open_and_are_never_told() {
    with_own_db(async |db| {
        const RIGHT: &str = "correct horse battery";
        const WRONG: &str = "canary-7f3a9";
        user(db, "with_password", &format!("IDENTIFIED BY '{RIGHT}'")).await;
        let with = |password: &str| {
            MySqlConnectors::new().credentials(Arc::new(Fixed(password.to_owned())))
        };
        for mode in ["require", "disable"] {
            let input = || db.input().username("with_password").option("sslMode", mode);
            let right = encrypted(&with(RIGHT), input(), db).await;
            assert_eq!(right.ok(), Some(mode == "require"), "{mode}");
            let error = encrypted(&with(WRONG), input(), db).await.unwrap_err();
            assert_eq!(error.category(), Category::Unauthorized, "{}", told(error));
            let error = encrypted(&with(WRONG), input(), db).await.unwrap_err();
            assert!(error.cause().is_some());
            for told in [format!("{error}"), format!("{error:?}"), told(error)] {
                assert!(!told.contains(WRONG), "{told}");
            }
            let none = encrypted(&MySqlConnectors::new(), input(), db).await;
            assert_eq!(none.unwrap_err().category(), Category::Unauthorized);
        }
        let missing = db.input().database("no_such_database");
        let error = encrypted(&MySqlConnectors::new(), missing, db).await.unwrap_err();
        assert_eq!(error.category(), Category::Validation, "{}", told(error));
    });
}

#[test]
fn no_file_is_read_for_a_server_that_asks() {
    with_own_db(async |db| {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let served = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let greeting: &[u8] = b"\x0a8.0.0\0\x01\0\0\0abcdefgh\0\x00\xa2\x21\x02\0\x00\x00\x15\
                \0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0mysql_native_password\0";
            let len = u8::try_from(greeting.len()).unwrap();
            socket.write_all(&[&[len, 0, 0, 0], greeting].concat()).await.unwrap();
            let mut bytes = vec![0; 4096];
            let _ = socket.read(&mut bytes).await;
            // Logged in; and the answer to the first statement is: send me that file.
            let _ = socket.write_all(&[7, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0]).await;
            let _ = socket.read(&mut bytes).await;
            let _ = socket.write_all(&[12, 0, 0, 1, 0xfb]).await;
            let _ = socket.write_all(b"/etc/passwd").await;
            let mut rest = Vec::new();
            let _ =
                tokio::time::timeout(Duration::from_secs(5), socket.read_to_end(&mut rest)).await;
            String::from_utf8_lossy(&rest).into_owned()
        });
        let factory = MySqlConnectors::new().connect_timeout(Duration::from_secs(1));
        let input = db.input().port(port).option("sslMode", "disable");
        assert!(encrypted(&factory, input, db).await.is_err());
        let rest = served.await.unwrap();
        assert!(!rest.contains("root:"), "{rest}");
    });
}

#[test]
fn the_guard_refuses_addresses_inside() {
    with_own_db(async |db| {
        let guarded = MySqlConnectors::new().guard_addresses(true);
        let socket = db.server.folder.join("socket").display().to_string();
        guards(&guarded, || db.input(), &socket).await;
        // The driver verifies the name that it connects to, and here that is the address.
        let named = db.input().host("localhost").option("sslMode", "verify-full");
        assert_eq!(build(&guarded, named).err().unwrap().category(), Category::Validation);
        let address = db.input().host("192.0.2.1").option("sslMode", "verify-full");
        assert!(build(&guarded, address).is_ok());
    });
}

#[test]
fn unix_sockets() {
    with_own_db(async |db| {
        let socket = db.server.folder.join("socket").display().to_string();
        let input = db.input().host(socket.as_str()).option("sslMode", "verify-full");
        // What does not leave the machine is not encrypted, whatever the mode.
        assert!(!encrypted(&MySqlConnectors::new(), input, db).await.unwrap());
    });
}

#[test]
fn what_a_connection_cannot_mean_is_refused_without_io() {
    with_own_db(async |db| {
        let plain = MySqlConnectors::new().default_ssl_mode(SslMode::VerifyFull);
        let off = || db.input().option("sslMode", "disable");
        let cases = [
            db.input().option("sslMode", "Require"),
            db.input().option("sslmode", "require"),
            db.input().option("sslMode", "verify-ca"),
            db.input().option("sslRootCert", "/etc/passwd"),
            db.input().option("sslCert", "/etc/passwd").option("sslKey", "/etc/passwd"),
            off().option("charset", "latin1"),
            off().option("allowCleartext", "true"),
            off().host(""),
            off().database(""),
            off().username(""),
        ];
        refuses(&plain, cases);
        assert!(build(&plain, db.input()).is_ok());
    });
}

#[test]
fn connecting_ends_in_time() {
    with_own_db(async |db| {
        let factory = MySqlConnectors::new().connect_timeout(Duration::from_millis(200));
        gives_up(&factory, db.input()).await;
    });
}
