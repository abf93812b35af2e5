//! How much an extraction may take. Every limit has a default, and a request may only lower it.
//!
//! Keeps true: an effective limit is never above the engine's own; no arithmetic on limits can
//! overflow (they are compared, never added).

use core::time::Duration;

use crate::error::{EngineError, Stage};

/// The limits of an engine, or the effective ones of a plan.
///
/// ```
/// use fetcher_engine::Limits;
///
/// let mut limits = Limits::default();
/// limits.max_rows = 1_000_000;
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Limits {
    /// Datasources in one request. Default 10.
    pub max_datasources: u32,
    /// Tables of one datasource. Default 20.
    pub max_tables_per_datasource: u32,
    /// Fields of one table, after `*` was expanded; also the filters of one table. Default 50.
    pub max_fields_per_table: u32,
    /// Datasources that are open at the same time. Default 4.
    pub max_concurrency: u32,
    /// How long an operation that reaches a datasource may take. Default five minutes. `None`: no
    /// deadline, for hosts that keep time themselves or have no timer.
    pub max_duration: Option<Duration>,
    /// The size of a result, in bytes. Default 256 MiB.
    pub max_result_bytes: u64,
    /// Rows of a result, over all tables. Default: no limit but the bytes (`u64::MAX`).
    pub max_rows: u64,
    /// How long closing, aborting and storing the final state may take once the work has ended,
    /// in whatever way. Default 5 s.
    pub teardown: Duration,
    /// How many bytes a datasource may read ahead while its turn to be written has not come.
    /// Default 8 MiB. It may be overrun by one batch.
    pub read_ahead_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_datasources: 10,
            max_tables_per_datasource: 20,
            max_fields_per_table: 50,
            max_concurrency: 4,
            max_duration: Some(Duration::from_secs(300)),
            max_result_bytes: 256 << 20,
            max_rows: u64::MAX,
            teardown: Duration::from_secs(5),
            read_ahead_bytes: 8 << 20,
        }
    }
}

/// A request's own wishes. Zero inherits the engine's limit; more than it is refused.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct LimitOverrides {
    /// See [`Limits::max_datasources`].
    pub max_datasources: u32,
    /// See [`Limits::max_tables_per_datasource`].
    pub max_tables_per_datasource: u32,
    /// See [`Limits::max_fields_per_table`].
    pub max_fields_per_table: u32,
    /// See [`Limits::max_concurrency`].
    pub max_concurrency: u32,
    /// See [`Limits::max_duration`].
    pub max_duration: Duration,
    /// See [`Limits::max_result_bytes`].
    pub max_result_bytes: u64,
    /// See [`Limits::max_rows`].
    pub max_rows: u64,
    /// See [`Limits::teardown`].
    pub teardown: Duration,
    /// See [`Limits::read_ahead_bytes`].
    pub read_ahead_bytes: u64,
}

impl Limits {
    /// Checks an engine's own limits: none may be zero, because nothing could ever run.
    pub(crate) fn check(&self) -> Result<(), EngineError> {
        let Self {
            max_datasources,
            max_tables_per_datasource,
            max_fields_per_table,
            max_concurrency,
            max_duration,
            max_result_bytes,
            max_rows,
            teardown,
            read_ahead_bytes,
        } = self;
        let zero = [
            (*max_datasources == 0, "limits.maxDatasources must not be zero"),
            (*max_tables_per_datasource == 0, "limits.maxTablesPerDatasource must not be zero"),
            (*max_fields_per_table == 0, "limits.maxFieldsPerTable must not be zero"),
            (*max_concurrency == 0, "limits.maxConcurrency must not be zero"),
            (*max_duration == Some(Duration::ZERO), "limits.maxDuration must not be zero"),
            (*max_result_bytes == 0, "limits.maxResultBytes must not be zero"),
            (*max_rows == 0, "limits.maxRows must not be zero"),
            (teardown.is_zero(), "limits.teardown must not be zero"),
            (*read_ahead_bytes == 0, "limits.readAheadBytes must not be zero"),
        ];
        match zero.into_iter().find(|(is_zero, _)| *is_zero) {
            Some((_, message)) => Err(EngineError::validation(Stage::Configure, message)),
            None => Ok(()),
        }
    }

    /// These limits, lowered by a request's wishes.
    ///
    /// # Errors
    /// `validation` when a wish is above its ceiling; the text names the field.
    pub fn lowered_by(&self, wishes: &LimitOverrides) -> Result<Self, EngineError> {
        let LimitOverrides {
            max_datasources,
            max_tables_per_datasource,
            max_fields_per_table,
            max_concurrency,
            max_duration,
            max_result_bytes,
            max_rows,
            teardown,
            read_ahead_bytes,
        } = wishes;
        let ceiling = self.max_duration.unwrap_or(Duration::MAX);
        let duration = lower(ceiling, *max_duration, "limits.maxDuration is above its ceiling")?;
        Ok(Self {
            max_datasources: lower(
                self.max_datasources,
                *max_datasources,
                "limits.maxDatasources is above its ceiling",
            )?,
            max_tables_per_datasource: lower(
                self.max_tables_per_datasource,
                *max_tables_per_datasource,
                "limits.maxTablesPerDatasource is above its ceiling",
            )?,
            max_fields_per_table: lower(
                self.max_fields_per_table,
                *max_fields_per_table,
                "limits.maxFieldsPerTable is above its ceiling",
            )?,
            max_concurrency: lower(
                self.max_concurrency,
                *max_concurrency,
                "limits.maxConcurrency is above its ceiling",
            )?,
            max_duration: (duration < Duration::MAX).then_some(duration),
            max_result_bytes: lower(
                self.max_result_bytes,
                *max_result_bytes,
                "limits.maxResultBytes is above its ceiling",
            )?,
            max_rows: lower(self.max_rows, *max_rows, "limits.maxRows is above its ceiling")?,
            teardown: lower(self.teardown, *teardown, "limits.teardown is above its ceiling")?,
            read_ahead_bytes: lower(
                self.read_ahead_bytes,
                *read_ahead_bytes,
                "limits.readAheadBytes is above its ceiling",
            )?,
        })
    }
}

/// Whether a count is over its limit.
pub(crate) fn exceeds(count: usize, limit: u64) -> bool {
    u64::try_from(count).is_ok_and(|count| count > limit)
}

/// The wish, or the ceiling where there is none.
fn lower<T: Copy + Default + PartialOrd>(
    ceiling: T,
    wish: T,
    message: &'static str,
) -> Result<T, EngineError> {
    if wish > ceiling {
        Err(EngineError::validation(Stage::Validate, message))
    } else if wish == T::default() {
        Ok(ceiling)
    } else {
        Ok(wish)
    }
}
