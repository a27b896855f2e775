//! The partition pipeline: jobs of many partitions, kept flowing over one or more cards.
//!
//! Each partition goes through the stages of [`Stages`] on one worker thread of one place: prepare, lease, upload, turn,
//! compute, read back, assemble. The next partition's preparation and upload, and the last one's read back and assembly,
//! overlap with the kernels of the one whose turn it is; what two partitions of a card compete for is in [`Card`].
//! `README.md` beside this file tells who holds what, and why it neither deadlocks nor overcommits.
//!
//! The scheduler knows no field, no curve and no device. Proofs are one user of it (`engine`), fakes in tests another.

mod card;
mod job;
mod queue;
mod stages;
mod sync;
mod timeline;
mod worker;

use std::{
    fmt,
    sync::{Arc, Weak},
    thread::JoinHandle,
    time::Instant,
};

use serde::Serialize;

pub use card::{Bytes, Card, Execution, Lease, LeaseError, Request};
pub use job::{Fault, Job, JobError, Progress};
pub use stages::{Busy, Stages};
pub use timeline::{Event, Kind, Timeline, Utilisation};

use job::Owner;
use queue::Queue;

/// One place that works: an adapter, or the CPU.
pub struct Place<S: Stages> {
    /// For people: the adapter's name.
    pub name: String,
    /// What to do there.
    pub stages: S,
    /// Bytes and turns. Places on one physical card share it.
    pub card: Arc<Card<S::Key>>,
    /// Worker threads.
    pub workers: usize,
    /// Takes only partitions that failed elsewhere, as long as another place lives.
    pub fallback: bool,
    /// How fast it is expected to be against the other places, until its first turn was timed: [`Stages::cost`] per
    /// second, in any unit. What is no positive number counts as 1.
    pub speed: f64,
}

/// Which locks partitions take. [`Locks::Two`] is what works; the others are there to be compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Locks {
    /// A lease of bytes, and no turns: kernels of several partitions mix.
    None,
    /// One lock from preparation to read back, as provers had that let their cards idle.
    One,
    /// Lease and turn.
    #[default]
    Two,
}

/// How a pipeline works.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which locks.
    pub locks: Locks,
    /// Most partitions that may wait, 1024 unless said otherwise. A job that would exceed it waits, or is refused.
    pub max_queued: usize,
    /// Most events that the timeline keeps, 65,536 unless said otherwise (a dozen a partition and as many of the device);
    /// the oldest go first.
    pub events: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { locks: Locks::Two, max_queued: 1024, events: 1 << 16 }
    }
}

/// How a job is to be treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobOptions {
    /// Higher first; within one priority the older job first, within a job the lower partition.
    pub priority: i32,
    /// Whether a partition that failed for a reason of the place's is tried on another.
    pub retry: bool,
}

/// Why a job was not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// The queue is full.
    #[error("{partitions} partitions do not fit the queue: {queued} wait, the limit is {limit}")]
    Full {
        /// Partitions of the job.
        partitions: usize,
        /// Partitions that wait.
        queued: usize,
        /// The limit.
        limit: usize,
    },
    /// The pipeline is closed, or has lost all of its places, or never had one with a worker.
    #[error("the pipeline takes no jobs: it is closed, or it has no place with a worker")]
    Closed,
    /// The system refused a worker thread.
    #[error("a worker thread could not be started: {0}")]
    Thread(std::io::Error),
}

/// Counts, for reports and tests.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Counters {
    /// Partitions that wait.
    pub queued: usize,
    /// Partitions under way.
    pub in_flight: usize,
    /// Partitions that came out.
    pub done: u64,
    /// Attempts that failed, cancelled ones not counted.
    pub failed: u64,
    /// Partitions that were put back for another place.
    pub retries: u64,
    /// By place.
    pub places: Vec<PlaceCounters>,
}

/// Counts of one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PlaceCounters {
    /// Partitions under way.
    pub in_flight: usize,
    /// Partitions that came out.
    pub done: u64,
    /// Bytes of its card.
    pub bytes: Bytes,
}

/// The job type of a pipeline of `S`.
pub type JobOf<S> = Job<<S as Stages>::Task, <S as Stages>::Output, <S as Stages>::Error>;

