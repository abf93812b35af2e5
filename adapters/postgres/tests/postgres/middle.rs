//! A man in the middle: he ends TLS with a certificate of his own, opens TLS to the server, and
//! passes on what both say. Where nothing is verified he is not noticed, but for the binding of a
//! SCRAM login to the certificate.

use std::fs;
use std::sync::{Arc, Mutex};

use fetcher_engine::Category;
use fetcher_postgres::PostgresConnectors;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme,
};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::security::encrypted;
use crate::support::{Db, with_own_db};
use crate::testing::reading::{Fixed, told};

/// What a client sends before TLS.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xD2, 0x16, 0x2F];

/// What the server says of a login that was bound to another certificate.
const FAILED: &str = "SCRAM channel binding check failed";

/// What the man in the middle has heard clients say.
type Heard = Arc<Mutex<Vec<u8>>>;

/// Listens for clients of the server; its port.
async fn man_in_the_middle(db: &Db, heard: &Heard) -> u16 {
    let provider = Arc::new(ring::default_provider());
    let chain =
        vec![CertificateDer::from_pem_slice(db.server.pem("other.crt").as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(db.server.pem("other.key").as_bytes()).unwrap();
    let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Whoever(provider)))
        .with_no_client_auth();
    let (to_client, to_server) = (TlsAcceptor::from(Arc::new(server)), Arc::new(client));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (own, port) = (listener.local_addr().unwrap().port(), db.server.port);
    let heard = Arc::clone(heard);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (to_client, to_server) = (to_client.clone(), TlsConnector::from(to_server.clone()));
            let server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            tokio::spawn(pass_on(client, to_client, server, to_server, Arc::clone(&heard)));
        }
    });
    own
}

/// Passes on what both say until one of them has no more to say.
async fn pass_on(
    mut client: TcpStream,
    to_client: TlsAcceptor,
    mut server: TcpStream,
    to_server: TlsConnector,
    heard: Heard,
) -> std::io::Result<()> {
    let mut request = [0; 8];
    client.read_exact(&mut request).await?;
    assert_eq!(request, SSL_REQUEST);
    client.write_all(b"S").await?;
    server.write_all(&SSL_REQUEST).await?;
    assert_eq!(server.read_u8().await?, b'S');
    let name = ServerName::try_from("localhost").unwrap();
    let (mut from_server, mut server) = tokio::io::split(to_server.connect(name, server).await?);
    let (mut from_client, mut client) = tokio::io::split(to_client.accept(client).await?);
    tokio::spawn(async move {
        tokio::io::copy(&mut from_server, &mut client).await?;
        client.shutdown().await
    });
    let mut bytes = [0; 4096];
    loop {
        let count = from_client.read(&mut bytes).await?;
        if count == 0 {
            return server.shutdown().await;
        }
        heard.lock().unwrap().extend_from_slice(&bytes[..count]);
        server.write_all(&bytes[..count]).await?;
        server.flush().await?;
    }
}

#[test]
fn a_scram_login_does_not_go_through_a_man_in_the_middle() {
    with_own_db(async |db| {
        for role in ["overheard", "overheard_plain"] {
            db.run(&format!("DROP ROLE IF EXISTS {role}")).await;
            db.run(&format!("CREATE ROLE {role} LOGIN PASSWORD 'canary-51b0'")).await;
        }
        let heard = Heard::default();
        let port = man_in_the_middle(db, &heard).await;
        let has_heard = |what: &str| {
            let heard = heard.lock().unwrap();
            heard.windows(what.len()).any(|it| it == what.as_bytes())
        };
        let with = PostgresConnectors::new().credentials(Arc::new(Fixed("canary-51b0".to_owned())));
        let login =
            |role: &str, port| db.input().username(role).port(port).option("sslMode", "require");
        // Right at the server it works; on the way there somebody is, and the server says so.
        let direct = encrypted(&with, login("overheard", db.server.port), db).await;
        assert!(direct.map_err(told).unwrap());
        let error = encrypted(&with, login("overheard", port), db).await.unwrap_err();
        assert_eq!(error.category(), Category::Unauthorized);
        let told = told(error);
        assert!(told.contains(FAILED), "{told}");
        let log = fs::read_to_string(db.server.folder.join("server.log")).unwrap();
        assert!(log.lines().any(|line| line.contains(" overheard: ") && line.contains(FAILED)));
        // He did hear the login, and not the password.
        assert!(has_heard("SCRAM-SHA-256-PLUS") && !has_heard("canary-51b0"));
        // Whoever shows no password, or shows it as it is, goes through him: nothing is verified.
        for role in [db.server.user.as_str(), "overheard_plain"] {
            assert!(encrypted(&with, login(role, port), db).await.unwrap(), "{role}");
        }
        assert!(has_heard("canary-51b0"));
        // Who verifies does not even begin.
        let input = db.input().username("overheard_plain").port(port);
        let input =
            input.option("sslMode", "verify-ca").option("sslRootCert", db.server.pem("root.crt"));
        assert!(encrypted(&with, input, db).await.is_err());
    });
}

/// Takes every certificate.
#[derive(Debug)]
struct Whoever(Arc<CryptoProvider>);

impl ServerCertVerifier for Whoever {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
