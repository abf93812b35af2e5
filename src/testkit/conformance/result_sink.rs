//! The contract of [`ResultSink`] and [`ResultWriter`], clause by clause.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::bench::{At, POLLS_MAX, both, cut, request, tenants};
use super::table;
use crate::encode::Format;
use crate::error::PortError;
use crate::extraction::Receipt;
use crate::ports::{BoxFuture, ResultHeader, ResultSink, ResultWriter};
use crate::tenant::TenantId;

/// What is put to the test.
pub trait Subject: Sync {
    /// Runs a future to its end. The default is [`block_on`](crate::block_on).
    fn block_on(&self, future: BoxFuture<'_, ()>) {
        crate::rt::block_on(future);
    }

    /// An empty sink.
    fn fresh(&self) -> BoxFuture<'_, Box<dyn Fixture>>;
}

/// A sink, and the eyes of its readers.
pub trait Fixture: Send + Sync {
    /// The sink.
    fn sink(&self) -> &dyn ResultSink;

    /// Everything that readers see of this tenant's, by reference.
    fn results<'a>(&'a self, tenant: &'a TenantId) -> BoxFuture<'a, BTreeMap<String, Vec<u8>>>;

    /// How many unfinished results there are: temporary files, uploads. `None` where nobody knows.
    fn unfinished(&self) -> BoxFuture<'_, Option<usize>>;

    /// From now on the storage fails. `false` where that cannot be arranged.
    fn break_down(&self) -> BoxFuture<'_, bool>;
}

/// The clauses, for whoever makes tests of them.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_result_sink {
    ([$($then:tt)+] $arguments:tt) => {
        $($then)+ { result_sink $arguments
            c1_invisible_before_close
            c2_scoped_by_tenant
            c3_two_streams_do_not_disturb_each_other
            c4_a_dropped_open_leaves_nothing
            c5_persist_stores_all_or_nothing
            c6_every_byte_in_the_order_of_the_calls
            c7_close_makes_it_whole_or_fails
            c8_a_dropped_close_is_whole_or_not_there
            c9_abort_discards
            c10_abort_is_legal_in_every_state
            c11_a_dropped_writer_discards
        }
    };
}
crate::__conformance_result_sink!([table!]());

const PIECE: &[u8] = b"{\"config\":\"crm\",\"table\":\"t\",\"row\":{\"id\":1}}\n";

fn header() -> ResultHeader {
    let metadata = [("report".into(), "2024-03 \"final\"".into())].into();
    ResultHeader::new(Format::Ndjson).request_id(Some(request("report"))).metadata(metadata)
}

async fn open(at: At, fixture: &dyn Fixture, tenant: &TenantId) -> Box<dyn ResultWriter> {
    at.ok("open_stream", fixture.sink().open_stream(tenant, header()).await)
}

async fn write(at: At, writer: &mut dyn ResultWriter, bytes: &[u8]) {
    at.ok("write", writer.write(bytes).await);
}

/// Checks that readers see exactly these results, whatever their references.
async fn sees(at: At, when: &str, fixture: &dyn Fixture, tenant: &TenantId, expected: &[&[u8]]) {
    let results = fixture.results(tenant).await;
    let mut seen: Vec<&[u8]> = results.values().map(Vec::as_slice).collect();
    let mut expected = expected.to_vec();
    seen.sort_unstable();
    expected.sort_unstable();
    let lengths = |all: &[&[u8]]| -> Vec<usize> { all.iter().map(|bytes| bytes.len()).collect() };
    at.that(
        seen == expected,
        format!("{when} results of {:?} bytes for {tenant}", lengths(&expected)),
        format!("results of {:?} bytes, or of other bytes", lengths(&seen)),
    );
}

async fn nothing(at: At, when: &str, fixture: &dyn Fixture, tenant: &TenantId) {
    sees(at, when, fixture, tenant, &[]).await;
}

/// Checks that readers see nothing and the sink holds nothing.
async fn discarded(at: At, when: &str, fixture: &dyn Fixture, tenant: &TenantId) {
    nothing(at, when, fixture, tenant).await;
    if let Some(unfinished) = fixture.unfinished().await {
        at.same("unfinished results:", &0, &unfinished);
    }
}

async fn finds(at: At, fixture: &dyn Fixture, tenant: &TenantId, receipt: &Receipt, it: &[u8]) {
    let results = fixture.results(tenant).await;
    let found = results.get(&receipt.reference).map(|found| found == it);
    at.that(
        found == Some(true),
        format!("{} bytes under the reference {:?}", it.len(), receipt.reference),
        match found {
            Some(_) => "other bytes".into(),
            None => format!("only {:?}", results.keys()),
        },
    );
}

/// Until `close` readers see nothing, however much was written.
pub fn c1_invisible_before_close(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (&*subject.fresh().await, at(1));
        let (a, _) = tenants();
        let mut writer = open(at, fixture, &a).await;
        nothing(at, "after open_stream", fixture, &a).await;
        let large = vec![b' '; 1 << 20];
        for bytes in [PIECE, &large, PIECE] {
            write(at, &mut *writer, bytes).await;
            nothing(at, "after a write", fixture, &a).await;
        }
        at.ok("close", writer.close().await);
        sees(at, "after close", fixture, &a, &[&[PIECE, &large, PIECE].concat()]).await;
    });
}

