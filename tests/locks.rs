//! The lock protocol under a model checker: the text of `src/pipeline/card.rs` itself, over loom's mutexes and threads.
//!
//! Loom runs every interleaving of a case up to a bound of preemptions, and reports a deadlock itself; the actors count
//! bytes and turns on their own and compare them with what the card says. Panics are left to the seeded schedules of
//! `tests/pipeline`: loom's mutexes do not survive them, and what unwinding drops is what an early return drops.

#![allow(dead_code, reason = "the included file's public items have other users")]

#[path = "../src/pipeline/card.rs"]
mod card;

mod sync {
    use std::sync::PoisonError;

    pub use loom::sync::{Condvar, Mutex, MutexGuard};

    pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn shielded(_what: &str, run: impl FnOnce()) {
        run();
    }

    pub fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }
}

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
};

use card::{Card, LeaseError, Request};
use loom::thread;

/// What an actor does with its lease.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// Loads, takes its turn, computes.
    Through,
    /// Runs without a turn.
    Pass,
    /// Fails at loading the key.
    LoadFails,
    /// Gives the lease back before its turn.
    Early,
    /// Fails under its turn, and drops it with the lease.
    Fails,
}

/// Bytes and turns as the actors see them. Plain atomics: they add no interleavings.
#[derive(Default)]
struct Seen {
    held: AtomicU64,
    most: AtomicU64,
    running: AtomicBool,
    computed: AtomicU64,
}

impl Seen {
    fn take(self: &Arc<Self>, bytes: u64) -> Held {
        let now = self.held.fetch_add(bytes, SeqCst) + bytes;
        self.most.fetch_max(now, SeqCst);
        Held(self.clone(), bytes)
    }
}

/// Bytes of a key or a partition, counted from load to drop.
struct Held(Arc<Seen>, u64);

impl Drop for Held {
    fn drop(&mut self) {
        // Frees take time, in which others may look.
        thread::yield_now();
        self.0.held.fetch_sub(self.1, SeqCst);
    }
}

fn actor(card: &Arc<Card<Held>>, seen: &Arc<Seen>, stop: &AtomicBool, request: Request, way: Way) {
    let stopped = || stop.load(SeqCst);
    let lease = match card.lease(request, stopped) {
        Ok(lease) => lease,
        Err(LeaseError::Cancelled) => return assert!(stopped()),
        Err(error) => panic!("{error}"),
    };
    let work = seen.take(request.peak);
    let load = || if way == Way::LoadFails { Err(()) } else { Ok(seen.take(request.key_bytes)) };
    // A key that somebody else loaded is there, whatever this actor's load would do.
    let Ok(key) = lease.key(load) else { return };
    if way == Way::Early {
        return;
    }
    if way == Way::Pass {
        lease.pass();
    } else {
        let Some(turn) = lease.execute(stopped) else { return assert!(stopped()) };
        assert!(!seen.running.swap(true, SeqCst), "two turns at once");
        thread::yield_now();
        assert!(seen.running.swap(false, SeqCst));
        if way == Way::Fails {
            return;
        }
        drop(turn);
        assert!(lease.execute(stopped).is_none(), "a lease has one turn");
    }
    seen.computed.fetch_add(1, SeqCst);
    drop((key, work));
}

/// A case: a budget, whether somebody cancels, whether somebody evicts, and the actors.
#[derive(Clone, Copy, Debug)]
struct Case {
    budget: u64,
    cancel: bool,
    evict: bool,
    /// Key and way; a key has 2 bytes, a partition 3.
    actors: &'static [(u64, Way)],
}

const KEY: u64 = 2;
const PEAK: u64 = 3;

