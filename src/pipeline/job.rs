//! One job: its partitions, what became of them, and the handle that its owner waits on.

use std::{
    error::Error,
    fmt,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
};

use serde::Serialize;

use super::{
    card::LeaseError,
    sync::{Condvar, Mutex, MutexGuard, lock, shielded, wait},
};

/// Why a job has no results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError<E: Error + 'static> {
    /// One of its partitions failed; the others were given up.
    #[error("partition {partition} of job {job} failed on {place}, in {stage}: {fault}")]
    Partition {
        /// Number of the job.
        job: u64,
        /// Number of the partition within the job.
        partition: usize,
        /// Where it was tried last.
        place: String,
        /// The stage that failed.
        stage: &'static str,
        /// Why.
        fault: Fault<E>,
    },
    /// It was cancelled.
    #[error("job {job} was cancelled")]
    Cancelled {
        /// Number of the job.
        job: u64,
    },
    /// The pipeline was closed before the job was done, or no place is left that could do it.
    #[error("job {job} was given up: the pipeline is closed, or none of its places is left")]
    Closed {
        /// Number of the job.
        job: u64,
    },
}

/// What a stage ended with instead of a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault<E: Error + 'static> {
    /// The stage's own error.
    #[error(transparent)]
    Stage(E),
    /// The partition does not fit the budget.
    #[error(transparent)]
    Lease(LeaseError),
    /// The stage panicked.
    #[error("panic: {0}")]
    Panic(String),
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Partitions that wait.
    pub queued: usize,
    /// Partitions under way.
    pub running: usize,
    /// Partitions with a result.
    pub done: usize,
}

/// What the workers share of a job.
pub(super) struct State<T, O, E: Error + 'static> {
    pub id: u64,
    pub retry: bool,
    stop: AtomicBool,
    inner: Mutex<Inner<T, O, E>>,
    ended: Condvar,
}

struct Inner<T, O, E: Error + 'static> {
    /// A task is dropped with its result, and all of them with the job's end.
    tasks: Vec<Option<Arc<T>>>,
    outputs: Vec<Option<O>>,
    progress: Progress,
    result: Option<Result<Vec<O>, JobError<E>>>,
    over: bool,
    waker: Option<Waker>,
}

impl<T, O, E: Error + 'static> State<T, O, E> {
    pub fn new(id: u64, retry: bool, tasks: Vec<T>) -> Self {
        let count = tasks.len();
        let none = count == 0;
        Self {
            id,
            retry,
            stop: AtomicBool::new(false),
            inner: Mutex::new(Inner {
                tasks: tasks.into_iter().map(|task| Some(Arc::new(task))).collect(),
                outputs: (0..count).map(|_| None).collect(),
                progress: Progress { queued: count, running: 0, done: 0 },
                result: none.then(|| Ok(Vec::new())),
                over: none,
                waker: None,
            }),
            ended: Condvar::new(),
        }
    }

    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// A partition leaves the queue for a worker.
    pub fn begin(&self, index: usize) -> Option<Arc<T>> {
        let mut inner = lock(&self.inner);
        if inner.over {
            return None;
        }
        inner.progress.queued -= 1;
        inner.progress.running += 1;
        inner.tasks[index].clone()
    }

    /// A partition goes back to the queue.
    pub fn requeue(&self) {
        let mut inner = lock(&self.inner);
        inner.progress.running -= 1;
        inner.progress.queued += 1;
    }

    /// A partition is done. The last one ends the job, with the results in the order of the tasks.
    pub fn succeed(&self, index: usize, output: O) {
        let mut inner = lock(&self.inner);
        inner.progress.running -= 1;
        inner.progress.done += 1;
        if !inner.over {
            let task = inner.tasks[index].take();
            inner.outputs[index] = Some(output);
            if inner.progress.done == inner.outputs.len() {
                let outputs = std::mem::take(&mut inner.outputs).into_iter().flatten().collect();
                self.end(inner, Ok(outputs));
            } else {
                drop(inner);
            }
            // Outside of the lock: its drop may ask for the job's progress.
            shielded("the drop of a task", || drop(task));
        }
    }

    /// A worker gives a partition up without a word on the job.
    pub fn abandon(&self) {
        lock(&self.inner).progress.running -= 1;
    }

    /// The job is over; the first reason counts.
    pub fn fail(&self, error: JobError<E>) {
        self.stop.store(true, Ordering::Release);
        let inner = lock(&self.inner);
        if !inner.over {
            self.end(inner, Err(error));
        }
    }

    fn end(&self, mut inner: MutexGuard<'_, Inner<T, O, E>>, result: Result<Vec<O>, JobError<E>>) {
        inner.over = true;
        inner.result = Some(result);
        inner.progress.queued = 0;
        // Whatever is large goes now, and outside of the lock.
        let (tasks, outputs) = (std::mem::take(&mut inner.tasks), std::mem::take(&mut inner.outputs));
        let waker = inner.waker.take();
        drop(inner);
        self.ended.notify_all();
        if let Some(waker) = waker {
            shielded("a waker", || waker.wake());
        }
        shielded("the drop of tasks and results", || drop((tasks, outputs)));
    }
}

