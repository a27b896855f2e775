//! Mutexes of the scheduler. They guard plain values that are whole between any two statements that may panic, so that a
//! poisoned one is as good as any. `tests/locks.rs` puts a model checker's types in their place.

pub(super) use std::sync::{Condvar, Mutex, MutexGuard};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::PoisonError,
};

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// Runs what belongs to users of the scheduler (drops of their values, their wakers) where a panic of it must not keep
/// the scheduler from its own next step.
pub(super) fn shielded(what: &str, run: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(run)).is_err() {
        tracing::error!("{what} panicked");
    }
}
