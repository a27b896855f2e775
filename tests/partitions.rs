//! Real proofs through the pipeline, on the device: the sequential prover's bytes, exact budgets, no leaks.

mod circuits;
mod common;

use ark_bls12_381::Fr;
use circuits::{Chain, task};
use common::{alone, formats, gpu};
use prooflane::{
    arkworks::record,
    device::{Gpu, Limits},
    engine::{Engine, PipelineOptions, ProofStages, ProofTask, SharedKey, pipeline},
    groth16::{AssignmentError, GpuBackend, ProveError, proof_to_bytes},
    pipeline::{Fault, JobError, JobOptions, LeaseError, Locks, Options, Pipeline},
};

fn engine(limits: Option<Limits>) -> Engine {
    let gpu = match limits {
        Some(_) => Gpu::open(&prooflane::device::Options { limits, ..common::options() }).expect("a device"),
        None => gpu().clone(),
    };
    Engine::on(gpu, Some(formats()[0])).expect("an engine")
}

fn prove(pipeline: &Pipeline<ProofStages>, tasks: Vec<ProofTask>) -> Vec<[u8; 192]> {
    let job = pipeline.submit(tasks, JobOptions::default()).expect("a job");
    job.wait().unwrap_or_else(|error| panic!("{error}")).iter().map(proof_to_bytes).collect()
}

/// To the byte, as long as a key is loaded and while a proof is made.
#[test]
fn memory_is_what_the_arena_counts() {
    let _alone = alone();
    // Tiny limits make pages, strips and pieces.
    let tiny = Limits { binding: 1 << 17, groups: 64, block: 1 << 17, ..gpu().limits() };
    for limits in [None, Some(tiny)] {
        let engine = engine(limits);
        engine.self_test().expect("a sound device");
        let kernels = engine.kernels().expect("a device");
        for (constraints, publics) in [(1, 1), (300, 2), (5000, 1)] {
            let circuit = Chain::new(constraints, publics);
            let (key, assignment) = (circuit.proving_key(), record(circuit).expect("an assignment"));
            let memory = GpuBackend::memory(kernels, &key).expect("a plan");
            let before = kernels.gpu().usage().leased;
            let prover = engine.load(key.clone()).expect("a prover");
            assert_eq!(kernels.gpu().usage().leased - before, memory.key, "{constraints} constraints, {limits:?}");
            kernels.gpu().reset_peak();
            prover.prove_with(&assignment, Fr::from(1u64), Fr::from(2u64)).expect("a proof");
            let usage = kernels.gpu().usage();
            assert_eq!(usage.leased - before, memory.key, "a proof leaves nothing");
            assert_eq!(usage.peak - usage.leased, memory.proof, "{constraints} constraints, {limits:?}");
        }
    }
}

#[test]
fn proofs_equal_the_sequential_provers() {
    let _alone = alone();
    let engine = engine(None);
    let circuits = [Chain::new(40, 1), Chain::new(700, 3)];
    let keys = circuits.map(Chain::proving_key);
    let assignments = circuits.map(Chain::assignment);
    let want: Vec<_> = (0..10u64)
        .map(|i| {
            let which = usize::from(i % 3 == 0);
            let prover = engine.load(keys[which].clone()).expect("a prover");
            prover.prove_with(&assignments[which], Fr::from(i + 2), Fr::from(3 * i + 5)).expect("a proof").bytes()
        })
        .collect();
    for locks in [Locks::None, Locks::One, Locks::Two] {
        for workers_per_adapter in [1, 3] {
            let scheduler = Options { locks, ..Options::default() };
            let options = PipelineOptions { workers_per_adapter, scheduler, ..PipelineOptions::default() };
            let pipeline = pipeline(std::slice::from_ref(&engine), &options).expect("a pipeline");
            let shared = keys.clone().map(SharedKey::new);
            let tasks = (0..10u64).map(|i| {
                let which = usize::from(i % 3 == 0);
                task(&shared[which], &assignments[which], i)
            });
            assert_eq!(prove(&pipeline, tasks.collect()), want, "{locks:?}, {workers_per_adapter} workers");
            let timeline = pipeline.timeline();
            assert!(timeline.utilisation(0).is_some(), "{}", timeline.table());
        }
    }
}

#[test]
fn a_budget_of_little_more_than_one_partition() {
    let _alone = alone();
    let engine = engine(None);
    engine.self_test().expect("a sound device");
    let circuit = Chain::new(700, 1);
    let (key, assignment) = (circuit.proving_key(), circuit.assignment());
    let memory = GpuBackend::memory(engine.kernels().expect("a device"), &key).expect("a plan");
    let shared = SharedKey::new(key);
    let with = |budget| {
        let options = PipelineOptions { budget: Some(budget), workers_per_adapter: 4, ..PipelineOptions::default() };
        pipeline(std::slice::from_ref(&engine), &options).expect("a pipeline")
    };
    let gpu = engine.kernels().expect("a device").gpu();
    let before = gpu.usage().leased;
    for budget in [memory.key + memory.proof, memory.key + memory.proof * 6 / 5] {
        gpu.reset_peak();
        let pipeline = with(budget);
        let tasks = (0..8).map(|i| task(&shared, &assignment, i)).collect();
        assert_eq!(prove(&pipeline, tasks).len(), 8);
        assert_eq!(pipeline.counters().places[0].bytes.peak, memory.key + memory.proof);
        assert!(gpu.usage().peak - before <= budget, "by the arena's own count");
    }
    let small = memory.key + memory.proof - 1;
    let pipeline = with(small);
    let job = pipeline.submit(vec![task(&shared, &assignment, 0)], JobOptions::default()).expect("a job");
    match job.wait() {
        Err(JobError::Partition { fault: Fault::Lease(LeaseError::TooLarge { peak, key, budget }), .. }) => {
            assert_eq!((peak, key, budget), (memory.proof, memory.key, small));
        }
        other => panic!("{:?}", other.map(|_| "proofs")),
    }
}

