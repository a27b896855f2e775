//! What one worker thread does with one partition after the other.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use super::{
    Fault, JobError, Kind, LeaseError, Locks, Shared, Stages,
    card::{Execution, Lease},
    queue::Entry,
    sync::shielded,
    timeline::{Event, Tag},
};

/// Why a partition stopped.
enum Stop<E: std::error::Error + 'static> {
    Fault(Fault<E>),
    /// Its job is over.
    Job,
}

pub(super) fn work<S: Stages>(shared: &Shared<S>, place: usize, worker: usize) {
    while let Some((entry, task)) = shared.queue.next(place) {
        let run = Run { shared, place, worker, entry: &entry, stage: Cell::new("prepare"), ended: Cell::default() };
        // Stages hold no lock of the scheduler's while they run, and all that they held is dropped by unwinding.
        let result = catch_unwind(AssertUnwindSafe(|| run.stages(&task)))
            .unwrap_or_else(|panic| Err(Stop::Fault(Fault::Panic(message(&*panic)))));
        let stage = run.stage.get();
        shielded("the drop of a task", || drop(task));
        match result {
            Ok(output) => shared.queue.succeed(place, &entry, output),
            Err(Stop::Job) => shared.queue.abandon(place, &entry),
            Err(Stop::Fault(fault)) => {
                let state = &shared.places[place];
                let (mut elsewhere, mut alive) = (false, true);
                shielded("a look at a failure", || {
                    alive = state.stages.alive();
                    elsewhere = match &fault {
                        Fault::Stage(error) => state.stages.retry(error),
                        Fault::Lease(LeaseError::TooLarge { .. }) => true,
                        _ => false,
                    };
                });
                let (job, partition) = (entry.job.id, entry.index);
                let error = JobError::Partition { job, partition, place: state.name.clone(), stage, fault };
                tracing::warn!(%error, "a partition failed");
                if !alive {
                    tracing::error!(place = state.name, "the place is given up");
                    shared.queue.retire(place);
                }
                shared.queue.fail(place, entry, elsewhere, error);
                // Whoever waits for bytes or a turn on behalf of a job that is over looks again.
                for place in &shared.places {
                    place.card.wake();
                }
            }
        }
    }
}

struct Run<'a, S: Stages> {
    shared: &'a Shared<S>,
    place: usize,
    worker: usize,
    entry: &'a Entry<S>,
    stage: Cell<&'static str>,
    /// When its kernels had run.
    ended: Cell<Duration>,
}

impl<S: Stages> Run<'_, S> {
    fn stages(&self, task: &S::Task) -> Result<S::Output, Stop<S::Error>> {
        let place = &self.shared.places[self.place];
        let (stages, card) = (&place.stages, &place.card);
        let stop = || self.stopped();
        let one = self.shared.locks == Locks::One;
        let request = self.stage("request", || stages.request(task))?;
        let lease = || {
            self.timed("lease", Kind::Wait, || card.lease(request, stop)).and_then(|lease| match lease {
                Ok(lease) => Ok(lease),
                Err(LeaseError::Cancelled) => Err(Stop::Job),
                Err(error) => Err(Stop::Fault(Fault::Lease(error))),
            })
        };

        let prepare = || self.stage("prepare", || stages.prepare(task));

        let prepared = if one { None } else { Some(prepare()?) };
        // In this order, so that a partition's memory is gone before its lease, whichever way it ends.
        let held = lease()?;
        let mut running = if one { Some(self.turn(&held)?) } else { None };
        let mut work = prepared.map_or_else(prepare, Ok)?;
        let key = self.stage("load", || held.key(|| stages.load(task)))?;
        self.stage("upload", || stages.upload(&key, &mut work))?;
        match self.shared.locks {
            Locks::None => held.pass(),
            Locks::One => {}
            Locks::Two => running = Some(self.turn(&held)?),
        }
        self.compute(stages, &mut work)?;
        if !one {
            running = None;
        }
        let read = self.read_back(stages, work)?;
        drop((key, running));
        drop(held);
        self.stage("assemble", || stages.assemble(task, read))
    }

    fn turn<'l>(&self, held: &'l Lease<S::Key>) -> Result<Execution<'l, S::Key>, Stop<S::Error>> {
        self.timed("turn", Kind::Wait, || held.execute(|| self.stopped()))?.ok_or(Stop::Job)
    }

    fn compute(&self, stages: &S, work: &mut S::Work) -> Result<(), Stop<S::Error>> {
        let begin = self.shared.begun.elapsed();
        self.stage("compute", || stages.compute(work, &|| self.stopped()))?;
        let end = self.shared.begun.elapsed();
        self.ended.set(end);
        self.shared.queue.took(self.place, self.entry, end - begin);
        Ok(())
    }

    fn read_back(&self, stages: &S, work: S::Work) -> Result<S::Read, Stop<S::Error>> {
        let (read, busy) = self.stage("read back", || stages.read_back(work))?;
        self.shared.timeline.device(self.tag("compute", Kind::Device), self.ended.get(), &busy);
        Ok(read)
    }

    fn stopped(&self) -> bool {
        self.entry.job.stopped() || self.shared.queue.closed()
    }

    fn tag(&self, what: &'static str, kind: Kind) -> Tag {
        let (place, worker) = (self.place, self.worker);
        Tag { place, worker, job: self.entry.job.id, partition: self.entry.index, what, kind }
    }

    /// One stage: not begun if the job is over, its error a fault of the partition.
    fn stage<T>(&self, what: &'static str, run: impl FnOnce() -> Result<T, S::Error>) -> Result<T, Stop<S::Error>> {
        let result = self.timed(what, Kind::Host, run)?;
        match result {
            Ok(value) => Ok(value),
            // A stage that was stopped in the middle may say so by whatever error it has.
            Err(_) if self.stopped() => Err(Stop::Job),
            Err(error) => Err(Stop::Fault(Fault::Stage(error))),
        }
    }

    fn timed<T>(&self, what: &'static str, kind: Kind, run: impl FnOnce() -> T) -> Result<T, Stop<S::Error>> {
        if self.stopped() {
            return Err(Stop::Job);
        }
        self.stage.set(what);
        let begin = self.shared.begun.elapsed();
        let value = run();
        let end = self.shared.begun.elapsed();
        self.shared.timeline.event(Event { tag: self.tag(what, kind), begin, end });
        Ok(value)
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).into(),
        (_, Some(text)) => text.clone(),
        _ => "of an unknown kind".into(),
    }
}
