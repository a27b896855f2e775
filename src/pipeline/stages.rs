//! The seam between the scheduler and what it schedules.

use std::{error::Error, sync::Arc, time::Duration};

use super::card::Request;

/// The stages of one kind of partition on one place (an adapter, or the CPU).
///
/// The scheduler calls them in the order in which they stand here, each at most once for a partition and attempt, from
/// one of the place's worker threads (but for `cost`). It knows no field, no curve and no device; a panic in a stage fails the
/// partition's job and nothing else.
pub trait Stages: Send + Sync + 'static {
    /// The input of one partition.
    type Task: Send + Sync + 'static;
    /// What stays on the place between partitions under one key.
    type Key: Send + Sync + 'static;
    /// A partition on its way. Its device memory goes when it is dropped.
    type Work: Send;
    /// What was read back. It holds no device memory.
    type Read: Send;
    /// The result of one partition.
    type Output: Send + 'static;
    /// Why there is none.
    type Error: Error + Send + Sync + 'static;

    /// How much work a task is, in any unit, the same for all places: what a place's speed is measured in. What is no
    /// positive number counts as 1. Called by who submits.
    fn cost(_task: &Self::Task) -> f64 {
        1.0
    }

    /// The bytes that this partition will have on the place at its peak, and those of its key.
    fn request(&self, task: &Self::Task) -> Result<Request, Self::Error>;

    /// Host work that needs no device: checks, classification, digits. No lease is held (but under
    /// [`super::Locks::One`], where it is the point that one is).
    fn prepare(&self, task: &Self::Task) -> Result<Self::Work, Self::Error>;

    /// Loads the partition's key, if it is not resident. The lease is held, and covers the key.
    fn load(&self, task: &Self::Task) -> Result<Self::Key, Self::Error>;

    /// Puts the inputs on the device and makes everything ready to be submitted. The lease is held; the kernels of
    /// another partition may be running.
    fn upload(&self, key: &Arc<Self::Key>, work: &mut Self::Work) -> Result<(), Self::Error>;

    /// First submission to last completion, and nothing else: no other partition of the card runs meanwhile. `stop`
    /// turns true when the job is cancelled.
    fn compute(&self, work: &mut Self::Work, stop: &dyn Fn() -> bool) -> Result<(), Self::Error>;

    /// Takes the results off the device, and the times at which it was busy, by its own clock. Afterwards the lease
    /// returns.
    fn read_back(&self, work: Self::Work) -> Result<(Self::Read, Vec<Busy>), Self::Error>;

    /// Host work on the results: assembly, verification.
    fn assemble(&self, task: &Self::Task, read: Self::Read) -> Result<Self::Output, Self::Error>;

    /// Whether this error speaks of the place rather than of the task, so that another place may do better.
    fn retry(&self, error: &Self::Error) -> bool;

    /// Whether the place can still be used, asked after an error: a lost device can not.
    fn alive(&self) -> bool {
        true
    }
}

/// One span of device time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy {
    /// What ran.
    pub label: &'static str,
    /// Begin, on the clock of the card.
    pub begin: Duration,
    /// End, on the same clock.
    pub end: Duration,
}
