//! The steps of a connector's life, done and dropped in the middle, and its end in every state.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

use super::super::bench::{POLLS_MAX, cut};
use super::bench::{Bench, batch, query, small};
use super::samples::NAMES;
use super::{Subject, Table, at, run};
use crate::extraction::PlannedTable;
use crate::filter::{Filter, Operator};
use crate::ports::Connector;
use crate::value::Value;

/// A connector that connected works; what is not there cannot be connected to.
pub fn c7_connects_or_is_an_error(subject: &dyn Subject) {
    run(subject, async {
        let tables = [small(subject, "plain", 2)];
        let bench = Bench::load(subject, at(7), &tables).await;
        let mut lost = bench.build(bench.fixture.unreachable());
        bench.at.failed("connecting to nothing", lost.connect().await);
        // It failed, so it may fail to say goodbye, too.
        let _ = lost.close().await;
        bench.reads("after connect", &tables, 10).await;
    });
}

/// Connecting asks for the credential, for every connector again, and a wrong one is an error.
pub fn c8_connect_resolves_the_credential(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench::load(subject, at(8), &[small(subject, "plain", 1)]).await;
        if let Some(wrong) = bench.fixture.wrong_password() {
            let mut connector = bench.build(wrong);
            bench.at.failed("connecting with a wrong password", connector.connect().await);
            let _ = connector.close().await;
        }
        for _ in 0..2 {
            let before = bench.fixture.resolutions();
            let connector = bench.connected().await;
            let after = bench.fixture.resolutions();
            let asked = before.is_none() || after > before;
            bench.at.that(asked, "a question for the credential", "none");
            bench.close(connector).await;
        }
    });
}

/// A transport that the datasource does not have is an error, not a reason to go without.
pub fn c9_never_a_weaker_transport(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench::load(subject, at(9), &[small(subject, "plain", 1)]).await;
        if let Some(too_safe) = bench.fixture.too_safe() {
            let mut connector = bench.build(too_safe);
            bench.at.failed("connecting less safely than asked", connector.connect().await);
            let _ = connector.close().await;
        }
    });
}

/// Every name exactly as it is, and the fields in their order.
pub fn c11_every_name_as_it_is(subject: &dyn Subject) {
    run(subject, async {
        let tables = named_tables(subject);
        let bench = Bench::load(subject, at(11), &tables).await;
        let mut connector = bench.connected().await;
        let seen = bench.at.ok("discover_schema", connector.discover_schema().await);
        bench.close(connector).await;
        for table in &tables {
            let name = bench.canonical(&table.name);
            let found = seen.iter().find(|found| bench.canonical(found.name()) == name);
            let Some(found) = found else {
                let names: Vec<_> = seen.iter().map(|found| found.name()).collect();
                bench.at.fail(format!("the table {:?}", table.name), format!("{names:?}"));
            };
            let expected: Vec<_> = table.columns.iter().map(|(name, _)| name.as_str()).collect();
            let fields: Vec<_> = found.fields().iter().map(|field| &*field.name).collect();
            bench.at.same("fields", &expected, &fields);
        }
    });
}

/// Nothing but the tables that there are, each once.
pub fn c12_only_what_may_be_read(subject: &dyn Subject) {
    run(subject, async {
        let tables = named_tables(subject);
        let bench = Bench::load(subject, at(12), &tables).await;
        let mut connector = bench.connected().await;
        let seen = bench.at.ok("discover_schema", connector.discover_schema().await);
        bench.close(connector).await;
        let mut names: Vec<_> = seen.iter().map(|table| bench.canonical(table.name())).collect();
        let mut expected: Vec<_> =
            tables.iter().map(|table| bench.canonical(&table.name)).collect();
        names.sort();
        expected.sort();
        bench.at.same("no tables but", &expected, &names);
    });
}

/// A table per name, each with a column per name that sorts otherwise than it stands.
pub(super) fn named_tables(subject: &dyn Subject) -> Vec<Table> {
    let kind = subject.kinds()[0];
    let accepted = NAMES.into_iter().filter(|name| subject.accepts_name(name));
    let mut columns: Vec<_> = accepted.clone().rev().map(|name| (name.into(), kind)).collect();
    if subject.tells_case() {
        columns.extend([("id".into(), kind), ("Id".into(), kind)]);
    }
    let rows = small(subject, "rows", 3).rows;
    let wide = |row: &Vec<Value>| columns.iter().map(|_| row[0].clone()).collect();
    let rows: Vec<_> = rows.iter().map(wide).collect();
    accepted
        .map(|name| Table { name: name.into(), columns: columns.clone(), rows: rows.clone() })
        .collect()
}

// --- Dropped calls.

/// A step of a connector's life that can be dropped.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    Connect,
    Discover,
    Open,
    Fetch,
}

impl Step {
    /// A connector that is ready for this step.
    async fn ready(self, bench: &Bench, plans: &[PlannedTable]) -> Box<dyn Connector> {
        match self {
            Self::Connect => bench.build(bench.fixture.connection()),
            Self::Discover | Self::Open => bench.connected().await,
            Self::Fetch => bench.opened(plans).await,
        }
    }

