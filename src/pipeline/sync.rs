//! Mutexes of the scheduler. They guard plain values that are whole between any two statements that may panic, so that a
//! poisoned one is as good as any. `tests/locks.rs` puts a model checker's types in their place.

use std::sync::PoisonError;
pub(super) use std::sync::{Condvar, Mutex, MutexGuard};

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
}