/// A running pipeline. Dropped, it gives up what waits, lets its workers end the stage they are in, and joins them.
pub struct Pipeline<S: Stages> {
    shared: Arc<Shared<S>>,
    threads: Vec<JoinHandle<()>>,
}

pub(crate) struct Shared<S: Stages> {
    places: Vec<Place<S>>,
    queue: Queue<S>,
    locks: Locks,
    begun: Instant,
    timeline: timeline::Recorder,
}

impl<S: Stages> Owner for Shared<S> {
    fn forget(&self, job: u64) {
        self.queue.forget(job);
        for place in &self.places {
            place.card.wake();
        }
    }
}

impl<S: Stages> Pipeline<S> {
    /// Starts the workers of `places`. There must be a place, and a worker in each.
    pub fn new(places: Vec<Place<S>>, options: &Options) -> Result<Self, SubmitError> {
        if places.is_empty() || places.iter().any(|place| place.workers == 0) {
            return Err(SubmitError::Closed);
        }
        let names = places.iter().map(|place| place.name.clone()).collect();
        let shared = Arc::new(Shared {
            queue: Queue::new(
                places.iter().map(|place| {
                    let same = |other: &Place<S>| Arc::ptr_eq(&other.card, &place.card);
                    (places.iter().position(same).unwrap_or_default(), place.fallback, place.speed)
                }),
                options.max_queued,
            ),
            locks: options.locks,
            begun: Instant::now(),
            timeline: timeline::Recorder::new(names, options.events),
            places,
        });
        let mut pipeline = Self { shared: shared.clone(), threads: Vec::new() };
        for (index, place) in shared.places.iter().enumerate() {
            for worker in 0..place.workers {
                let shared = shared.clone();
                // A name with a NUL would panic.
                let name = format!("{} {worker}", place.name).replace(char::from(0), "");
                let thread = std::thread::Builder::new().name(name);
                let started = thread.spawn(move || worker::work(&shared, index, worker));
                // On an error the drop of `pipeline` joins those that run.
                pipeline.threads.push(started.map_err(SubmitError::Thread)?);
            }
        }
        Ok(pipeline)
    }

    /// Takes a job, one partition for each task; waits while the queue is full.
    ///
    /// A job of more partitions than the queue may hold is taken when the queue is empty.
    pub fn submit(&self, tasks: Vec<S::Task>, options: JobOptions) -> Result<JobOf<S>, SubmitError> {
        self.take(tasks, options, true)
    }

    /// Takes a job or refuses it at once.
    pub fn try_submit(&self, tasks: Vec<S::Task>, options: JobOptions) -> Result<JobOf<S>, SubmitError> {
        self.take(tasks, options, false)
    }

    fn take(&self, tasks: Vec<S::Task>, options: JobOptions, block: bool) -> Result<JobOf<S>, SubmitError> {
        let state = self.shared.queue.submit(tasks, options, block)?;
        let shared: Arc<dyn Owner> = self.shared.clone();
        let owner: Weak<dyn Owner> = Arc::downgrade(&shared);
        Ok(Job { state, owner })
    }

    /// Counts at this moment.
    pub fn counters(&self) -> Counters {
        self.shared.queue.counters(self.shared.places.iter().map(|place| place.card.bytes()).collect())
    }

    /// What happened so far.
    pub fn timeline(&self) -> Timeline {
        self.shared.timeline.snapshot()
    }

    /// The places.
    pub fn places(&self) -> &[Place<S>] {
        &self.shared.places
    }
}

impl<S: Stages> Drop for Pipeline<S> {
    fn drop(&mut self) {
        self.shared.queue.close();
        for place in &self.shared.places {
            place.card.wake();
        }
        for thread in self.threads.drain(..) {
            // Whoever holds the last reference may be a worker itself, in a waker or the drop of a task.
            if thread.thread().id() == std::thread::current().id() {
                continue;
            }
            if thread.join().is_err() {
                tracing::error!("a worker of the pipeline had panicked");
            }
        }
    }
}

impl<S: Stages> fmt::Debug for Pipeline<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline").field("counters", &self.counters()).finish_non_exhaustive()
    }
}
