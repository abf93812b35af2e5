//! House rules as a test: a rule is a function from one file to the places that break it, and the
//! test names file, line and rule.
//!
//! It repeats nothing that `rustfmt` and `clippy` hold, and it does not parse Rust: it cuts a file
//! into comments, literals and the tokens of its code, and looks at those. Every rule is also fed
//! files that break it and files that do not, so that none goes blind unnoticed.

#[path = "tidy/cases.rs"]
mod cases;
#[path = "tidy/source.rs"]
mod source;

extern crate alloc;

use alloc::collections::BTreeSet;
use core::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use source::{Source, Token, attribute_end, close, functions, is_under, paths_from, test_lines};

/// The layers of `src/`, lowest first. A module may use its own layer and those below.
const LAYERS: &[&str] = &[
    "error tenant limits secret value planted",
    "filter connection schema encode digest extraction",
    "ports",
    "rt",
    "run",
    "engine",
    "memory testkit guide",
];

/// Knows no domain word: uses nothing of this crate but itself.
const RUNTIME: &str = "rt";

/// The only files that may say `unsafe`.
const UNSAFE_FILES: &[&str] = &["src/digest/x86_64.rs", "src/digest/aarch64.rs"];

/// Panics when a contract is broken; that is its job, so its `expect`s need no proof.
const PANICS_BY_DESIGN: &str = "src/testkit";

/// What a comment that justifies an `unwrap` or `expect` says.
const PROOF: &str = "PROOF:";

/// Where the conformance kit has a module for each port.
const CONFORMANCE: &str = "src/testkit/conformance";

const COLUMNS_MAX: usize = 100;
const FUNCTION_LINES_MAX: usize = 70;
const SRC_LINES_MAX: usize = 600;
const TEST_LINES_MAX: usize = 900;

/// Where Rust files live.
const RUST_DIRS: &[&str] = &["src", "tests", "examples", "benches", "adapters"];

/// What a repository of this crate shows a reader.
const PUBLIC_FILES: &str = "README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE deny.toml Cargo.toml";

/// The lines of one file that break a rule, and how.
type Hits = Vec<(usize, String)>;

type Rule = fn(&Source<'_>) -> Hits;

/// Every rule that looks at one file, under the name it is reported by.
const RULES: &[(&str, Rule)] = &[
    ("layers", layers),
    ("header", header),
    ("lines", lines),
    ("file-length", file_length),
    ("function-length", function_length),
    ("no-leftovers", no_leftovers),
    ("no-unsafe", no_unsafe),
    ("stable-order", stable_order),
    ("proof", proof),
    ("clock", clock),
    ("honest-tests", honest_tests),
    ("port-docs", port_docs),
    ("no-dependencies", no_dependencies),
];

struct Violation {
    path: String,
    line: usize,
    rule: &'static str,
    text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path, self.line, self.rule, self.text)
    }
}

#[test]
fn house_rules_hold() {
    let paths = repository_files();
    let mut found = module_table(&paths);
    if !published() {
        found.extend(public_files(&paths));
    }
    let is_rust = |path: &str| path.ends_with(".rs") && RUST_DIRS.iter().any(|d| is_under(path, d));
    for path in paths.iter().filter(|path| is_rust(path) || *path == "Cargo.toml") {
        found.extend(check(path, &read(path)));
    }
    let contracts = |path: &&String| is_under(path, "src/ports") || is_under(path, CONFORMANCE);
    let contracts = paths.iter().filter(contracts).map(|path| (path.as_str(), read(path)));
    found.extend(clauses(&contracts.collect::<Vec<_>>()));
    assert!(paths.iter().any(|path| path == "src/lib.rs"), "the sources are not where they were");
    let report: String = found.iter().map(|violation| format!("\n{violation}")).collect();
    assert!(found.is_empty(), "{} violation(s) of the house rules:{report}", found.len());
}

