//! A datasource on the bench: loaded, connected to, read to its end, and held against the values
//! that it was loaded with.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use super::super::bench::At;
use super::{Fixture, Subject, Table, samples};
use crate::connection::ConnectionDescriptor;
use crate::encode::{Format, RowBatch, StepShape};
use crate::extraction::PlannedTable;
use crate::filter::Filter;
use crate::ports::{Connector, ConnectorContext, ConnectorFactory, Fetched, Query};
use crate::value::{Value, ValueKind};

/// How many fetches beyond one per row there may be that give nothing.
const IDLE_MAX: usize = 1000;

/// The lines of a result, sorted.
pub(super) type Lines = Vec<Vec<u8>>;

pub(super) struct Bench {
    pub(super) fixture: Box<dyn Fixture>,
    pub(super) at: At,
}

/// A table with one column per kind given, and rows of values that it can hold.
pub(super) fn table(subject: &dyn Subject, name: &str, kinds: &[ValueKind], rows: usize) -> Table {
    let columns = kinds.iter().enumerate().map(|(n, kind)| (format!("column_{n}"), *kind));
    let value = |row: usize, kind: ValueKind| {
        let held = held(subject, kind);
        // Every fifth is null, in another row of each column.
        let nth = row + kind.as_str().len();
        if nth % 5 == 4 { Value::Null } else { held[nth % held.len()].clone() }
    };
    let rows = (0..rows).map(|row| kinds.iter().map(|kind| value(row, *kind)).collect());
    Table { name: name.into(), columns: columns.collect(), rows: rows.collect() }
}

/// A table with one column, of the subject's first kind.
pub(super) fn small(subject: &dyn Subject, name: &str, rows: usize) -> Table {
    table(subject, name, &subject.kinds()[..1], rows)
}

/// The samples of a kind that the subject can hold.
pub(super) fn held(subject: &dyn Subject, kind: ValueKind) -> Vec<Value> {
    let mut all = samples(kind);
    all.retain(|value| subject.holds(kind, value));
    assert!(!all.is_empty(), "the subject declares {kind} and holds no sample of it");
    all
}

impl Bench {
    pub(super) async fn load(subject: &dyn Subject, at: At, tables: &[Table]) -> Self {
        Self { fixture: subject.load(tables).await, at }
    }

    pub(super) fn factory(&self) -> Arc<dyn ConnectorFactory> {
        let kind = self.fixture.connection().endpoint.kind;
        let factory = self.fixture.registry().factory(&kind);
        factory.unwrap_or_else(|| self.at.fail(format!("a factory for {kind:?}"), "none"))
    }

    pub(super) fn build(&self, connection: ConnectionDescriptor) -> Box<dyn Connector> {
        self.at.ok("build", self.factory().build(ConnectorContext::new(connection)))
    }

    pub(super) async fn connected(&self) -> Box<dyn Connector> {
        let mut connector = self.build(self.fixture.connection());
        self.at.ok("connect", connector.connect().await);
        connector
    }

    /// A connector with an open cursor over these tables.
    pub(super) async fn opened(&self, tables: &[PlannedTable]) -> Box<dyn Connector> {
        let mut connector = self.connected().await;
        self.at.ok("open", connector.open(query(tables)).await);
        connector
    }

    pub(super) async fn close(&self, connector: Box<dyn Connector>) {
        self.at.ok("close", connector.close().await);
    }

    pub(super) fn canonical(&self, name: &str) -> Arc<str> {
        self.factory().canonical_table(name).unwrap_or_else(|| name.into())
    }

    /// All of a table, under these conditions.
    pub(super) fn plan(&self, table: &Table, filters: Vec<Filter>) -> PlannedTable {
        let fields = table.columns.iter().map(|(name, _)| name.as_str());
        PlannedTable::new(self.canonical(&table.name), fields, filters)
    }

    /// All of these tables, as an engine would order them.
    pub(super) fn plans(&self, tables: &[Table]) -> Vec<PlannedTable> {
        let mut plans: Vec<_> = tables.iter().map(|table| self.plan(table, vec![])).collect();
        plans.sort_by(|one, other| one.name().cmp(other.name()));
        plans
    }

    /// The lines of these tables' rows, each under its conditions.
    pub(super) fn expected(&self, tables: &[(&Table, &[Filter])]) -> Lines {
        let plans = tables.iter().map(|(table, _)| self.plan(table, vec![]));
        let mut batch = batch(&plans.collect::<Vec<_>>());
        for (table, filters) in tables {
            let (columns, rows) = (&table.columns, &table.rows);
            let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
            batch.table(&self.canonical(&table.name), &names).expect("the table is planned");
            let keeps =
                |row: &&Vec<Value>| filters.iter().all(|filter| keeps(filter, columns, row));
            for row in rows.iter().filter(keeps) {
                row.iter().for_each(|value| batch.value(value));
                batch.end_row().expect("the row is whole");
            }
        }
        lines(batch.encoded())
    }

