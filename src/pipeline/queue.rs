//! Which partition comes next, and for whom.
//!
//! One queue for all places: by priority, then by age of the job, then by number of the partition. A place takes the
//! first that it may take, unless others would be through with everything that waits before this place ended one.

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    sync::{Arc, Condvar, Mutex},
    time::Duration,
};

use super::{
    Bytes, Counters, JobOptions, Stages, SubmitError,
    job::{JobError, State},
    sync::{lock, wait},
};

pub(super) type StateOf<S> = State<<S as Stages>::Task, <S as Stages>::Output, <S as Stages>::Error>;

/// Priority, job, partition: the order of the queue.
type Rank = (Reverse<i32>, u64, usize);

/// A partition that waits, or that a worker has.
pub(super) struct Entry<S: Stages> {
    pub job: Arc<StateOf<S>>,
    pub index: usize,
    priority: i32,
    /// Places that failed at it.
    failed: Vec<usize>,
}

pub(super) struct Queue<S: Stages> {
    fallback: Vec<bool>,
    limit: usize,
    inner: Mutex<Inner<S>>,
    /// A partition came, a place ended one, or the end has come.
    changed: Condvar,
    /// Partitions left.
    room: Condvar,
}

struct Inner<S: Stages> {
    waiting: BTreeMap<Rank, Entry<S>>,
    jobs: u64,
    closed: bool,
    places: Vec<PlaceState>,
    done: u64,
    failed: u64,
    retries: u64,
}

#[derive(Clone, Default)]
struct PlaceState {
    in_flight: usize,
    /// A turn's length, smoothed; nothing before the first.
    turn: Option<f64>,
    gone: bool,
}

impl<S: Stages> Inner<S> {
    /// Whether `place` may and should take `entry`.
    fn suits(&self, fallback: &[bool], place: usize, entry: &Entry<S>) -> bool {
        if entry.failed.contains(&place) {
            return false;
        }
        let others = || (0..self.places.len()).filter(|&other| other != place && !self.places[other].gone);
        if fallback[place] && entry.failed.is_empty() && others().any(|other| !fallback[other]) {
            return false;
        }
        let Some(mine) = self.places[place].turn else { return true };
        let mine = mine * (self.places[place].in_flight + 1) as f64;
        // Others that could take everything that waits and end it sooner than this place ends one more.
        !others().filter(|other| !fallback[*other] && !entry.failed.contains(other)).any(|other| {
            let state = &self.places[other];
            state.turn.is_some_and(|turn| turn * ((state.in_flight + self.waiting.len()) as f64) < mine)
        })
    }

    /// Whether any place is left that has not failed at `entry`.
    fn hope(&self, entry: &Entry<S>) -> bool {
        (0..self.places.len()).any(|place| !self.places[place].gone && !entry.failed.contains(&place))
    }
}

impl<S: Stages> Queue<S> {
    pub fn new(fallback: Vec<bool>, limit: usize) -> Self {
        let places = vec![PlaceState::default(); fallback.len()];
        let inner = Inner { waiting: BTreeMap::new(), jobs: 0, closed: false, places, done: 0, failed: 0, retries: 0 };
        Self { fallback, limit, inner: Mutex::new(inner), changed: Condvar::new(), room: Condvar::new() }
    }

    pub fn submit(
        &self,
        tasks: Vec<S::Task>,
        options: JobOptions,
        block: bool,
    ) -> Result<Arc<StateOf<S>>, SubmitError> {
        let partitions = tasks.len();
        let mut inner = lock(&self.inner);
        loop {
            if inner.closed {
                return Err(SubmitError::Closed);
            }
            let queued = inner.waiting.len();
            if queued + partitions <= self.limit || queued == 0 {
                break;
            }
            if !block {
                return Err(SubmitError::Full { partitions, queued, limit: self.limit });
            }
            inner = wait(&self.room, inner);
        }
        let id = inner.jobs;
        inner.jobs += 1;
        let job = Arc::new(State::new(id, options.retry, tasks));
        for index in 0..partitions {
            let entry = Entry { job: job.clone(), index, priority: options.priority, failed: Vec::new() };
            inner.waiting.insert((Reverse(options.priority), id, index), entry);
        }
        drop(inner);
        self.changed.notify_all();
        Ok(job)
    }

