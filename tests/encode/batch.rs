//! Rows, tables and columns: what surrounds the values, what is a fault, and how a batch goes on.

use std::sync::Arc;

use fetcher_engine::encode::{Document, Format, RowBatch, RowFault, StepShape};
use fetcher_engine::{Category, PortError};

use super::naive::row;
use super::{Rng, encoded, one_column, open};

const FORMATS: [Format; 2] = [Format::Json, Format::Ndjson];

/// When a batch is full.
const FULL: usize = 256 << 10;

/// A shape of exactly `t(a, b)` and `u()`.
fn expecting(format: Format) -> StepShape {
    let fields = |names: &[&str]| names.iter().map(|name| Arc::from(*name)).collect::<Arc<[_]>>();
    let tables = [("u", fields(&[])), ("t", fields(&["b", "a"]))];
    StepShape::new(format, "d", tables.map(|(name, fields)| (Arc::from(name), fields)))
}

#[test]
fn formats_have_their_names() {
    assert_eq!(FORMATS.map(Format::as_str), ["json", "ndjson"]);
}

/// Names of every length, so that what surrounds a value takes every place in a block.
#[test]
fn names_of_every_length() {
    let name =
        |len: usize| (0..len).map(|at| char::from(b'a' + (at % 19) as u8)).collect::<String>();
    for format in FORMATS {
        for len in 0..140 {
            let (table, column) = (name(len * 7 % 80), name(len));
            let other = format!("{column}z<");
            let mut batch = RowBatch::new(StepShape::open(format, name(len * 3 % 70)));
            batch.table(&table, &[column.as_str(), &other]).expect("the table is new");
            let mut expected = String::new();
            for number in [1, -7_654_321] {
                batch.i64(number);
                batch.str("x");
                batch.end_row().expect("the row is whole");
                let cells = [(column.as_str(), &*number.to_string()), (&other, "\"x\"")];
                expected += &row(format, &name(len * 3 % 70), &table, &cells);
            }
            assert_eq!(encoded(&batch), expected, "{len}");
        }
    }
}

/// Columns in any order come out sorted by bytes.
#[test]
fn columns_come_out_sorted() {
    let names = ["", "B", "a", "ab", "é", "\u{ffff}", "😀", "z\""];
    let mut sorted = names;
    sorted.sort_unstable();
    let mut rng = Rng(5);
    for format in FORMATS {
        for round in 0..120 {
            let mut columns = names;
            (1..columns.len()).for_each(|at| columns.swap(at, rng.below(at as u64 + 1) as usize));
            let columns = &columns[..1 + round % columns.len()];
            let mut batch = open(format);
            batch.table("t", columns).expect("the table is new");
            let mut expected = String::new();
            for row_at in 0..3 {
                let text = |name: &str| format!("{name}{row_at}").repeat(row_at * 9);
                columns.iter().for_each(|name| batch.str(&text(name)));
                batch.end_row().expect("the row is whole");
                let mut cells: Vec<_> =
                    columns.iter().map(|name| (*name, super::naive::string(&text(name)))).collect();
                cells.sort();
                let cells: Vec<_> = cells.iter().map(|(name, text)| (*name, &**text)).collect();
                expected += &row(format, "d", "t", &cells);
            }
            assert_eq!(encoded(&batch), expected);
        }
    }
}

#[test]
fn a_row_without_columns() {
    for format in FORMATS {
        let mut batch = open(format);
        batch.table("t<", &[] as &[&str]).expect("the table is new");
        for _ in 0..2 {
            batch.end_row().expect("the row is whole");
        }
        assert_eq!(encoded(&batch), row(format, "d", "t<", &[]).repeat(2));
        batch.null();
        assert_eq!(batch.fault(), Some(RowFault::Arity));
    }
}