    /// Fetches one batch, checks what must always be true of one, and gives its bytes.
    pub(super) async fn fetch(
        &self,
        connector: &mut dyn Connector,
        mut batch: RowBatch,
        per_batch: u64,
    ) -> (RowBatch, Vec<u8>, Fetched) {
        batch.full_after(per_batch);
        let (mut batch, fetched) = self.at.ok("fetch", connector.fetch(batch).await);
        if let Some(fault) = batch.fault() {
            self.at.fail("a batch in order", fault);
        }
        let bytes = batch.encoded().to_vec();
        self.at.ok("the batch", batch.take(Vec::new()).map_err(Into::into));
        (batch, bytes, fetched)
    }

    /// Reads an open connector to its end.
    pub(super) async fn drain(
        &self,
        connector: &mut dyn Connector,
        tables: &[PlannedTable],
        per_batch: u64,
    ) -> Lines {
        let (mut bytes, mut idle) = (Vec::new(), 0);
        let mut batch = batch(tables);
        loop {
            let (back, more, fetched) = self.fetch(connector, batch, per_batch).await;
            bytes.extend_from_slice(&more);
            if fetched == Fetched::End {
                self.declared(&back, tables);
                return lines(&bytes);
            }
            idle += usize::from(more.is_empty());
            self.at.that(idle < IDLE_MAX, "rows or an end", format!("{idle} fetches of nothing"));
            batch = back;
        }
    }

    /// Checks that every table was declared: one without rows is part of a result too.
    fn declared(&self, batch: &RowBatch, tables: &[PlannedTable]) {
        for table in tables {
            let declared = batch.tables().iter().any(|name| **name == *table.name());
            self.at.that(declared, format!("{:?} declared before the end", table.name()), "not");
        }
    }

    /// Opens, reads to the end and closes.
    pub(super) async fn read(&self, tables: &[PlannedTable], per_batch: u64) -> Lines {
        let mut connector = self.opened(tables).await;
        let lines = self.drain(&mut *connector, tables, per_batch).await;
        self.close(connector).await;
        lines
    }

    /// Reads these tables and compares every line.
    pub(super) async fn reads(&self, what: &str, tables: &[Table], per_batch: u64) {
        let all: Vec<_> = tables.iter().map(|table| (table, &[][..])).collect();
        let seen = self.read(&self.plans(tables), per_batch).await;
        self.compare(what, &self.expected(&all), &seen);
    }

    pub(super) fn compare(&self, what: &str, expected: &Lines, seen: &Lines) {
        if expected == seen {
            return;
        }
        let text = |line: Option<&Vec<u8>>| match line {
            Some(line) => String::from_utf8_lossy(line).chars().take(300).collect(),
            None => String::from("no such row"),
        };
        let missing = expected.iter().find(|line| count(expected, line) > count(seen, line));
        let extra = seen.iter().find(|line| count(seen, line) > count(expected, line));
        let counts = format!("({} rows)", expected.len());
        self.at.fail(
            format!("{what} {} {counts}", text(missing)),
            format!("{} ({} rows)", text(extra), seen.len()),
        );
    }

    /// Checks that nothing is held open at the datasource, where somebody knows.
    pub(super) async fn released(&self, when: &str) {
        if let Some(held) = self.fixture.held().await {
            self.at.that(held == 0, format!("nothing held {when}"), held);
        }
    }
}

fn count(all: &Lines, line: &Vec<u8>) -> usize {
    all.iter().filter(|other| *other == line).count()
}

/// Whether a filter, brought to the kind of its column, keeps a row.
fn keeps(filter: &Filter, columns: &[(String, ValueKind)], row: &[Value]) -> bool {
    let at = columns.iter().position(|(name, _)| *name == *filter.field());
    let at = at.expect("a filter is on a column of its table");
    let filter = filter.for_column(columns[at].1).expect("the filter applies");
    filter.matches(&row[at])
}

pub(super) fn query(tables: &[PlannedTable]) -> Query {
    Query::new(tables.into())
}

/// An empty batch for these tables, as an engine would hand it out.
pub(super) fn batch(tables: &[PlannedTable]) -> RowBatch {
    let tables = tables.iter().map(|table| (table.name().into(), table.fields().into()));
    RowBatch::new(StepShape::new(Format::Ndjson, "conformance", tables))
}

pub(super) fn lines(bytes: &[u8]) -> Lines {
    let mut lines: Lines =
        bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    lines.sort_unstable();
    lines
}
