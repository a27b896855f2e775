//! A device that is not there: stages that pause, count bytes, watch who runs, and fail as told.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use prooflane::pipeline::{Busy, Card, Options, Pipeline, Place, Request, Stages};

/// What goes wrong, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A fault of the task: every place would fail.
    Task,
    /// A fault of the place, which lives on.
    Place,
    /// The device is lost.
    Lost,
    Panic,
}

pub const STAGES: [&str; 6] = ["prepare", "load", "upload", "compute", "read back", "assemble"];

#[derive(Clone, Debug)]
pub struct Task {
    pub value: u64,
    pub key: u64,
    pub peak: u64,
    pub cost: f64,
    /// Stage, and what happens at its first attempt there.
    pub trouble: Option<(&'static str, Trouble)>,
}

impl Task {
    pub fn new(value: u64) -> Self {
        Self { value, key: 0, peak: 10, cost: 1.0, trouble: None }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0:?} in {1}")]
pub struct FakeError(Trouble, &'static str);

/// What all of a fake's clones see.
#[derive(Default)]
pub struct Device {
    /// Bytes that work and keys hold at this moment, and at most.
    pub held: AtomicU64,
    pub most: AtomicU64,
    pub running: AtomicUsize,
    pub most_running: AtomicUsize,
    pub lost: AtomicBool,
    pub loads: AtomicUsize,
    /// Values in the order in which they computed.
    pub order: Mutex<Vec<u64>>,
    pub clock: AtomicU64,
}

/// Bytes on the fake device, given back when dropped.
pub struct Bytes(Arc<Device>, u64);

impl Bytes {
    pub fn new(device: &Arc<Device>, bytes: u64) -> Self {
        let now = device.held.fetch_add(bytes, Ordering::SeqCst) + bytes;
        device.most.fetch_max(now, Ordering::SeqCst);
        Self(device.clone(), bytes)
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        self.0.held.fetch_sub(self.1, Ordering::SeqCst);
    }
}

pub struct Running<'a>(&'a Device);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

#[derive(Clone)]
pub struct Fake {
    pub device: Arc<Device>,
    /// Longest pause of a stage, in microseconds.
    pub pause: u64,
    /// Tasks that had their trouble.
    pub had: Arc<Mutex<Vec<u64>>>,
}

pub const KEY_BYTES: u64 = 5;

pub struct Work {
    pub value: u64,
    task: Task,
    bytes: Option<Bytes>,
}

impl Fake {
    pub fn new(pause: u64) -> Self {
        Self { device: Arc::default(), pause, had: Arc::default() }
    }

    fn stage(&self, stage: &'static str, task: &Task) -> Result<(), FakeError> {
        let seed = task.value.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ stage.len() as u64;
        match seed % (self.pause + 1) {
            0 => std::thread::yield_now(),
            pause => std::thread::sleep(Duration::from_micros(pause)),
        }
        if self.device.lost.load(Ordering::SeqCst) {
            return Err(FakeError(Trouble::Lost, stage));
        }
        let Some((at, trouble)) = task.trouble else { return Ok(()) };
        let first = || {
            let mut had = self.had.lock().expect("a list");
            let first = !had.contains(&task.value);
            had.push(task.value);
            first
        };
        if at != stage || (trouble != Trouble::Task && !first()) {
            return Ok(());
        }
        match trouble {
            Trouble::Panic => panic!("in {stage}"),
            Trouble::Lost => self.device.lost.store(true, Ordering::SeqCst),
            _ => {}
        }
        Err(FakeError(trouble, stage))
    }
}

impl Stages for Fake {
    type Task = Task;
    type Key = Bytes;
    type Work = Work;
    type Read = u64;
    type Output = u64;
    type Error = FakeError;

    fn cost(task: &Task) -> f64 {
        task.cost
    }

    fn request(&self, task: &Task) -> Result<Request, FakeError> {
        Ok(Request { key: task.key, key_bytes: KEY_BYTES, peak: task.peak })
    }

    fn prepare(&self, task: &Task) -> Result<Work, FakeError> {
        self.stage("prepare", task)?;
        Ok(Work { value: task.value, task: task.clone(), bytes: None })
    }

    fn load(&self, task: &Task) -> Result<Bytes, FakeError> {
        self.stage("load", task)?;
        self.device.loads.fetch_add(1, Ordering::SeqCst);
        Ok(Bytes::new(&self.device, KEY_BYTES))
    }

    fn upload(&self, _key: &Arc<Bytes>, work: &mut Work) -> Result<(), FakeError> {
        work.bytes = Some(Bytes::new(&self.device, work.task.peak));
        self.stage("upload", &work.task)
    }

    fn compute(&self, work: &mut Work, stop: &dyn Fn() -> bool) -> Result<(), FakeError> {
        let now = self.device.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.device.most_running.fetch_max(now, Ordering::SeqCst);
        let _running = Running(&self.device);
        self.device.order.lock().expect("a list").push(work.value);
        assert!(work.bytes.is_some());
        self.stage("compute", &work.task)?;
        if stop() {
            return Err(FakeError(Trouble::Task, "compute"));
        }
        work.value += 1;
        Ok(())
    }

    fn read_back(&self, work: Work) -> Result<(u64, Vec<Busy>), FakeError> {
        self.stage("read back", &work.task)?;
        let begin = Duration::from_micros(self.device.clock.fetch_add(10, Ordering::SeqCst));
        let busy = Busy { label: "kernels", begin, end: begin + Duration::from_micros(10) };
        Ok((work.value, vec![busy]))
    }

    fn assemble(&self, task: &Task, read: u64) -> Result<u64, FakeError> {
        self.stage("assemble", task)?;
        Ok(2 * read)
    }

    fn retry(&self, error: &FakeError) -> bool {
        error.0 != Trouble::Task
    }

    fn alive(&self) -> bool {
        !self.device.lost.load(Ordering::SeqCst)
    }
}

pub fn result(value: u64) -> u64 {
    2 * (value + 1)
}

pub fn place(name: &str, fake: &Fake, budget: u64, workers: usize) -> Place<Fake> {
    Place { name: name.into(), stages: fake.clone(), card: Card::new(budget), workers, fallback: false, speed: 1.0 }
}

pub fn one(fake: &Fake, budget: u64, workers: usize) -> Pipeline<Fake> {
    Pipeline::new(vec![place("fake", fake, budget, workers)], &Options::default()).expect("a pipeline")
}

pub fn tasks(values: std::ops::Range<u64>) -> Vec<Task> {
    values.map(Task::new).collect()
}

/// Nothing is held any more but the keys that the cards still keep.
pub fn settled(pipeline: &Pipeline<Fake>, fakes: &[&Fake]) {
    for (place, fake) in pipeline.places().iter().zip(fakes) {
        let bytes = place.card.bytes();
        assert_eq!(bytes.leased, bytes.keys, "leases of {}", place.name);
        assert!(fake.device.held.load(Ordering::SeqCst) <= bytes.keys, "device memory of {}", place.name);
        assert_eq!(fake.device.running.load(Ordering::SeqCst), 0);
    }
    let counters = pipeline.counters();
    assert_eq!((counters.queued, counters.in_flight), (0, 0));
}

pub fn patiently(what: &str, mut check: impl FnMut() -> bool) {
    for _ in 0..5000 {
        if check() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("{what}: not in 5 s");
}
