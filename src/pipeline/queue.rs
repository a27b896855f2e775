//! Which partition comes next, and for whom.
//!
//! Earliest finish time first, as in list scheduling. One queue for all places: by priority, then by age of the job, then by number of the partition. In this order each
//! partition is promised to the place that would end it first, after what it has under way and what it was promised
//! before; the first that is promised to the place that asks is the one that it takes. Promises are made anew whenever
//! somebody asks, and every partition that some place may take is promised to one, so that none waits for nobody. How
//! long something takes is its cost times the place's pace: what its turns took so far, and before the first of them
//! the speed that it came with.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc, time::Duration};

use super::{
    Bytes, Counters, JobOptions, PlaceCounters, Stages, SubmitError,
    job::{JobError, State},
    sync::{Condvar, Mutex, lock, wait},
};

pub(super) type StateOf<S> = State<<S as Stages>::Task, <S as Stages>::Output, <S as Stages>::Error>;

/// Priority, job, partition: the order of the queue.
type Rank = (Reverse<i32>, u64, usize);

/// A partition that waits, or that a worker has.
pub(super) struct Entry<S: Stages> {
    pub job: Arc<StateOf<S>>,
    pub index: usize,
    priority: i32,
    cost: f64,
    /// Places that failed at it.
    failed: Vec<usize>,
}

pub(super) struct Queue<S: Stages> {
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
    failed: u64,
    retries: u64,
}

struct PlaceState {
    /// Which card: places on one share its turns, so what one has under way the others wait for.
    card: usize,
    fallback: bool,
    /// Cost per second, in the unit of [`super::Place::speed`].
    speed: f64,
    in_flight: usize,
    /// Cost of what is in flight.
    load: f64,
    done: u64,
    /// Seconds per cost of its turns, smoothed; nothing before the first.
    pace: Option<f64>,
    gone: bool,
}

impl PlaceState {
    /// A partition that was in flight is not any more.
    fn leave<S: Stages>(&mut self, entry: &Entry<S>) {
        self.in_flight -= 1;
        // Sums of floats do not come back to zero by themselves.
        self.load = if self.in_flight == 0 { 0.0 } else { self.load - entry.cost };
    }
}

/// Not a number, zero, negative, infinite: one such guess would spoil every other.
fn or_one(guess: f64) -> f64 {
    if guess.is_normal() && guess > 0.0 { guess } else { 1.0 }
}

impl<S: Stages> Inner<S> {
    /// Seconds per cost: measured, or guessed from its speed and what the measured places made of theirs.
    fn pace(&self, place: &PlaceState) -> f64 {
        let measured = self.places.iter().filter_map(|other| other.pace.map(|pace| pace * other.speed));
        let (count, sum) = measured.fold((0.0, 0.0), |(count, sum), one| (count + 1.0, sum + one));
        // Nothing measured: all are guessed, and only their ratio matters.
        let scale = if count > 0.0 { sum / count } else { 1.0 };
        place.pace.unwrap_or(scale / place.speed)
    }

    /// Whether `place` may take `entry`.
    fn may(&self, place: usize, entry: &Entry<S>) -> bool {
        let spared = || {
            let others = self.places.iter().any(|other| !other.gone && !other.fallback);
            self.places[place].fallback && entry.failed.is_empty() && others
        };
        !self.places[place].gone && !entry.failed.contains(&place) && !spared()
    }

    /// What `place` takes next.
    fn promised(&self, place: usize) -> Option<Rank> {
        let paces: Vec<f64> = self.places.iter().map(|state| self.pace(state)).collect();
        // By card.
        let mut ends = vec![0.0; self.places.len()];
        for (state, pace) in self.places.iter().zip(&paces) {
            ends[state.card] += state.load * pace;
        }
        for (rank, entry) in &self.waiting {
            let end = |&other: &usize| ends[self.places[other].card] + entry.cost * paces[other];
            let able = (0..self.places.len()).filter(|&other| self.may(other, entry));
            match able.min_by(|a, b| end(a).total_cmp(&end(b))) {
                Some(first) if first == place => return Some(*rank),
                Some(first) => ends[self.places[first].card] = end(&first),
                None => {}
            }
        }
        None
    }