/// One tenant's results are not among another's.
pub fn c2_scoped_by_tenant(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (&*subject.fresh().await, at(2));
        let (a, b) = tenants();
        let (mut of_a, mut of_b) = (open(at, fixture, &a).await, open(at, fixture, &b).await);
        write(at, &mut *of_a, b"of a").await;
        write(at, &mut *of_b, b"of b").await;
        let of_a = at.ok("close", of_a.close().await);
        nothing(at, "before their own close", fixture, &b).await;
        let of_b = at.ok("close", of_b.close().await);
        sees(at, "after both closes", fixture, &a, &[b"of a"]).await;
        sees(at, "after both closes", fixture, &b, &[b"of b"]).await;
        finds(at, fixture, &a, &of_a, b"of a").await;
        finds(at, fixture, &b, &of_b, b"of b").await;
    });
}

/// Two streams of one tenant and one request, written in turn and at the same time.
pub fn c3_two_streams_do_not_disturb_each_other(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (&*subject.fresh().await, at(3));
        let (a, _) = tenants();
        let opened = both(open(at, fixture, &a), open(at, fixture, &a)).await;
        let (mut first, mut second) = opened;
        for n in 0..10 {
            let (one, two) = (format!("first {n}\n"), format!("second {n}\n"));
            let (one, two) = (one.as_bytes(), two.as_bytes());
            both(write(at, &mut *first, one), write(at, &mut *second, two)).await;
        }
        let aborted = open(at, fixture, &a).await;
        let text = |name: &str| (0..10).map(|n| format!("{name} {n}\n")).collect::<String>();
        let receipt = at.ok("close", first.close().await);
        finds(at, fixture, &a, &receipt, text("first").as_bytes()).await;
        at.ok("abort", aborted.abort().await);
        let other = at.ok("close", second.close().await);
        finds(at, fixture, &a, &receipt, text("first").as_bytes()).await;
        finds(at, fixture, &a, &other, text("second").as_bytes()).await;
    });
}

/// After a dropped `open_stream` nothing is visible.
pub fn c4_a_dropped_open_leaves_nothing(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (&*subject.fresh().await, at(4));
        let (a, _) = tenants();
        for polls in 0..POLLS_MAX {
            let done = cut(fixture.sink().open_stream(&a, header()), polls).await.is_some();
            nothing(at, "after a dropped open_stream", fixture, &a).await;
            if done {
                return;
            }
        }
    });
}

/// `persist` stores all of a payload or nothing, also if it is dropped or the storage fails.
pub fn c5_persist_stores_all_or_nothing(subject: &dyn Subject) {
    run(subject, async {
        let at = at(5);
        let (a, b) = tenants();
        let fixture = &*subject.fresh().await;
        let payload = PIECE.repeat(10_000);
        let receipt = fixture.sink().persist(&a, header(), &payload).await;
        finds(at, fixture, &a, &at.ok("persist", receipt), &payload).await;
        nothing(at, "after another's persist", fixture, &b).await;
        for polls in 0..POLLS_MAX {
            let fixture = &*subject.fresh().await;
            let done = cut(fixture.sink().persist(&a, header(), &payload), polls).await.is_some();
            whole_or_not_there(at, fixture, &a, &payload, done).await;
            if done {
                break;
            }
        }
        let fixture = &*subject.fresh().await;
        if fixture.break_down().await {
            at.failed(
                "persist without a storage",
                fixture.sink().persist(&a, header(), b"x").await,
            );
            discarded(at, "after a failed persist", fixture, &a).await;
        }
    });
}

async fn whole_or_not_there(
    at: At,
    fixture: &dyn Fixture,
    tenant: &TenantId,
    whole: &[u8],
    done: bool,
) {
    let results = fixture.results(tenant).await;
    let seen: Vec<&Vec<u8>> = results.values().collect();
    let legal = match &seen[..] {
        [] => !done,
        [one] => *one == whole,
        _ => false,
    };
    let lengths: Vec<usize> = seen.iter().map(|bytes| bytes.len()).collect();
    at.that(legal, format!("{} bytes or nothing", whole.len()), format!("{lengths:?} bytes"));
}

/// What `write` took is there, in the order of the calls: no byte, one byte, megabytes.
pub fn c6_every_byte_in_the_order_of_the_calls(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (&*subject.fresh().await, at(6));
        let (a, _) = tenants();
        let mut writer = open(at, fixture, &a).await;
        let mut expected = Vec::new();
        let lengths = [0, 1, 0, 2, 4095, 4096, 4097, 65_535, 65_537, 3 << 20, 1];
        for (n, length) in lengths.into_iter().chain([1; 100]).enumerate() {
            let piece: Vec<u8> = (n..).map(|n| (n * 7) as u8).take(length).collect();
            write(at, &mut *writer, &piece).await;
            expected.extend_from_slice(&piece);
        }
        let receipt = at.ok("close", writer.close().await);
        finds(at, fixture, &a, &receipt, &expected).await;
    });
}

