//! The examples: run as processes, the way a reader runs them, and the parts that readers will
//! copy, the CSV reader, the connector and the file sink, against naive oracles.

#![cfg(feature = "std")]

#[path = "../examples/extract/connector.rs"]
mod connector;
#[path = "../examples/extract/csv.rs"]
mod csv;
#[path = "../examples/extract/sink.rs"]
mod sink;

use std::collections::BTreeSet;
use std::env::{self, consts::EXE_SUFFIX};
use std::fs;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::process::{self, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use connector::CsvFactory;
use csv::{CsvError, RECORD_BYTES_MAX, Reader};
use fetcher_engine::digest::sha256;
use fetcher_engine::encode::{Format, RowBatch, StepShape};
use fetcher_engine::extraction::PlannedTable;
use fetcher_engine::memory::{MemoryConnectionStore, MemoryConnectorRegistry};
use fetcher_engine::ports::{
    Connector, ConnectorContext, ConnectorFactory, Fetched, Query, ResultHeader, ResultSink,
};
use fetcher_engine::{Category, ConnectionInput, Engine, Filter, TenantId, block_on};
use sink::FileSink;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data");

/// The tables in the order of the plan, their number columns, and what is asked of them.
const TABLES: [Table; 4] = [
    Table { datasource: "fleet", name: "planes", numbers: "engines seats speed year", fields: "*" },
    Table {
        datasource: "operations",
        name: "flights",
        numbers: "dep_delay flight",
        fields: "carrier dep_delay dest flight origin tailnum time_hour",
    },
    Table { datasource: "reference", name: "airlines", numbers: "", fields: "*" },
    Table { datasource: "reference", name: "airports", numbers: "alt lat lon tz", fields: "*" },
];

struct Table {
    datasource: &'static str,
    name: &'static str,
    numbers: &'static str,
    fields: &'static str,
}

// --- The example `extract`, as a process.

#[test]
fn the_default_run_reads_the_four_tables_and_prints_their_digest() {
    let elsewhere = Folder::new();
    let output = example("extract").current_dir(&elsewhere.0).output().expect("it runs");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/extract/result.ndjson");
    let result = check_run(&output, &path);
    let counts =
        TABLES.map(|table| result.matches(&format!("\"table\":\"{}\"", table.name)).count());
    assert_eq!(counts, [3322, late_flights(), 16, 1458]);
    assert_eq!(expected(Path::new(DATA)), result);
    assert_eq!(elsewhere.names(), [""; 0], "nothing is left in the current folder");
}

#[test]
fn out_and_data_may_be_elsewhere_and_an_older_result_gives_way() {
    let folder = Folder::new();
    let data = folder.data();
    let path = folder.write("older.ndjson", "an older result");
    let output = run(["--out".as_ref(), path.as_os_str(), "--data".as_ref(), data.as_os_str()]);
    assert_eq!(check_run(&output, &path), expected(&data));
    assert_eq!(folder.names(), ["data", "older.ndjson"]);
}

#[test]
fn every_feature_of_csv_reaches_the_result() {
    let folder = Folder::new();
    let data = folder.data();
    let airlines = "\u{feff}\"name\",carrier\r\n\"A \"\"B\"\",\r\nC\",NA\r\n\"NA\",é\r\n,\"\"";
    fs::write(data.join("airlines.csv"), airlines).expect("it can be written");
    let airports = "faa,alt,lat,lon,tz\nX,1.50,-0.0,NA,\"7\"\n";
    fs::write(data.join("airports.csv"), airports).expect("it can be written");
    let path = folder.0.join("result");
    let result = check_run(&extract_to(&data, &path), &path);
    let lines: Vec<_> = result.lines().filter(|line| line.contains("\"reference\"")).collect();
    let row =
        |table, row| format!("{{\"config\":\"reference\",\"table\":\"{table}\",\"row\":{row}}}");
    let expected = [
        row("airlines", r#"{"carrier":null,"name":"A \"B\",\r\nC"}"#),
        row("airlines", r#"{"carrier":"é","name":"NA"}"#),
        row("airlines", r#"{"carrier":"","name":""}"#),
        row("airports", r#"{"alt":1.50,"faa":"X","lat":-0.0,"lon":null,"tz":7}"#),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn direct_mode_prints_one_document_and_nothing_else() {
    let output = run(["--direct"]);
    let document = text(&output.stdout);
    assert!(output.status.success());
    let (airlines, airports) = document.split_once("\n    ],\n    \"airports\": [\n").expect("two");
    let airlines = airlines.strip_prefix("{\n  \"reference\": {\n    \"airlines\": [\n");
    let airports = airports.strip_suffix("\n    ]\n  }\n}").expect("it ends so");
    let rows = |table: &str| table.split(",\n      {").count();
    assert_eq!((airlines.map(rows), rows(airports)), (Some(16), 1458));
    let progress = text(&output.stderr);
    assert!(progress.contains(&format!("sha256 {}", sha256(&output.stdout))), "{progress}");
    assert!(progress.contains("1474 rows"), "{progress}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let mut command = example("extract");
    let command = command.arg("--direct").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    assert!(!text(&output.stderr).contains("error"), "{output:?}");
}

#[test]
fn help_tells_every_option_and_wrong_usage_is_told() {
    let help = run(["--help"]);
    assert!(help.status.success() && help.stderr.is_empty());
    for option in ["--data DIR", "--out PATH", "--direct", "--help", "removed"] {
        assert!(text(&help.stdout).contains(option), "{option}");
    }
    let cases: [(&[&str], &str); 9] = [
        (&["--bogus"], "unknown option --bogus"),
        (&["--data=x"], "unknown option --data=x"),
        (&["-x"], "unknown option -x"),
        (&["data"], "unexpected argument data"),
        (&["--data"], "--data needs a value"),
        (&["--out"], "--out needs a value"),
        (&["--out", "--direct"], "--out needs a value"),
        (&["--data", ""], "--data needs a value"),
        (&["--direct", "--out", "x"], "--out has no meaning with --direct"),
    ];
    for (arguments, message) in cases {
        let output = run(arguments);
        assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
        assert_eq!(text(&output.stderr), format!("error: {message}; see --help\n"));
    }
}

#[test]
fn a_folder_or_a_file_that_is_missing_is_told_and_leaves_no_result() {
    let folder = Folder::new();
    let said = folder.fails(Path::new("/nonexistent"));
    assert!(said.contains("log: fetcher.plan_extraction failed: /nonexistent: "), "{said}");
    assert!(said.contains("error: connect: datasource cannot be connected to"), "{said}");
    assert!(said.contains("(stage connect, datasource fleet"), "{said}");
    for table in TABLES {
        let data = folder.data();
        let path = data.join(format!("{}.csv", table.name));
        fs::remove_file(&path).expect("it was there");
        let said = folder.fails(&data);
        assert!(said.contains(&format!("failed: {}: ", path.display())), "{said}");
        assert!(said.contains("error: unavailable: schema cannot be discovered"), "{said}");
        assert!(said.contains(&format!("datasource {}", table.datasource)), "{said}");
    }
}

#[test]
fn malformed_files_are_told_by_file_and_line_and_leave_no_result() {
    const READ: &str =
        "error: unavailable: rows cannot be read (stage read, datasource fleet, table planes)";
    const DISCOVER: &str = "error: unavailable: schema cannot be discovered (stage discover";
    const UNDECLARED: &str = "error: validation: schema cannot be discovered (stage discover";
    let rows = "tailnum,year,engines,seats,speed\nN1,1,2,3,4\n";
    // What follows the rows above or, from its `!` on, replaces them; and what is said.
    let cases: &[(&[u8], &str, &str)] = &[
        (b"N2,\"1,2\n3,4,5\n", "line 3: this quote is never closed", READ),
        (b"N2,1,2,3\n", "line 3: 4 fields where the header has 5", READ),
        (b"N2,1,2,3,4,5\n", "line 3: 6 fields where the header has 5", READ),
        (b"\n", "line 3: 1 fields where the header has 5", READ),
        (b"N\xff,1,2,3,4\n", "line 3: not UTF-8", READ),
        (b"\"N2\"x,1,2,3,4\n", "line 3: text after a closing quote", READ),
        (b"N\"2\",1,2,3,4\n", "line 3: a quote inside a field without quotes", READ),
        (b"N2,1,2,3,4\rN3", "line 3: a carriage return without a line feed", READ),
        (b"\"N\n\n2\",1,2,x,4\n", "line 3: field 4 is not a number", READ),
        (b"N2,1,2,3,\n", "line 3: field 5 is not a number", READ),
        (b"!", "there is no header", DISCOVER),
        (b"!year,engines,\"\n", "line 1: this quote is never closed", DISCOVER),
        (b"!year,engines,year\n", "line 1: there are two columns year", DISCOVER),
        (b"!year,engines,speed\n1,2,3\n", "there is no column seats", UNDECLARED),
    ];
    let folder = Folder::new();
    for (content, cause, message) in cases {
        let data = folder.data();
        let path = data.join("planes.csv");
        let content = match content.strip_prefix(b"!") {
            Some(whole) => whole.to_vec(),
            None => [rows.as_bytes(), content].concat(),
        };
        fs::write(&path, content).expect("it can be written");
        let said = folder.fails(&data);
        assert!(said.contains(&format!("failed: {}: {cause}\n", path.display())), "{said}");
        assert!(said.contains(message), "{said}");
    }
}

#[test]
fn a_request_that_does_not_match_the_files_is_told_in_full() {
    let folder = Folder::new();
    let data = folder.data();
    let flights = fs::read_to_string(data.join("flights.csv")).expect("it is there");
    fs::write(data.join("flights.csv"), flights.replace("dest", "to").replace("origin", "from"))
        .expect("it can be written");
    let said = folder.fails(&data);
    for line in [
        "error: validation: request does not match the schema (stage validate)",
        "  field_not_found: operations.flights.dest: field is not found",
        "  field_not_found: operations.flights.origin: field is not found",
    ] {
        assert!(said.contains(line), "{said}");
    }
}

#[test]
fn a_path_that_cannot_be_written_is_told() {
    let folder = Folder::new();
    let data = folder.data();
    let file = folder.write("file", "");
    let cases = [
        (folder.0.join("none/result"), "error: unavailable: result cannot be persisted"),
        (file.join("result"), "error: "),
        (folder.0.clone(), "this is there already and is not a file"),
        (data.join("planes.csv"), "the result must not be among the data"),
        (data.join("result"), "the result must not be among the data"),
    ];
    for (path, message) in cases {
        let output = extract_to(&data, &path);
        assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
        let said = text(&output.stderr);
        assert!(said.contains(message), "{said}");
        assert!(said.contains(&format!("{}: ", path.display())), "{said}");
        assert_eq!(folder.names(), ["data", "file"]);
        assert_eq!(fs::read_dir(&data).expect("it is there").count(), 4);
    }
}

#[cfg(unix)]
#[test]
fn a_link_in_the_way_is_told_and_stays() {
    let folder = Folder::new();
    let (data, file) = (folder.data(), folder.write("file", "somebody's"));
    let link = folder.0.join("link");
    std::os::unix::fs::symlink(&file, &link).expect("it can be made");
    let output = extract_to(&data, &link);
    assert!(!output.status.success(), "{output:?}");
    assert!(text(&output.stderr).contains("is not a file"), "{output:?}");
    assert_eq!(folder.names(), ["data", "file", "link"]);
    assert_eq!(fs::read_to_string(link).expect("it leads there"), "somebody's");
}

// --- The example `encrypted`, as a process.

#[test]
fn the_encrypted_example_keeps_its_promises_and_never_shows_a_password() {
    let output = example("encrypted").output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let story = text(&output.stdout);
    assert!(output.stderr.is_empty() && story.lines().count() == 7, "{story}");
    for word in ["key 1", "key 2", "2 rows"] {
        assert!(story.contains(word), "{story}");
    }
    assert!(!story.contains("staple") && !story.contains("Tr0ub4dor"), "{story}");
}

// --- The CSV reader.

type Row = Vec<(String, bool)>;

fn read_all(source: impl Read, buffer_bytes: usize) -> Result<Vec<Row>, CsvError> {
    let mut reader = Reader::new(source, buffer_bytes).expect("memory can be read");
    let mut rows = Vec::new();
    while let Some(record) = reader.read()? {
        rows.push(record.fields().map(|field| (field.text.to_owned(), field.quoted)).collect());
    }
    Ok(rows)
}

/// A parser of the whole text, by index and without states.
fn naive(input: &[u8]) -> Result<Vec<Row>, String> {
    let input = input.strip_prefix(b"\xef\xbb\xbf").unwrap_or(input);
    let line = |at: usize| 1 + input[..at].iter().filter(|byte| **byte == b'\n').count();
    let fail = |at, what: &str| Err(format!("line {}: {what}", line(at)));
    let (mut rows, mut row, mut at, mut begin) = (Vec::<Row>::new(), Row::new(), 0, 0);
    while at < input.len() || !row.is_empty() {
        let quoted = input[at..].starts_with(b"\"");
        let (bytes, end) = if quoted {
            let Some(len) = closing_quote(&input[at + 1..]) else {
                return fail(at, "this quote is never closed");
            };
            (undouble(&input[at + 1..at + 1 + len]), at + len + 2)
        } else {
            let len = input[at..].iter().take_while(|byte| !b",\"\r\n".contains(byte)).count();
            (input[at..at + len].to_vec(), at + len)
        };
        let (separator, is_last) = match &input[end..] {
            [] => (0, true),
            [b',', ..] => (1, false),
            [b'\n', ..] => (1, true),
            [b'\r', b'\n', ..] => (2, true),
            [b'\r', ..] => return fail(end, "a carriage return without a line feed"),
            _ if quoted => return fail(end, "text after a closing quote"),
            _ => return fail(end, "a quote inside a field without quotes"),
        };
        let Ok(text) = String::from_utf8(bytes) else { return fail(end, "not UTF-8") };
        row.push((text, quoted));
        at = end + separator;
        if is_last {
            let width = rows.first().map_or(row.len(), Vec::len);
            if row.len() != width {
                let found = row.len();
                return fail(begin, &format!("{found} fields where the header has {width}"));
            }
            rows.push(std::mem::take(&mut row));
            begin = at;
        }
    }
    Ok(rows)
}

/// Where the first quote is that is not one of two.
fn closing_quote(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text.get(at..)?.iter().position(|byte| *byte == b'"')?;
        if text.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

fn undouble(text: &[u8]) -> Vec<u8> {
    let mut quotes = 0;
    let is_kept = |byte: &&u8| {
        quotes += usize::from(**byte == b'"');
        **byte != b'"' || quotes % 2 == 1
    };
    text.iter().filter(is_kept).copied().collect()
}

/// SplitMix64 (Steele, Lea, Flood, 2014): small, seeded, the same on every machine.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

#[test]
fn the_reader_agrees_with_a_naive_one_whatever_the_bytes() {
    let pieces: [&[u8]; 16] = [
        b"a",
        b"NA",
        b",",
        b",",
        b"\n",
        b"\r\n",
        b"\"",
        b"\"\"",
        b"\"b\"",
        b"\"c,\n\"",
        b"\r",
        "é".as_bytes(),
        b"\xc3",
        b"\xa9",
        b"\xef\xbb\xbf",
        b" ",
    ];
    let mut rng = Rng(1);
    let (mut good, mut faults) = (0, BTreeSet::new());
    for _ in 0..20_000 {
        let count = rng.below(12);
        let input: Vec<u8> = (0..count).flat_map(|_| rng.pick(&pieces).to_vec()).collect();
        let expected = naive(&input);
        for buffer_bytes in 1..=9 {
            let found = read_all(&*input, buffer_bytes).map_err(|error| error.to_string());
            assert_eq!(found, expected, "{:?}", input.escape_ascii().to_string());
        }
        match expected {
            Ok(_) => good += 1,
            Err(fault) => {
                faults.insert(fault.split_once(": ").expect("a line").1.to_owned());
            }
        }
    }
    assert!(good > 1000 && faults.len() > 8, "{good} {faults:?}");
}

#[test]
fn the_reader_reads_whatever_a_writer_may_write() {
    let texts = ["", "a", "NA", "é", "\u{feff}", ",", "\"", "\"\"", "x\r\ny", "\n", "\r", " b "];
    let mut rng = Rng(2);
    for _ in 0..3000 {
        let (width, height) = (1 + rng.below(4), 1 + rng.below(4));
        let (mut rows, mut file) = (Vec::new(), String::new());
        if rng.below(2) == 0 {
            file.push('\u{feff}');
        }
        for _ in 0..height {
            let line_end = rng.pick(&["\n", "\r\n"]);
            let mut row = Row::new();
            for at in 0..width {
                let text = rng.pick(&texts);
                // A file that begins with a BOM outside of quotes would lose it.
                let quoted = text.contains([',', '"', '\r', '\n', '\u{feff}']) || rng.below(3) == 0;
                let shown =
                    if quoted { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.into() };
                file += &shown;
                file += if at + 1 < width { "," } else { line_end };
                row.push((text.to_owned(), quoted));
            }
            rows.push(row);
        }
        // The last line end is optional, unless the last record would vanish with it.
        let last = rows.last().expect("a row");
        if rng.below(2) == 0 && *last != [(String::new(), false)] {
            file.truncate(file.trim_end_matches("\n").len());
            file.truncate(file.strip_suffix('\r').unwrap_or(&file).len());
        }
        for buffer_bytes in 1..=9 {
            let found = read_all(file.as_bytes(), buffer_bytes).expect("it is well-formed");
            assert_eq!(found, rows, "{file:?}");
        }
    }
}

/// Gives one byte at a time, and is interrupted before each.
struct Stutter<'a>(&'a [u8], bool);

impl Read for Stutter<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let one = buffer.len().min(1);
        self.0.read(&mut buffer[..one])
    }
}

#[test]
fn the_reader_takes_short_and_interrupted_reads() {
    let file = fs::read(Path::new(DATA).join("airlines.csv")).expect("it is there");
    let found = read_all(Stutter(&file, false), 64).expect("it is well-formed");
    assert_eq!(Ok(found), naive(&file));
}

#[test]
fn a_record_has_a_longest_length() {
    // Far longer than what may be held of them.
    for open in ["\"", "a", ""] {
        let endless = io::repeat(if open.is_empty() { b',' } else { b'a' });
        let source = Cursor::new(format!("a\n{open}")).chain(endless.take(64 << 20));
        let error = read_all(source, 4096).expect_err("it is too long");
        assert_eq!(error.line, 2);
        assert_eq!(error.fault.to_string(), "a record longer than 1048576 bytes");
    }
    let longest = "a".repeat(RECORD_BYTES_MAX - 1) + "\n";
    assert_eq!(read_all(longest.repeat(2).as_bytes(), 4096).expect("they just fit").len(), 2);
}

#[test]
fn a_source_that_breaks_is_an_error_and_not_an_end() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let error = read_all(b"a,b\n1,2\n3".chain(Broken), 4).expect_err("it breaks");
    assert_eq!(error.to_string(), "line 3: the disk is gone");
}

// --- The connector.

/// Connects to a folder with this one file, `t.csv`, in which `n` holds numbers.
fn connected(folder: &Folder, content: &str) -> Box<dyn Connector> {
    folder.write("t.csv", content);
    let database = folder.0.to_str().expect("it is UTF-8");
    let input = ConnectionInput::new("d", "csv").database(database).option("table.t", "n");
    let mut connector = CsvFactory.build(context(input)).expect("it can be built");
    block_on(connector.connect()).expect("the folder is there");
    connector
}

/// Only an engine makes a descriptor out of an input.
fn context(input: ConnectionInput) -> ConnectorContext {
    let registry = MemoryConnectorRegistry::new().with("csv", Arc::new(CsvFactory));
    let engine = Engine::builder()
        .connectors(Arc::new(registry))
        .connection_store(Arc::new(MemoryConnectionStore::new()))
        .build()
        .expect("it is complete");
    ConnectorContext::new(block_on(engine.create_connection("acme", input)).expect("it is new"))
}

fn query(fields: &[&str], filters: Vec<Filter>) -> Query {
    Query::new(Arc::new([PlannedTable::new("t", fields.iter().copied(), filters)]))
}

fn batch() -> RowBatch {
    RowBatch::new(StepShape::open(Format::Ndjson, "d"))
}

#[test]
fn the_connector_tells_its_columns_and_reads_them_in_any_order() {
    let folder = Folder::new();
    let mut connector = connected(&folder, "s,n\na,1\nb,2\nc,NA\nNA,10\n");
    let schema = block_on(connector.discover_schema()).expect("there is a header");
    let fields: Vec<_> = schema[0].fields().iter().map(|f| (&*f.name, &*f.source_type)).collect();
    assert_eq!((schema[0].name(), &*fields), ("t", &[("s", "string"), ("n", "decimal")][..]));
    block_on(connector.open(query(&["s", "n"], vec![Filter::gt("n", 1)]))).expect("it applies");
    let (batch, fetched) = block_on(connector.fetch(batch())).expect("it is well-formed");
    let rows = "{\"config\":\"d\",\"table\":\"t\",\"row\":{\"n\":2,\"s\":\"b\"}}\n\
                {\"config\":\"d\",\"table\":\"t\",\"row\":{\"n\":10,\"s\":null}}\n";
    assert_eq!((text(batch.encoded()), fetched), (rows, Fetched::End));
    let again = block_on(connector.fetch(batch));
    assert_eq!(again.err().map(|error| error.category()), Some(Category::Internal));
    assert!(block_on(connector.close()).is_ok());
}

#[test]
fn what_cannot_be_read_is_refused_before_the_first_row() {
    let folder = Folder::new();
    let cases = [
        (["n"], Filter::like("n", "1%")),
        (["n"], Filter::gt("n", "many")),
        (["n"], Filter::eq("s", 1)),
        (["n"], Filter::eq("none", 1)),
        (["none"], Filter::eq("n", 1)),
    ];
    for (fields, filter) in cases {
        let mut connector = connected(&folder, "s,n\na,1\n");
        let error = block_on(connector.open(query(&fields, vec![filter]))).expect_err("refused");
        assert_eq!((error.category(), error.table()), (Category::Validation, Some("t")));
    }
}

#[test]
fn a_fetch_ends_when_the_batch_is_full_or_too_much_was_looked_at() {
    let folder = Folder::new();
    let row = format!("{},1\n", "x".repeat(100_000));
    let mut connector = connected(&folder, &format!("s,n\n{}", row.repeat(5)));
    block_on(connector.open(query(&["s"], Vec::new()))).expect("it applies");
    let (batch, fetched) = block_on(connector.fetch(batch())).expect("it is well-formed");
    assert_eq!((batch.rows(), fetched), (3, Fetched::More));

    let mut connector = connected(&folder, &format!("s,n\n{}", "x,1\n".repeat(25_000)));
    block_on(connector.open(query(&["s"], vec![Filter::gt("n", 1)]))).expect("it applies");
    let (mut batch, mut answers) = (self::batch(), Vec::new());
    while answers.last() != Some(&Fetched::End) {
        let (back, fetched) = block_on(connector.fetch(batch)).expect("it is well-formed");
        answers.push(fetched);
        batch = back;
    }
    assert_eq!(answers, [Fetched::More, Fetched::More, Fetched::End]);
    assert_eq!(batch.rows(), 0);
}

#[test]
fn options_that_declare_no_table_are_refused() {
    for option in ["tables", "table.", "table.a/b", "table.a\\b"] {
        let input = ConnectionInput::new("d", "csv").database("x").option(option, "n");
        let error = CsvFactory.build(context(input)).err().expect("refused");
        assert_eq!(error.category(), Category::Validation, "{option}");
    }
}

// --- The file sink.

#[test]
fn a_result_is_there_whole_once_it_is_closed_and_not_before() {
    let folder = Folder::new();
    let tenant = TenantId::parse("acme").expect("a tenant");
    let header = || ResultHeader::new(Format::Ndjson);
    let sink = FileSink::new(folder.0.join("result"));
    let open = || block_on(sink.open_stream(&tenant, header())).expect("it can be opened");

    let (mut closed, mut aborted, mut dropped) = (open(), open(), open());
    for writer in [&mut closed, &mut aborted, &mut dropped] {
        block_on(writer.write(b"one\n")).expect("it can be written");
    }
    let names = folder.names();
    assert!(names.len() == 3 && names.iter().all(|name| name.ends_with(".tmp")), "{names:?}");
    block_on(aborted.abort()).expect("it can be removed");
    drop(dropped);
    assert_eq!(folder.names().len(), 1);
    block_on(closed.write(b"two\n")).expect("it can be written");
    let receipt = block_on(closed.close()).expect("it can be closed");
    assert_eq!(folder.names(), ["result"]);
    assert_eq!(fs::read_to_string(receipt.reference).expect("it is there"), "one\ntwo\n");

    block_on(sink.persist(&tenant, header(), b"three\n")).expect("it can be stored");
    assert_eq!(fs::read(folder.0.join("result")).expect("it is there"), b"three\n");
}

#[test]
fn a_result_that_cannot_be_closed_leaves_nothing() {
    let folder = Folder::new();
    let tenant = TenantId::parse("acme").expect("a tenant");
    let target = folder.0.join("result");
    let sink = FileSink::new(&target);
    let writer = block_on(sink.open_stream(&tenant, ResultHeader::new(Format::Ndjson)));
    fs::create_dir(&target).expect("it is free");
    let error = block_on(writer.expect("it can be opened").close()).expect_err("it is taken");
    assert_eq!(error.category(), Category::Unavailable);
    assert_eq!(folder.names(), ["result"]);
    assert_eq!(fs::read_dir(&target).expect("it is a folder").count(), 0);
}

// --- Helpers.

/// An example, built by cargo beside this test.
fn example(name: &str) -> Command {
    let test = env::current_exe().expect("a test has a path");
    let profile = test.parent().and_then(Path::parent).expect("it is in target/PROFILE/deps");
    let path = profile.join("examples").join(format!("{name}{EXE_SUFFIX}"));
    assert!(path.exists(), "run `cargo build --examples` first: no {}", path.display());
    let mut command = Command::new(path);
    command.stdin(Stdio::null());
    command
}

fn run<A: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = A>) -> Output {
    example("extract").args(arguments).output().expect("it runs")
}

fn extract_to(data: &Path, out: &Path) -> Output {
    run(["--data".as_ref(), data.as_os_str(), "--out".as_ref(), out.as_os_str()])
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("it is UTF-8")
}

/// Checks what a good run says against the result that it left, and gives that.
fn check_run(output: &Output, path: &Path) -> String {
    assert!(output.status.success(), "{output:?}");
    let result = fs::read_to_string(path).expect("the result is there");
    let mut lines = Vec::new();
    let mut total = 0;
    for table in TABLES {
        let key = format!("\"config\":\"{}\",\"table\":\"{}\"", table.datasource, table.name);
        let rows: Vec<_> = result.split_inclusive('\n').filter(|row| row.contains(&key)).collect();
        let bytes: usize = rows.iter().map(|row| row.len()).sum();
        total += rows.len();
        let (name, rows) = (format!("{}.{}", table.datasource, table.name), rows.len());
        lines.push(format!("{name} {rows} rows {bytes} bytes"));
    }
    lines.push(format!("total {total} rows {} bytes", result.len()));
    lines.push(format!("sha256 {}", sha256(result.as_bytes())));
    lines.push(path.display().to_string());
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(text(&output.stdout).lines().map(words).collect::<Vec<_>>(), lines);
    for datasource in ["fleet", "operations", "reference"] {
        let progress = text(&output.stderr);
        let is_end = |line: &str| line.starts_with(datasource) && line.ends_with(", done");
        assert!(progress.lines().any(is_end), "{progress}");
    }
    result
}

/// The whole result, from files without quotes, in which JSON has to escape backslashes only.
fn expected(data: &Path) -> String {
    let mut result = String::new();
    for table in &TABLES {
        let file = fs::read_to_string(data.join(format!("{}.csv", table.name))).expect("a file");
        assert!(!file.contains(['"', '\r']) && file.is_ascii(), "this is too naive for it");
        let mut lines = file.lines();
        let header: Vec<_> = lines.next().expect("a header").split(',').collect();
        let has = |list: &str, name: &str| list == "*" || list.split(' ').any(|one| one == name);
        for line in lines {
            let mut cells: Vec<_> = header.iter().copied().zip(line.split(',')).collect();
            let is_late = |(name, value): &(&str, &str)| {
                *name != "dep_delay" || value.parse().is_ok_and(|delay: i32| delay > 60)
            };
            if !cells.iter().all(is_late) {
                continue;
            }
            cells.retain(|(name, _)| has(table.fields, name));
            cells.sort();
            let shown = cells.iter().map(|(name, value)| match *value {
                "NA" => format!("\"{name}\":null"),
                _ if has(table.numbers, name) => format!("\"{name}\":{value}"),
                _ => format!("\"{name}\":\"{}\"", value.replace('\\', "\\\\")),
            });
            let row = shown.collect::<Vec<_>>().join(",");
            let (config, table) = (table.datasource, table.name);
            result += &format!(r#"{{"config":"{config}","table":"{table}","row":{{{row}}}}}"#);
            result.push('\n');
        }
    }
    result
}

fn late_flights() -> usize {
    let flights = fs::read_to_string(Path::new(DATA).join("flights.csv")).expect("it is there");
    let delay = |line: &str| line.split(',').nth(5).and_then(|delay| delay.parse::<i32>().ok());
    flights.lines().filter(|line| delay(line).is_some_and(|delay| delay > 60)).count()
}

/// A folder of a test's own.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("examples-{}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).expect("it can be made");
        Self(path)
    }

    fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).expect("it can be written");
        path
    }

    /// The first lines of each table, in a folder `data`.
    fn data(&self) -> PathBuf {
        let data = self.0.join("data");
        fs::create_dir_all(&data).expect("it can be made");
        for Table { name, .. } in TABLES {
            let name = format!("{name}.csv");
            let file = fs::read_to_string(Path::new(DATA).join(&name)).expect("it is there");
            let head: String = file.split_inclusive('\n').take(200).collect();
            fs::write(data.join(name), head).expect("it can be written");
        }
        data
    }

    /// What is in it, sorted.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("it is there");
        let name = |entry: io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
        let mut names: Vec<_> =
            entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// An extraction from this data that must fail and leave nothing, not even an older result;
    /// gives what it says.
    fn fails(&self, data: &Path) -> String {
        let path = self.write("result", "an older result");
        let output = extract_to(data, &path);
        assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
        let names = self.names();
        assert!(names.iter().all(|name| name == "data"), "{names:?}");
        text(&output.stderr).to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