/// What a handle asks of its pipeline.
pub(super) trait Owner: Send + Sync {
    /// Takes the job's partitions out of the queue and wakes whoever waits on its behalf.
    fn forget(&self, job: u64);
}

/// A submitted job. Wait for it with [`Job::wait`], or await it; dropped before its end, it is cancelled.
pub struct Job<T, O, E: Error + 'static> {
    pub(super) state: Arc<State<T, O, E>>,
    pub(super) owner: Weak<dyn Owner>,
}

impl<T, O, E: Error + 'static> Job<T, O, E> {
    /// Its number: jobs are counted from 0 in the order in which they were submitted.
    pub fn id(&self) -> u64 {
        self.state.id
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        lock(&self.state.inner).progress
    }

    /// Whether [`Self::wait`] would return at once.
    pub fn ended(&self) -> bool {
        lock(&self.state.inner).over
    }

    /// Calls it off. Partitions under way stop at the next stage or dispatch; nothing happens to a job that has ended.
    pub fn cancel(&self) {
        self.state.fail(JobError::Cancelled { job: self.state.id });
        if let Some(owner) = self.owner.upgrade() {
            owner.forget(self.state.id);
        }
    }

    /// The results in the order of the partitions, once all are there, or why there are none.
    pub fn wait(self) -> Result<Vec<O>, JobError<E>> {
        let mut inner = lock(&self.state.inner);
        loop {
            if let Some(result) = inner.result.take() {
                return result;
            }
            if inner.over {
                return Err(JobError::Closed { job: self.state.id });
            }
            inner = wait(&self.state.ended, inner);
        }
    }
}

impl<T, O, E: Error + 'static> Future for Job<T, O, E> {
    type Output = Result<Vec<O>, JobError<E>>;

    /// Ready once; polled again after that it is [`JobError::Closed`].
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // Cloned before the lock is taken, and the one before dropped after: both are the caller's code.
        let waker = context.waker().clone();
        let mut inner = lock(&self.state.inner);
        match inner.result.take() {
            Some(result) => Poll::Ready(result),
            None if inner.over => Poll::Ready(Err(JobError::Closed { job: self.state.id })),
            None => {
                let before = inner.waker.replace(waker);
                drop(inner);
                drop(before);
                Poll::Pending
            }
        }
    }
}

impl<T, O, E: Error + 'static> Drop for Job<T, O, E> {
    fn drop(&mut self) {
        if !self.ended() {
            self.cancel();
        }
    }
}

impl<T, O, E: Error + 'static> fmt::Debug for Job<T, O, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("id", &self.id()).field("progress", &self.progress()).finish()
    }
}
