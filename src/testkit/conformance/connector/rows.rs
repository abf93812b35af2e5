//! Rows: all of them, of one moment, exact, and the batches that they come in.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::bench::{Bench, batch, held, lines, small, table};
use super::{Subject, Table, at, run};
use crate::error::Category;
use crate::ports::Fetched;
use crate::value::{Value, ValueKind};

/// What others add after `open` is not read, in no table.
pub fn c14_one_snapshot_for_all_tables(subject: &dyn Subject) {
    run(subject, async {
        let tables = [small(subject, "first", 4), small(subject, "second", 4)];
        let bench = Bench::load(subject, at(14), &tables).await;
        let plans = bench.plans(&tables);
        let mut connector = bench.opened(&plans).await;
        let (batch, mut rows, mut fetched) = bench.fetch(&mut *connector, batch(&plans), 1).await;
        for table in &tables {
            if !bench.fixture.append(&table.name, &table.rows).await {
                return bench.close(connector).await;
            }
        }
        let mut batch = Some(batch);
        while fetched == Fetched::More {
            let current = batch.take().expect("it came back");
            let (back, more, now) = bench.fetch(&mut *connector, current, 1).await;
            rows.extend_from_slice(&more);
            (batch, fetched) = (Some(back), now);
        }
        bench.close(connector).await;
        let before: Vec<_> = tables.iter().map(|table| (table, &[][..])).collect();
        bench.compare("as of open:", &bench.expected(&before), &lines(&rows));

        let doubled = tables.map(|mut table| {
            table.rows.extend_from_within(..);
            table
        });
        bench.reads("as of the next open:", &doubled, 100).await;
    });
}

/// The rows that are in a batch already stay in it, and the batch remembers when it is full.
pub fn c19_the_batch_comes_back(subject: &dyn Subject) {
    run(subject, async {
        let table = small(subject, "plain", 6);
        let bench = Bench::load(subject, at(19), core::slice::from_ref(&table)).await;
        let plans = [bench.plan(&table, vec![])];
        let mut connector = bench.opened(&plans).await;
        let (mut batch, mut before) = (batch(&plans), Vec::new());
        loop {
            let limit = batch.rows() + 1;
            batch.full_after(limit);
            let (back, fetched) = bench.at.ok("fetch", connector.fetch(batch).await);
            let kept = back.encoded().starts_with(&before) && back.rows() <= limit;
            bench.at.that(kept, "the batch that was given, with its rows", "another batch");
            if fetched == Fetched::End {
                let expected = bench.expected(&[(&table, &[])]);
                bench.compare("in one batch:", &expected, &lines(back.encoded()));
                break;
            }
            before = back.encoded().to_vec();
            batch = back;
        }
        bench.close(connector).await;
    });
}

/// Every fetch brings rows or the end, or there was nothing at hand, which does not last.
pub fn c20_rows_or_an_end(subject: &dyn Subject) {
    run(subject, async {
        let tables = [small(subject, "empty", 0), small(subject, "plain", 30)];
        let bench = Bench::load(subject, at(20), &tables).await;
        for per_batch in [1, 7, 1000] {
            let seen = bench.read(&bench.plans(&tables), per_batch).await;
            bench.at.same("rows:", &tables[1].rows.len(), &seen.len());
        }
    });
}

/// A batch that is full goes back: by the number of its rows, and by their size.
pub fn c21_a_full_batch_goes_back(subject: &dyn Subject) {
    run(subject, async {
        let tables = [small(subject, "first", 9), small(subject, "second", 9)];
        let bench = Bench::load(subject, at(21), &tables).await;
        let plans = bench.plans(&tables);
        for per_batch in [1, 2, 5] {
            let mut connector = bench.opened(&plans).await;
            let mut batch = batch(&plans);
            loop {
                let (back, bytes, fetched) = bench.fetch(&mut *connector, batch, per_batch).await;
                let rows = lines(&bytes).len() as u64;
                bench.at.that(rows <= per_batch, format!("at most {per_batch} rows"), rows);
                if fetched == Fetched::End {
                    break;
                }
                batch = back;
            }
            bench.close(connector).await;
        }
        full_by_size(subject).await;
    });
}

/// Large rows go out before they pile up.
async fn full_by_size(subject: &dyn Subject) {
    let Some(kind) = large_kinds(subject).first().copied() else { return };
    let cell = subject.cell_bytes_max().min(100_000);
    let rows = vec![vec![large(kind, cell)]; 12];
    let table = Table { name: "plain".into(), columns: vec![("large".into(), kind)], rows };
    let bench = Bench::load(subject, at(21), core::slice::from_ref(&table)).await;
    let plans = [bench.plan(&table, vec![])];
    let line = bench.expected(&[(&table, &[])])[0].len();
    let mut connector = bench.opened(&plans).await;
    let mut batch = batch(&plans);
    loop {
        let (back, bytes, fetched) = bench.fetch(&mut *connector, batch, u64::MAX).await;
        // Full before the last row: one row more than what makes it full.
        let most = (256 << 10) + line;
        bench.at.that(bytes.len() <= most, format!("at most {most} bytes"), bytes.len());
        if fetched == Fetched::End {
            return bench.close(connector).await;
        }
        batch = back;
    }
}

