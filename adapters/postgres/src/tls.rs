//! TLS on rustls: what is verified in which mode, and the binding of a login to its channel.
//!
//! Keeps true: a mode that verifies never connects without having verified; a signature of the
//! handshake is always checked, also where the certificate is not.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use fetcher_engine::PortError;
use fetcher_sql::fault::invalid;
use fetcher_sql::tls::{Material, SslMode};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::client::{
    WebPkiServerVerifier, verify_server_cert_signed_by_trust_anchor,
};
use tokio_rustls::rustls::crypto::hash::Hash;
use tokio_rustls::rustls::crypto::{self, CryptoProvider};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{
    self, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use tokio_rustls::{TlsConnector, client};

use crate::wire::Wire;

/// How one connection does TLS. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Tls {
    /// Reads the certificates. No I/O.
    pub(crate) fn new(mode: SslMode, host: &str, material: &Material) -> Result<Self, PortError> {
        let provider = Arc::new(crypto::ring::default_provider());
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| invalid("the host is not a name that TLS knows"))?;
        let verifier = verifier(mode, material, &provider)?;
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let config = match (&material.certificate, &material.key) {
            (None, None) => config.with_no_client_auth(),
            (Some(chain), Some(key)) => {
                let chain = certificates(chain)?;
                let key = PrivateKeyDer::from_pem_slice(key.expose())
                    .map_err(|_| invalid("the client's private key cannot be read"))?;
                config.with_client_auth_cert(chain, key).map_err(unusable)?
            }
            _ => return Err(invalid("a client certificate and its key come together")),
        };
        Ok(Self { config: Arc::new(config), name })
    }
}

fn unusable(error: rustls::Error) -> PortError {
    PortError::validation().caused_by(error)
}

fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, PortError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(invalid("a certificate cannot be read")),
    }
}

fn verifier(
    mode: SslMode,
    material: &Material,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, PortError> {
    let roots = match &material.roots {
        Some(pem) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(pem)? {
                roots.add(certificate).map_err(unusable)?;
            }
            Some(Arc::new(roots))
        }
        None => None,
    };
    let provider = Arc::clone(provider);
    match (mode, roots) {
        (SslMode::VerifyFull, Some(roots)) => {
            let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider).build();
            Ok(verifier.map_err(|_| invalid("the root certificates cannot be used"))?)
        }
        (SslMode::VerifyCa | SslMode::Require, Some(roots)) => {
            Ok(Arc::new(Chain { roots: Some(roots), provider }))
        }
        (SslMode::VerifyFull | SslMode::VerifyCa, None) => {
            Err(invalid("sslMode verifies, and there are no root certificates"))
        }
        (SslMode::Require | SslMode::Prefer | SslMode::Disable, _) => {
            Ok(Arc::new(Chain { roots: None, provider }))
        }
    }
}

/// Verifies that the certificate's chain ends at a root, or nothing; never the host's name.
#[derive(Debug)]
struct Chain {
    roots: Option<Arc<RootCertStore>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Chain {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(roots) = &self.roots {
            let certificate = ParsedCertificate::try_from(end_entity)?;
            verify_server_cert_signed_by_trust_anchor(
                &certificate,
                roots,
                intermediates,
                now,
                self.provider.signature_verification_algorithms.all,
            )?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl TlsConnect<Wire> for Tls {
    type Stream = TlsWire;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TlsWire>> + Send>>;

    fn connect(self, stream: Wire) -> Self::Future {
        Box::pin(async move {
            let connector = TlsConnector::from(self.config);
            Ok(TlsWire(connector.connect(self.name, stream).await?))
        })
    }
}

/// A socket in TLS.
#[derive(Debug)]
pub(crate) struct TlsWire(client::TlsStream<Wire>);

impl AsyncRead for TlsWire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for TlsWire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

impl TlsStream for TlsWire {
    /// Binds a SCRAM login to the server's certificate (RFC 5929, `tls-server-end-point`), so that
    /// whoever sits in between cannot pass the login on.
    fn channel_binding(&self) -> ChannelBinding {
        let (_, session) = self.0.get_ref();
        let certificate = session.peer_certificates().and_then(|chain| chain.first());
        match certificate.and_then(|certificate| end_point(certificate)) {
            Some(hash) => ChannelBinding::tls_server_end_point(hash),
            None => ChannelBinding::none(),
        }
    }
}

/// The certificate hashed as its own signature hashes; `None` where that is not SHA-2 up to 384.
fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    // The arcs of the object identifiers 1.2.840.113549.1.1 and 1.2.840.10045.4.
    const RSA: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01];
    const ECDSA: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04];
    let (body, _) = der(0x30, certificate)?;
    let (_, after) = der(0x30, body)?;
    let (algorithm, _) = der(0x30, after)?;
    let (identifier, _) = der(0x06, algorithm)?;
    let hash = if let Some(rest) = identifier.strip_prefix(RSA) {
        match rest {
            // MD5 and SHA-1 are replaced by SHA-256, as the RFC asks.
            [4 | 5 | 11] => sha256()?,
            [12] => sha384()?,
            _ => return None,
        }
    } else {
        match identifier.strip_prefix(ECDSA)? {
            [1] | [3, 2] => sha256()?,
            [3, 3] => sha384()?,
            _ => return None,
        }
    };
    Some(hash.hash(certificate).as_ref().to_vec())
}

fn sha256() -> Option<&'static dyn Hash> {
    let suite = crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256.tls13()?;
    Some(suite.common.hash_provider)
}

fn sha384() -> Option<&'static dyn Hash> {
    let suite = crypto::ring::cipher_suite::TLS13_AES_256_GCM_SHA384.tls13()?;
    Some(suite.common.hash_provider)
}

/// The content of a DER element of this tag, and what follows it.
fn der(tag: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let [found, len, rest @ ..] = bytes else { return None };
    if *found != tag {
        return None;
    }
    if *len < 0x80 {
        return rest.split_at_checked(usize::from(*len));
    }
    let (len, rest) = rest.split_at_checked(usize::from(*len & 0x7F))?;
    if len.len() > 4 {
        return None;
    }
    let len = len.iter().fold(0_usize, |len, byte| len << 8 | usize::from(*byte));
    rest.split_at_checked(len)
}