/// After `close` the result is whole under its reference, an empty one too; or it is an error and
/// nothing is there.
pub fn c7_close_makes_it_whole_or_fails(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (&*subject.fresh().await, at(7));
        let (a, _) = tenants();
        let mut receipts: BTreeMap<String, &[u8]> = BTreeMap::new();
        for bytes in [PIECE, b"", b"\0\xff", PIECE] {
            let mut writer = open(at, fixture, &a).await;
            write(at, &mut *writer, bytes).await;
            let receipt = at.ok("close", writer.close().await);
            let twice = receipts.insert(receipt.reference.clone(), bytes);
            at.that(twice.is_none(), "a reference of its own", format!("{receipt:?} twice"));
            for (reference, bytes) in &receipts {
                finds(at, fixture, &a, &Receipt::new(reference), bytes).await;
            }
        }
        let receipt = at.ok("close", open(at, fixture, &a).await.close().await);
        finds(at, fixture, &a, &receipt, b"").await;

        let fixture = &*subject.fresh().await;
        let mut writer = open(at, fixture, &a).await;
        write(at, &mut *writer, PIECE).await;
        if fixture.break_down().await {
            at.failed("close without a storage", writer.close().await);
            nothing(at, "after a failed close", fixture, &a).await;
        }
    });
}

/// After a dropped `close` the result is whole or not there.
pub fn c8_a_dropped_close_is_whole_or_not_there(subject: &dyn Subject) {
    run(subject, async {
        let at = at(8);
        let (a, _) = tenants();
        let whole = PIECE.repeat(3);
        for polls in 0..POLLS_MAX {
            let fixture = &*subject.fresh().await;
            let mut writer = open(at, fixture, &a).await;
            for _ in 0..3 {
                write(at, &mut *writer, PIECE).await;
            }
            let done = cut(writer.close(), polls).await.is_some();
            whole_or_not_there(at, fixture, &a, &whole, done).await;
            if done {
                return;
            }
        }
    });
}

/// After `abort` nothing is left.
pub fn c9_abort_discards(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (&*subject.fresh().await, at(9));
        let (a, _) = tenants();
        let large = vec![b' '; 1 << 20];
        for bytes in [PIECE, &large] {
            let mut writer = open(at, fixture, &a).await;
            write(at, &mut *writer, bytes).await;
            at.ok("abort", writer.abort().await);
            discarded(at, "after abort", fixture, &a).await;
        }
    });
}

/// `abort` goes before a write, after a dropped one and after a failed one, and may be dropped.
pub fn c10_abort_is_legal_in_every_state(subject: &dyn Subject) {
    run(subject, async {
        let at = at(10);
        let (a, _) = tenants();
        let fixture = &*subject.fresh().await;
        at.ok("abort at once", open(at, fixture, &a).await.abort().await);
        discarded(at, "after abort at once", fixture, &a).await;
        for polls in 0..POLLS_MAX {
            let (writer, done) = dropped_write(at, fixture, &a, polls).await;
            at.ok("abort after a dropped write", writer.abort().await);
            discarded(at, "after abort", fixture, &a).await;
            if done {
                break;
            }
        }
        for polls in 0..POLLS_MAX {
            let mut writer = open(at, fixture, &a).await;
            write(at, &mut *writer, PIECE).await;
            let done = cut(writer.abort(), polls).await.is_some();
            nothing(at, "after a dropped abort", fixture, &a).await;
            if done {
                break;
            }
        }
        let mut writer = open(at, fixture, &a).await;
        if fixture.break_down().await {
            let _: Result<(), PortError> = writer.write(PIECE).await;
            // Without a storage it may fail, but it is legal.
            let _: Result<(), PortError> = writer.abort().await;
            nothing(at, "after a failed write", fixture, &a).await;
        }
    });
}

/// A writer with one write done and one dropped, and whether that one was done too.
async fn dropped_write(
    at: At,
    fixture: &dyn Fixture,
    tenant: &TenantId,
    polls: usize,
) -> (Box<dyn ResultWriter>, bool) {
    let mut writer = open(at, fixture, tenant).await;
    write(at, &mut *writer, PIECE).await;
    let done = cut(writer.write(PIECE), polls).await.is_some();
    (writer, done)
}

/// A writer that is dropped in whatever state leaves nothing for readers.
pub fn c11_a_dropped_writer_discards(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (&*subject.fresh().await, at(11));
        let (a, _) = tenants();
        drop(open(at, fixture, &a).await);
        nothing(at, "after a drop at once", fixture, &a).await;
        for polls in 0..POLLS_MAX {
            let (writer, done) = dropped_write(at, fixture, &a, polls).await;
            drop(writer);
            nothing(at, "after a drop", fixture, &a).await;
            if done {
                return;
            }
        }
    });
}
