//! Real partitions on a real device with faults put in at every stage: panics, refused memory, corrupt results, a stop.
//!
//! Loss of the device is in `tests/partitions.rs`, and thousands of schedules of a fake device in `tests/pipeline`.

mod circuits;
mod common;

use std::sync::Arc;

use ark_ec::PrimeGroup;
use circuits::{Chain, blinding, task};
use common::{alone, formats, gpu};
use prooflane::{
    device::{DeviceError, Gpu, Pool},
    engine::{Engine, Loaded, PipelineOptions, ProofStages, ProofTask, SharedKey, Work, places},
    groth16::{ProveError, Sums, proof_to_bytes},
    pipeline::{Busy, Fault, JobError, JobOptions, Options, Pipeline, Place, Request, Stages},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    Panic,
    /// The device is asked for more than any has.
    Refused,
    /// A sum that is not the right one.
    Corrupt,
}

const STAGES: [&str; 5] = ["prepare", "upload", "compute", "read back", "assemble"];

struct Task {
    proof: ProofTask,
    trouble: Option<(&'static str, Trouble)>,
}

/// Proofs whose stages fail as told, on places that have a device.
struct Faulty {
    inner: ProofStages,
    gpu: Option<Gpu>,
}

impl Faulty {
    fn trouble(&self, stage: &str, trouble: Option<(&'static str, Trouble)>) -> Result<(), ProveError> {
        let (Some(gpu), Some((at, trouble))) = (&self.gpu, trouble) else { return Ok(()) };
        if at != stage {
            return Ok(());
        }
        match trouble {
            Trouble::Panic => panic!("in {stage}"),
            Trouble::Refused => gpu.allocate(Pool::Scratch, "a test", 1 << 62).map(|_| ())?,
            // By `read_back` itself.
            Trouble::Corrupt => {}
        }
        Ok(())
    }
}

type Told = Option<(&'static str, Trouble)>;

impl Stages for Faulty {
    type Task = Task;
    type Key = Loaded;
    type Work = (Work, Told);
    type Read = (Sums, Told);
    type Output = <ProofStages as Stages>::Output;
    type Error = ProveError;

    fn request(&self, task: &Task) -> Result<Request, ProveError> {
        self.inner.request(&task.proof)
    }

    fn prepare(&self, task: &Task) -> Result<Self::Work, ProveError> {
        self.trouble("prepare", task.trouble)?;
        Ok((self.inner.prepare(&task.proof)?, task.trouble))
    }

    fn load(&self, task: &Task) -> Result<Loaded, ProveError> {
        self.inner.load(&task.proof)
    }

    fn upload(&self, key: &Arc<Loaded>, (work, told): &mut Self::Work) -> Result<(), ProveError> {
        self.trouble("upload", *told)?;
        self.inner.upload(key, work)
    }

    fn compute(&self, (work, told): &mut Self::Work, stop: &dyn Fn() -> bool) -> Result<(), ProveError> {
        self.trouble("compute", *told)?;
        self.inner.compute(work, stop)
    }

    fn read_back(&self, (work, told): Self::Work) -> Result<(Self::Read, Vec<Busy>), ProveError> {
        self.trouble("read back", told)?;
        let (mut sums, busy) = self.inner.read_back(work)?;
        if self.gpu.is_some() && matches!(told, Some((_, Trouble::Corrupt))) {
            sums.h += ark_bls12_381::G1Projective::generator();
        }
        Ok(((sums, told), busy))
    }

    fn assemble(&self, task: &Task, (sums, told): Self::Read) -> Result<Self::Output, ProveError> {
        self.trouble("assemble", told)?;
        self.inner.assemble(&task.proof, sums)
    }

    fn retry(&self, error: &ProveError) -> bool {
        self.inner.retry(error)
    }

    fn alive(&self) -> bool {
        self.inner.alive()
    }
}

fn faulty(engine: &Engine) -> Pipeline<Faulty> {
    let options = PipelineOptions { cpu_fallback: true, ..PipelineOptions::default() };
    let places = places(std::slice::from_ref(engine), &options).expect("places");
    let wrap = |place: Place<ProofStages>| Place {
        stages: Faulty {
            gpu: (!place.fallback).then(|| engine.kernels().expect("a device").gpu().clone()),
            inner: place.stages,
        },
        name: place.name,
        card: place.card,
        workers: place.workers,
        fallback: place.fallback,
        speed: place.speed,
    };
    Pipeline::new(places.into_iter().map(wrap).collect(), &Options::default()).expect("a pipeline")
}

#[test]
fn a_fault_at_any_stage_of_a_proof() {
    let _alone = alone();
    let engine = Engine::on(gpu().clone(), Some(formats()[0])).expect("an engine");
    let circuit = Chain::new(20, 1);
    let assignment = circuit.assignment();
    let key = SharedKey::new(circuit.proving_key());
    let sequential = engine.load(key.key().clone()).expect("a prover");
    let want: Vec<_> = (0..4)
        .map(|i| {
            let (r, s) = blinding(i);
            sequential.prove_with(&assignment, r, s).expect("a proof").bytes()
        })
        .collect();
    drop(sequential);
    let before = gpu().usage().leased;
    let mut cases: Vec<_> =
        STAGES.iter().flat_map(|&stage| [(stage, Trouble::Panic), (stage, Trouble::Refused)]).collect();
    cases.push(("read back", Trouble::Corrupt));
    let pipeline = faulty(&engine);
    let tasks = |trouble: Told| {
        (0..4)
            .map(|i| Task { proof: task(&key, &assignment, i), trouble: trouble.filter(|_| i == 2) })
            .collect::<Vec<_>>()
    };
    for (stage, trouble) in cases {
        for retry in [false, true] {
            let options = JobOptions { priority: 0, retry };
            let failing = pipeline.submit(tasks(Some((stage, trouble))), options).expect("a job");
            let other = pipeline.submit(tasks(None), JobOptions::default()).expect("a job");
            let bytes = |proofs: Vec<_>| proofs.iter().map(proof_to_bytes).collect::<Vec<_>>();
            let fault = match failing.wait() {
                Ok(proofs) => {
                    assert_eq!(bytes(proofs), want, "{stage}, {trouble:?}");
                    None
                }
                Err(JobError::Partition { partition: 2, fault, .. }) => Some(fault),
                Err(other) => panic!("{stage}, {trouble:?}: {other}"),
            };
            assert_eq!(fault.is_none(), retry && trouble != Trouble::Panic, "{stage}, {trouble:?}, retry {retry}");
            match (trouble, fault) {
                (_, None) | (Trouble::Panic, Some(Fault::Panic(_))) => {}
                (Trouble::Refused, Some(Fault::Stage(ProveError::Device(DeviceError::OutOfMemory { bytes, .. })))) => {
                    assert_eq!(bytes, 1 << 62);
                }
                (Trouble::Corrupt, Some(Fault::Stage(ProveError::ProofRejected { .. }))) => {}
                (_, Some(fault)) => panic!("{stage}, {trouble:?}: {fault}"),
            }
            assert_eq!(bytes(other.wait().expect("proofs")), want, "a job beside one with {trouble:?} in {stage}");
        }
    }
    let spare = pipeline.counters().places[1].done;
    assert!(spare > 0, "nothing was retried on the CPU");
    drop(pipeline);
    assert_eq!(gpu().usage().leased, before, "everything came back");
}

/// At any moment: what was under way stops, its bytes come back, the next job does not notice.
#[test]
fn cancelled_at_any_moment() {
    let _alone = alone();
    let engine = Engine::on(gpu().clone(), Some(formats()[0])).expect("an engine");
    let circuit = Chain::new(300, 1);
    let assignment = circuit.assignment();
    let key = SharedKey::new(circuit.proving_key());
    let options = PipelineOptions::default();
    let pipeline = prooflane::engine::pipeline(std::slice::from_ref(&engine), &options).expect("a pipeline");
    let task = || task(&key, &assignment, 0);
    pipeline.preload(&key).expect("a loaded key");
    let resident = gpu().usage().leased;
    let begin = std::time::Instant::now();
    let one = |options| pipeline.submit(vec![task()], options).expect("a job");
    let want = proof_to_bytes(&one(JobOptions::default()).wait().expect("proofs")[0]);
    let took = begin.elapsed();
    for part in 0..12 {
        let job = pipeline.submit((0..3).map(|_| task()).collect(), JobOptions::default()).expect("a job");
        std::thread::sleep(took * part / 4);
        job.cancel();
        match job.wait() {
            Ok(proofs) => assert_eq!(proofs.len(), 3),
            Err(JobError::Cancelled { .. }) => {}
            Err(other) => panic!("{other}"),
        }
        let next = one(JobOptions::default()).wait().expect("proofs");
        assert_eq!(proof_to_bytes(&next[0]), want);
        while pipeline.counters().in_flight > 0 {
            std::thread::yield_now();
        }
        assert_eq!(gpu().usage().leased, resident, "only the key stays");
    }
    assert_eq!((pipeline.evict(&key), pipeline.evict(&key)), (1, 0));
    assert!(gpu().usage().leased < resident);
}
