//! Random jobs, faults, cancellations and losses.

use std::sync::atomic::Ordering;

use ark_std::rand::{Rng, SeedableRng, rngs::StdRng};
use prooflane::pipeline::{JobError, JobOptions, Locks, Options, Pipeline, Place, Stages, SubmitError};

use crate::fake::{Fake, STAGES, Trouble, patiently, place, result, settled, tasks};

/// Every job ends in its right results or a typed error, everything
/// comes back. `PROOFLANE_SCHEDULES` sets how many.
#[test]
fn seeded_schedules() {
    let schedules = std::env::var("PROOFLANE_SCHEDULES").map_or(3000, |n| n.parse().expect("a number of schedules"));
    for seed in 0..schedules {
        schedule(seed);
    }
}

fn schedule(seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    let fakes: Vec<Fake> = (0..rng.gen_range(1..=2)).map(|_| Fake::new(rng.gen_range(0..20))).collect();
    let budget = rng.gen_range(15..50);
    let spare = fakes.len() > 1 && rng.gen_bool(0.5);
    let places: Vec<_> = fakes
        .iter()
        .enumerate()
        .map(|(index, fake)| Place {
            fallback: spare && index == 1,
            ..place(&format!("fake {index}"), fake, budget, rng.gen_range(1..=3))
        })
        .collect();
    let locks = [Locks::None, Locks::One, Locks::Two][rng.gen_range(0..3)];
    let options = Options { locks, max_queued: rng.gen_range(1..30), events: 16 };
    let pipeline = Pipeline::new(places, &options).expect("a pipeline");
    let mut jobs = Vec::new();
    for job in 0..rng.gen_range(1..6u64) {
        let mut some = tasks(100 * job..100 * job + rng.gen_range(0..6u64));
        for task in &mut some {
            task.key = rng.gen_range(0..3);
            task.peak = rng.gen_range(0..=10);
            if rng.gen_bool(0.05) {
                let trouble = [Trouble::Task, Trouble::Place, Trouble::Lost, Trouble::Panic][rng.gen_range(0..4)];
                task.trouble = Some((STAGES[rng.gen_range(0..6)], trouble));
            }
        }
        let want: Vec<u64> = some.iter().map(|task| result(task.value)).collect();
        let easy = some.iter().all(|task| task.trouble.is_none());
        let options = JobOptions { priority: rng.gen_range(0..3), retry: rng.gen_bool(0.5) };
        match pipeline.submit(some, options) {
            Ok(handle) => {
                if rng.gen_bool(0.1) {
                    handle.cancel();
                }
                jobs.push((handle, want, easy));
            }
            Err(SubmitError::Closed) => {}
            Err(other) => panic!("seed {seed}: {other}"),
        }
    }
    let lost = || fakes.iter().any(|fake| !fake.alive());
    for (handle, want, easy) in jobs {
        match handle.wait() {
            Ok(got) => assert_eq!(got, want, "seed {seed}"),
            Err(JobError::Cancelled { .. }) => {}
            Err(error) => assert!(!easy || lost(), "seed {seed}: {error}"),
        }
    }
    patiently(&format!("seed {seed} settles"), || {
        let counters = pipeline.counters();
        (counters.queued, counters.in_flight) == (0, 0)
    });
    settled(&pipeline, &fakes.iter().collect::<Vec<_>>());
    for fake in &fakes {
        assert!(fake.device.most.load(Ordering::SeqCst) <= budget, "seed {seed}");
        if locks != Locks::None {
            assert!(fake.device.most_running.load(Ordering::SeqCst) <= 1, "seed {seed}");
        }
    }
    drop(pipeline);
    for fake in &fakes {
        assert_eq!(fake.device.held.load(Ordering::SeqCst), 0, "seed {seed}");
    }
}