    /// Takes it, and drops it after so many polls. Whether it was done by then.
    async fn cut(
        self,
        connector: &mut dyn Connector,
        plans: &[PlannedTable],
        polls: usize,
    ) -> bool {
        match self {
            Self::Connect => cut(connector.connect(), polls).await.is_some(),
            Self::Discover => cut(connector.discover_schema(), polls).await.is_some(),
            Self::Open => cut(connector.open(query(plans)), polls).await.is_some(),
            Self::Fetch => {
                let mut batch = batch(plans);
                batch.full_after(1);
                cut(connector.fetch(batch), polls).await.is_some()
            }
        }
    }
}

/// Drops a step at each of its polls, and ends one connector by closing and one by dropping it.
fn dropped(subject: &dyn Subject, number: u32, step: Step) {
    run(subject, async {
        let tables = [small(subject, "plain", 5), small(subject, "second", 2)];
        let bench = Bench::load(subject, at(number), &tables).await;
        let plans = bench.plans(&tables);
        for polls in 0..POLLS_MAX {
            let mut connector = step.ready(&bench, &plans).await;
            let done = step.cut(&mut *connector, &plans, polls).await;
            bench.close(connector).await;
            bench.released("after close").await;
            let mut connector = step.ready(&bench, &plans).await;
            step.cut(&mut *connector, &plans, polls).await;
            drop(connector);
            bench.released("after a drop").await;
            if done {
                break;
            }
        }
        bench.reads("after dropped calls", &tables, 10).await;
    });
}

/// After a dropped `connect` the connector closes or drops, and holds nothing.
pub fn c10_a_dropped_connect_is_released(subject: &dyn Subject) {
    dropped(subject, 10, Step::Connect);
}

/// After a dropped `discover_schema` the connector closes or drops, and holds nothing.
pub fn c13_a_dropped_discovery_is_released(subject: &dyn Subject) {
    dropped(subject, 13, Step::Discover);
}

/// After a dropped `open` the connector closes or drops, and holds nothing.
pub fn c18_a_dropped_open_is_released(subject: &dyn Subject) {
    dropped(subject, 18, Step::Open);
}

/// After a dropped `fetch` the connector closes or drops, and holds nothing.
pub fn c26_a_dropped_fetch_is_released(subject: &dyn Subject) {
    dropped(subject, 26, Step::Fetch);
}

// --- The end.

/// A state that a connector can be in when it ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Built,
    Connected,
    Discovered,
    Opened,
    Fetched,
    Over,
    /// `connect` failed.
    NotConnected,
    /// `open` refused a filter.
    Refused,
}

const STATES: [State; 8] = [
    State::Built,
    State::Connected,
    State::Discovered,
    State::Opened,
    State::Fetched,
    State::Over,
    State::NotConnected,
    State::Refused,
];

impl State {
    /// A connector in this state.
    async fn reach(self, bench: &Bench, tables: &[Table]) -> Box<dyn Connector> {
        let plans = bench.plans(tables);
        match self {
            Self::Built => bench.build(bench.fixture.connection()),
            Self::Connected => bench.connected().await,
            Self::Discovered => {
                let mut connector = bench.connected().await;
                bench.at.ok("discover_schema", connector.discover_schema().await);
                connector
            }
            Self::Opened => bench.opened(&plans).await,
            Self::Fetched => {
                let mut connector = bench.opened(&plans).await;
                bench.fetch(&mut *connector, batch(&plans), 1).await;
                connector
            }
            Self::Over => {
                let mut connector = bench.opened(&plans).await;
                bench.drain(&mut *connector, &plans, 10).await;
                connector
            }
            Self::NotConnected => {
                let mut connector = bench.build(bench.fixture.unreachable());
                let _ = connector.connect().await;
                connector
            }
            Self::Refused => {
                let mut connector = bench.connected().await;
                let malformed = Filter::new(&*tables[0].columns[0].0, Operator::Eq, Vec::new());
                let plan = bench.plan(&tables[0], [malformed].into());
                let _ = connector.open(query(&[plan])).await;
                connector
            }
        }
    }
}

/// Closing succeeds in every state of a healthy connection, and answers in every other.
pub fn c27_close_is_legal_in_every_state(subject: &dyn Subject) {
    run(subject, async {
        let tables = [small(subject, "plain", 3)];
        let bench = Bench::load(subject, at(27), &tables).await;
        for state in STATES {
            let closed = state.reach(&bench, &tables).await.close().await;
            if state != State::NotConnected {
                bench.at.ok(&format!("close in the state {state:?}"), closed);
            }
        }
    });
}

/// Once `close` has answered, nothing is held, whatever it answered.
pub fn c28_nothing_is_held_after_close(subject: &dyn Subject) {
    run(subject, async {
        let tables = [small(subject, "plain", 3)];
        let bench = Bench::load(subject, at(28), &tables).await;
        for state in STATES {
            let _ = state.reach(&bench, &tables).await.close().await;
            bench.released(&format!("after close in the state {state:?}")).await;
        }
    });
}

/// A connector that is dropped holds nothing, and neither does one whose `close` is dropped.
pub fn c29_a_drop_releases_everything(subject: &dyn Subject) {
    run(subject, async {
        let tables = [small(subject, "plain", 3)];
        let bench = Bench::load(subject, at(29), &tables).await;
        for state in STATES {
            drop(state.reach(&bench, &tables).await);
            bench.released(&format!("after a drop in the state {state:?}")).await;
            for polls in 0..POLLS_MAX {
                let connector = state.reach(&bench, &tables).await;
                let done = cut(connector.close(), polls).await.is_some();
                bench.released(&format!("after a dropped close in the state {state:?}")).await;
                if done {
                    break;
                }
            }
        }
    });
}
