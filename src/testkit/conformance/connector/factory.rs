//! Registry and factory: what happens before anything is connected to.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::bench::{Bench, batch, lines, small};
use super::samples::NAMES;
use super::{Subject, at, run};
use crate::error::Category;
use crate::extraction::PlannedTable;
use crate::ports::{Connector, ConnectorContext, Fetched};

/// The same type gives the same answer, however often it is asked.
pub fn c1_the_same_type_gives_the_same_answer(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench::load(subject, at(1), &[small(subject, "plain", 1)]).await;
        let kind = bench.fixture.connection().endpoint.kind;
        let registry = bench.fixture.registry();
        for _ in 0..3 {
            bench.at.that(registry.factory(&kind).is_some(), "the factory again", "none");
            registry.factory("no such type");
        }
    });
}

/// There is no factory for a type that nobody registered.
pub fn c2_no_factory_for_an_unknown_type(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench::load(subject, at(2), &[small(subject, "plain", 1)]).await;
        let registry = bench.fixture.registry();
        let kind = bench.fixture.connection().endpoint.kind;
        let extended = format!("{kind} but another");
        for unknown in ["no such type", "", "*", &extended] {
            let none = registry.factory(unknown).is_none();
            bench.at.that(none, format!("nothing for the type {unknown:?}"), "a factory");
        }
    });
}

/// Building succeeds for a datasource that is not there, holds nothing and asks for no credential.
pub fn c3_build_needs_no_datasource_and_no_credential(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench::load(subject, at(3), &[small(subject, "plain", 1)]).await;
        let asked = bench.fixture.resolutions();
        let built = bench.build(bench.fixture.unreachable());
        let other = bench.build(bench.fixture.connection());
        bench.at.same("questions for a credential:", &asked, &bench.fixture.resolutions());
        bench.released("after build").await;
        drop((built, other));
    });
}

/// Two connectors of one factory read different tables in turn; one is closed, the other goes on.
pub fn c4_connectors_share_no_state(subject: &dyn Subject) {
    run(subject, async {
        let tables = [small(subject, "first", 7), small(subject, "second", 11)];
        let bench = Bench::load(subject, at(4), &tables).await;
        let factory = bench.factory();
        let context = || ConnectorContext::new(bench.fixture.connection());
        let mut readers = Vec::new();
        for table in &tables {
            let connector = bench.at.ok("build", factory.build(context()));
            let plan = vec![bench.plan(table, vec![])];
            readers.push(Reader { connector, rows: Vec::new(), batch: Some(batch(&plan)), plan });
        }
        for reader in &mut readers {
            bench.at.ok("connect", reader.connector.connect().await);
        }
        for reader in &mut readers {
            let query = super::bench::query(&reader.plan);
            bench.at.ok("open", reader.connector.open(query).await);
        }
        let idle = bench.at.ok("build", factory.build(context()));
        for _ in 0..3 {
            for reader in &mut readers {
                reader.step(&bench).await;
            }
        }
        bench.close(idle).await;
        let mut last = readers.pop().expect("there are two");
        let first = readers.pop().expect("there is one");
        bench.close(first.connector).await;
        while last.step(&bench).await == Fetched::More {}
        let expected = bench.expected(&[(&tables[1], &[])]);
        bench.compare("beside another connector", &expected, &lines(&last.rows));
        bench.close(last.connector).await;
    });
}

struct Reader {
    connector: Box<dyn Connector>,
    plan: Vec<PlannedTable>,
    batch: Option<crate::encode::RowBatch>,
    rows: Vec<u8>,
}

impl Reader {
    async fn step(&mut self, bench: &Bench) -> Fetched {
        let batch = self.batch.take().expect("it came back");
        let (batch, bytes, fetched) = bench.fetch(&mut *self.connector, batch, 1).await;
        self.rows.extend_from_slice(&bytes);
        self.batch = Some(batch);
        fetched
    }
}

/// A descriptor that cannot be meant for this type is `validation`.
pub fn c5_a_descriptor_of_another_type_is_refused(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench::load(subject, at(5), &[small(subject, "plain", 1)]).await;
        if let Some(senseless) = bench.fixture.senseless() {
            let built = bench.factory().build(ConnectorContext::new(senseless));
            bench.at.refused("a connection that makes no sense", Category::Validation, built);
        }
    });
}

/// The canonical form of a canonical name is itself, and the same name has the same form always.
pub fn c6_canonical_names_stay_as_they_are(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench::load(subject, at(6), &[small(subject, "plain", 1)]).await;
        let qualified = ["public.plain", "dbo.plain", "main.plain", "\"plain\"", "PLAIN", "", "."];
        for name in NAMES.iter().chain(&qualified) {
            let canonical = bench.canonical(name);
            bench.at.same("the canonical form of", &canonical, &bench.canonical(name));
            bench.at.same("its own canonical form:", &canonical, &bench.canonical(&canonical));
        }
    });
}
