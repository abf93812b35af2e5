//! Bugs on purpose, to prove that the simulator sees them. Test-only: without the feature `testkit`
//! nothing of it is compiled, and with it nothing happens unless a test plants one on its thread.

/// Whether this bug is planted now. `planted!(LostWake)`.
#[cfg(feature = "testkit")]
macro_rules! planted {
    ($bug:ident) => {
        $crate::planted::is($crate::planted::Bug::$bug)
    };
}
#[cfg(not(feature = "testkit"))]
macro_rules! planted {
    ($bug:ident) => {
        false
    };
}

#[cfg(feature = "testkit")]
pub(crate) use on::is;
#[cfg(feature = "testkit")]
pub use on::{Bug, with_bug};

#[cfg(feature = "testkit")]
mod on {
    use core::cell::Cell;

    /// A bug that can be planted.
    #[derive(Clone, Copy, Debug, Eq, PartialEq)]
    #[non_exhaustive]
    pub enum Bug {
        /// A child's wake does not reach its parent.
        LostWake,
        /// A child's flag is cleared after it was polled, and a wake in between is lost.
        FlagClearedAfterPoll,
        /// Children keep waking the parent waker of the first poll.
        StaleParentWaker,
        /// A stopping run does not let its calls see that.
        StopWithoutWake,
        /// Canceling a token wakes nobody.
        CancelWithoutWake,
        /// A step that fails drops its connector without closing it.
        SkippedClose,
        /// A failed run closes its writer instead of aborting it.
        CloseOnError,
        /// A step reads ahead without bound.
        MissingAheadBound,
        /// All steps share one read-ahead budget.
        SharedBudget,
        /// A failed fetch counts as the end of the cursor.
        SwallowedCursorError,
        /// One row more than the limit is let through.
        LimitOffByOne,
        /// One step more than the limit is open.
        ConcurrencyOffByOne,
        /// The last record is dropped when the deadline has passed.
        TerminalLost,
        /// The last record is written twice.
        TerminalTwice,
        /// The sink is opened for another tenant.
        WrongTenant,
        /// The digest leaves out the last chunk of each step.
        DigestOfOtherBytes,
        /// Whatever is at hand is written first.
        WriteOutOfOrder,
        /// A panic is not contained.
        PanicEscapes,
        /// The result is sealed while rows still wait to be written.
        SealedEarly,
        /// The failure that is seen last is reported.
        LastErrorWins,
    }

    std::thread_local! {
        static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    /// Runs something with a bug planted on this thread.
    pub fn with_bug<T>(bug: Bug, code: impl FnOnce() -> T) -> T {
        struct Unplant;
        impl Drop for Unplant {
            fn drop(&mut self) {
                PLANTED.set(None);
            }
        }
        PLANTED.set(Some(bug));
        let _unplant = Unplant;
        code()
    }

    pub(crate) fn is(bug: Bug) -> bool {
        PLANTED.get() == Some(bug)
    }
}
