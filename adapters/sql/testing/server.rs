//! The server of the tests: one that is given by a URL, or a private one; or a loud skip.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::Child;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where a server listens, and a user who may do everything.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) password: Option<String>,
    /// Where certificates and the Unix socket lie; empty for a server that was given.
    pub(crate) folder: PathBuf,
}

impl Server {
    /// Whether it was started here, with certificates and nobody else on it.
    pub(crate) fn is_own(&self) -> bool {
        !self.folder.as_os_str().is_empty()
    }

    /// A certificate or a key of its own folder.
    pub(crate) fn pem(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).expect("a certificate")
    }
}

/// The servers of one database; each is there from when it is first asked for.
pub(crate) struct Servers {
    /// What a server is called where there is none.
    name: &'static str,
    /// The variable with the URL of a server that is given.
    variable: &'static str,
    given: fn(&str) -> Server,
    /// Starts one that lives as long as the process it is kept with.
    start: fn() -> io::Result<(Server, Child)>,
    any: OnceLock<Option<Server>>,
    own: OnceLock<Option<(Server, Child)>>,
}

impl Servers {
    pub(crate) const fn new(
        name: &'static str,
        variable: &'static str,
        given: fn(&str) -> Server,
        start: fn() -> io::Result<(Server, Child)>,
    ) -> Self {
        Self { name, variable, given, start, any: OnceLock::new(), own: OnceLock::new() }
    }

    /// The server for most tests.
    pub(crate) fn any(&self) -> Option<&Server> {
        let any = self.any.get_or_init(|| match std::env::var(self.variable) {
            Ok(url) => Some((self.given)(&url)),
            Err(_) => self.private().cloned(),
        });
        self.or_skip(any.as_ref())
    }

    /// A server of our own, with certificates, passwords and a log that may be read.
    pub(crate) fn own(&self) -> Option<&Server> {
        self.or_skip(self.private())
    }

    fn private(&self) -> Option<&Server> {
        let started = self.own.get_or_init(|| {
            let started = (self.start)();
            if let Err(error) = &started {
                let _ = writeln!(io::stderr(), "no server of our own: {error}");
            }
            started.ok()
        });
        started.as_ref().map(|(server, _)| server)
    }

    fn or_skip<'a>(&self, server: Option<&'a Server>) -> Option<&'a Server> {
        if server.is_none() {
            let Self { name, variable, .. } = self;
            let forbidden = std::env::var_os("FETCHER_TEST_FORBID_SKIP").is_some();
            assert!(!forbidden, "no {name} server, and skipping is forbidden");
            let skip = format!("SKIP: no {name}: set {variable} or install a server");
            let _ = writeln!(io::stderr(), "{skip}");
        }
        server
    }
}

/// A name for a database of a test's own.
pub(crate) fn fresh_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("fetcher_test_{}_{number}", std::process::id())
}
