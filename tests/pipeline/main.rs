//! The scheduler over a fake device: order, locks, budgets, and faults at every stage.

mod fake;
mod hostile;
mod schedules;

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use fake::{Fake, STAGES, Task, Trouble, one, patiently, place, result, settled, tasks};
use prooflane::pipeline::{
    Fault, JobError, JobOptions, Kind, LeaseError, Locks, Options, Pipeline, Place, SubmitError,
};

#[test]
fn results_come_in_the_order_of_the_tasks() {
    for workers in [1, 2, 3, 8] {
        let fake = Fake::new(50);
        let pipeline = one(&fake, 100, workers);
        let jobs: Vec<_> =
            (0..5).map(|j| pipeline.submit(tasks(10 * j..10 * j + 7), JobOptions::default()).expect("a job")).collect();
        for (j, job) in (0u64..).zip(jobs) {
            assert_eq!(job.id(), j);
            let want: Vec<u64> = (10 * j..10 * j + 7).map(result).collect();
            assert_eq!(job.wait().expect("results"), want);
        }
        patiently("settled", || pipeline.counters().in_flight == 0);
        settled(&pipeline, &[&fake]);
        assert_eq!(fake.device.most_running.load(Ordering::SeqCst), 1, "turns exclude each other");
        assert_eq!(fake.device.loads.load(Ordering::SeqCst), 1, "one key is loaded once");
        assert_eq!(pipeline.counters().done, 35);
    }
}

#[test]
fn a_job_without_partitions_ends_at_once() {
    let fake = Fake::new(0);
    let pipeline = one(&fake, 100, 1);
    let none = pipeline.submit(Vec::new(), JobOptions::default()).expect("a job").wait().expect("no results");
    assert!(none.is_empty());
}

#[test]
fn priority_then_age_then_number_decide() {
    let fake = Fake::new(0);
    let pipeline = one(&fake, 100, 1);
    // The first job keeps the only worker busy until the others are there.
    let gate = pipeline
        .submit(
            (0..200).map(|i| Task { trouble: None, ..Task::new(1000 + i) }).collect(),
            JobOptions { priority: 9, retry: false },
        )
        .expect("a job");
    let low = pipeline.submit(tasks(0..2), JobOptions { priority: -1, retry: false }).expect("a job");
    let old = pipeline.submit(tasks(10..12), JobOptions::default()).expect("a job");
    let young = pipeline.submit(tasks(20..22), JobOptions::default()).expect("a job");
    let high = pipeline.submit(tasks(30..32), JobOptions { priority: 5, retry: false }).expect("a job");
    for job in [gate, low, old, young, high] {
        job.wait().expect("results");
    }
    let order = fake.device.order.lock().expect("a list").clone();
    let after: Vec<u64> = order.into_iter().filter(|value| *value < 1000).collect();
    assert_eq!(after, [30, 31, 10, 11, 20, 21, 0, 1]);
}

