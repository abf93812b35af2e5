//! MySQL and MariaDB against a real server: that of `FETCHER_TEST_MYSQL` (a URL), or one that is
//! started from the installed binaries in a temporary folder. Where there is neither, each test
//! says `SKIP` on stderr; `FETCHER_TEST_FORBID_SKIP=1` makes that a failure.

mod conformance;
mod ending;
mod filters;
mod names;
mod security;
mod server;
mod support;
#[path = "../../../sql/testing/mod.rs"]
mod testing;
mod types;
mod volume;
