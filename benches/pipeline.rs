//! `cargo bench --bench pipeline --features sapling`: ten partitions of one job, under each kind of locking and with one
//! to four workers. Every proof is verified by pairing, and held against the sequential prover's bytes.
//!
//! Partitions are Sapling Spend proofs under the ceremony's key, and (`PROOFLANE_LOG2=20`, for one) a circuit of that many
//! constraints of which nine in ten have bits for variables, under a synthetic key. A first job of each
//! pipeline loads the key and is not counted. `PROOFLANE_RECORD=<dir>` appends rows to `<dir>/<date>.csv`,
//! `PROOFLANE_TIMELINE=<dir>` writes a picture and a Chrome trace of each configuration's last job.

#[path = "../src/cli/record.rs"]
#[allow(dead_code, unused_imports, reason = "the command line uses other parts, and its tests run there")]
mod record;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use ark_bls12_381::Fr;
use prooflane::{
    engine::{Engine, PipelineOptions, ProofTask, SharedKey, pipeline},
    groth16::{Assignment, GpuBackend, ProvingKey, proof_to_bytes},
    pipeline::{JobOptions, Locks, Options, Utilisation},
    sapling::{Case, Circuit, parameters, proving_key},
    synthetic::{Kind, Synthetic},
};
use record::Row;

/// Partitions of a job.
const PARTITIONS: u64 = 10;
/// Timed jobs of each configuration.
const JOBS: usize = 5;

fn spend() -> (Arc<ProvingKey>, Arc<Assignment>) {
    let files = parameters().expect("the ceremony's parameters");
    let key = Arc::new(proving_key(&files, Circuit::Spend).expect("a key"));
    let case = Case::with_key(&files, key.clone(), Circuit::Spend, 1).expect("a witness");
    (key, Arc::new(case.assignment))
}

fn synthetic(log2: u32) -> (Arc<ProvingKey>, Arc<Assignment>) {
    let circuit = Synthetic { kind: Kind::Bits, log2, seed: 1 };
    (Arc::new(circuit.key().expect("a key")), Arc::new(circuit.assignment().expect("an assignment")))
}

fn main() {
    let engine = Engine::best();
    println!("{engine}");
    engine.self_test().expect("a sound adapter");
    let mut rows = Vec::new();
    let (key, assignment) = spend();
    rows.extend(run(&engine, "sapling-spend", &key, &assignment));
    if let Ok(log_n) = std::env::var("PROOFLANE_LOG2") {
        let log_n = log_n.parse().expect("PROOFLANE_LOG2 is a number");
        let begin = Instant::now();
        let (key, assignment) = synthetic(log_n);
        println!("a key of 2^{log_n} in {:.1} s", begin.elapsed().as_secs_f64());
        rows.extend(run(&engine, "bits90", &key, &assignment));
    }
    if let Ok(directory) = std::env::var("PROOFLANE_RECORD") {
        let file = record::append(directory.as_ref(), &rows).expect("records");
        println!("recorded in {}", file.display());
    }
}