/// Going back and forth between tables, and between orders of the same columns.
#[test]
fn tables_take_turns() {
    for format in FORMATS {
        let mut batch = RowBatch::new(expecting(format));
        let mut expected = String::new();
        for round in 0..3 {
            for columns in [["a", "b"], ["b", "a"]] {
                batch.table("t", &columns).expect("it is expected");
                batch.table("t", &columns).expect("it is expected");
                columns.iter().for_each(|name| batch.str(name));
                batch.end_row().expect("the row is whole");
                expected += &row(format, "d", "t", &[("a", "\"a\""), ("b", "\"b\"")]);
            }
            batch.table("u", &[] as &[&str]).expect("it is expected");
            for _ in 0..round {
                batch.end_row().expect("the row is whole");
                expected += &row(format, "d", "u", &[]);
            }
        }
        assert_eq!(encoded(&batch), expected);
        assert_eq!(batch.rows(), 9);
    }
    let mut batch = open(Format::Ndjson);
    for (table, columns) in
        [("t", ["a", "b"]), ("u", ["a", "b"]), ("t", ["a", "c"]), ("t", ["a", "b"])]
    {
        batch.table(table, &columns).expect("it takes anything");
        batch.null();
        batch.null();
        batch.end_row().expect("the row is whole");
    }
    let of = |table, other| row(Format::Ndjson, "d", table, &[("a", "null"), (other, "null")]);
    assert_eq!(encoded(&batch), [of("t", "b"), of("u", "b"), of("t", "c"), of("t", "b")].concat());
}

type Steps = fn(&mut RowBatch) -> Result<(), RowFault>;

/// Each kind of misuse that a batch alone can see, in a batch that expects `t(a, b)` and `u()`.
const MISUSES: [(RowFault, Steps); 26] = [
    (RowFault::NoTable, |batch| batch.end_row()),
    (RowFault::NoTable, |batch| {
        batch.null();
        batch.end_row()
    }),
    (RowFault::NoTable, |batch| {
        batch.begin_list();
        batch.end_row()
    }),
    (RowFault::UnknownTable, |batch| batch.table("v", &["a", "b"])),
    (RowFault::UnknownTable, |batch| batch.table("", &["a", "b"])),
    (RowFault::UnknownTable, |batch| batch.table("T", &[] as &[&str])),
    (RowFault::Columns, |batch| batch.table("t", &["a"])),
    (RowFault::Columns, |batch| batch.table("t", &["b"])),
    (RowFault::Columns, |batch| batch.table("t", &["a", "c"])),
    (RowFault::Columns, |batch| batch.table("t", &["c", "a"])),
    (RowFault::Columns, |batch| batch.table("t", &["a", "b", "c"])),
    (RowFault::Columns, |batch| batch.table("t", &["a", "b", "a"])),
    (RowFault::Columns, |batch| batch.table("t", &["b", "b"])),
    (RowFault::Columns, |batch| batch.table("t", &[] as &[&str])),
    (RowFault::Columns, |batch| batch.table("u", &["a"])),
    (RowFault::Columns, |batch| {
        batch.table("t", &["a", "b"])?;
        batch.table("t", &["a", "c"])
    }),
    (RowFault::Arity, |batch| {
        batch.table("t", &["a", "b"])?;
        batch.end_row()
    }),
    (RowFault::Arity, |batch| {
        batch.table("t", &["a", "b"])?;
        batch.null();
        batch.end_row()
    }),
    (RowFault::Arity, |batch| {
        batch.table("t", &["b", "a"])?;
        batch.null();
        batch.end_row()
    }),
    (RowFault::Arity, |batch| {
        batch.table("t", &["a", "b"])?;
        (0..3).for_each(|_| batch.null());
        batch.end_row()
    }),
    (RowFault::Arity, |batch| {
        batch.table("t", &["b", "a"])?;
        (0..3).for_each(|_| batch.null());
        batch.end_row()
    }),
    (RowFault::Arity, |batch| {
        batch.table("u", &[] as &[&str])?;
        batch.null();
        batch.end_row()
    }),
    (RowFault::Arity, |batch| {
        batch.table("t", &["a", "b"])?;
        batch.null();
        batch.begin_list();
        batch.end_row()
    }),
    (RowFault::Unfinished, |batch| {
        batch.table("t", &["a", "b"])?;
        batch.null();
        batch.table("u", &[] as &[&str])
    }),
    (RowFault::Unfinished, |batch| {
        batch.table("t", &["b", "a"])?;
        batch.null();
        batch.table("t", &["b", "a"])
    }),
    (RowFault::Nesting, |batch| {
        batch.table("t", &["a", "b"])?;
        batch.end();
        batch.end_row()
    }),
];