/// Holds one file against every rule.
fn check(path: &str, text: &str) -> Vec<Violation> {
    let source = Source::new(path, text);
    let mut found = Vec::new();
    for (rule, hits) in RULES {
        found.extend(hits(&source).into_iter().map(|(line, text)| Violation {
            path: path.to_owned(),
            line,
            rule,
            text,
        }));
    }
    found
}

// --- Rules about one file.

/// Nothing imports upward or by way of the crate root, and `rt` imports only itself.
fn layers(source: &Source<'_>) -> Hits {
    let Some(own) = source.module().filter(|own| *own != "lib") else {
        return Hits::new();
    };
    let mut hits = Hits::new();
    for (line, path) in paths_from(source, &["crate", "super"]) {
        let Some(&target) = path.first().filter(|target| **target != own) else {
            continue;
        };
        let text = match (layer(own), layer(target)) {
            (None, _) => format!("`{own}` has no layer"),
            (_, None) if target == "*" => "a glob of the crate root hides the layers".to_owned(),
            (_, None) => format!("`{target}` is no module of the layer table: name its home"),
            _ if own == RUNTIME => format!("`{RUNTIME}` knows no domain word, so not `{target}`"),
            (Some(from), Some(to)) if from < to => {
                format!("`{own}` (L{from}) must not use `{target}` (L{to})")
            }
            _ => continue,
        };
        hits.push((line, text));
    }
    hits
}

/// Every file says first what it is.
fn header(source: &Source<'_>) -> Hits {
    if !source.is_rust() || source.text.starts_with("//! ") {
        return Hits::new();
    }
    vec![(1, "the first line is not a `//!` comment".to_owned())]
}

/// Width, white space and line ends.
fn lines(source: &Source<'_>) -> Hits {
    if !source.is_rust() {
        return Hits::new();
    }
    let mut hits = Hits::new();
    for (number, line) in (1..).zip(source.text.split('\n')) {
        // A link and a row of a table cannot be broken.
        let whole =
            line.contains("https://") || line.trim_start_matches(['/', '!', ' ']).starts_with('|');
        if line.chars().count() > COLUMNS_MAX && !whole {
            hits.push((number, format!("longer than {COLUMNS_MAX} columns")));
        }
        if line.ends_with(char::is_whitespace) {
            hits.push((number, "ends with white space".to_owned()));
        }
        if line.contains('\t') {
            hits.push((number, "has a tab".to_owned()));
        }
    }
    if !source.text.ends_with('\n') {
        let last = source.text.split('\n').count();
        hits.push((last, "the last line does not end".to_owned()));
    }
    hits
}

/// A file that outgrows its limit is two files.
fn file_length(source: &Source<'_>) -> Hits {
    let limit = match source.path {
        _ if source.is_under("src") => SRC_LINES_MAX,
        _ if source.is_under("tests") => TEST_LINES_MAX,
        _ => return Hits::new(),
    };
    let count = source.text.lines().count();
    let hit = (count > limit).then(|| (limit + 1, format!("{count} lines, at most {limit}")));
    hit.into_iter().collect()
}

/// A function that outgrows its limit is two functions.
fn function_length(source: &Source<'_>) -> Hits {
    if !source.is_under("src") {
        return Hits::new();
    }
    let mut hits = Hits::new();
    for function in functions(source, 0..source.tokens.len()) {
        let Some(body) = function.body else { continue };
        let first = source.tokens[function.at].line;
        let count = source.tokens[close(&source.tokens, body)].line - first + 1;
        if count > FUNCTION_LINES_MAX {
            let name = function.name;
            hits.push((first, format!("`{name}` has {count} lines, at most {FUNCTION_LINES_MAX}")));
        }
    }
    hits
}

/// The library neither prints nor ships unfinished code.
fn no_leftovers(source: &Source<'_>) -> Hits {
    const BANNED: &str = "todo unimplemented dbg print println eprint eprintln";
    let found = source.find("src", |window| match window {
        [name, bang, ..] => bang.text == "!" && has_word(BANNED, name.text),
        _ => false,
    });
    found.map(|at| (at.line, format!("`{}!` has no place in a library", at.text))).collect()
}

