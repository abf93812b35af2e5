//! Certificates for a private server, made by `openssl`.

use std::path::Path;
use std::{fs, io};

use super::private::run;

const KEY: [&str; 5] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

/// The authority `root`, a server's certificate for `localhost` alone, a client's for
/// `with_certificate`; and `other`, an authority that has nothing to do with them.
pub(crate) fn certificates(folder: &Path) -> io::Result<()> {
    for authority in ["root", "other"] {
        let name = format!("/CN={authority}");
        let (key, crt) = (format!("{authority}.key"), format!("{authority}.crt"));
        let request = ["req", "-x509", "-days", "3650", "-subj", &name];
        let rest = ["-keyout", &key, "-out", &crt];
        let is_authority = ["-addext", "basicConstraints=critical,CA:TRUE"];
        run("openssl", &[&request[..], &KEY, &rest, &is_authority].concat(), folder)?;
    }
    signed(folder, "server", "localhost", "subjectAltName=DNS:localhost")?;
    signed(folder, "client", "with_certificate", "extendedKeyUsage=clientAuth")
}

/// A key, and its certificate with this common name, of the authority `root`.
fn signed(folder: &Path, name: &str, common: &str, extension: &str) -> io::Result<()> {
    let subject = format!("/CN={common}");
    let [key, csr, crt, ext] = ["key", "csr", "crt", "ext"].map(|end| format!("{name}.{end}"));
    fs::write(folder.join(&ext), extension)?;
    let request = ["req", "-subj", &subject, "-keyout", &key, "-out", &csr];
    run("openssl", &[&request[..], &KEY].concat(), folder)?;
    let sign = ["x509", "-req", "-in", &csr, "-CA", "root.crt", "-CAkey", "root.key"];
    let rest = ["-CAcreateserial", "-days", "3650", "-extfile", &ext, "-out", &crt];
    run("openssl", &[&sign[..], &rest].concat(), folder)
}