fn run(engine: &Engine, what: &str, key: &Arc<ProvingKey>, assignment: &Arc<Assignment>) -> Vec<Row> {
    let blinding = |i: u64| (Fr::from(i + 2), Fr::from(3 * i + 5));
    let prover = engine.load(key.clone()).expect("a prover");
    let one = || {
        let begin = Instant::now();
        let (r, s) = blinding(0);
        let proved = prover.prove_with(assignment, r, s).expect("a proof");
        let device = proved.stages.iter().filter_map(|stage| stage.device).sum::<Duration>();
        (begin.elapsed(), device)
    };
    let _first = one();
    let (wall, device) = (0..JOBS).map(|_| one()).min().expect("five proofs");
    println!("{what} 2^{}: one proof takes {wall:.1?} alone, {device:.1?} of the device", key.log2_domain());
    let want: Vec<_> = (0..PARTITIONS)
        .map(|i| {
            let (r, s) = blinding(i);
            prover.prove_with(assignment, r, s).expect("a proof").bytes()
        })
        .collect();
    drop(prover);
    if let Some(kernels) = engine.kernels() {
        let memory = GpuBackend::memory_with(kernels, key, &engine.planning()).expect("a plan");
        println!("  key {} MiB, partition {} MiB", memory.key >> 20, memory.proof >> 20);
    }
    println!("locks  workers     job ms  a partition  latency ms  lock busy  device busy  peak MiB");
    let mut rows = Vec::new();
    for locks in [Locks::None, Locks::One, Locks::Two] {
        for workers_per_adapter in 1..=4 {
            let options = PipelineOptions {
                workers_per_adapter,
                scheduler: Options { locks, ..Options::default() },
                ..PipelineOptions::default()
            };
            let shared = SharedKey::new(key.clone());
            let job = || {
                let pipeline = pipeline(std::slice::from_ref(engine), &options).expect("a pipeline");
                let task = |i| ProofTask { key: shared.clone(), assignment: assignment.clone(), blinding: blinding(i) };
                let submit = |tasks: Vec<_>| pipeline.submit(tasks, JobOptions::default()).expect("a job");
                submit(vec![task(0)]).wait().expect("a proof");
                let begin = Instant::now();
                let proofs = submit((0..PARTITIONS).map(task).collect()).wait().expect("proofs");
                let took = begin.elapsed();
                let bytes: Vec<_> = proofs.iter().map(proof_to_bytes).collect();
                assert_eq!(bytes, want, "{what}, {locks:?}, {workers_per_adapter} workers");
                let mut timeline = pipeline.timeline();
                // Without the job that loaded the key.
                timeline.events.retain(|event| event.tag.job == 1);
                assert!(timeline.events.len() >= 8 * PARTITIONS as usize);
                (took, timeline, pipeline.counters().places[0].bytes.peak)
            };
            let mut jobs: Vec<_> = (0..JOBS).map(|_| job()).collect();
            jobs.sort_by_key(|job| job.0);
            let (took, timeline, peak) = &jobs[JOBS / 2];
            let Utilisation { lock, device } = timeline.utilisation(0).expect("it ran");
            let latencies: Vec<f64> = (0..PARTITIONS as usize)
                .map(|partition| {
                    let of = || timeline.events.iter().filter(move |event| event.tag.partition == partition);
                    let begin = of().map(|event| event.begin).min().unwrap_or_default();
                    let end = of().map(|event| event.end).max().unwrap_or_default();
                    (end - begin).as_secs_f64() * 1e3
                })
                .collect();
            let name = format!("{locks:?}").to_lowercase();
            println!(
                "{name:<6} {workers_per_adapter:>7} {:>10.1} {:>12.1} {:>11.1} {:>9.1}% {:>11} {:>9}",
                took.as_secs_f64() * 1e3,
                took.as_secs_f64() * 1e3 / PARTITIONS as f64,
                latencies.iter().sum::<f64>() / PARTITIONS as f64,
                100.0 * lock,
                device.map_or("?".into(), |busy| format!("{:.1}%", 100.0 * busy)),
                peak >> 20,
            );
            if let Ok(directory) = std::env::var("PROOFLANE_TIMELINE") {
                let path = |ending: &str| format!("{directory}/{what}-{name}-{workers_per_adapter}.{ending}");
                std::fs::write(path("svg"), timeline.svg()).expect("a picture");
                std::fs::write(path("json"), timeline.chrome()).expect("a trace");
                std::fs::write(path("txt"), timeline.table()).expect("a table");
            }
            rows.push(Row {
                bench: "pipeline",
                group: "groth16",
                variant: format!("{name}-{workers_per_adapter}"),
                distribution: format!("{what}-x{PARTITIONS}"),
                log2n: Some(key.log2_domain()),
                times: jobs.iter().map(|job| job.0).collect(),
                device: device.map(|busy| took.mul_f64(busy)),
                bytes: Some(*peak),
                checked: true,
                adapter: engine.kernels().map_or("cpu".into(), |kernels| kernels.gpu().info().name.clone()),
            });
        }
    }
    rows
}