/// `unsafe` lives in two files.
fn no_unsafe(source: &Source<'_>) -> Hits {
    if UNSAFE_FILES.contains(&source.path) {
        return Hits::new();
    }
    let found = source.find("src", |window| window[0].text == "unsafe");
    found.map(|at| (at.line, format!("only {} may say it", UNSAFE_FILES.join(" and ")))).collect()
}

/// No order that changes from run to run can reach a plan, a byte or the choice of an error.
fn stable_order(source: &Source<'_>) -> Hits {
    let found = source.find("src", |window| has_word("HashMap HashSet", window[0].text));
    let text = |name| format!("`{name}` has no stable order: use a `BTree` one or a sorted `Vec`");
    found.map(|at| (at.line, text(at.text))).collect()
}

/// Whoever unwraps says why it cannot fail; tests need not.
fn proof(source: &Source<'_>) -> Hits {
    const PANICKING: &str = "unwrap expect unwrap_err expect_err";
    if source.is_under(PANICS_BY_DESIGN) {
        return Hits::new();
    }
    let tests = test_lines(source);
    let mut hits = Hits::new();
    for window in source.tokens.windows(4).filter(|_| source.is_under("src")) {
        let [receiver, dot, method, open] = window else {
            continue;
        };
        let is_call = dot.text == "." && has_word(PANICKING, method.text) && open.text == "(";
        // `self.expect(…)` is a parser's own method: nobody unwraps `self`.
        if !is_call || receiver.text == "self" || tests.contains(&method.line) {
            continue;
        }
        if !source.has_comment(method.line, PROOF) {
            let name = method.text;
            hits.push((method.line, format!("`.{name}(` without `// {PROOF} …` on or above it")));
        }
    }
    hits
}

/// Time comes from the runtime seam, so that a simulator can own it.
fn clock(source: &Source<'_>) -> Hits {
    if source.is_under("src/rt") {
        return Hits::new();
    }
    let found = source.find("src", |window| match window {
        [clock, colons, now, ..] => {
            has_word("SystemTime Instant", clock.text) && colons.text == "::" && now.text == "now"
        }
        _ => false,
    });
    found.map(|at| (at.line, format!("`{}::now` belongs to `src/rt`", at.text))).collect()
}

/// No test is switched off, and nothing waits for the wall clock.
fn honest_tests(source: &Source<'_>) -> Hits {
    if !source.is_under("src") && !source.is_under("tests") {
        return Hits::new();
    }
    let mut hits = Hits::new();
    for (at, token) in source.tokens.iter().enumerate() {
        let Some(end) = attribute_end(&source.tokens, at) else {
            continue;
        };
        if source.tokens[at..end].iter().any(|token| token.text == "ignore") {
            hits.push((token.line, "a test that is switched off".to_owned()));
        }
    }
    for (line, path) in paths_from(source, &["std", "thread"]) {
        if path.ends_with(&["thread", "sleep"]) {
            hits.push((line, "`thread::sleep`: drive a manual clock instead".to_owned()));
        }
    }
    hits
}

/// A port method states what it promises, how it fails and what a dropped call leaves behind.
fn port_docs(source: &Source<'_>) -> Hits {
    let tokens = &source.tokens;
    let mut hits = Hits::new();
    let traits = (0..tokens.len()).filter(|at| tokens[*at].text == "trait");
    for at in traits.filter(|_| source.is_under("src/ports")) {
        let Some(offset) = tokens[at..].iter().position(|token| token.text == "{") else {
            continue;
        };
        for method in functions(source, at..close(tokens, at + offset)) {
            let signature = &tokens[method.at..method.end];
            let wanted: &[_] = if signature.iter().any(|token| token.text == "BoxFuture") {
                &["# Contract", "# Errors", "# Cancel safety"]
            } else {
                &["# Contract"]
            };
            let Token { line, .. } = tokens[method.at];
            let docs = source.docs_above(line);
            for heading in wanted.iter().filter(|heading| !docs.contains(heading)) {
                hits.push((line, format!("the docs of `{}` have no `{heading}`", method.name)));
            }
        }
    }
    hits
}