#[test]
fn misuse_is_remembered_and_never_becomes_bytes() {
    for (at, (fault, steps)) in MISUSES.into_iter().enumerate() {
        for format in FORMATS {
            // Fresh, and after rows that were well.
            for rows in [0, 2] {
                let mut batch = RowBatch::new(expecting(format));
                let declare = if matches!(fault, RowFault::NoTable) { 0 } else { rows };
                for _ in 0..declare {
                    batch.table("u", &[] as &[&str]).expect("it is expected");
                    batch.end_row().expect("the row is whole");
                }
                let before = encoded(&batch).to_owned();
                assert_eq!((batch.fault(), batch.is_full()), (None, false));
                assert_eq!(steps(&mut batch), Err(fault), "{at}");
                stays_faulty(batch, fault, &before);
            }
        }
    }
}

/// Whatever is done with it, the fault and the bytes stay.
fn stays_faulty(mut batch: RowBatch, fault: RowFault, before: &str) {
    let rows = batch.rows();
    assert_eq!((batch.fault(), batch.is_full()), (Some(fault), true));
    assert_eq!(batch.table("t", &["a", "b"]), Err(fault));
    assert_eq!(batch.table("v", &["x"]), Err(fault));
    batch.null();
    batch.str("lost");
    batch.begin_map();
    batch.key("lost");
    batch.end();
    assert_eq!(batch.end_row(), Err(fault));
    batch.abandon_row();
    assert_eq!(batch.end_row(), Err(fault));
    assert_eq!((encoded(&batch), batch.rows(), batch.fault()), (before, rows, Some(fault)));
    assert_eq!(Document::from_batches([batch]).err(), Some(fault));
}

#[test]
fn a_table_of_that_shape_is_no_fault() {
    for columns in [["a", "b"], ["b", "a"]] {
        let mut batch = RowBatch::new(expecting(Format::Ndjson));
        assert_eq!(batch.table("t", &columns), Ok(()));
        assert_eq!(batch.table("t", &columns.map(String::from)), Ok(()));
        assert_eq!(batch.table("u", &[] as &[&str]), Ok(()));
        assert_eq!(batch.fault(), None);
    }
    let mut batch = open(Format::Ndjson);
    assert_eq!(batch.table("t", &["a", "b", "a"]), Err(RowFault::Columns));
}

#[test]
fn faults_say_what_they_are() {
    let table = [
        (RowFault::NoTable, "no table is declared"),
        (RowFault::UnknownTable, "the table is not one of those asked for"),
        (RowFault::Columns, "the columns are not the fields asked for"),
        (RowFault::Arity, "the row has more or fewer values than columns"),
        (RowFault::Unfinished, "a row is unfinished"),
        (RowFault::Nesting, "a list or map is out of order"),
        (RowFault::TooDeep, "lists and maps are nested too deep"),
        (RowFault::Foreign, "it is not the batch that was handed out"),
        (RowFault::Undeclared, "a table was never declared"),
        (RowFault::TooManyBytes, "the result is larger than allowed"),
        (RowFault::TooManyRows, "the result has more rows than allowed"),
    ];
    for (fault, text) in table {
        assert_eq!(fault.to_string(), text);
        let limit = matches!(fault, RowFault::TooManyBytes | RowFault::TooManyRows);
        let error = PortError::from(fault);
        let category = if limit { Category::LimitExceeded } else { Category::Internal };
        assert_eq!(error.category(), category);
        assert_eq!(error.cause().map(ToString::to_string).as_deref(), Some(text));
    }
}

