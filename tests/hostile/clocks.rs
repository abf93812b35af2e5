//! Clocks that go backwards, stand still, jump, panic, and timers that lie.

use alloc::sync::Arc;
use core::future::{pending, poll_fn, ready};
use core::sync::atomic::{AtomicU64, Ordering};
use core::task::Poll;
use core::time::Duration;

use fetcher_engine::{
    Engine, ExecuteOptions, ExtractionRequest, FailurePolicy, Limits, Mode, Runtime, Sleep,
};

use super::common::{Act, Call, Host, Operation, Rogue, brief, quiet};

const EPOCH: Duration = Duration::from_secs(1_700_000_000);

/// What time it is, by how often that was asked.
type Now = fn(u64) -> Duration;

/// A clock made of three functions of how often it was asked.
struct Odd {
    asked: AtomicU64,
    now: Now,
    wall: fn(u64) -> Option<Duration>,
    sleep: fn(Duration) -> Sleep,
}

impl Odd {
    fn new() -> Self {
        let wall = |_| Some(EPOCH);
        Self { asked: AtomicU64::new(0), now: |_| Duration::ZERO, wall, sleep: never }
    }

    fn asked(&self) -> u64 {
        self.asked.fetch_add(1, Ordering::SeqCst)
    }
}

impl Runtime for Odd {
    fn now(&self) -> Duration {
        (self.now)(self.asked())
    }

    fn wall_clock(&self) -> Option<Duration> {
        (self.wall)(self.asked())
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        (self.sleep)(duration)
    }
}

fn never(_: Duration) -> Sleep {
    Box::pin(pending())
}

fn at_once(_: Duration) -> Sleep {
    Box::pin(ready(()))
}

/// Passes a millisecond whenever it is looked at, and keeps its waker for itself.
fn ticking(duration: Duration) -> Sleep {
    let mut left = duration;
    Box::pin(poll_fn(move |_| {
        left = left.saturating_sub(Duration::from_millis(1));
        if left.is_zero() { Poll::Ready(()) } else { Poll::Pending }
    }))
}

fn request() -> ExtractionRequest {
    ExtractionRequest::new().request_id("r-1").table("sales", "people", ["*"])
}

/// A host with this clock, and a call of any operation that would succeed.
fn in_order(operation: Operation, clock: Odd) -> (Host, Engine, Call) {
    quiet();
    let host = Host::new();
    host.connect("acme", "sales");
    let name = if operation == Operation::Create { "fresh" } else { "sales" };
    let mut call = Call::new("acme", name, "connection-1");
    call.plan = Some(host.plan("acme", &request()));
    let engine = host.full().runtime(Arc::new(clock)).build().unwrap();
    (host, engine, call)
}

/// Every operation succeeds by such a clock.
fn all_succeed(clock: impl Fn() -> Odd, place: &str) {
    for operation in Operation::ALL {
        let (host, engine, call) = in_order(operation, clock());
        let answer = host.run(operation.run(&engine, &call));
        assert!(answer.is_ok(), "{place}: {operation:?}: {answer:?}");
        let built = host.probe.count("factory.build");
        assert_eq!(host.probe.count("connector.close"), built, "{place}: {operation:?}");
    }
}

/// Every operation is out of time by such a clock.
fn none_has_time(clock: impl Fn() -> Odd, place: &str) {
    for operation in Operation::ALL {
        let (host, engine, call) = in_order(operation, clock());
        let error = host.run(operation.run(&engine, &call)).unwrap_err();
        assert_eq!(brief(&error), "timeout/run: deadline passed", "{place}: {operation:?}");
        assert_eq!(host.probe.count("connector.drop"), 0, "{place}: {operation:?}");
        assert!(host.sink.is_empty());
    }
}

#[test]
fn a_wall_clock_that_goes_backwards_is_only_written_down() {
    let back = |asked: u64| Some(EPOCH.saturating_sub(Duration::from_secs(asked)));
    all_succeed(|| Odd { wall: back, ..Odd::new() }, "backwards");
    let (host, engine, call) = in_order(Operation::Execute, Odd { wall: back, ..Odd::new() });
    host.run(Operation::Execute.run(&engine, &call)).unwrap();
    let at: Vec<_> = host.history("acme", "r-1").iter().map(|record| record.at).collect();
    assert_eq!(at.len(), 2);
    assert!(at[0] > at[1], "as it was told: {at:?}");
    for wall in [|_| None, |_| Some(Duration::MAX), |_| Some(Duration::ZERO)] {
        all_succeed(|| Odd { wall, ..Odd::new() }, "no wall clock");
    }
}

#[test]
fn a_clock_that_stands_still_or_jumps_changes_no_result() {
    let clocks: [(Now, &str); 5] = [
        (|_| Duration::ZERO, "at zero"),
        (|_| Duration::MAX, "at the end"),
        (|asked| Duration::from_secs(u64::MAX / (asked + 1)), "backwards"),
        (|asked| Duration::from_secs(asked << 40), "in leaps"),
        (|asked| if asked % 2 == 0 { Duration::MAX } else { Duration::ZERO }, "to and fro"),
    ];
    for (now, place) in clocks {
        all_succeed(|| Odd { now, ..Odd::new() }, place);
    }
}

