//! The fixed texts that errors show. One place, so that they can be read, compared and pinned.

use super::{Category, Stage};

pub(crate) const REGISTRY_REQUIRED: &str = "connector registry is required";
pub(crate) const PROTECTOR_REQUIRED: &str =
    "credential protector is required when encrypted persistence is enabled";
pub(crate) const STORE_REQUIRED: &str = "connection store is not configured";
pub(crate) const SINK_REQUIRED: &str = "store mode requires a configured result sink";
pub(crate) const TIMER_REQUIRED: &str = "a deadline requires a runtime with a timer";
pub(crate) const COLLECT_NEEDS_DIRECT: &str = "failure policy collect requires direct mode";
pub(crate) const REQUEST_ID_REQUIRED: &str =
    "request id is required when an execution store is configured";

pub(crate) const TENANT_INVALID: &str = "tenant id is not valid";
pub(crate) const REQUEST_ID_INVALID: &str = "request id is not valid";
pub(crate) const NAME_INVALID: &str = "connection name is not valid";
pub(crate) const ID_INVALID: &str = "connection id is not valid";
pub(crate) const KIND_INVALID: &str = "connection type is not valid";
pub(crate) const KIND_UNKNOWN: &str = "connection type is not registered";
pub(crate) const DETAIL_INVALID: &str = "connection detail is not valid";
pub(crate) const PATCH_EMPTY: &str = "connection patch changes nothing";

pub(crate) const NOT_FOUND: &str = "connection is not found";
pub(crate) const DUPLICATE: &str = "a connection of this name exists already";
pub(crate) const IN_USE: &str = "connection has active executions";
pub(crate) const CHANGED: &str = "connection was changed after the plan was made";

pub(crate) const REQUEST_EMPTY: &str = "request names no datasource";
pub(crate) const FIELDS_EMPTY: &str = "table names no field";
pub(crate) const DATASOURCE_NAME_INVALID: &str = "datasource name is not valid";
pub(crate) const TABLE_NAME_INVALID: &str = "table name is not valid";
pub(crate) const FIELD_NAME_INVALID: &str = "field name is not valid";
pub(crate) const TABLE_TWICE: &str = "table is requested more than once";
pub(crate) const METADATA_INVALID: &str = "request metadata is not valid";

pub(crate) const TOO_MANY_DATASOURCES: &str = "more datasources than limits.maxDatasources allows";
pub(crate) const TOO_MANY_TABLES: &str = "more tables than limits.maxTablesPerDatasource allows";
pub(crate) const TOO_MANY_FIELDS: &str = "more fields than limits.maxFieldsPerTable allows";
pub(crate) const TOO_MANY_FILTERS: &str = "more filters than limits.maxFieldsPerTable allows";
pub(crate) const TOO_MANY_BYTES: &str = "result is larger than limits.maxResultBytes allows";
pub(crate) const TOO_MANY_ROWS: &str = "result has more rows than limits.maxRows allows";

pub(crate) const DATASOURCE_UNKNOWN: &str = "datasource is not found";
pub(crate) const TABLE_UNKNOWN: &str = "table is not found";
pub(crate) const FIELD_UNKNOWN: &str = "field is not found";
pub(crate) const FILTER_DATASOURCE: &str = "filter names a datasource that is not requested";
pub(crate) const FILTER_TABLE: &str = "filter names a table that is not requested";
pub(crate) const FILTER_FIELD: &str = "filter names a field that is not requested";

pub(crate) const DEADLINE: &str = "deadline passed";
pub(crate) const CANCELED: &str = "canceled by the host";
pub(crate) const PANIC: &str = "a port panicked";
pub(crate) const BATCH_BROKEN: &str = "connector broke the row batch contract";
pub(crate) const ROWS_DIFFER: &str = "rows read, encoded and written differ";

/// The text of a refused request.
pub(crate) const fn refused(category: Category) -> &'static str {
    match category {
        Category::LimitExceeded => "request exceeds a limit",
        Category::NotFound => DATASOURCE_UNKNOWN,
        _ => "request does not match the schema",
    }
}

/// The text of a port's failure at a stage.
pub(crate) const fn port_failure(stage: Stage) -> &'static str {
    match stage {
        Stage::Store => "connection store failed",
        Stage::Check => "active executions cannot be checked",
        Stage::Protect => "credential cannot be protected",
        Stage::Build => "connector cannot be built",
        Stage::Connect => "datasource cannot be connected to",
        Stage::Discover => "schema cannot be discovered",
        Stage::Query => "query was refused",
        Stage::Read => "rows cannot be read",
        Stage::Encode => "rows cannot be encoded",
        Stage::Persist => "result cannot be persisted",
        Stage::Close => "connector cannot be closed",
        Stage::Cache => "schema cache failed",
        Stage::Record => "execution state cannot be stored",
        Stage::Configure | Stage::Validate | Stage::Run => "operation failed",
    }
}
