//! Rows through a row batch alone: tables in turn, columns in any order and declared anew, all
//! kinds of cells. What comes out is read by `serde_json` and held against an obvious writer.

use fetcher_engine::encode::{Document, Format, RowBatch, RowFault, StepShape};
use fetcher_engine::value::Value;
use serde::de::IgnoredAny;

use super::cells::Cell;
use super::random::{Random, cases};
use super::text::{names, text};
use super::tree::{Tree, assert_same, quote};

/// How deep lists and maps may lie in each other.
const DEPTH_MAX: usize = 128;

/// A row: the table, and what each column has, in the order in which they are declared.
struct Row {
    table: String,
    columns: Vec<String>,
    cells: Vec<Cell>,
}

impl Row {
    fn write(&self, batch: &mut RowBatch) {
        batch.table(&self.table, &self.columns).expect("a table");
        for cell in &self.cells {
            cell.write(batch);
        }
        batch.end_row().expect("a row");
    }

    fn tree(&self) -> Tree {
        let entries = self.columns.iter().zip(&self.cells);
        let mut entries: Vec<(String, Tree)> =
            entries.map(|(column, cell)| (column.clone(), cell.tree())).collect();
        entries.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
        Tree::Map(entries)
    }
}

/// Rows of a few tables; a table's rows need not have the same columns.
fn rows(random: &mut Random) -> Vec<Row> {
    let count = 1 + random.below(3);
    let tables = names(random, count, |_| true);
    let mut layouts = Vec::new();
    for table in &tables {
        let count = random.below(7);
        let mut columns = names(random, count, |_| true);
        match random.below(4) {
            0 => columns.sort(),
            1 => {
                // The same table again, with other columns or in another order.
                let keep = random.below(count + 1);
                let mut fewer = columns.clone();
                random.shuffle(&mut fewer);
                fewer.truncate(keep);
                layouts.push((table.clone(), fewer));
            }
            _ => {}
        }
        layouts.push((table.clone(), columns));
    }
    let row = |random: &mut Random| {
        let (table, columns) = random.of(&layouts);
        let cells = columns.iter().map(|_| Cell::new(random, 3)).collect();
        Row { table, columns, cells }
    };
    (0..random.below(8)).map(|_| row(random)).collect()
}

/// A batch with these rows; now and then a row is begun and dropped.
fn written(random: &mut Random, format: Format, datasource: &str, rows: &[Row]) -> RowBatch {
    let mut batch = RowBatch::new(StepShape::open(format, datasource));
    for row in rows {
        if random.one_in(6) {
            batch.table(&row.table, &row.columns).expect("a table");
            let begun = random.below(row.cells.len() + 1);
            for cell in row.cells.iter().take(begun) {
                cell.write(&mut batch);
            }
            if begun < row.cells.len() && random.one_in(2) {
                batch.begin_list();
            }
            batch.abandon_row();
        }
        row.write(&mut batch);
    }
    assert_eq!(batch.rows(), rows.len() as u64);
    batch
}

#[test]
fn lines_read_back() {
    cases(6000, |random| {
        let datasource = text(random);
        let rows = rows(random);
        let batch = written(random, Format::Ndjson, &datasource, &rows);
        let text = str::from_utf8(batch.encoded()).expect("UTF-8");
        let lines: Vec<&str> = text.split_terminator('\n').collect();
        assert_eq!(lines.len(), rows.len());
        for (line, row) in lines.iter().zip(&rows) {
            let expected = Tree::Map(vec![
                ("config".to_owned(), Tree::Text(datasource.clone())),
                ("table".to_owned(), Tree::Text(row.table.clone())),
                ("row".to_owned(), row.tree()),
            ]);
            let found = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
            assert_same(&found, &expected.value());
            assert_eq!(*line, expected.compact());
        }
    });
}

#[test]
fn documents_read_back() {
    cases(6000, |random| {
        let count = random.below(4);
        let mut datasources: Vec<(String, Vec<Row>)> =
            names(random, count, |_| true).into_iter().map(|name| (name, rows(random))).collect();
        let batches: Vec<RowBatch> = datasources
            .iter()
            .map(|(name, rows)| written(random, Format::Json, name, rows))
            .collect();
        let document = Document::from_batches(batches).expect("rows without a fault");
        let text = String::from_utf8(document.into_vec()).expect("UTF-8");

        datasources.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
        let parts = datasources.into_iter();
        let expected = Tree::Map(parts.map(|(name, rows)| (name, by_table(&rows))).collect());
        let found = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        assert_same(&found, &expected.value());
        assert_eq!(text, expected.pretty(0));
    });
}

/// The rows under their tables, which are sorted.
fn by_table(rows: &[Row]) -> Tree {
    let mut tables: Vec<(String, Vec<Tree>)> = Vec::new();
    for row in rows {
        match tables.iter_mut().find(|(name, _)| *name == row.table) {
            Some((_, of_table)) => of_table.push(row.tree()),
            None => tables.push((row.table.clone(), vec![row.tree()])),
        }
    }
    tables.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
    let tables = tables.into_iter();
    Tree::Map(tables.map(|(name, rows)| (name, Tree::List(rows))).collect())
}

/// The row batch that a cell was written to, and what ending the row said.
fn one_cell(format: Format, write: impl Fn(&mut RowBatch)) -> (RowBatch, Result<(), RowFault>) {
    let mut batch = RowBatch::new(StepShape::open(format, "d"));
    batch.table("t", &["b", "a"]).expect("a table");
    write(&mut batch);
    batch.null();
    let ended = batch.end_row();
    (batch, ended)
}

#[test]
fn nesting_has_a_limit() {
    for depth in [1, 2, DEPTH_MAX - 1, DEPTH_MAX, DEPTH_MAX + 1, 4 * DEPTH_MAX] {
        let nested = (0..depth).fold(Value::Null, |inner, _| Value::List(vec![inner]));
        let nested = |batch: &mut RowBatch| batch.value(&nested);
        let steps = |batch: &mut RowBatch| {
            (0..depth).for_each(|_| batch.begin_list());
            batch.null();
            (0..depth).for_each(|_| batch.end());
        };
        for format in [Format::Json, Format::Ndjson] {
            let (by_value, ended) = one_cell(format, nested);
            let (by_step, step_ended) = one_cell(format, steps);
            assert_eq!(ended, step_ended, "{depth}");
            if depth > DEPTH_MAX {
                assert_eq!(ended, Err(RowFault::TooDeep), "{depth}");
                continue;
            }
            assert_eq!(ended, Ok(()), "{depth}");
            assert_eq!(by_value.encoded(), by_step.encoded(), "{depth}");
            let text = str::from_utf8(by_value.encoded()).expect("UTF-8");
            let row = text.trim_start_matches(",\n");
            serde_json::from_str::<IgnoredAny>(row).expect("JSON");
        }
    }
}

#[test]
fn long_text_is_whole() {
    cases(200, |random| {
        // Past the size of a batch, which the buffer then has to grow for.
        let mut long = super::text::plain(random, 300_000);
        long += &text(random);
        long += &super::text::plain(random, 300);
        let (batch, ended) = one_cell(Format::Ndjson, |batch| batch.str(&long));
        ended.expect("a row");
        let quoted = quote(&long);
        let line = format!(r#"{{"config":"d","table":"t","row":{{"a":null,"b":{quoted}}}}}"#);
        assert_eq!(batch.encoded(), (line + "\n").as_bytes());
    });
}