/// The root package depends on nothing, in no kind of build and on no target.
fn no_dependencies(source: &Source<'_>) -> Hits {
    const TABLES: &str = "dependencies dev-dependencies build-dependencies";
    let names_one = |key: &str| {
        key.split('.').any(|part| has_word(TABLES, part.trim().replace('_', "-").as_str()))
    };
    let mut table = "";
    let mut hits = Hits::new();
    for (number, line) in (1..).zip(source.text.lines().map(str::trim)) {
        let is_one = if let Some(head) = line.strip_prefix('[') {
            table = head.split(']').next().unwrap_or(head);
            names_one(table)
        } else {
            let may_hold_one = table.is_empty() || table.starts_with("target");
            may_hold_one && names_one(line.split('=').next().unwrap_or(line))
        };
        let owner = table.split('.').next().unwrap_or(table);
        if is_one && !has_word("workspace package patch", owner) && source.path == "Cargo.toml" {
            hits.push((number, format!("`{line}`: the engine depends on nothing")));
        }
    }
    hits
}

// --- Rules about the list of files.

/// A module has a layer.
fn module_table(paths: &[String]) -> Vec<Violation> {
    let inside = paths.iter().filter_map(|path| path.strip_prefix("src/"));
    let modules: BTreeSet<_> = inside.filter_map(|path| path.split('/').next()).collect();
    let homeless = modules.into_iter().filter(|name| {
        *name != "lib.rs" && layer(name.strip_suffix(".rs").unwrap_or(name)).is_none()
    });
    let text = "has no layer: add it to the table in tests/tidy.rs and say why in the commit";
    homeless.map(|name| missing(&format!("src/{name}"), "module-table", text)).collect()
}

/// A reader finds the front page, the history, the licences and the policy.
fn public_files(paths: &[String]) -> Vec<Violation> {
    let absent = PUBLIC_FILES.split(' ').filter(|name| !paths.iter().any(|path| path == name));
    absent.map(|name| missing(name, "public-files", "does not exist")).collect()
}

/// Every clause of a port's contract is one function of the conformance kit, in its list, and the
/// other way round.
fn clauses(files: &[(&str, String)]) -> Vec<Violation> {
    let port_of = |path: &str| {
        let name = path.strip_prefix("src/ports/")?.strip_suffix(".rs")?;
        (name != "mod").then(|| name.to_owned())
    };
    let mut found = Vec::new();
    for (path, text) in files {
        let Some(port) = port_of(path) else { continue };
        let mut report = |path: &str, line, text| {
            found.push(Violation { path: path.to_owned(), line, rule: "clauses", text });
        };
        let home = format!("{CONFORMANCE}/{port}");
        let kit: Vec<_> = files.iter().filter(|(path, _)| is_under(path, &home)).collect();
        let kit: Vec<_> = kit.into_iter().map(|(path, text)| Source::new(path, text)).collect();
        let documented = documented_clauses(text);
        let checked: Vec<_> = kit.iter().flat_map(checked_clauses).collect();
        for (next, (line, number)) in (1..).zip(&documented) {
            if *number != next {
                report(path, *line, format!("C{number} where C{next} comes next"));
            }
            let count = checked.iter().filter(|clause| clause.number == *number).count();
            if count != 1 {
                report(path, *line, format!("{count} functions `c{number}_…` in {home}"));
            }
        }
        for clause in &checked {
            let Clause { path, line, name, number } = *clause;
            if !documented.iter().any(|(_, documented)| *documented == number) {
                report(path, line, format!("`{name}`: {port} has no C{number}"));
            }
            if !kit.iter().any(|source| lists(source, &port, name)) {
                report(path, line, format!("`{name}` is not in the list of clauses"));
            }
        }
    }
    found
}