#[test]
fn an_abandoned_row_leaves_nothing() {
    let halves: [Steps; 4] = [
        |batch| {
            batch.str("lost");
            Ok(())
        },
        |batch| {
            batch.str("lost");
            batch.str("lost");
            Ok(())
        },
        |batch| {
            batch.begin_list();
            batch.begin_map();
            batch.key("lost");
            Ok(())
        },
        |_| Ok(()),
    ];
    for (format, columns) in FORMATS.iter().flat_map(|f| [["a", "b"], ["b", "a"]].map(|c| (*f, c)))
    {
        let mut batch = open(format);
        batch.table("t", &columns).expect("the table is new");
        for half in halves {
            half(&mut batch).expect("nothing is wrong");
            batch.abandon_row();
            batch.table("t", &columns).expect("no row is open");
            columns.iter().for_each(|name| batch.str(name));
            batch.end_row().expect("the row is whole");
        }
        let one = row(format, "d", "t", &[("a", "\"a\""), ("b", "\"b\"")]);
        assert_eq!(encoded(&batch), one.repeat(4));
        assert_eq!(batch.rows(), 4);
    }
}

#[test]
fn a_cleared_batch_goes_on() {
    for columns in [["a", "b"], ["b", "a"]] {
        let mut batch = open(Format::Json);
        batch.table("t", &columns).expect("the table is new");
        let one = row(Format::Json, "d", "t", &[("a", "1"), ("b", "1")]);
        for rows in [3, 0, 2] {
            batch.i64(1);
            batch.clear();
            assert_eq!((batch.rows(), batch.encoded()), (0, &b""[..]));
            for _ in 0..rows {
                batch.i64(1);
                batch.i64(1);
                batch.end_row().expect("the row is whole");
            }
            assert_eq!((batch.rows(), encoded(&batch)), (rows, &*one.repeat(rows as usize)));
        }
        let document = Document::from_batches([batch]).expect("nothing is wrong").into_vec();
        let text = String::from_utf8(document).expect("UTF-8");
        assert_eq!(
            text,
            format!("{{\n  \"d\": {{\n    \"t\": [{}\n    ]\n  }}\n}}", &one.repeat(2)[1..])
        );
    }
    let mut batch = one_column();
    assert_eq!(batch.table("t", &["v", "v"]), Err(RowFault::Columns));
    batch.clear();
    assert_eq!(batch.fault(), Some(RowFault::Columns), "what went wrong stays");
}

#[test]
fn full_by_rows() {
    for (after, full_at) in [(0, 1), (1, 1), (2, 2), (3, 3)] {
        let mut batch = one_column();
        batch.full_after(after);
        for rows in 1..5 {
            assert_eq!(batch.is_full(), rows > full_at);
            batch.null();
            assert_eq!(batch.is_full(), rows > full_at, "only whole rows count");
            batch.end_row().expect("the row is whole");
            assert_eq!(batch.rows(), rows);
        }
        assert!(batch.is_full());
        batch.clear();
        assert!(!batch.is_full());
    }
}

/// A row that is this many bytes long, all in all.
fn row_of(batch: &mut RowBatch, table: &str, bytes: usize) {
    batch.table(table, &["v"]).expect("it takes anything");
    let empty = row(Format::Json, "d", table, &[("v", "\"\"")]).len();
    batch.str(&"x".repeat(bytes - empty));
    batch.end_row().expect("the row is whole");
}

