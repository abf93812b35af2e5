//! The contract of [`ConnectorRegistry`], [`ConnectorFactory`] and [`Connector`], clause by clause.
//!
//! Rows are compared as the bytes that the engine would write of them: a [`RowBatch`] that the
//! connector fills, against one that is filled with the very values which the tables were loaded
//! with. Their order is the source's affair, so lines are compared sorted.
//!
//! [`Connector`]: crate::ports::Connector
//! [`ConnectorFactory`]: crate::ports::ConnectorFactory
//! [`RowBatch`]: crate::encode::RowBatch

mod bench;
mod factory;
mod filters;
mod rows;
mod samples;
mod steps;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

pub use factory::{
    c1_the_same_type_gives_the_same_answer, c2_no_factory_for_an_unknown_type,
    c3_build_needs_no_datasource_and_no_credential, c4_connectors_share_no_state,
    c5_a_descriptor_of_another_type_is_refused, c6_canonical_names_stay_as_they_are,
};
pub use filters::{
    c15_filters_mean_what_they_say, c16_what_cannot_apply_is_refused_first,
    c17_identifiers_are_quoted_and_values_bound,
};
pub use rows::{
    c14_one_snapshot_for_all_tables, c19_the_batch_comes_back, c20_rows_or_an_end,
    c21_a_full_batch_goes_back, c22_end_after_every_row_of_every_table, c23_every_value_exact,
    c24_however_large, c25_a_broken_connection_is_no_end,
};
pub use samples::samples;
pub use steps::{
    c7_connects_or_is_an_error, c8_connect_resolves_the_credential, c9_never_a_weaker_transport,
    c10_a_dropped_connect_is_released, c11_every_name_as_it_is, c12_only_what_may_be_read,
    c13_a_dropped_discovery_is_released, c18_a_dropped_open_is_released,
    c26_a_dropped_fetch_is_released, c27_close_is_legal_in_every_state,
    c28_nothing_is_held_after_close, c29_a_drop_releases_everything,
};

use super::table;
use crate::connection::ConnectionDescriptor;
use crate::filter::Operator;
use crate::ports::{BoxFuture, ConnectorRegistry};
use crate::value::{Value, ValueKind};

/// A table to be loaded into a datasource.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns, in order. Every one may be null.
    pub columns: Vec<(String, ValueKind)>,
    /// Its rows: one value per column, of its kind or null.
    pub rows: Vec<Vec<Value>>,
}

/// What is put to the test, and what it legally cannot do.
pub trait Subject: Sync {
    /// Runs a future to its end. The default is [`block_on`](crate::block_on).
    fn block_on(&self, future: BoxFuture<'_, ()>) {
        crate::rt::block_on(future);
    }

    /// A datasource with exactly these tables.
    fn load<'a>(&'a self, tables: &'a [Table]) -> BoxFuture<'a, Box<dyn Fixture>>;

    /// The kinds that a column can have: one at least.
    fn kinds(&self) -> Vec<ValueKind>;

    /// Whether a column of this kind can hold this value: NaN, the year 1, the character 0.
    fn holds(&self, kind: ValueKind, value: &Value) -> bool;

    /// Whether this operator can be applied to a column of this kind with exactly the meaning of
    /// [`Filter::matches`](crate::Filter::matches). What cannot must be refused.
    fn supports(&self, operator: Operator, kind: ValueKind) -> bool;

    /// Whether a table or a column can have this name.
    fn accepts_name(&self, name: &str) -> bool;

    /// Whether names that differ in case only are different names.
    fn tells_case(&self) -> bool;

    /// The largest cell, in bytes; several megabytes unless the datasource has less.
    fn cell_bytes_max(&self) -> usize;
}

/// A datasource that was loaded, and what is known of it.
pub trait Fixture: Send + Sync {
    /// The registry that knows the connector.
    fn registry(&self) -> Arc<dyn ConnectorRegistry>;

    /// The connection to the datasource.
    fn connection(&self) -> ConnectionDescriptor;

    /// A connection of the same type to something that is not there.
    fn unreachable(&self) -> ConnectionDescriptor;

    /// A connection of the same type that makes no sense to it. `None` where all make sense.
    fn senseless(&self) -> Option<ConnectionDescriptor>;

    /// The same connection with a wrong password. `None` where there are no passwords.
    fn wrong_password(&self) -> Option<ConnectionDescriptor>;

    /// The same connection, asking for a transport that is safer than what the datasource has.
    /// `None` where that cannot be arranged.
    fn too_safe(&self) -> Option<ConnectionDescriptor>;

    /// How often the credential was asked for until now. `None` where nobody counts.
    fn resolutions(&self) -> Option<u64>;

    /// How much is held open at the datasource: connections, cursors, files. `None` where nobody
    /// knows. Where a datasource notices late, this waits until the count no longer changes.
    fn held(&self) -> BoxFuture<'_, Option<usize>>;

    /// Adds rows to a table, in a session of its own, while others read. `false` where that cannot
    /// be arranged.
    fn append<'a>(&'a self, table: &'a str, rows: &'a [Vec<Value>]) -> BoxFuture<'a, bool>;

    /// Called after `connect` and before `open`: reading this table is to break off after some of
    /// its rows. `false` where that cannot be arranged.
    fn break_off<'a>(&'a self, table: &'a str) -> BoxFuture<'a, bool>;
}

/// The clauses, for whoever makes tests of them.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_connector {
    ([$($then:tt)+] $arguments:tt) => {
        $($then)+ { connector $arguments
            c1_the_same_type_gives_the_same_answer
            c2_no_factory_for_an_unknown_type
            c3_build_needs_no_datasource_and_no_credential
            c4_connectors_share_no_state
            c5_a_descriptor_of_another_type_is_refused
            c6_canonical_names_stay_as_they_are
            c7_connects_or_is_an_error
            c8_connect_resolves_the_credential
            c9_never_a_weaker_transport
            c10_a_dropped_connect_is_released
            c11_every_name_as_it_is
            c12_only_what_may_be_read
            c13_a_dropped_discovery_is_released
            c14_one_snapshot_for_all_tables
            c15_filters_mean_what_they_say
            c16_what_cannot_apply_is_refused_first
            c17_identifiers_are_quoted_and_values_bound
            c18_a_dropped_open_is_released
            c19_the_batch_comes_back
            c20_rows_or_an_end
            c21_a_full_batch_goes_back
            c22_end_after_every_row_of_every_table
            c23_every_value_exact
            c24_however_large
            c25_a_broken_connection_is_no_end
            c26_a_dropped_fetch_is_released
            c27_close_is_legal_in_every_state
            c28_nothing_is_held_after_close
            c29_a_drop_releases_everything
        }
    };
}
crate::__conformance_connector!([table!]());