/// A function of the conformance kit that checks a clause.
#[derive(Clone, Copy)]
struct Clause<'a> {
    path: &'a str,
    line: usize,
    name: &'a str,
    number: usize,
}

/// Every `C1.` in the doc comments of a port, with its line.
fn documented_clauses(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (line, text) in (1..).zip(text.lines().map(str::trim_start)) {
        let docs = text.strip_prefix("///").or_else(|| text.strip_prefix("//!"));
        for word in docs.unwrap_or_default().split(' ') {
            let number = word.strip_prefix('C').and_then(|rest| rest.strip_suffix('.'));
            found.extend(number.and_then(|number| number.parse().ok()).map(|it| (line, it)));
        }
    }
    found
}

/// Every public `fn c1_…` of a file.
fn checked_clauses<'a>(source: &Source<'a>) -> Vec<Clause<'a>> {
    let number = |name: &str| name.strip_prefix('c')?.split_once('_')?.0.parse().ok();
    let mut found = Vec::new();
    for function in functions(source, 0..source.tokens.len()) {
        let public = function.at > 0 && source.tokens[function.at - 1].text == "pub";
        if let Some(number) = number(function.name).filter(|_| public) {
            let line = source.tokens[function.at].line;
            found.push(Clause { path: source.path, line, name: function.name, number });
        }
    }
    found
}

/// Whether the port's list of clauses is in this file and has this name.
fn lists(source: &Source<'_>, port: &str, name: &str) -> bool {
    let list = format!("__conformance_{port}");
    let at = source.tokens.windows(3).position(|window| {
        window[0].text == "macro_rules" && window[1].text == "!" && window[2].text == list
    });
    at.is_some_and(|at| {
        let open = (at + 3).min(source.tokens.len() - 1);
        source.tokens[open..close(&source.tokens, open)].iter().any(|token| token.text == name)
    })
}

fn missing(path: &str, rule: &'static str, text: &str) -> Violation {
    Violation { path: path.to_owned(), line: 1, rule, text: text.to_owned() }
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|modules| has_word(modules, module))
}

fn has_word(words: &str, word: &str) -> bool {
    words.split(' ').any(|one| one == word)
}

// --- The files.

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).expect("a listed file can be read")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Whether this is the crate as a registry hands it out, without the repository's own files.
fn published() -> bool {
    root().join("Cargo.toml.orig").exists()
}

/// What git tracks or would add, or every file where git does not answer; relative and sorted.
fn repository_files() -> Vec<String> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root());
    let mut files = Vec::new();
    if let Some(output) = git.output().ok().filter(|output| output.status.success()) {
        let names = String::from_utf8_lossy(&output.stdout);
        // A file is still listed when it is gone but the commit that says so is not made yet.
        let present = names.split('\0').filter(|name| root().join(name).is_file());
        files.extend(present.map(str::to_owned));
    }
    if files.is_empty() {
        list(root(), "", &mut files);
    }
    files.sort();
    files.dedup();
    files
}

fn list(dir: &Path, prefix: &str, files: &mut Vec<String>) {
    for entry in fs::read_dir(dir).expect("a directory can be listed") {
        let entry = entry.expect("a directory entry can be read");
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if !entry.path().is_dir() {
            files.push(path);
        } else if name != "target" && !name.starts_with('.') {
            list(&entry.path(), &format!("{path}/"), files);
        }
    }
}

// --- The rules bite.

#[test]
fn every_rule_bites_and_lets_good_files_pass() {
    let (mut bitten, mut passed) = (BTreeSet::new(), BTreeSet::new());
    for (name, path, text, expected) in cases::all() {
        let (name, rule) = RULES.iter().find(|rule| rule.0 == name).expect("the rule exists");
        let mut lines: Vec<_> = rule(&Source::new(path, &text)).iter().map(|hit| hit.0).collect();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines, expected, "{name} on {path}:\n{text}");
        if expected.is_empty() {
            passed.insert(*name)
        } else {
            bitten.insert(*name)
        };
    }
    let rules: BTreeSet<_> = RULES.iter().map(|rule| rule.0).collect();
    assert_eq!(bitten, rules, "each rule has a file that breaks it");
    assert_eq!(passed, rules, "each rule has a file that keeps it");
}