    /// The next partition for `place` with its task; waits for one. Nothing once the place has to stop.
    pub fn next(&self, place: usize) -> Option<(Entry<S>, Arc<S::Task>)> {
        let mut inner = lock(&self.inner);
        loop {
            if inner.closed || inner.places[place].gone {
                return None;
            }
            let found = inner.waiting.iter().find(|(_, entry)| inner.suits(&self.fallback, place, entry));
            if let Some(rank) = found.map(|(rank, _)| *rank)
                && let Some(entry) = inner.waiting.remove(&rank)
            {
                self.room.notify_all();
                if let Some(task) = entry.job.begin(entry.index) {
                    inner.places[place].in_flight += 1;
                    return Some((entry, task));
                }
                continue;
            }
            inner = wait(&self.changed, inner);
        }
    }

    /// A turn took so long.
    pub fn took(&self, place: usize, turn: Duration) {
        let turn = turn.as_secs_f64();
        let mean = &mut lock(&self.inner).places[place].turn;
        *mean = Some(mean.map_or(turn, |mean| 0.75 * mean + 0.25 * turn));
    }

    /// A place is through with a partition that came out well.
    pub fn succeed(&self, place: usize, entry: &Entry<S>, output: S::Output) {
        let mut inner = lock(&self.inner);
        inner.places[place].in_flight -= 1;
        inner.done += 1;
        drop(inner);
        entry.job.succeed(entry.index, output);
        self.changed.notify_all();
    }

    /// A place is through with a partition of a job that is over, or of any job once the pipeline is closed.
    pub fn abandon(&self, place: usize, entry: &Entry<S>) {
        lock(&self.inner).places[place].in_flight -= 1;
        entry.job.abandon();
        entry.job.fail(JobError::Closed { job: entry.job.id });
        self.changed.notify_all();
    }

    /// A place failed at a partition: another may try if the job wants that and one is left, else the job is over.
    pub fn fail(&self, place: usize, mut entry: Entry<S>, elsewhere: bool, error: JobError<S::Error>) {
        entry.failed.push(place);
        let mut inner = lock(&self.inner);
        inner.places[place].in_flight -= 1;
        inner.failed += 1;
        if elsewhere && entry.job.retry && !inner.closed && !entry.job.stopped() && inner.hope(&entry) {
            inner.retries += 1;
            entry.job.requeue();
            inner.waiting.insert((Reverse(entry.priority), entry.job.id, entry.index), entry);
            drop(inner);
        } else {
            let job = entry.job.id;
            inner.waiting.retain(|rank, _| rank.1 != job);
            drop(inner);
            entry.job.abandon();
            entry.job.fail(error);
            self.room.notify_all();
        }
        self.changed.notify_all();
    }

    /// A place can not go on. Partitions that have no other are given up.
    pub fn retire(&self, place: usize) {
        let mut inner = lock(&self.inner);
        inner.places[place].gone = true;
        if inner.places.iter().all(|place| place.gone) {
            inner.closed = true;
        }
        let lost: Vec<Rank> =
            inner.waiting.iter().filter(|(_, entry)| !inner.hope(entry)).map(|(rank, _)| *rank).collect();
        let lost: Vec<_> = lost.iter().filter_map(|rank| inner.waiting.remove(rank)).collect();
        drop(inner);
        self.give_up(lost);
    }

    /// Takes no more, and gives up what waits.
    pub fn close(&self) {
        let mut inner = lock(&self.inner);
        inner.closed = true;
        let lost = std::mem::take(&mut inner.waiting).into_values().collect();
        drop(inner);
        self.give_up(lost);
    }

    fn give_up(&self, lost: Vec<Entry<S>>) {
        for entry in &lost {
            entry.job.fail(JobError::Closed { job: entry.job.id });
        }
        self.changed.notify_all();
        self.room.notify_all();
    }

    pub fn closed(&self) -> bool {
        lock(&self.inner).closed
    }

    pub fn forget(&self, job: u64) {
        lock(&self.inner).waiting.retain(|rank, _| rank.1 != job);
        self.changed.notify_all();
        self.room.notify_all();
    }

    pub fn counters(&self, bytes: Vec<Bytes>) -> Counters {
        let inner = lock(&self.inner);
        Counters {
            queued: inner.waiting.len(),
            in_flight: inner.places.iter().map(|place| place.in_flight).sum(),
            done: inner.done,
            failed: inner.failed,
            retries: inner.retries,
            bytes,
        }
    }
}