/// The end comes after every row of every table, and after every table was declared.
pub fn c22_end_after_every_row_of_every_table(subject: &dyn Subject) {
    run(subject, async {
        let sizes = [("a", 3), ("b", 0), ("c", 1), ("d", 0), ("e", 8), ("f", 0)];
        let tables: Vec<_> = sizes.iter().map(|(name, rows)| small(subject, name, *rows)).collect();
        let bench = Bench::load(subject, at(22), &tables).await;
        for per_batch in [1, 2, 3, 12, 1000] {
            bench.reads("all tables:", &tables, per_batch).await;
            for table in &tables {
                bench.reads("alone:", core::slice::from_ref(table), per_batch).await;
            }
        }
    });
}

/// Every value of every kind comes out as the bytes of that value.
pub fn c23_every_value_exact(subject: &dyn Subject) {
    run(subject, async {
        let kinds = subject.kinds();
        let mut tables = vec![table(subject, "wide", &kinds, 20)];
        for kind in &kinds {
            let mut rows: Vec<_> = held(subject, *kind).into_iter().map(|it| vec![it]).collect();
            rows.push(vec![Value::Null]);
            let columns = vec![(String::from("value"), *kind)];
            tables.push(Table { name: format!("of_{kind}"), columns, rows });
        }
        let bench = Bench::load(subject, at(23), &tables).await;
        for table in &tables {
            bench.reads("exactly", core::slice::from_ref(table), 7).await;
        }
        bench.reads("exactly", &tables, 1000).await;
    });
}

/// The kinds that have large values.
fn large_kinds(subject: &dyn Subject) -> Vec<ValueKind> {
    let mut kinds = subject.kinds();
    kinds.retain(|kind| matches!(kind, ValueKind::String | ValueKind::Bytes));
    kinds
}

/// A value of so many bytes in which a byte that is lost or doubled shows.
fn large(kind: ValueKind, bytes: usize) -> Value {
    let mut text = String::with_capacity(bytes + 40);
    for n in 0_u64.. {
        if text.len() + 40 > bytes {
            break;
        }
        text.push_str(&format!("{n} \"na\u{ef}ve\" \u{1F980}\n"));
    }
    text.extend(core::iter::repeat_n('x', bytes - text.len()));
    match kind {
        ValueKind::Bytes => Value::Bytes(text.into_bytes()),
        _ => Value::String(text),
    }
}

/// Cells of several megabytes, between small ones.
pub fn c24_however_large(subject: &dyn Subject) {
    run(subject, async {
        for kind in large_kinds(subject) {
            let sizes = [3, subject.cell_bytes_max(), 0, subject.cell_bytes_max() / 2, 1];
            let rows = sizes.iter().map(|size| vec![large(kind, *size)]).collect();
            let columns = vec![(String::from("value"), kind)];
            let table = Table { name: "plain".into(), columns, rows };
            let bench = Bench::load(subject, at(24), core::slice::from_ref(&table)).await;
            bench.reads("of any size", core::slice::from_ref(&table), 1000).await;
        }
    });
}

/// A connection that breaks is `unavailable`, however many rows were read, and never an end.
pub fn c25_a_broken_connection_is_no_end(subject: &dyn Subject) {
    run(subject, async {
        let table = small(subject, "plain", 50);
        let bench = Bench::load(subject, at(25), core::slice::from_ref(&table)).await;
        let plans = [bench.plan(&table, vec![])];
        let mut connector = bench.connected().await;
        if !bench.fixture.break_off(&table.name).await {
            return bench.close(connector).await;
        }
        let opened = connector.open(super::bench::query(&plans)).await;
        if opened.is_err() {
            return bench.at.refused("open", Category::Unavailable, opened);
        }
        let mut batch = batch(&plans);
        for _ in 0..=table.rows.len() {
            batch.full_after(1);
            match connector.fetch(batch).await {
                Ok((back, Fetched::More)) => batch = back,
                Ok((_, Fetched::End)) => bench.at.fail("an error", "the end"),
                broken => {
                    bench.at.refused("a broken connection", Category::Unavailable, broken);
                    // It may fail to say goodbye, too.
                    let _ = connector.close().await;
                    return bench.released("after an error").await;
                }
            }
            batch = {
                batch.take(Vec::new()).expect("the batch is in order");
                batch
            };
        }
        bench.at.fail("an error", "all rows");
    });
}
