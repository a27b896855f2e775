//! What users of the scheduler put into it misbehaves: nothing hangs, no worker is lost, no byte either.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use prooflane::pipeline::{
    Busy, Card, Fault, JobError, JobOf, JobOptions, LeaseError, Options, Pipeline, Place, Request, Stages,
};

use crate::fake::patiently;

#[derive(Debug, thiserror::Error)]
#[error("hostile")]
struct Failed;

/// Runs when it is dropped.
struct OnDrop(Box<dyn Fn() + Send + Sync>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[derive(Default)]
struct Task {
    value: u64,
    key_bytes: u64,
    fails: bool,
    #[expect(dead_code, reason = "only its drop matters")]
    on_drop: Option<OnDrop>,
}

/// A key that may panic when it is dropped.
struct Key(bool);

impl Drop for Key {
    fn drop(&mut self) {
        assert!(!self.0, "the key panics");
    }
}

#[derive(Default)]
struct Hostile {
    gate: Option<Arc<AtomicBool>>,
    panics: &'static str,
    busy: Vec<Busy>,
}

impl Stages for Hostile {
    type Task = Task;
    type Key = Key;
    type Work = u64;
    type Read = u64;
    type Output = u64;
    type Error = Failed;

    fn request(&self, task: &Task) -> Result<Request, Failed> {
        let key = if self.panics == "key" { task.value } else { 0 };
        Ok(Request { key, key_bytes: task.key_bytes, peak: 10 })
    }
    fn prepare(&self, task: &Task) -> Result<u64, Failed> {
        while self.gate.as_ref().is_some_and(|gate| !gate.load(Ordering::SeqCst)) {
            std::thread::yield_now();
        }
        Ok(task.value)
    }
    fn load(&self, _: &Task) -> Result<Key, Failed> {
        Ok(Key(self.panics == "key"))
    }
    fn upload(&self, _: &Arc<Key>, _: &mut u64) -> Result<(), Failed> {
        Ok(())
    }
    fn compute(&self, _: &mut u64, _: &dyn Fn() -> bool) -> Result<(), Failed> {
        Ok(())
    }
    fn read_back(&self, work: u64) -> Result<(u64, Vec<Busy>), Failed> {
        Ok((work, self.busy.clone()))
    }
    fn assemble(&self, task: &Task, read: u64) -> Result<u64, Failed> {
        if task.fails { Err(Failed) } else { Ok(read) }
    }
    fn retry(&self, _: &Failed) -> bool {
        assert!(self.panics != "retry", "retry panics");
        true
    }
    fn alive(&self) -> bool {
        assert!(self.panics != "alive", "alive panics");
        true
    }
}

fn on(stages: Hostile, workers: usize) -> Pipeline<Hostile> {
    let place = Place { name: "hostile".into(), stages, card: Card::new(20), workers, fallback: false, speed: 1.0 };
    Pipeline::new(vec![place], &Options::default()).expect("a pipeline")
}

fn task(value: u64) -> Task {
    Task { value, key_bytes: 5, ..Task::default() }
}

/// Waits with a limit.
fn ended(job: &JobOf<Hostile>) {
    patiently("a job's end", || job.ended());
}

/// The pipeline still works.
fn works(pipeline: &Pipeline<Hostile>) {
    let job = pipeline.submit(vec![task(0), task(0)], JobOptions::default()).expect("a job");
    ended(&job);
    assert_eq!(job.wait().expect("results"), [0, 0]);
    patiently("nothing in flight", || pipeline.counters().in_flight == 0);
}

#[test]
fn panics_where_a_failure_is_looked_at() {
    for panics in ["retry", "alive"] {
        let pipeline = on(Hostile { panics, ..Hostile::default() }, 1);
        let failing = Task { fails: true, ..task(0) };
        let job = pipeline.submit(vec![failing], JobOptions { retry: true, ..JobOptions::default() }).expect("a job");
        ended(&job);
        assert!(matches!(job.wait(), Err(JobError::Partition { fault: Fault::Stage(Failed), .. })));
        works(&pipeline);
    }
}

#[test]
fn tasks_whose_drop_panics() {
    let pipeline = on(Hostile::default(), 1);
    for count in [1, 3] {
        let panicking = || Task { on_drop: Some(OnDrop(Box::new(|| panic!("the task panics")))), ..task(0) };
        let job = pipeline.submit((0..count).map(|_| panicking()).collect(), JobOptions::default()).expect("a job");
        ended(&job);
        works(&pipeline);
        assert!(job.wait().is_ok());
    }
}

#[test]
fn a_task_whose_drop_looks_at_its_job() {
    let pipeline = on(Hostile::default(), 1);
    let job: Arc<OnceLock<JobOf<Hostile>>> = Arc::default();
    let looks = job.clone();
    let looking = Task {
        on_drop: Some(OnDrop(Box::new(move || {
            patiently("the job is there", || looks.get().is_some());
            looks.get().expect("a job").progress();
        }))),
        ..task(0)
    };
    let taken = pipeline.submit(vec![looking, task(1)], JobOptions::default()).expect("a job");
    assert!(job.set(taken).is_ok());
    ended(job.get().expect("a job"));
    works(&pipeline);
}

#[test]
fn keys_whose_drop_panics_give_their_bytes_back() {
    let pipeline = on(Hostile { panics: "key", ..Hostile::default() }, 1);
    for value in 1..5 {
        let job = pipeline.submit(vec![task(value)], JobOptions::default()).expect("a job");
        ended(&job);
        assert_eq!(job.wait().expect("a result"), [value]);
    }
    assert!(pipeline.places()[0].card.evict(4));
    // Key 3 and no other is left, idle, within the budget of 20 bytes.
    assert!(pipeline.places()[0].card.evict(3));
    assert_eq!(pipeline.counters().places[0].bytes.leased, 0);
}

#[test]
fn a_key_that_changes_its_size_is_refused() {
    let pipeline = on(Hostile::default(), 1);
    works(&pipeline);
    let other = Task { key_bytes: 7, ..task(0) };
    let job = pipeline.submit(vec![other], JobOptions::default()).expect("a job");
    ended(&job);
    match job.wait() {
        Err(JobError::Partition {
            fault: Fault::Lease(LeaseError::KeyBytes { key: 0, known: 5, asked: 7 }), ..
        }) => {}
        other => panic!("{other:?}"),
    }
    works(&pipeline);
}

#[test]
fn clocks_that_run_backwards() {
    let ms = Duration::from_millis;
    for (begin, end) in
        [(ms(10), ms(5)), (Duration::MAX, Duration::MAX), (ms(0), Duration::MAX), (Duration::MAX, ms(0))]
    {
        let busy = vec![Busy { label: "k", begin, end }, Busy { label: "k", begin: ms(20), end: ms(21) }];
        let pipeline = on(Hostile { busy, ..Hostile::default() }, 1);
        works(&pipeline);
        let timeline = pipeline.timeline();
        timeline.utilisation(0).expect("it ran");
        assert!(!timeline.table().is_empty() && !timeline.chrome().is_empty() && !timeline.svg().is_empty());
    }
}

/// Takes the value out and does something with it, once.
struct Once<T>(Mutex<Option<T>>, fn(T));

impl<T: Send + 'static> Wake for Once<T> {
    fn wake(self: Arc<Self>) {
        let value = self.0.lock().expect("a value").take();
        value.map(self.1);
    }
}

