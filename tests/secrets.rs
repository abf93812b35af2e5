//! Secrets stay where they belong: whatever port call fails in whatever way, in every operation,
//! nothing that comes out shows a password, a ciphertext, an option, a row, an operand or the words
//! of a driver; and the host's own hook is told the cause.

#![cfg(feature = "std")]

extern crate alloc;

mod common;
#[path = "secrets/world.rs"]
mod world;

use core::fmt::{Binary, Debug, Display, LowerHex, Pointer};
use core::hash::Hash;
use core::marker::PhantomData;
use std::io::Write;

use fetcher_engine::connection::{ConnectionDraft, StoredCredential};
use fetcher_engine::encode::{Format, RowBatch, RowFault, StepShape};
use fetcher_engine::ports::{ConnectorContext, Protected, Query};
use fetcher_engine::{Category, FailurePolicy, Filter, Mode, PortError, Secret, TenantId};

use common::{Act, Operation, PLANTED, Payload, When};
use world::{
    ATTRIBUTE, BESIDE, CAUSE, DATABASE, LIMIT, NEW_PASSWORD, OPERAND, OPTION, PASSWORD, ROW,
    Scenario, USER, World, input, patch, request,
};

/// How a secret may look when it has gone where it should not.
struct Needles(Vec<String>);

impl Needles {
    fn new() -> Self {
        let mut needles = vec![PLANTED.to_owned(), PLANTED.to_uppercase()];
        needles.extend(forms(PLANTED.as_bytes()));
        // The protector of these tests flips every bit, so the ciphertexts begin alike, too.
        let flipped: Vec<u8> = PLANTED.bytes().map(|byte| !byte).collect();
        needles.extend(forms(&flipped));
        Self(needles)
    }

    fn find(&self, seen: &[String]) -> Option<String> {
        let is_leak = |text: &&String| self.0.iter().any(|needle| text.contains(&**needle));
        seen.iter().find(is_leak).cloned()
    }
}

/// Bytes as lists, as hexadecimal digits, and as the lossy text of them.
fn forms(bytes: &[u8]) -> Vec<String> {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let list = format!("{bytes:?}");
    let lines: String = bytes.iter().map(|byte| format!("{byte}, ")).collect();
    vec![
        list.trim_matches(['[', ']']).to_owned(),
        lines.trim_end_matches(", ").to_owned(),
        hex.to_uppercase(),
        hex,
        bytes.escape_ascii().to_string(),
    ]
}

/// Calls that have no way to answer with an error.
fn is_infallible(line: &str) -> bool {
    let calls = ["span.", "registry.", "factory.canonical", "runtime.", "host."];
    calls.iter().any(|call| line.starts_with(call))
}

/// Calls whose panics are nobody's failure: observing, and the clock, which is then no clock.
fn is_ignored(line: &str) -> bool {
    line.starts_with("span.") || line.starts_with("runtime.")
}

/// Every way for a call to go wrong, and whether there is a cause to be told.
fn acts(line: &str) -> Vec<(Act, bool)> {
    let mut acts = Vec::new();
    let is_future = !is_infallible(line) && !line.starts_with("factory.build");
    for category in Category::ALL {
        if !is_infallible(line) {
            acts.push((Act::Leak(category, CAUSE), true));
        }
        if is_future {
            acts.push((Act::LeakLater(category, CAUSE), true));
        }
    }
    for payload in [Payload::Str, Payload::String, Payload::Other] {
        let told = !is_ignored(line);
        acts.push((Act::Blow(payload, When::AtOnce, CAUSE), told));
        if is_future {
            acts.push((Act::Blow(payload, When::Polled, CAUSE), told));
        }
    }
    acts
}

/// What the host must hear of this act.
fn expected(act: Act) -> &'static str {
    match act {
        Act::Blow(Payload::Other, ..) => "a panic without text",
        _ => CAUSE,
    }
}

/// Says something whether or not the test harness captures what tests print.
fn say(line: &str) {
    // A closed stdout is no failure of a test.
    let _ = writeln!(std::io::stdout(), "{line}");
}

#[test]
fn no_failing_call_of_any_operation_shows_a_secret_and_every_cause_is_told() {
    let needles = Needles::new();
    let mut paths = 0;
    for scenario in Scenario::all() {
        let world = World::new(scenario);
        let (succeeded, seen) = world.run();
        assert!(succeeded, "{scenario:?}: {seen:?}");
        assert_eq!(needles.find(&seen), None, "{scenario:?}");
        let calls = world.host.probe.entered();
        assert!(!calls.is_empty());
        for (at, line) in calls.iter().enumerate() {
            for (act, is_told) in acts(line) {
                let world = World::new(scenario);
                world.host.probe.on_call(at, act);
                let (_, seen) = world.run();
                let place = format!("{scenario:?}, call {at} ({line}), {act:?}");
                assert_eq!(world.host.probe.entered().get(at), Some(line), "{place}");
                assert_eq!(needles.find(&seen), None, "{place}");
                let heard = world.ear.private.lock().unwrap().clone();
                let told = heard.iter().any(|cause| cause == expected(act));
                assert_eq!(told, is_told, "{place}: {heard:?}");
                paths += 1;
            }
        }
    }
    say(&format!("paths={paths} leaks=0"));
    assert!(paths > 5_000, "{paths}");
}

