//! What each rule must report, and what it must let pass.

use super::{COLUMNS_MAX, FUNCTION_LINES_MAX, SRC_LINES_MAX, TEST_LINES_MAX};

/// A rule, the path and text of a file, and the lines to be reported: none if the file is fine.
pub(crate) type Case<T> = (&'static str, &'static str, T, &'static [usize]);

pub(crate) fn all() -> Vec<Case<String>> {
    let mut all = lengths();
    for (path, text, lines) in LAYERS {
        all.push(("layers", path, (*text).to_owned(), lines));
    }
    for (rule, path, text, lines) in [TEXT, CODE, TESTS, PORTS, MANIFEST].concat() {
        all.push((rule, path, text.to_owned(), lines));
    }
    all
}

#[rustfmt::skip]
const LAYERS: &[(&str, &str, &[usize])] = &[
    ("src/schema/a.rs", "use crate::rt::Cancel;", &[1]),
    ("src/schema/a.rs", "use crate::{error, engine::Engine};", &[1]),
    ("src/schema/a.rs", "use crate::{\n    error::{Error, Stage},\n    run::{self, a},\n};", &[3]),
    ("src/schema/a.rs", "use crate::{\n    error,\n    rt::{\n        join,\n    },\n};", &[4]),
    ("src/schema/a.rs", "use {core::fmt, crate::ports::Connector};", &[1]),
    ("src/schema/a.rs", "fn f() -> u8 {\n    crate::engine::limits::<u8>()\n}", &[2]),
    ("src/schema/a.rs", "use super::super::rt::Cancel;", &[1]),
    ("src/schema/a.rs", "use super::{Table, super::engine};", &[1]),
    ("src/schema/mod.rs", "use super::rt;", &[1]),
    ("src/schema.rs", "use super::rt;", &[1]),
    ("src/schema/a.rs", "mod tests {\n    use super::super::super::rt;\n}\nuse super::rt;", &[2]),
    ("src/schema/a.rs", "mod tests {}\nuse super::super::rt;", &[2]),
    ("src/schema/a.rs", "use crate::*;", &[1]),
    ("src/schema/a.rs", "use crate::Engine;", &[1]),
    ("src/schema/a.rs", "const A: char = '\"';\nuse crate::rt;\nconst B: char = '\"';", &[2]),
    ("src/schema/a.rs", "struct A<'a>(&'a u8);\nuse crate::rt;\nstruct B<'a>(&'a u8);", &[2]),
    ("src/engine/mod.rs", "use crate::memory::ports;", &[1]),
    ("src/run/step.rs", "use crate::testkit::sim;", &[1]),
    ("src/rt/join.rs", "use crate::error::EngineError;", &[1]),
    ("src/nowhere.rs", "use crate::error::EngineError;", &[1]),
    ("src/schema/a.rs", "/// See [`crate::engine`].\n// crate::rt\n/* /* */ crate::rt */", &[]),
    ("src/schema/a.rs", "const A: [&str; 2] = [\"crate::rt\", r#\"\" crate::rt\"#];", &[]),
    ("src/schema/a.rs", "pub(crate) fn f() {}\npub(in crate::schema) fn g() {}", &[]),
    ("src/schema/a.rs", "use super::{Table, super::{error::Error, filter}};\nuse super::rt;", &[]),
    ("src/schema/a.rs", "use crate::{filter::Filter as F, digest};\nuse other::rt;", &[]),
    ("src/schema/a.rs", "fn f() {\n    crate::ensure!(true);\n}", &[]),
    ("src/rt/join.rs", "use crate::rt::Cancel;\nuse super::timer;", &[]),
    ("src/memory/mod.rs", "use crate::{engine, testkit, rt};", &[]),
    ("src/lib.rs", "pub use crate::engine::Engine;", &[]),
    ("tests/a.rs", "use crate::common;", &[]),
];

#[rustfmt::skip]
const TEXT: &[Case<&str>] = &[
    ("header", "src/error.rs", "use core::fmt;\n//! Errors.\n", &[1]),
    ("header", "adapters/a/src/lib.rs", "\n//! Late.\n", &[1]),
    ("header", "src/error.rs", "//! Errors.\n", &[]),
    ("lines", "src/error.rs", "a \n\tb\nc\r\n\nd", &[1, 2, 3, 5]),
    ("lines", "src/error.rs", "a\n\nb\n", &[]),
];

#[rustfmt::skip]
const CODE: &[Case<&str>] = &[
    ("no-leftovers", "src/a.rs", "fn f() {\n    todo!()\n}\nfn g() { println!(\"\") }", &[2, 4]),
    ("no-leftovers", "src/a.rs", "// todo!()\nfn f() { todo(\"dbg!(x)\"); a.print() }", &[]),
    ("no-leftovers", "examples/a.rs", "fn f() { println!() }", &[]),
    ("no-unsafe", "src/digest/mod.rs", "fn f() {\n    unsafe { g() }\n}", &[2]),
    ("no-unsafe", "src/digest/x86_64.rs", "unsafe fn f() {}", &[]),
    ("no-unsafe", "src/digest/mod.rs", "#![deny(unsafe_code)]\n// unsafe", &[]),
    ("stable-order", "src/a.rs", "use std::{\n    collections::HashMap,\n};", &[2]),
    ("stable-order", "src/a.rs", "use alloc::collections::BTreeMap; // HashMap", &[]),
    ("proof", "src/a.rs", "fn f() {\n    a.unwrap();\n    b\n        .expect(\"\");\n}", &[2, 4]),
    ("proof", "src/a.rs", "// PROOF: of a.\na.unwrap();\nb.unwrap();", &[3]),
    ("proof", "src/a.rs", "a.expect(\"PROOF: none\");", &[1]),
    ("proof", "src/a.rs", "#[cfg(not(test))]\nmod m {\n    fn f() { a.unwrap() }\n}", &[3]),
    ("proof", "src/a.rs", "#[cfg(test)]\nuse a;\nfn f() { a.unwrap() }", &[3]),
    ("proof", "src/a.rs", "// PROOF: a is\n// full.\na.unwrap();\nb.unwrap(); // PROOF: b.", &[]),
    ("proof", "src/a.rs", "#[cfg(test)]\nmod tests {\n    fn f() { a.unwrap() }\n}", &[]),
    ("proof", "src/a.rs", "self.expect(b':');\na.unwrap_or(1);\n\"\\\".unwrap()\";", &[]),
    ("proof", "src/testkit/sink.rs", "a.expect(\"C1\");", &[]),
    ("proof", "src/engine/tests.rs", "a.unwrap();", &[]),
    ("clock", "src/a.rs", "f(Instant::now());\nf(std::time::SystemTime::now);", &[1, 2]),
    ("clock", "src/a.rs", "runtime.now(); // Instant::now()", &[]),
    ("clock", "src/rt/timer.rs", "Instant::now();", &[]),
];

#[rustfmt::skip]
const TESTS: &[Case<&str>] = &[
    ("honest-tests", "tests/a.rs", "#[test]\n#[ignore = \"slow\"]\nfn f() {}", &[2]),
    ("honest-tests", "tests/a.rs", "#[cfg_attr(miri, ignore)]\nfn f() {}", &[1]),
    ("honest-tests", "src/rt/a.rs", "use std::{fs, thread::{self, sleep}};", &[1]),
    ("honest-tests", "src/rt/a.rs", "fn f() {\n    thread::sleep(a);\n}", &[2]),
    ("honest-tests", "src/rt/a.rs", "fn f() {\n    std::thread::sleep(a);\n}", &[2]),
    ("honest-tests", "tests/a.rs", "#[test]\nfn f() { ignore(runtime.sleep(a)) }", &[]),
    ("honest-tests", "tests/a.rs", "use std::thread;\nfn f() { thread::park() }", &[]),
];

const PORTS: &[Case<&str>] = &[
    ("port-docs", "src/ports/a.rs", "trait A: Send {\n    fn f(&self);\n}", &[2]),
    (
        "port-docs",
        "src/ports/a.rs",
        "trait A {
             /// # Contract
             fn f(&self); // Nothing.
             /// # Errors
             fn g(&self) {}
             /// # Contract
             /// # Cancel safety
             fn h(&self) -> BoxFuture<'_, ()>;
         }",
        &[5, 8],
    ),
    (
        "port-docs",
        "src/ports/a.rs",
        "pub trait A {
             /// F.
             ///
             /// # Contract
             /// C1: ends;
             /// # Errors
             /// None {}
             /// # Cancel safety
             #[must_use]
             // A note.
             fn f(
                 &self,
             ) -> BoxFuture<'_, ()>;
             /// # Contract
             fn g(&self) -> [u8; 2] { [0; 2] }
         }
         fn h() -> BoxFuture<'_, ()> {}",
        &[],
    ),
    ("port-docs", "src/run/a.rs", "trait A {\n    fn f(&self);\n}", &[]),
];