/// A job, polled once with this waker.
fn polled<T: Send + 'static>(pipeline: &Pipeline<Hostile>, waker: Once<T>) -> JobOf<Hostile> {
    let mut job = pipeline.submit(vec![task(0)], JobOptions::default()).expect("a job");
    let waker = Waker::from(Arc::new(waker));
    assert!(matches!(Pin::new(&mut job).poll(&mut Context::from_waker(&waker)), Poll::Pending));
    job
}

#[test]
fn wakers_that_panic_or_drop_the_pipeline() {
    let gate = Arc::new(AtomicBool::new(false));
    let pipeline = on(Hostile { gate: Some(gate.clone()), ..Hostile::default() }, 1);
    let job = polled(&pipeline, Once(Mutex::new(Some(())), |()| panic!("the waker panics")));
    gate.store(true, Ordering::SeqCst);
    ended(&job);
    works(&pipeline);

    // The waker holds the last reference, so that a worker drops the pipeline it works for.
    let gate = Arc::new(AtomicBool::new(false));
    let pipeline = Arc::new(on(Hostile { gate: Some(gate.clone()), ..Hostile::default() }, 2));
    let job = polled(&pipeline, Once(Mutex::new(Some(pipeline.clone())), drop));
    drop(pipeline);
    gate.store(true, Ordering::SeqCst);
    ended(&job);
    assert_eq!(job.wait().expect("a result"), [0]);
}