#[test]
fn full_by_bytes() {
    for (bytes, full) in [(FULL - 1, false), (FULL, true), (FULL + 1, true)] {
        let mut batch = open(Format::Json);
        row_of(&mut batch, "t", bytes);
        assert_eq!((batch.encoded().len(), batch.is_full()), (bytes, full));
        let mut batch = open(Format::Json);
        row_of(&mut batch, "t", 1000);
        row_of(&mut batch, "t", bytes - 1000);
        assert_eq!((batch.encoded().len(), batch.is_full()), (bytes, full));
        batch.str("what is not a row yet does not count");
        assert_eq!((batch.encoded().len(), batch.is_full()), (bytes, full));
    }
}

/// Memory grows again and again, at every place of a row, and nothing is lost.
#[test]
fn buffers_grow() {
    let mut rng = Rng(6);
    for (format, columns) in FORMATS.iter().flat_map(|f| [["a", "b"], ["b", "a"]].map(|c| (*f, c)))
    {
        for start in 0..60 {
            let mut batch = open(format);
            let mut expected = String::new();
            let mut longest = 900 + start * 2;
            while expected.len() < 20_000 {
                batch.table("t", &columns).expect("it takes anything");
                let text = "y".repeat(longest);
                for column in columns {
                    if column == "a" { batch.str(&text) } else { batch.i64(-1_234_567_890) }
                }
                batch.end_row().expect("the row is whole");
                let cells = [("a", &*format!("\"{text}\"")), ("b", "-1234567890")];
                expected += &row(format, "d", "t", &cells);
                let scale = 3 + rng.below(9);
                longest = rng.below(1 << scale) as usize;
            }
            assert_eq!(encoded(&batch), expected);
        }
    }
}