fn run(case: Case) {
    let card = Card::<Held>::new(case.budget);
    let seen = Arc::new(Seen::default());
    let stop = Arc::new(AtomicBool::new(false));
    let mut threads = Vec::new();
    for &(key, way) in case.actors {
        let (card, seen, stop) = (card.clone(), seen.clone(), stop.clone());
        threads.push(thread::spawn(move || {
            let request = Request { key, key_bytes: KEY, peak: PEAK };
            actor(&card, &seen, &stop, request, way);
        }));
    }
    if case.evict {
        let card = card.clone();
        threads.push(thread::spawn(move || _ = card.evict(0)));
    }
    if case.cancel {
        stop.store(true, SeqCst);
        card.wake();
    }
    for thread in threads {
        thread.join().expect("an actor");
    }
    let count = |ways: &[Way]| case.actors.iter().filter(|(_, way)| ways.contains(way)).count() as u64;
    let at_least = if case.cancel { 0 } else { count(&[Through, Pass]) };
    // Who finds its key loaded can not fail at loading it.
    let at_most = count(&[Through, Pass, LoadFails]);
    let computed = seen.computed.load(SeqCst);
    assert!((at_least..=at_most).contains(&computed), "{computed} of {at_least} to {at_most} computed");
    assert!(seen.most.load(SeqCst) <= case.budget, "{} bytes held, {} to give", seen.most.load(SeqCst), case.budget);
    let bytes = card.bytes();
    assert_eq!(bytes.leased, bytes.keys, "only keys stay");
    assert!(seen.held.load(SeqCst) <= bytes.keys);
    let everything = Request { key: 9, key_bytes: 0, peak: case.budget };
    drop(card.lease(everything, || false).unwrap_or_else(|error| panic!("{error}")));
    assert_eq!(seen.held.load(SeqCst), 0, "idle keys went");
}

use Way::{Early, Fails, LoadFails, Pass, Through};

const CASES: &[Case] = &[
    Case { budget: 5, cancel: false, evict: false, actors: &[(0, Through), (0, Through)] },
    Case { budget: 5, cancel: false, evict: false, actors: &[(0, Through), (1, Through)] },
    Case { budget: 8, cancel: false, evict: false, actors: &[(0, Through), (0, Through)] },
    Case { budget: 8, cancel: false, evict: false, actors: &[(0, LoadFails), (0, Through)] },
    Case { budget: 10, cancel: false, evict: false, actors: &[(0, Pass), (1, Early)] },
    Case { budget: 10, cancel: false, evict: false, actors: &[(0, Fails), (1, Through)] },
    Case { budget: 5, cancel: true, evict: false, actors: &[(0, Through), (1, Through)] },
    Case { budget: 8, cancel: false, evict: true, actors: &[(0, Through)] },
    Case { budget: 5, cancel: false, evict: false, actors: &[(0, Through), (1, Through), (0, Through)] },
    Case { budget: 8, cancel: false, evict: false, actors: &[(0, Fails), (1, LoadFails), (0, Through)] },
    Case { budget: 8, cancel: false, evict: false, actors: &[(0, Through), (1, Through), (2, Pass)] },
    Case { budget: 10, cancel: true, evict: false, actors: &[(0, Through), (1, Through), (2, Through)] },
    Case { budget: 8, cancel: false, evict: true, actors: &[(0, Through), (1, Through)] },
    Case { budget: 5, cancel: false, evict: true, actors: &[(0, Through), (1, Through)] },
    Case { budget: 8, cancel: true, evict: true, actors: &[(0, Through), (1, Pass)] },
];

/// `PROOFLANE_PREEMPTIONS` sets the bound.
#[test]
fn every_interleaving() {
    let bound = std::env::var("PROOFLANE_PREEMPTIONS").map_or(3, |n| n.parse().expect("a number of preemptions"));
    for case in CASES {
        let begin = std::time::Instant::now();
        let count = Arc::new(AtomicU64::new(0));
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(bound);
        let counted = count.clone();
        model.check(move || {
            counted.fetch_add(1, SeqCst);
            run(*case);
        });
        eprintln!("{case:?}: {} interleavings, {:?}", count.load(SeqCst), begin.elapsed());
    }
}
