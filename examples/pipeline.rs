//! Jobs of many proofs under one key through the pipeline: loaded ahead, by priority, one of them cancelled.
use std::{error::Error, sync::Arc};

use ark_std::rand::rngs::OsRng;
use prooflane::{
    engine::{Engine, PipelineOptions, ProofTask, SharedKey, pipeline},
    groth16::proof_to_bytes,
    pipeline::{JobError, JobOptions},
    synthetic::{Kind, Synthetic},
};

fn main() -> Result<(), Box<dyn Error>> {
    let circuit = Synthetic { kind: Kind::Bits, log2: 8, seed: 1 };
    let key = SharedKey::new(Arc::new(circuit.key()?));
    let assignment = Arc::new(circuit.assignment()?);
    // Several engines share the work.
    let pipeline = pipeline(&[Engine::best()], &PipelineOptions::default())?;
    pipeline.preload(&key)?;

    let tasks = |count: usize| -> Vec<_> {
        (0..count).map(|_| ProofTask::new(key.clone(), assignment.clone(), &mut OsRng)).collect()
    };
    let large = pipeline.submit(tasks(6), JobOptions::default())?;
    let urgent = pipeline.submit(tasks(1), JobOptions { priority: 1, ..JobOptions::default() })?;
    let given_up = pipeline.submit(tasks(4), JobOptions::default())?;
    given_up.cancel();
    // A job is a future as well: `urgent.await` says the same.
    for proof in urgent.wait()?.iter().chain(&large.wait()?) {
        println!("{} bytes, verified", proof_to_bytes(proof).len());
    }
    assert!(matches!(given_up.wait(), Err(JobError::Cancelled { .. })));

    print!("{}", pipeline.timeline().table());
    println!("{:?}", pipeline.counters());
    assert_eq!(pipeline.evict(&key), 1);
    Ok(())
}