    /// Whether any place is left that has not failed at `entry`.
    fn hope(&self, entry: &Entry<S>) -> bool {
        (0..self.places.len()).any(|place| !self.places[place].gone && !entry.failed.contains(&place))
    }
}

impl<S: Stages> Queue<S> {
    /// A queue for places, each told by the number of its card, whether it is a fallback, and its speed.
    pub fn new(places: impl Iterator<Item = (usize, bool, f64)>, limit: usize) -> Self {
        let state = |(card, fallback, speed): (usize, bool, f64)| {
            let speed = or_one(speed);
            PlaceState { card, fallback, speed, in_flight: 0, load: 0.0, done: 0, pace: None, gone: false }
        };
        let places = places.map(state).collect();
        let inner = Inner { waiting: BTreeMap::new(), jobs: 0, closed: false, places, failed: 0, retries: 0 };
        Self { limit, inner: Mutex::new(inner), changed: Condvar::new(), room: Condvar::new() }
    }

    pub fn submit(
        &self,
        tasks: Vec<S::Task>,
        options: JobOptions,
        block: bool,
    ) -> Result<Arc<StateOf<S>>, SubmitError> {
        let partitions = tasks.len();
        let costs: Vec<f64> = tasks.iter().map(|task| or_one(S::cost(task))).collect();
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
        for (index, cost) in costs.into_iter().enumerate() {
            let entry = Entry { job: job.clone(), index, priority: options.priority, cost, failed: Vec::new() };
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
            if let Some(rank) = inner.promised(place)
                && let Some(entry) = inner.waiting.remove(&rank)
            {
                self.room.notify_all();
                if let Some(task) = entry.job.begin(entry.index) {
                    inner.places[place].in_flight += 1;
                    inner.places[place].load += entry.cost;
                    return Some((entry, task));
                }
                continue;
            }
            inner = wait(&self.changed, inner);
        }
    }

    /// The turn of a partition took so long.
    pub fn took(&self, place: usize, entry: &Entry<S>, turn: Duration) {
        let pace = turn.as_secs_f64() / entry.cost;
        let mean = &mut lock(&self.inner).places[place].pace;
        *mean = Some(mean.map_or(pace, |mean| 0.75 * mean + 0.25 * pace));
        // What was promised to this place may now be another's.
        self.changed.notify_all();
    }

    /// A place is through with a partition that came out well.
    pub fn succeed(&self, place: usize, entry: &Entry<S>, output: S::Output) {
        let mut inner = lock(&self.inner);
        inner.places[place].leave(entry);
        inner.places[place].done += 1;
        drop(inner);
        entry.job.succeed(entry.index, output);
        self.changed.notify_all();
    }

    /// A place is through with a partition of a job that is over, or of any job once the pipeline is closed.
    pub fn abandon(&self, place: usize, entry: &Entry<S>) {
        lock(&self.inner).places[place].leave(entry);
        entry.job.abandon();
        entry.job.fail(JobError::Closed { job: entry.job.id });
        self.changed.notify_all();
    }

    /// A place failed at a partition: another may try if the job wants that and one is left, else the job is over.
    pub fn fail(&self, place: usize, mut entry: Entry<S>, elsewhere: bool, error: JobError<S::Error>) {
        entry.failed.push(place);
        let mut inner = lock(&self.inner);
        inner.places[place].leave(&entry);
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
        let counts = |(place, bytes): (&PlaceState, Bytes)| PlaceCounters {
            in_flight: place.in_flight,
            done: place.done,
            bytes,
        };
        let places: Vec<_> = inner.places.iter().zip(bytes).map(counts).collect();
        Counters {
            queued: inner.waiting.len(),
            in_flight: places.iter().map(|place| place.in_flight).sum(),
            done: places.iter().map(|place| place.done).sum(),
            failed: inner.failed,
            retries: inner.retries,
            places,
        }
    }
}