#[test]
fn a_query_never_has_more_time_left_than_there_was() {
    let back = |asked: u64| Duration::from_secs(1_000_000_u64.saturating_sub(asked * 1_000));
    let (host, engine, call) = in_order(Operation::Execute, Odd { now: back, ..Odd::new() });
    host.run(Operation::Execute.run(&engine, &call)).unwrap();
    let calls = host.probe.calls();
    let open = calls.iter().find(|call| call.starts_with("connector.open")).unwrap();
    assert_eq!(open, "connector.open acme sales 300s", "the clock went back");
}

#[test]
fn a_timer_that_is_ready_at_once_leaves_no_time() {
    none_has_time(|| Odd { sleep: at_once, ..Odd::new() }, "at once");
}

#[test]
fn a_timer_that_panics_leaves_no_time() {
    none_has_time(|| Odd { sleep: |_| panic!("canary"), ..Odd::new() }, "made");
    let polled = |_| -> Sleep { Box::pin(async { panic!("canary") }) };
    none_has_time(|| Odd { sleep: polled, ..Odd::new() }, "polled");
}

#[test]
fn a_timer_that_panics_when_it_is_dropped_changes_nothing() {
    // One a time: two panics at once would end the process, whoever contains them.
    std::thread_local! {
        static ARMED: core::cell::Cell<bool> = const { core::cell::Cell::new(false) };
    }
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(!ARMED.replace(false), "canary");
        }
    }
    let sleep = |_| -> Sleep {
        let bomb = Bomb;
        Box::pin(async move {
            let _bomb = bomb;
            pending::<()>().await;
        })
    };
    let escaped: Vec<_> = Operation::ALL
        .into_iter()
        .filter(|operation| {
            let (host, engine, call) = in_order(*operation, Odd { sleep, ..Odd::new() });
            ARMED.set(true);
            let run = || host.run(operation.run(&engine, &call));
            std::panic::catch_unwind(core::panic::AssertUnwindSafe(run)).is_err()
        })
        .collect();
    assert!(escaped.is_empty(), "a panic escaped: {escaped:?}");
}

#[test]
fn a_timer_that_is_never_ready_is_no_deadline() {
    all_succeed(Odd::new, "never");
}

#[test]
fn without_a_deadline_a_timer_that_lies_costs_only_what_is_closed_late() {
    for wait in [false, true] {
        for operation in Operation::ALL {
            let (host, _, call) = in_order(operation, Odd::new());
            let mut limits = Limits::default();
            limits.max_duration = None;
            let clock = Arc::new(Odd { sleep: at_once, ..Odd::new() });
            let builder = host.full().limits(limits.clone()).runtime(clock);
            let engine = builder.build().unwrap();
            let mut call = call;
            call.plan = host.run(engine.plan_extraction("acme", &request())).ok();
            if wait {
                for port in ["connector.close", "cache.get", "cache.put", "executions.save"] {
                    host.probe.on(port, Act::Wait(Duration::from_secs(1)));
                }
            }
            let answer = host.run(operation.run(&engine, &call));
            assert!(answer.is_ok(), "{operation:?}: {answer:?}");
            assert_eq!(host.clock.sleepers(), 0, "{operation:?}");
        }
    }
}

#[test]
fn a_source_that_gives_nothing_for_ever_ends_with_the_deadline() {
    for to in [Mode::Direct, Mode::Store] {
        for policy in [FailurePolicy::FailFast, FailurePolicy::Collect] {
            if to == Mode::Store && policy == FailurePolicy::Collect {
                continue;
            }
            let fill = |batch| Ok((batch, fetcher_engine::ports::Fetched::More));
            let host = Host::of(Rogue::new(&[("people", &["id"])]).fill(fill));
            for name in ["sales", "shop"] {
                host.connect("acme", name);
            }
            let request = request().table("shop", "people", ["id"]);
            let plan = host.plan("acme", &request);
            let clock = Arc::new(Odd { sleep: ticking, ..Odd::new() });
            let mut limits = Limits::default();
            limits.max_duration = Some(Duration::from_secs(1));
            let engine = host.full().runtime(clock).limits(limits).build().unwrap();
            let mut wishes = fetcher_engine::LimitOverrides::default();
            wishes.max_duration = Duration::from_secs(1);
            let lowered = host.run(engine.plan_extraction("acme", &request.limits(wishes)));
            let plan = lowered.unwrap_or(plan);
            let options = ExecuteOptions::new().mode(to).failure_policy(policy);
            let error = host.run(engine.execute_extraction(&plan, options)).unwrap_err();
            assert_eq!(brief(&error), "timeout/run: deadline passed");
            let fetched = host.probe.count("connector.fetch");
            assert!((500..5_000).contains(&fetched), "{fetched} fetches in a thousand looks");
            assert_eq!(host.probe.count("connector.close acme sales"), 2);
            assert_eq!(host.states("acme", "r-1"), ["running", "failed"]);
        }
    }
}