#[test]
fn budgets_are_kept_and_what_never_fits_is_refused_with_numbers() {
    // A budget of 1.2 partitions: 10 bytes and 5 of the key each.
    let fake = Fake::new(50);
    let pipeline = one(&fake, 17, 4);
    let job = pipeline.submit(tasks(0..40), JobOptions::default()).expect("a job");
    job.wait().expect("results");
    assert!(fake.device.most.load(Ordering::SeqCst) <= 17);
    let bytes = pipeline.places()[0].card.bytes();
    assert_eq!((bytes.capacity, bytes.peak), (17, 15));

    let large = Task { peak: 13, ..Task::new(7) };
    let error = pipeline.submit(vec![large], JobOptions::default()).expect("a job").wait().expect_err("refused");
    assert!(
        matches!(
            error,
            JobError::Partition {
                fault: Fault::Lease(LeaseError::TooLarge { peak: 13, key: 5, budget: 17 }),
                stage: "lease",
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(
        error.to_string(),
        "partition 0 of job 1 failed on fake, in lease: a partition needs 13 bytes beside 5 bytes of its key, the budget \
         is 17 bytes"
    );
    let huge = Task { peak: u64::MAX, ..Task::new(8) };
    pipeline.submit(vec![huge], JobOptions::default()).expect("a job").wait().expect_err("refused, without overflow");
    patiently("settled", || pipeline.counters().in_flight == 0);
    settled(&pipeline, &[&fake]);
}

#[test]
fn keys_stay_while_there_is_room_and_go_when_idle() {
    let fake = Fake::new(0);
    // Room for two keys beside a partition.
    let pipeline = one(&fake, 20, 1);
    let run = |key: u64| {
        let task = Task { key, ..Task::new(key) };
        pipeline.submit(vec![task], JobOptions::default()).expect("a job").wait().expect("a result");
        patiently("idle", || pipeline.counters().in_flight == 0);
        fake.device.loads.load(Ordering::SeqCst)
    };
    assert_eq!([1, 2, 1, 2].map(run), [1, 2, 2, 2], "both stay");
    assert_eq!([3, 2, 1].map(run), [3, 3, 4], "1 was the longest unused, then 3");
    let card = &pipeline.places()[0].card;
    assert_eq!(card.bytes().keys, 10);
    assert!(card.evict(2) && !card.evict(2));
    assert_eq!((card.bytes().keys, card.bytes().leased), (5, 5));
    assert_eq!(fake.device.held.load(Ordering::SeqCst), 5);
}

#[test]
fn a_fault_at_any_stage_fails_its_job_and_nothing_else() {
    for stage in STAGES {
        for trouble in [Trouble::Task, Trouble::Place, Trouble::Panic] {
            let fake = Fake::new(20);
            let pipeline = one(&fake, 40, 3);
            let mut bad = tasks(100..106);
            bad[3].trouble = Some((stage, trouble));
            if stage == "load" {
                // A key of its own, else nobody might have to load it.
                bad[3].key = 9;
            }
            let before = pipeline.submit(tasks(0..6), JobOptions::default()).expect("a job");
            let failing = pipeline.submit(bad, JobOptions::default()).expect("a job");
            let after = pipeline.submit(tasks(10..16), JobOptions::default()).expect("a job");
            let error = failing.wait().expect_err("a fault");
            match (&error, trouble) {
                (JobError::Partition { job: 1, partition: 3, place, stage: at, fault }, _) => {
                    assert_eq!((place.as_str(), *at), ("fake", stage));
                    assert_eq!(matches!(fault, Fault::Panic(_)), trouble == Trouble::Panic, "{error}");
                }
                _ => panic!("{error:?}"),
            }
            assert_eq!(before.wait().expect("results"), (0..6).map(result).collect::<Vec<_>>());
            assert_eq!(after.wait().expect("results"), (10..16).map(result).collect::<Vec<_>>());
            patiently("settled", || pipeline.counters().in_flight == 0);
            settled(&pipeline, &[&fake]);
        }
    }
}

#[test]
fn another_place_takes_over_when_asked() {
    let retry = JobOptions { priority: 0, retry: true };
    for stage in STAGES {
        for trouble in [Trouble::Place, Trouble::Lost] {
            let (gpu, cpu) = (Fake::new(20), Fake::new(20));
            let spare = Place { fallback: true, ..place("spare", &cpu, 100, 1) };
            let pipeline =
                Pipeline::new(vec![place("gpu", &gpu, 40, 2), spare], &Options::default()).expect("a pipeline");
            let mut some = tasks(0..6);
            some[2].trouble = Some((stage, trouble));
            // Every place has its own list of troubles, so the spare must be told that this one is over.
            *cpu.had.lock().expect("a list") = vec![2];
            if stage == "load" {
                some[2].key = 9;
            }
            let job = pipeline.submit(some, retry).expect("a job");
            assert_eq!(job.wait().expect("results"), (0..6).map(result).collect::<Vec<_>>(), "{stage} {trouble:?}");
            assert!(pipeline.counters().retries >= 1);
            // The spare goes on alone once the card is lost.
            let job = pipeline.submit(tasks(10..12), retry).expect("a job");
            assert_eq!(job.wait().expect("results"), [22, 24]);
            patiently("settled", || pipeline.counters().in_flight == 0);
            settled(&pipeline, &[&gpu, &cpu]);
        }
    }
}

#[test]
fn without_a_place_left_jobs_are_given_up_and_refused() {
    let fake = Fake::new(0);
    let pipeline = one(&fake, 40, 2);
    let mut bad = tasks(0..20);
    bad[0].trouble = Some(("compute", Trouble::Lost));
    let failing = pipeline.submit(bad, JobOptions { priority: 0, retry: true }).expect("a job");
    let waiting = pipeline.submit(tasks(50..60), JobOptions::default());
    failing.wait().expect_err("lost");
    // Given up, unless it was done while the first partition of the other still slept.
    if let Ok(Ok(results)) = waiting.map(|job| job.wait()) {
        assert_eq!(results, (50..60).map(result).collect::<Vec<_>>());
    }
    patiently("refused", || matches!(pipeline.submit(tasks(0..1), JobOptions::default()), Err(SubmitError::Closed)));
}

#[test]
fn a_full_queue_refuses_or_makes_wait() {
    let fake = Fake::new(200);
    let options = Options { max_queued: 4, ..Options::default() };
    let pipeline = Pipeline::new(vec![place("fake", &fake, 100, 1)], &options).expect("a pipeline");
    let mut jobs = Vec::new();
    let mut refused = 0;
    for i in 0..200 {
        match pipeline.try_submit(tasks(2 * i..2 * i + 2), JobOptions::default()) {
            Ok(job) => jobs.push((i, job)),
            Err(SubmitError::Full { partitions: 2, queued, limit: 4 }) => {
                assert!(queued > 2 && queued <= 4);
                refused += 1;
                let job = pipeline.submit(tasks(2 * i..2 * i + 2), JobOptions::default()).expect("waits for room");
                jobs.push((i, job));
            }
            Err(other) => panic!("{other}"),
        }
        assert!(pipeline.counters().queued <= 4);
    }
    assert!(refused > 0);
    for (i, job) in jobs {
        assert_eq!(job.wait().expect("results"), [result(2 * i), result(2 * i + 1)]);
    }
}

#[test]
fn cancelled_jobs_stop_and_give_everything_back() {
    for delay in 0..30 {
        let fake = Fake::new(100);
        let pipeline = one(&fake, 26, 3);
        let job = pipeline.submit(tasks(0..20), JobOptions::default()).expect("a job");
        let other = pipeline.submit(tasks(100..103), JobOptions::default()).expect("a job");
        std::thread::sleep(Duration::from_micros(100 * delay));
        job.cancel();
        job.cancel();
        assert!(job.ended());
        match job.wait() {
            Err(JobError::Cancelled { job: 0 }) => {}
            Ok(all) => assert_eq!(all.len(), 20),
            other => panic!("{other:?}"),
        }
        assert_eq!(other.wait().expect("results"), [202, 204, 206]);
        patiently("settled", || pipeline.counters().in_flight == 0);
        settled(&pipeline, &[&fake]);
    }
}

#[test]
fn a_dropped_handle_cancels_and_a_dropped_pipeline_gives_up() {
    let fake = Fake::new(300);
    let pipeline = one(&fake, 100, 2);
    drop(pipeline.submit(tasks(0..1000), JobOptions::default()).expect("a job"));
    patiently("the queue is empty", || pipeline.counters().queued == 0 && pipeline.counters().in_flight == 0);
    let job = pipeline.submit(tasks(0..1000), JobOptions::default()).expect("a job");
    std::thread::sleep(Duration::from_millis(2));
    drop(pipeline);
    assert!(matches!(job.wait(), Err(JobError::Closed { job: 1 })));
    assert_eq!(fake.device.held.load(Ordering::SeqCst), 0, "keys too");
}

#[test]
fn a_job_is_a_future() {
    struct Flag(AtomicBool);
    impl Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let fake = Fake::new(300);
    let pipeline = one(&fake, 100, 2);
    let flag = Arc::new(Flag(AtomicBool::new(false)));
    let waker = Waker::from(flag.clone());
    let mut context = Context::from_waker(&waker);
    let mut job = pin!(pipeline.submit(tasks(0..20), JobOptions::default()).expect("a job"));
    assert!(job.as_mut().poll(&mut context).is_pending());
    patiently("woken", || flag.0.load(Ordering::SeqCst));
    match job.as_mut().poll(&mut context) {
        Poll::Ready(Ok(all)) => assert_eq!(all, (0..20).map(result).collect::<Vec<_>>()),
        other => panic!("{other:?}"),
    }
}

/// Places of very different speed: the slow one helps with the many and leaves the last to the fast one.
#[test]
fn the_slow_place_does_not_hold_up_the_end() {
    let (fast, slow) = (Fake::new(0), Fake::new(0));
    let pipeline = Pipeline::new(
        vec![place("fast", &fast, 100, 1), place("slow", &Fake { pause: 20_000, ..slow.clone() }, 100, 1)],
        &Options::default(),
    )
    .expect("a pipeline");
    for round in 0..20 {
        let job = pipeline.submit(tasks(100 * round..100 * round + 30), JobOptions::default()).expect("a job");
        job.wait().expect("results");
    }
    let [fast, slow] = [&fast, &slow].map(|fake| fake.device.order.lock().expect("a list").len());
    assert_eq!(fast + slow, 600);
    assert!(fast > 10 * slow.max(1), "fast {fast}, slow {slow}");
}

/// Before any turn was timed, the speed that a place came with decides.
#[test]
fn a_place_known_to_be_slow_does_not_take_the_few() {
    for (speeds, most) in [([1000.0, 1.0], 0), ([1.0, f64::NAN], 9), ([0.0, -1.0], 9)] {
        let (fast, slow) = (Fake::new(100), Fake::new(100));
        let places = [&fast, &slow].into_iter().zip(speeds);
        let places = places.map(|(fake, speed)| Place { speed, ..place("fake", fake, 100, 1) }).collect();
        let pipeline = Pipeline::new(places, &Options::default()).expect("a pipeline");
        let job = pipeline.submit(tasks(0..9), JobOptions::default()).expect("a job");
        job.wait().expect("results");
        let done = pipeline.counters().places.iter().map(|place| place.done).collect::<Vec<_>>();
        assert!(done[0] + done[1] == 9 && done[1] <= most, "{done:?} with {speeds:?}");
    }
}

/// Tasks of different cost: the place that is known to be slow takes the small one and leaves the large ones.
#[test]
fn the_cost_of_a_task_counts() {
    let (fast, slow) = (Fake::new(20_000), Fake::new(20_000));
    let places = vec![
        Place { speed: 10.0, ..place("fast", &fast, 100, 1) },
        Place { speed: 1.0, ..place("slow", &slow, 100, 1) },
    ];
    let pipeline = Pipeline::new(places, &Options::default()).expect("a pipeline");
    let mut some: Vec<Task> = (0..3).map(|i| Task { cost: 100.0, ..Task::new(i) }).collect();
    some.push(Task { cost: 1.0, ..Task::new(3) });
    // All three large ones take the fast place 30, one of them would take the slow one 100.
    let job = pipeline.submit(some, JobOptions::default()).expect("a job");
    assert_eq!(job.wait().expect("results"), (0..4).map(result).collect::<Vec<_>>());
    let taken = slow.device.order.lock().expect("a list").clone();
    assert_eq!(taken, [3], "what the slow place took");
}

/// However many places there are of one pace, and whatever it is: a partition that fits all of them is taken by one.
#[test]
fn nobody_waits_for_each_other() {
    for count in 1..=5 {
        for speed in [1.0, 1e-3, 49.0] {
            let fakes: Vec<Fake> = (0..count).map(|_| Fake::new(3)).collect();
            let places = fakes.iter().map(|fake| Place { speed, ..place("fake", fake, 100, 1) }).collect();
            let pipeline = Pipeline::new(places, &Options::default()).expect("a pipeline");
            for value in 0..200 {
                let job = pipeline.submit(tasks(value..value + 1), JobOptions::default()).expect("a job");
                patiently("one partition for many idle places", || job.ended());
            }
        }
    }
}

#[test]
fn the_timeline_tells_everything() {
    for locks in [Locks::None, Locks::One, Locks::Two] {
        let fake = Fake::new(200);
        let options = Options { locks, events: 60, ..Options::default() };
        let pipeline = Pipeline::new(vec![place("<fake>", &fake, 100, 3)], &options).expect("a pipeline");
        let job = pipeline.submit(tasks(0..20), JobOptions::default()).expect("a job");
        job.wait().expect("results");
        patiently("idle", || pipeline.counters().in_flight == 0);
        let timeline = pipeline.timeline();
        assert_eq!(timeline.events.len(), 60);
        assert!(timeline.dropped > 0);
        assert!(timeline.events.windows(2).all(|pair| pair[0].begin <= pair[1].begin));
        let computes = timeline.events.iter().filter(|event| event.tag.what == "compute");
        let mut computes: Vec<_> = computes.map(|event| (event.begin, event.end)).collect();
        computes.sort_unstable();
        if locks != Locks::None {
            assert!(computes.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{locks:?}: turns overlap");
        }
        assert!(timeline.events.iter().any(|event| event.tag.kind == Kind::Device));
        let utilisation = timeline.utilisation(0).expect("it ran");
        assert!(utilisation.lock > 0.0 && utilisation.lock <= 1.0);
        assert!(utilisation.device.is_some_and(|busy| busy > 0.0 && busy <= 1.0));
        let table = timeline.table();
        for word in ["prepare", "upload", "compute", "assemble", "kernels"] {
            assert!(table.contains(word), "{table}");
        }
        let trace: serde_json::Value = serde_json::from_str(&timeline.chrome()).expect("JSON");
        let traced = trace["traceEvents"].as_array().expect("a list");
        let count = |phase: &str| traced.iter().filter(|event| event["ph"] == phase).count();
        // The place's name, and one for the device and each worker.
        assert_eq!((count("X"), count("M")), (60, traced.len() - 60));
        assert!((3..=6).contains(&count("M")), "{}", count("M"));
        let svg = timeline.svg();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>") && svg.contains("&lt;fake&gt;"));
        assert_eq!(svg.matches("<title>").count(), 60);
    }
}