#[test]
fn of_two_failing_calls_both_causes_are_told_and_neither_is_seen() {
    let needles = Needles::new();
    let (mut paths, mut lost) = (0, Vec::new());
    for scenario in Scenario::all() {
        let world = World::new(scenario);
        world.run();
        let calls = world.host.probe.entered();
        for (first, line) in calls.iter().enumerate().filter(|(_, line)| !is_infallible(line)) {
            for second in first + 1.. {
                let world = World::new(scenario);
                world.host.probe.on_call(first, Act::Leak(Category::Unavailable, CAUSE));
                world.host.probe.on_call(second, Act::Leak(Category::Forbidden, BESIDE));
                let (_, seen) = world.run();
                let entered = world.host.probe.entered();
                let Some(other) = entered.get(second) else {
                    break;
                };
                let place = format!("{scenario:?}: {line} (call {first}), {other} (call {second})");
                assert_eq!(needles.find(&seen), None, "{place}");
                let heard = world.ear.private.lock().unwrap().clone();
                let is_told = |cause: &str| heard.iter().any(|told| told == cause);
                if !is_told(CAUSE) || !(is_infallible(other) || is_told(BESIDE)) {
                    lost.push(format!("{place}: {heard:?}"));
                }
                paths += 1;
            }
        }
    }
    say(&format!("paths={paths} leaks=0"));
    assert!(lost.is_empty(), "{} causes that nobody was told: {lost:#?}", lost.len());
}

/// All that a value shows in print.
fn shown(value: &dyn Debug) -> Vec<String> {
    vec![format!("{value:?}"), format!("{value:#?}")]
}

#[test]
fn nothing_that_holds_a_secret_prints_it() {
    let world = World::new(Scenario::Execute(Mode::Direct, FailurePolicy::Collect));
    let plan = world.plan.clone().unwrap();
    let (draft, password) = input("sales", PASSWORD).into_draft().unwrap();
    assert_eq!(password.unwrap().expose(), PASSWORD.as_bytes());
    let id = fetcher_engine::connection::ConnectionId::parse("connection-1").unwrap();
    let tenant = TenantId::parse("acme").unwrap();
    let draft_shown = shown(&draft);
    let descriptor = ConnectionDraft::clone(&draft).into_descriptor(tenant, id);
    let context = ConnectorContext::new(descriptor.clone());
    let mut batch = RowBatch::new(StepShape::open(Format::Ndjson, "sales"));
    batch.table("people", &["name"]).unwrap();
    batch.str(ROW);
    batch.end_row().unwrap();
    let error = PortError::internal().caused_by(CAUSE).at_table(CAUSE);
    let stored = StoredCredential::protected(Secret::from(PASSWORD), "key-1");
    let options = world.options(Mode::Direct, FailurePolicy::Collect);
    let mut seen = draft_shown;
    let holders: [&dyn Debug; 20] = [
        &input("sales", PASSWORD),
        &patch(),
        &descriptor,
        &descriptor.endpoint,
        &descriptor.host_attributes,
        &descriptor.fingerprint(),
        &context,
        &request(),
        &Filter::eq("name", OPERAND),
        &plan,
        &Query::new(plan.steps()[0].tables().into()),
        &options,
        &batch,
        &error,
        &stored,
        &StoredCredential::unprotected(Secret::from(PASSWORD)),
        &Protected::new(PASSWORD, "key-1"),
        &world.engine,
        &world.builder,
        &world.host.store,
    ];
    holders.iter().for_each(|holder| seen.extend(shown(holder)));
    seen.push(format!("{error} {}", PortError::from(RowFault::Arity)));
    assert_eq!(Needles::new().find(&seen), None);
    // They are all in there, or this test would say nothing.
    assert!(core::error::Error::source(&error).is_none());
    assert_eq!(error.cause().unwrap().to_string(), CAUSE);
    assert_eq!(descriptor.endpoint.options["sslKey"], OPTION);
    assert_eq!(descriptor.host_attributes.entries()["owner"], ATTRIBUTE);
    assert_eq!((&*descriptor.endpoint.database, &*descriptor.endpoint.username), (DATABASE, USER));
    assert!(String::from_utf8_lossy(batch.encoded()).contains(ROW));
    assert!(LIMIT.starts_with(PLANTED) && NEW_PASSWORD.starts_with(PLANTED));
}

#[test]
fn a_direct_result_holds_rows_and_prints_none() {
    let world = World::new(Scenario::Execute(Mode::Direct, FailurePolicy::FailFast));
    let options = world.options(Mode::Direct, FailurePolicy::FailFast);
    let plan = world.plan.clone().unwrap();
    let result = world.host.run(world.engine.execute_extraction(&plan, options)).unwrap();
    assert!(common::document(&result).contains(ROW), "the rows are in the document");
    assert_eq!(Needles::new().find(&shown(&result)), None);
}

