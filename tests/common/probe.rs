//! The log of all port calls, and the script of those that misbehave.

use alloc::sync::Arc;
use core::future::pending;
use core::time::Duration;
use std::sync::Mutex;

use fetcher_engine::ports::BoxFuture;
use fetcher_engine::{Category, PortError, Runtime};

use super::Clock;

/// How a call misbehaves.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    /// It fails with this category.
    Fail(Category),
    /// It fails with this category and this private cause.
    Cause(Category, &'static str),
    /// It panics when it is polled.
    Panic(&'static str),
    /// It panics before it gives a future.
    PanicAtOnce(&'static str),
    /// It never answers.
    Hang,
    /// It answers as it should, after this long.
    Wait(Duration),
    /// It fails with this category, after this long.
    FailLater(Duration, Category),
    /// It works, and then fails with this category: the change was made and the answer lost.
    LoseAnswer(Category),
    /// It fails with this category, and says this as the private cause and as the table's name.
    Leak(Category, &'static str),
    /// It works, and then fails as `Leak` does.
    LeakLater(Category, &'static str),
    /// It panics with such a payload: before it gives a future, or when it is polled.
    Blow(Payload, When, &'static str),
}

/// What a panic carries.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Payload {
    Str,
    String,
    /// Something that is no text.
    Other,
}

/// The payload that is no text.
#[derive(Debug)]
pub(crate) struct NoText(pub(crate) &'static str);

/// When a call panics.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum When {
    AtOnce,
    Polled,
}

/// Notes every call as a line such as `store.find acme sales`. Clones share log and script.
#[derive(Clone, Default)]
pub(crate) struct Probe {
    clock: Clock,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    log: Vec<String>,
    rules: Vec<Rule>,
    /// Where in the log the calls are, without what was only noted.
    entered: Vec<usize>,
    /// Calls that misbehave, by their places among all calls.
    chosen: Vec<(usize, Act)>,
}

struct Rule {
    /// The calls that are meant: a whole line, or its first words.
    calls: String,
    /// Only the so-manieth call from now; every one without it.
    nth: Option<usize>,
    act: Act,
}

impl Probe {
    pub(crate) fn new(clock: Clock) -> Self {
        let shared = Arc::default();
        Self { clock, shared }
    }

    /// From now on these calls misbehave.
    pub(crate) fn on(&self, calls: &str, act: Act) {
        self.rule(calls, None, act);
    }

    /// The so-manieth of these calls misbehaves, counted from 1 and from now.
    pub(crate) fn on_nth(&self, calls: &str, nth: usize, act: Act) {
        self.rule(calls, Some(nth), act);
    }

    /// The so-manieth of all calls misbehaves, counted from 0 and from the last `clear`.
    pub(crate) fn on_call(&self, at: usize, act: Act) {
        self.shared.lock().unwrap().chosen.push((at, act));
    }

    /// All calls, lookups and spans among them: what `on_call` counts.
    pub(crate) fn entered(&self) -> Vec<String> {
        let shared = self.shared.lock().unwrap();
        shared.entered.iter().map(|&at| shared.log[at].clone()).collect()
    }

    fn rule(&self, calls: &str, nth: Option<usize>, act: Act) {
        let calls = calls.to_owned();
        let rule = Rule { calls, nth, act };
        self.shared.lock().unwrap().rules.push(rule);
    }

    /// Forgets the log and the script.
    pub(crate) fn clear(&self) {
        *self.shared.lock().unwrap() = Shared::default();
    }

    /// All calls that reach for something outside: not the lookups without I/O, and no spans.
    pub(crate) fn calls(&self) -> Vec<String> {
        let pure = ["span.", "registry.", "factory.canonical"];
        let mut lines = self.shared.lock().unwrap().log.clone();
        lines.retain(|line| !pure.iter().any(|pure| line.starts_with(pure)));
        lines
    }

    /// What spans were told, without `span.`.
    pub(crate) fn spans(&self) -> Vec<String> {
        let shared = self.shared.lock().unwrap();
        let spans = shared.log.iter().filter_map(|line| line.strip_prefix("span."));
        spans.map(str::to_owned).collect()
    }

    /// How many calls there were of this kind.
    pub(crate) fn count(&self, calls: &str) -> usize {
        let shared = self.shared.lock().unwrap();
        shared.log.iter().filter(|line| is_meant(line, calls)).count()
    }

    /// Writes a line without asking the script.
    pub(crate) fn note(&self, line: String) {
        self.shared.lock().unwrap().log.push(line);
    }

    /// Notes a call, and makes it unless the script says otherwise.
    pub(crate) fn call<'a, T: Send + 'a>(
        &self,
        line: String,
        make: impl FnOnce() -> BoxFuture<'a, Result<T, PortError>> + Send + 'a,
    ) -> BoxFuture<'a, Result<T, PortError>> {
        let act = self.enter(line);
        match act {
            Some(Act::PanicAtOnce(text)) => panic!("{text}"),
            Some(Act::Blow(payload, When::AtOnce, text)) => payload.blow(text),
            _ => {}
        }
        let clock = self.clock.clone();
        Box::pin(async move {
            match act {
                Some(Act::Hang) => pending::<()>().await,
                Some(Act::Wait(duration)) => clock.sleep(duration).await,
                Some(Act::FailLater(duration, category)) => {
                    clock.sleep(duration).await;
                    return Err(PortError::new(category));
                }
                Some(Act::LoseAnswer(category)) => {
                    make().await?;
                    return Err(PortError::new(category));
                }
                Some(Act::LeakLater(category, text)) => {
                    make().await?;
                    return Err(leak(category, text));
                }
                Some(act) => act.obey()?,
                None => {}
            }
            make().await
        })
    }

    /// The same for a call that answers at once.
    pub(crate) fn now(&self, line: String) -> Result<(), PortError> {
        self.enter(line).map_or(Ok(()), Act::obey)
    }

    fn enter(&self, line: String) -> Option<Act> {
        let mut shared = self.shared.lock().unwrap();
        let mut due = None;
        for rule in &mut shared.rules {
            if !is_meant(&line, &rule.calls) {
                continue;
            }
            let is_due = match &mut rule.nth {
                None => true,
                Some(left) => {
                    *left = left.wrapping_sub(1);
                    *left == 0
                }
            };
            if is_due && due.is_none() {
                due = Some(rule.act);
            }
        }
        let (call, place) = (shared.entered.len(), shared.log.len());
        let chosen = shared.chosen.iter().find(|(at, _)| *at == call);
        due = chosen.map(|(_, act)| *act).or(due);
        shared.entered.push(place);
        shared.log.push(line);
        due
    }
}

fn leak(category: Category, text: &'static str) -> PortError {
    PortError::new(category).caused_by(text).at_table(text)
}

impl Payload {
    fn blow(self, text: &'static str) -> ! {
        match self {
            Self::Str => std::panic::panic_any(text),
            Self::String => std::panic::panic_any(text.to_owned()),
            Self::Other => std::panic::panic_any(NoText(text)),
        }
    }
}

fn is_meant(line: &str, calls: &str) -> bool {
    line.strip_prefix(calls).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

impl Act {
    fn obey(self) -> Result<(), PortError> {
        match self {
            Self::Fail(category) | Self::FailLater(_, category) => Err(PortError::new(category)),
            Self::Cause(category, cause) => Err(PortError::new(category).caused_by(cause)),
            Self::Leak(category, text) => Err(leak(category, text)),
            Self::Panic(text) | Self::PanicAtOnce(text) => panic!("{text}"),
            Self::Blow(payload, _, text) => payload.blow(text),
            Self::Hang | Self::Wait(_) | Self::LoseAnswer(_) | Self::LeakLater(..) => Ok(()),
        }
    }
}