#[rustfmt::skip]
const MANIFEST: &[Case<&str>] = &[
    ("no-dependencies", "Cargo.toml", "[dependencies]\n[dev-dependencies.a]", &[1, 2]),
    ("no-dependencies", "Cargo.toml", "[target.'cfg(a.b)'.build_dependencies]\na = \"1\"", &[1]),
    ("no-dependencies", "Cargo.toml", "dependencies.a = \"1\"", &[1]),
    ("no-dependencies", "Cargo.toml", "[target.a]\ndev-dependencies = {}", &[2]),
    ("no-dependencies", "Cargo.toml", "[workspace.dependencies]\na = \"1\"\n[workspace]", &[]),
    ("no-dependencies", "Cargo.toml", "[features]\n# dependencies\na = [\"dep:a\"]", &[]),
    ("no-dependencies", "benches/Cargo.toml", "[dependencies]\n", &[]),
];

fn lengths() -> Vec<Case<String>> {
    let wide = "x".repeat(COLUMNS_MAX - 1);
    let body = |lines| "    g('}', \"}\"); // }\n".repeat(lines);
    let function = |lines| format!("fn f() {{\n{}}}\n", body(lines - 2));
    let inside = |lines| format!("mod tests {{\n{}}}\n", function(lines));
    let (most, over) = (FUNCTION_LINES_MAX, FUNCTION_LINES_MAX + 1);
    vec![
        ("lines", "tests/a.rs", format!("é{wide}\né{wide}x\n"), &[2]),
        ("lines", "tests/a.rs", format!("// https://{wide}\n"), &[]),
        ("lines", "tests/a.rs", format!("//! | a row | {wide} |\n"), &[]),
        ("file-length", "src/a.rs", "\n".repeat(SRC_LINES_MAX + 1), &[SRC_LINES_MAX + 1]),
        ("file-length", "src/a.rs", "\n".repeat(SRC_LINES_MAX), &[]),
        ("file-length", "tests/a.rs", "\n".repeat(TEST_LINES_MAX + 1), &[TEST_LINES_MAX + 1]),
        ("file-length", "tests/a.rs", "\n".repeat(TEST_LINES_MAX), &[]),
        ("function-length", "src/a.rs", function(over), &[1]),
        ("function-length", "src/a.rs", inside(over), &[2]),
        ("function-length", "src/a.rs", function(most), &[]),
        ("function-length", "src/a.rs", format!("type F = fn(u8);\nmod m {{\n{}}}", body(90)), &[]),
    ]
}