#[test]
fn a_bad_witness_fails_its_job_only() {
    let _alone = alone();
    let engine = engine(None);
    let circuit = Chain::new(40, 1);
    let wrong = Chain { wrong: Some(7), ..circuit };
    let shared = SharedKey::new(circuit.proving_key());
    let [good, bad] = [circuit, wrong].map(|circuit| circuit.assignment());
    let pipeline = pipeline(&[engine], &PipelineOptions::default()).expect("a pipeline");
    let tasks = |bad_at: Option<u64>| {
        let pick = |i| if Some(i) == bad_at { &bad } else { &good };
        (0..4).map(|i| task(&shared, pick(i), i)).collect::<Vec<_>>()
    };
    let failing = pipeline.submit(tasks(Some(2)), JobOptions { retry: true, ..JobOptions::default() }).expect("a job");
    let fine = pipeline.submit(tasks(None), JobOptions::default()).expect("a job");
    match failing.wait() {
        Err(JobError::Partition {
            partition: 2,
            stage: "prepare",
            fault: Fault::Stage(ProveError::Assignment(AssignmentError::Unsatisfied { .. })),
            ..
        }) => {}
        other => panic!("{:?}", other.map(|_| "proofs")),
    }
    assert_eq!(fine.wait().expect("proofs").len(), 4);
    assert_eq!(pipeline.counters().retries, 0, "no place makes a bad witness good");
}

/// A device that is lost in the middle: where it is asked for, the CPU ends the job, with the same bytes.
#[test]
fn the_cpu_takes_over_from_a_lost_device() {
    let _alone = alone();
    let own = engine(Some(gpu().limits()));
    own.self_test().expect("a sound device");
    let circuit = Chain::new(300, 1);
    let (key, assignment) = (circuit.proving_key(), circuit.assignment());
    let shared = SharedKey::new(key.clone());
    let options = PipelineOptions { cpu_fallback: true, ..PipelineOptions::default() };
    let pipeline = pipeline(std::slice::from_ref(&own), &options).expect("a pipeline");
    let tasks = (0..30).map(|i| task(&shared, &assignment, i)).collect();
    let job = pipeline.submit(tasks, JobOptions { priority: 0, retry: true }).expect("a job");
    while job.progress().done == 0 {
        std::thread::yield_now();
    }
    own.kernels().expect("a device").gpu().destroy();
    let got: Vec<_> = job.wait().unwrap_or_else(|error| panic!("{error}")).iter().map(proof_to_bytes).collect();
    let cpu = Engine::cpu().load(key).expect("a prover");
    for (i, got) in (0u64..).zip(&got) {
        let want = cpu.prove_with(&assignment, Fr::from(i + 2), Fr::from(3 * i + 5)).expect("a proof");
        assert_eq!(*got, want.bytes());
    }
}

/// Many jobs: memory of the process and threads stay where they were. `PROOFLANE_SOAK` sets how many.
#[test]
fn soak() {
    let _alone = alone();
    let jobs: u64 = std::env::var("PROOFLANE_SOAK").map_or(200, |n| n.parse().expect("a number of jobs"));
    let engine = engine(None);
    let circuit = Chain::new(10, 1);
    let shared = SharedKey::new(circuit.proving_key());
    let assignment = circuit.assignment();
    let pipeline = pipeline(std::slice::from_ref(&engine), &PipelineOptions::default()).expect("a pipeline");
    let run = |from: u64, to: u64| {
        let submit = |i| pipeline.submit(vec![task(&shared, &assignment, i)], JobOptions::default()).expect("a job");
        let jobs: Vec<_> = (from..to).map(submit).collect();
        for job in jobs {
            job.wait().unwrap_or_else(|error| panic!("{error}"));
        }
    };
    run(0, jobs / 4);
    let leased = engine.kernels().expect("a device").gpu().usage();
    let (memory, threads) = status();
    run(jobs / 4, jobs);
    let (memory_after, threads_after) = status();
    let after = engine.kernels().expect("a device").gpu().usage();
    assert_eq!((after.leased, after.reserved), (leased.leased, leased.reserved));
    assert!(threads_after <= threads, "{threads} threads before, {threads_after} after");
    assert!(memory_after < memory + (64 << 10), "{memory} KiB before, {memory_after} after");
    assert_eq!(pipeline.counters().done, jobs);
}

/// Resident KiB and threads of this process; zeros where the system does not tell.
fn status() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    (field("VmRSS:").unwrap_or(0), field("Threads:").unwrap_or(0))
}