#[test]
fn the_search_finds_what_it_looks_for() {
    let needles = Needles::new();
    let flipped: Vec<u8> = PASSWORD.bytes().map(|byte| !byte).collect();
    let hex: String = PASSWORD.bytes().map(|byte| format!("{byte:02x}")).collect();
    let leaks = [
        format!("Secret({PASSWORD:?})"),
        format!("{:?}", PASSWORD.as_bytes()),
        format!("{:?}", [b"acme:", &flipped[..]].concat()),
        hex.to_uppercase(),
        hex,
    ];
    for leak in leaks {
        assert!(needles.find(std::slice::from_ref(&leak)).is_some(), "{leak}");
    }
    let world = World::new(Scenario::Call(Operation::Get, true));
    let ciphertext = format!("{:?}", world.ciphertext());
    assert!(needles.find(&[ciphertext]).is_some(), "the protector makes what is looked for");
    assert_eq!(needles.find(&["connection is not found".to_owned()]), None);
}

// --- The type that holds secrets.

/// Whether a type has a trait: the method with the bound is found first where the bound holds.
struct Has<T>(PhantomData<T>);

macro_rules! ask {
    ($($method:ident: $trait:path;)+) => {
        #[allow(dead_code, reason = "what a secret has is asked of the type itself")]
        trait Lacks: Sized {
            $(fn $method(&self) -> bool {
                false
            })+
        }
        impl<T> Lacks for Has<T> {}
        $(impl<T: $trait> Has<T> {
            fn $method(&self) -> bool {
                true
            }
        })+
    };
}

ask! {
    debug: Debug;
    display: Display;
    hex: LowerHex;
    binary: Binary;
    pointer: Pointer;
    clone: Clone;
    copy: Copy;
    default: Default;
    partial_ord: PartialOrd;
    hash: Hash;
    text: AsRef<str>;
    bytes: AsRef<[u8]>;
    deref: core::ops::Deref;
    to_string: ToString;
    error: core::error::Error;
    eq: Eq;
    send: Send;
    sync: Sync;
}

#[test]
fn a_secret_has_no_trait_that_shows_copies_or_orders_it() {
    let secret = Has::<Secret>(PhantomData);
    let has = [
        secret.debug(),
        secret.display(),
        secret.hex(),
        secret.binary(),
        secret.pointer(),
        secret.clone(),
        secret.copy(),
        secret.default(),
        secret.partial_ord(),
        secret.hash(),
        secret.text(),
        secret.bytes(),
        secret.deref(),
        secret.to_string(),
        secret.error(),
    ];
    assert_eq!(has, [false; 15]);
    assert!(secret.eq() && secret.send() && secret.sync());
    let text = Has::<String>(PhantomData);
    let has = [text.debug(), text.display(), text.clone(), text.default(), text.partial_ord()];
    assert_eq!(has, [true; 5], "the question can be answered with yes");
    assert!(text.hash() && text.text() && text.bytes() && text.deref() && text.to_string());
    let number = Has::<u8>(PhantomData);
    assert!(number.hex() && number.binary() && number.copy());
    assert!(Has::<*const u8>(PhantomData).pointer() && Has::<PortError>(PhantomData).error());
}

#[test]
fn a_secret_equals_its_bytes_and_nothing_else() {
    let secret = Secret::from(PASSWORD);
    assert!(secret == Secret::new(PASSWORD.as_bytes().to_vec()));
    assert!(secret == Secret::from(PASSWORD.to_owned()));
    for at in 0..PASSWORD.len() {
        let mut bytes = PASSWORD.as_bytes().to_vec();
        bytes[at] ^= 1;
        assert!(secret != Secret::from(bytes), "it differs at {at}");
    }
    for other in ["", "c", &PASSWORD[1..], &PASSWORD[..PASSWORD.len() - 1]] {
        assert!(secret != Secret::from(other), "{other}");
    }
    assert!(secret != Secret::from(format!("{PASSWORD}\0")));
    assert!(Secret::from("") == Secret::new(Vec::new()));
    assert!(Secret::from("").is_empty() && !secret.is_empty());
    // What differs in several bits that cancel each other out is not equal.
    assert!(Secret::from(vec![1, 1]) != Secret::from(vec![0, 0]));
    assert!(Secret::from(vec![0x80, 0x80]) != Secret::from(vec![0, 0]));
}

#[test]
fn a_duplicate_is_a_secret_of_its_own() {
    let secret = Secret::from(PASSWORD);
    let duplicate = secret.duplicate();
    assert!(secret == duplicate);
    assert_ne!(secret.expose().as_ptr(), duplicate.expose().as_ptr());
    drop(secret);
    assert_eq!(duplicate.expose_str(), Some(PASSWORD));
    assert_eq!(Secret::from(vec![0xff, 0xfe]).expose_str(), None);
}