#[test]
fn a_violation_names_file_line_and_rule() {
    let found = check("src/rt/join.rs", "//! Joins.\nuse crate::error::EngineError;\n");
    let found: Vec<_> = found.iter().map(Violation::to_string).collect();
    assert_eq!(found, ["src/rt/join.rs:2: layers: `rt` knows no domain word, so not `error`"]);
}

#[test]
fn a_module_without_a_layer_is_reported() {
    let paths = ["src/lib.rs", "src/error.rs", "src/rt/mod.rs", "src/misc/mod.rs", "src/util.rs"];
    let found = module_table(&paths.map(str::to_owned));
    let paths: Vec<_> = found.iter().map(|violation| &*violation.path).collect();
    assert_eq!(paths, ["src/misc", "src/util.rs"]);
}

#[test]
fn a_missing_public_file_is_reported() {
    let paths: Vec<_> = PUBLIC_FILES.split(' ').skip(1).map(str::to_owned).collect();
    let found: Vec<_> = public_files(&paths).iter().map(Violation::to_string).collect();
    assert_eq!(found, ["README.md:1: public-files: does not exist"]);
}

#[test]
fn a_clause_without_its_function_is_reported_and_the_other_way_round() {
    let port = "/// C1. One.\ntrait A {\n    /// C2. Two. C3. Three,\n    /// as C2 has it.\n}\n";
    let list = |names: &str| format!("macro_rules! __conformance_a {{ () => {{ {names} }} }}\n");
    let kit = |names: &str, functions: &str| {
        let functions = functions.split(' ').map(|name| format!("pub fn {name}() {{}}\n"));
        list(names) + &functions.collect::<String>()
    };
    let check = |port: &str, kit: &[(&'static str, String)]| {
        let mut files = kit.to_vec();
        files.push(("src/ports/mod.rs", "//! C9. Of none.\n".into()));
        files.push(("src/ports/a.rs", port.to_owned()));
        clauses(&files).iter().map(Violation::to_string).collect::<Vec<_>>()
    };
    let all = "c1_x c2_x c3_x";
    assert_eq!(check(port, &[("src/testkit/conformance/a.rs", kit(all, all))]), [""; 0]);
    let split = [
        ("src/testkit/conformance/a/mod.rs", kit(all, "c1_x")),
        ("src/testkit/conformance/a/rest.rs", "pub fn c2_x() {}\npub fn c3_x() {}\n".into()),
    ];
    assert_eq!(check(port, &split), [""; 0]);
    let file = |names, functions| [("src/testkit/conformance/a.rs", kit(names, functions))];
    let home = "src/testkit/conformance/a";
    assert_eq!(
        check(port, &file("c1_x c3_x", "c1_x c3_x")),
        [format!("src/ports/a.rs:3: clauses: 0 functions `c2_…` in {home}")]
    );
    assert_eq!(
        check(port, &file(all, "c1_x c2_x c2_y c3_x")),
        [
            format!("src/ports/a.rs:3: clauses: 2 functions `c2_…` in {home}"),
            format!("{home}.rs:4: clauses: `c2_y` is not in the list of clauses"),
        ]
    );
    assert_eq!(
        check(port, &file("c1_x c2_x c3_x c4_x", "c1_x c2_x c3_x c4_x")),
        [format!("{home}.rs:5: clauses: `c4_x`: a has no C4")]
    );
    assert_eq!(
        check(&port.replace("C2. Two.", "Two."), &file("c1_x c3_x", "c1_x c3_x")),
        ["src/ports/a.rs:3: clauses: C3 where C2 comes next"]
    );
    let nothing = check(port, &[]);
    assert_eq!(nothing.len(), 3, "a port without a module: {nothing:?}");
}
