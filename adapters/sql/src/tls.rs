//! How a connection is encrypted and what is verified: the connection option `sslMode`, by the
//! names that PostgreSQL's clients gave the modes.

use std::fmt;
use std::sync::Arc;

use fetcher_engine::Secret;

/// How a connection is encrypted and what is verified: the connection option `sslMode`.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_enums, reason = "an adapter must not forget one")]
pub enum SslMode {
    /// `disable`: never encrypted.
    Disable,
    /// `prefer`: encrypted if the server can, nothing verified.
    Prefer,
    /// `require`: encrypted or not at all. What is verified beyond that is the adapter's to say.
    Require,
    /// `verify-ca`: encrypted, and the server's certificate leads to one of the root certificates.
    VerifyCa,
    /// `verify-full`: as `verify-ca`, and the certificate is made out to the host.
    VerifyFull,
}

impl SslMode {
    /// The five, weakest first.
    pub const ALL: [Self; 5] =
        [Self::Disable, Self::Prefer, Self::Require, Self::VerifyCa, Self::VerifyFull];

    /// The stable name: `disable`, `prefer`, `require`, `verify-ca`, `verify-full`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disable => "disable",
            Self::Prefer => "prefer",
            Self::Require => "require",
            Self::VerifyCa => "verify-ca",
            Self::VerifyFull => "verify-full",
        }
    }

    /// The mode of that name, exactly as [`as_str`](Self::as_str) gives it.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == name)
    }
}

impl fmt::Display for SslMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Certificates and a key as PEM texts, as a host or a connection gives them. It has no printable
/// form.
#[derive(Clone, Default)]
#[expect(clippy::exhaustive_structs, reason = "an adapter must not forget one")]
#[expect(missing_debug_implementations, reason = "one of them is a key")]
pub struct Material {
    /// What the server's certificate may lead to.
    pub roots: Option<Arc<str>>,
    /// The client's certificate, with its chain.
    pub certificate: Option<Arc<str>>,
    /// The client's private key.
    pub key: Option<Arc<Secret>>,
}

impl Material {
    /// Takes the connection options `sslRootCert`, `sslCert` and `sslKey`; says no to any other.
    #[must_use]
    pub fn take(&mut self, option: &str, value: &str) -> bool {
        match option {
            "sslRootCert" => self.roots = Some(value.into()),
            "sslCert" => self.certificate = Some(value.into()),
            "sslKey" => self.key = Some(Arc::new(Secret::from(value))),
            _ => return false,
        }
        true
    }
}