/// Every kind of write right where the memory ends.
#[test]
fn every_write_at_the_end_of_memory() {
    type Write = (fn(&mut RowBatch), &'static str);
    let writes: [Write; 10] = [
        (|batch| batch.null(), "null"),
        (|batch| batch.bool(false), "false"),
        (|batch| batch.u64(u64::MAX), "18446744073709551615"),
        (|batch| batch.f64(-1.0625e-9), "-1.0625e-9"),
        (|batch| batch.f64(123.456), "123.456"),
        (|batch| batch.str("<"), "\"\\u003c\""),
        (
            |batch| batch.str("abcdefghijklmnopqrstuvwxyzabcdefghi\u{2028}"),
            "\"abcdefghijklmnopqrstuvwxyzabcdefghi\\u2028\"",
        ),
        (
            |batch| batch.bytes(&[0; 50]),
            "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"",
        ),
        (|batch| batch.json("[ 1 , 2 ]"), "[1,2]"),
        (
            |batch| {
                batch.begin_map();
                batch.key("k");
                batch.null();
                batch.end();
            },
            "{\"k\":null}",
        ),
    ];
    for (write, text) in writes {
        for filler in 800..1030 {
            let mut batch = open(Format::Ndjson);
            batch.table("t", &["a", "b"]).expect("the table is new");
            let long = "z".repeat(filler);
            batch.str(&long);
            write(&mut batch);
            batch.end_row().expect("the row is whole");
            let cells = [("a", &*format!("\"{long}\"")), ("b", text)];
            assert_eq!(encoded(&batch), row(Format::Ndjson, "d", "t", &cells), "{filler}");
        }
    }
}

#[test]
fn debug_shows_no_row() {
    let mut batch = one_column();
    batch.str("private");
    batch.end_row().expect("the row is whole");
    batch.str("private");
    let bytes = batch.encoded().len();
    assert_eq!(
        format!("{batch:?}"),
        format!("RowBatch {{ rows: 1, bytes: {bytes}, fault: None, .. }}")
    );
    let shape = format!("{:?}", StepShape::open(Format::Json, "d"));
    assert!(shape.contains("Json") && shape.contains("\"d\""), "{shape}");
    let document = Document::from_batches([]).expect("nothing is wrong");
    assert_eq!(format!("{document:?}"), "Document { len: 2, .. }");
}

fn text_of(document: &Document) -> String {
    let text: Vec<u8> = document.chunks().flatten().copied().collect();
    assert_eq!(document.len(), text.len());
    assert_eq!(document.clone().into_vec(), text);
    assert!(document.chunks().all(|chunk| !chunk.is_empty()));
    assert!(!document.is_empty());
    String::from_utf8(text).expect("UTF-8")
}

#[test]
fn documents_are_put_together() {
    let of = |batches: Vec<RowBatch>| Document::from_batches(batches).expect("nothing is wrong");
    assert_eq!(text_of(&of(Vec::new())), "{}");
    let named = |name: &str| RowBatch::new(StepShape::open(Format::Json, name));
    assert_eq!(text_of(&of(vec![named("d")])), "{\n  \"d\": {}\n}");
    let expected = RowBatch::new(expecting(Format::Json));
    let empty = "{\n  \"d\": {\n    \"t\": [],\n    \"u\": []\n  }\n}";
    assert_eq!(text_of(&of(vec![expected])), empty);
    // Sorted by datasource and table, whatever comes first.
    let mut batch = named("<z>");
    for (table, number) in [("u", 1), ("t", 2), ("t", 3), ("u", 4)] {
        batch.table(table, &["v"]).expect("it takes anything");
        batch.i64(number);
        batch.end_row().expect("the row is whole");
    }
    let cell = |number| format!("\n      {{\n        \"v\": {number}\n      }}");
    let tables = [("t", 2, 3), ("u", 1, 4)]
        .map(|(name, a, b)| format!("\n    \"{name}\": [{},{}\n    ]", cell(a), cell(b)));
    let whole =
        format!("{{\n  \"a\": {{}},\n  \"\\u003cz\\u003e\": {{{}\n  }}\n}}", tables.join(","));
    let sorted = of(vec![batch, named("a")]);
    // `<` sorts before `a`.
    let (a, z) =
        ("\n  \"a\": {}", format!("\n  \"\\u003cz\\u003e\": {{{}\n  }}", tables.join(",")));
    assert_eq!(text_of(&sorted), format!("{{{z},{a}\n}}"));
    assert_eq!(text_of(&sorted).len(), whole.len());
    let none = Document::default();
    assert!(none.is_empty());
    assert_eq!((none.len(), none.chunks().len()), (0, 0));
    assert_eq!(none.into_vec(), []);
}

#[test]
fn a_document_needs_whole_rows() {
    for columns in [["a", "b"], ["b", "a"]] {
        let mut batch = open(Format::Json);
        batch.table("t", &columns).expect("the table is new");
        batch.null();
        assert_eq!(Document::from_batches([batch]).err(), Some(RowFault::Unfinished));
    }
    let mut batch = one_column();
    batch.end();
    assert_eq!(Document::from_batches([batch]).err(), Some(RowFault::Nesting));
}

/// Rows of tables that take turns are gathered, up to the size of a batch.
#[test]
fn pieces_stay_few_and_bounded() {
    let gathered = |first: usize, second: usize| {
        let mut batch = open(Format::Json);
        row_of(&mut batch, "t", first);
        row_of(&mut batch, "u", 100);
        row_of(&mut batch, "t", second);
        row_of(&mut batch, "u", 100);
        let document = Document::from_batches([batch]).expect("nothing is wrong");
        let text = text_of(&document);
        assert_eq!(text.matches("\"v\": \"").count(), 4);
        document.chunks().len()
    };
    // Glue, rows of t, glue, rows of u, glue, glue.
    assert_eq!(gathered(100, 100), 6);
    assert_eq!(gathered(FULL - 1000, 1000), 6);
    assert_eq!(gathered(FULL - 1000, 1001), 7);
    assert_eq!(gathered(1000, FULL - 1000), 6);
    assert_eq!(gathered(1000, FULL - 999), 7);
    assert_eq!(gathered(FULL + 5, 100), 7);
}
