//! The mutexes of [`super::card`], named here so that a model checker can put its own in their place.

pub(super) use std::sync::{Arc, Condvar, Mutex, MutexGuard};
