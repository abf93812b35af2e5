//! What values that go in and come out say about themselves: accessors, stable strings, `Debug`
//! without anything private; and how much a request may hold, to the last.

use alloc::collections::BTreeMap;

use fetcher_engine::connection::{HostAttributes, StoredCredential};
use fetcher_engine::extraction::ProtectedBy;
use fetcher_engine::{
    ConnectionInput, ConnectionPatch, ExtractionRequest, Filter, LimitOverrides, Mode, Secret,
};

use super::{brief, mistakes, with};

#[test]
fn connections_show_what_is_harmless() {
    let endpoint = "Endpoint { kind: \"memory\", host: \"h\", port: 7, options: [\"mode\"], .. }";
    let bare = ConnectionInput::new("sales", "memory")
        .host("h")
        .port(7)
        .database("private")
        .username("private")
        .option("mode", "private");
    let shown = |password| {
        let head = "ConnectionInput { name: \"sales\", endpoint: ";
        format!("{head}{endpoint}, has_password: {password}, .. }}")
    };
    assert_eq!(format!("{:?}", bare.endpoint), endpoint);
    assert_eq!(format!("{bare:?}"), shown(false));
    let full = bare.password("private").host_attribute("team", "private");
    assert_eq!(format!("{full:?}"), shown(true));
    assert_eq!(format!("{:?}", full.host_attributes), "HostAttributes(1)");
}

#[test]
fn patches_show_what_is_harmless() {
    let patch = ConnectionPatch::new().database("private").username("private");
    let shown =
        "ConnectionPatch { kind: None, host: None, port: None, changes_password: false, .. }";
    assert_eq!(format!("{patch:?}"), shown);
    let patch = patch.kind("memory").host("h").port(7).password("private");
    let shown = "ConnectionPatch { kind: Some(\"memory\"), host: Some(\"h\"), port: Some(7), \
                 changes_password: true, .. }";
    assert_eq!(format!("{patch:?}"), shown);
}

#[test]
fn credentials_show_their_key_version() {
    let plain = StoredCredential::unprotected(Secret::from("private"));
    assert_eq!(format!("{plain:?}"), "StoredCredential { key_version: None, .. }");
    let protected = StoredCredential::protected(Secret::from("private"), "v2");
    assert_eq!(format!("{protected:?}"), "StoredCredential { key_version: Some(\"v2\"), .. }");
}

#[test]
fn host_attributes_are_the_map_they_were_made_of() {
    let entries = [("team", "red"), ("floor", "2")].map(|(key, value)| (key.into(), value.into()));
    let entries: BTreeMap<String, String> = entries.into();
    assert_eq!(HostAttributes::from(entries.clone()).entries(), &entries);
    assert_eq!(HostAttributes::default().entries(), &BTreeMap::new());
}

#[test]
fn modes_and_protectors_have_their_names() {
    let modes = [(Mode::Auto, "auto"), (Mode::Direct, "direct"), (Mode::Store, "store")];
    for (mode, name) in modes {
        assert_eq!(mode.as_str(), name);
        assert_eq!(Mode::parse(name), Some(mode));
    }
    for name in ["", "Auto", "auto ", "stored"] {
        assert_eq!(Mode::parse(name), None, "{name}");
    }
    assert_eq!(Mode::default(), Mode::Auto);
    let protectors = [ProtectedBy::Engine, ProtectedBy::Adapter, ProtectedBy::Host];
    assert_eq!(protectors.map(ProtectedBy::as_str), ["engine", "adapter", "host"]);
}

#[test]
fn a_request_shows_its_tables() {
    let request = ExtractionRequest::new()
        .table("sales", "orders", ["total", "id", "total"])
        .table("crm", "people", ["*"])
        .filter("sales", "orders", Filter::eq("id", 1));
    let tables = request.tables().iter().map(|table| {
        let fields: Vec<&str> = table.fields().iter().map(|field| &**field).collect();
        (table.datasource(), table.table(), fields)
    });
    let expected = [("sales", "orders", vec!["id", "total"]), ("crm", "people", vec!["*"])];
    assert_eq!(tables.collect::<Vec<_>>(), expected);
    assert!(ExtractionRequest::new().tables().is_empty());
}

/// To the last entry and the last byte, and not one more.
#[test]
fn metadata_is_bounded_exactly() {
    let (host, engine) = with(&["sales"]);
    let planned = |request: ExtractionRequest| {
        let request = request.table("sales", "people", ["id"]);
        host.run(engine.plan_extraction("acme", &request)).map_err(|error| brief(&error))
    };
    let many = |count: usize| {
        let add = |request: ExtractionRequest, at: usize| request.metadata(at.to_string(), "");
        (0..count).fold(ExtractionRequest::new(), add)
    };
    let long = |bytes: usize| {
        let half = bytes / 2;
        ExtractionRequest::new().metadata("k".repeat(half), "v".repeat(bytes - half))
    };
    let refused = "validation/validate: request metadata is not valid";
    assert!(planned(many(256)).is_ok());
    assert_eq!(planned(many(257)).unwrap_err(), refused);
    assert!(planned(long(64 << 10)).is_ok());
    assert_eq!(planned(long((64 << 10) + 1)).unwrap_err(), refused);
}

/// Filters may be at as many places as a request may have tables, each with as many filters as
/// fields; what is more is one mistake, not thousands.
#[test]
fn filters_are_bounded_exactly() {
    let (host, engine) = with(&["sales"]);
    let mut limits = LimitOverrides::default();
    (limits.max_datasources, limits.max_tables_per_datasource) = (3, 4);
    limits.max_fields_per_table = 5;
    let bounded = || {
        let request = ExtractionRequest::new().limits(limits.clone());
        request.table("sales", "people", ["id"])
    };
    let places = |count: usize| {
        let add = |request: ExtractionRequest, at: usize| {
            request.filter("nowhere", at.to_string(), Filter::eq("id", 1))
        };
        mistakes(&host, &engine, &(0..count).fold(bounded(), add))
    };
    assert_eq!(places(12).len(), 12);
    let too_many = "limit_exceeded: more filters than limits.maxFieldsPerTable allows";
    assert_eq!(places(13), [format!(" {too_many}")]);
    assert_eq!(places(500).len(), 1);
    let filters = |count: i64| {
        let add = |request: ExtractionRequest, at| {
            request.filter("sales", "people", Filter::eq("id", at))
        };
        mistakes(&host, &engine, &(0..count).fold(bounded(), add))
    };
    assert_eq!(filters(5), Vec::<String>::new());
    assert_eq!(filters(6), [format!("sales.people {too_many}")]);
}
