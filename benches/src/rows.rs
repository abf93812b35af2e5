//! Rows that are ready before the clock starts: what is measured is what is done with them.

use fetcher_engine::encode::{RowBatch, RowFault};

/// How many different rows there are; more are the same ones over again.
const POOL: u32 = 10_000;

/// The table.
pub(crate) const TABLE: &str = "customers";

/// Its columns, sorted: the order in which [`Row::write`] writes.
pub(crate) const COLUMNS: [&str; 8] =
    ["active", "amount", "created_at", "email", "id", "name", "note", "uuid"];

/// One row of the table.
pub(crate) struct Row {
    pub(crate) active: bool,
    pub(crate) amount: f64,
    pub(crate) created_at: String,
    pub(crate) email: String,
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) note: Option<String>,
    pub(crate) uuid: String,
}

impl Row {
    fn new(i: u32) -> Self {
        let note = || format!("note for row {i} with \"quotes\" and a tab\t");
        Self {
            active: i.is_multiple_of(2),
            amount: f64::from(i) * 1.25,
            created_at: "2024-03-01T12:34:56.789Z".to_owned(),
            email: format!("customer{i}@example.com"),
            id: i64::from(i),
            name: format!("Customer {i}"),
            note: (!i.is_multiple_of(3)).then(note),
            uuid: uuid(i),
        }
    }

    /// Writes the values, in the order of [`COLUMNS`], and does not end the row.
    #[inline]
    pub(crate) fn write(&self, batch: &mut RowBatch) {
        batch.bool(self.active);
        batch.f64(self.amount);
        batch.str(&self.created_at);
        batch.str(&self.email);
        batch.i64(self.id);
        batch.str(&self.name);
        match &self.note {
            Some(note) => batch.str(note),
            None => batch.null(),
        }
        batch.str(&self.uuid);
    }
}

/// The text of an identifier that looks random and is not.
fn uuid(i: u32) -> String {
    let mut word = u64::from(i);
    let mut next = || {
        word = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed ^ (mixed >> 31)
    };
    let (a, b) = (next(), next());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        a >> 32,
        a >> 16 & 0xFFFF,
        a & 0xFFF,
        0x8000 | b >> 48 & 0x3FFF,
        b & 0xFFFF_FFFF_FFFF
    )
}

/// All the different rows.
pub(crate) fn pool() -> Vec<Row> {
    (0..POOL).map(Row::new).collect()
}

/// How far a reader has come in so many rows.
pub(crate) struct Cursor {
    left: u64,
    at: usize,
}

impl Cursor {
    /// At the first row.
    pub(crate) fn new(rows: u64) -> Self {
        Self { left: rows, at: 0 }
    }

    /// The next row.
    #[inline]
    pub(crate) fn next<'a>(&mut self, pool: &'a [Row]) -> Option<&'a Row> {
        self.left = self.left.checked_sub(1)?;
        let row = pool.get(self.at)?;
        self.at += 1;
        if self.at == pool.len() {
            self.at = 0;
        }
        Some(row)
    }

    /// Whether every row was read.
    pub(crate) fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Writes rows until the batch is full or there are no more.
    #[inline]
    pub(crate) fn fill(&mut self, pool: &[Row], batch: &mut RowBatch) -> Result<(), RowFault> {
        batch.table(TABLE, &COLUMNS)?;
        while !batch.is_full()
            && let Some(row) = self.next(pool)
        {
            row.write(batch);
            batch.end_row()?;
        }
        Ok(())
    }
}
