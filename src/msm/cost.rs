//! What the planner decides by: how many additions a choice takes, and how many of them wait for each other. The
//! constants fit an H200; on other adapters they are a guess until the planner measures.

use std::ops::Range;

/// Bits that signed windows must cover: scalars are brought below `r/2 < 2^254`, and the last digit may not carry.
pub(super) const BITS: u32 = 255;
/// Cost of a bucket (two full additions, 28 multiplications) against that of an entry (a mixed addition, 10).
const BUCKET_COST: f64 = 2.8;
/// Mixed additions that a large card could have done while one waited for the one before.
const LATENCY: f64 = 8192.0;
/// Threads that keep a large card busy; below that, threads take fewer entries each.
pub(super) const THREADS: u64 = 1 << 16;
/// Entries of one thread: enough to make partial sums rare, few enough to end well before a watchdog looks.
pub(super) const CHUNK: Range<u64> = 8..64;
/// Most rounds of pairs: beyond it runs are filled up with more than they hold.
pub(super) const MAX_ROUNDS: u32 = 6;
/// Pairs that a round has to have to be worth its three dependent kernels.
const ROUND: u64 = 1 << 20;
/// Partial sums of one merging thread: each level leaves two of these, so the list shrinks fourfold.
pub(super) const MERGE: u64 = 8;
/// Threads that a run of partial sums may reach over to be joined by one thread.
pub(super) const JOIN: u64 = 32;

/// In mixed additions: those that are to be done, and those that a card could do while it waits for one after the other.
pub(super) fn cost(n: usize, window: u32, tables: u32) -> f64 {
    let windows = BITS.div_ceil(window);
    let buckets = f64::from(sets(windows, tables)) * (1u64 << (window - 1)) as f64;
    let work = f64::from(windows) * n as f64 + BUCKET_COST * buckets;
    let entries = n as u64 * u64::from(windows);
    let chunk = chunk(entries);
    // The topmost window has what bits the others leave: the fewer buckets, the longer their runs.
    let buckets = 1u64 << (BITS - 1 - window * (windows - 1)).saturating_sub(1);
    let run = n as u64 / buckets / chunk + 1;
    let levels = f64::from((entries / chunk).max(1).ilog2()) / 2.0;
    let joined = run.min(JOIN) as f64 + if run > JOIN { levels * MERGE as f64 } else { 0.0 };
    work + LATENCY * (joined + f64::from(window - 1))
}

/// Sets of buckets, where there are at most so many tables.
pub(super) fn sets(windows: u32, tables: u32) -> u32 {
    windows.div_ceil(tables.clamp(1, windows))
}

/// Rounds of pairs for uniform scalars: as long as there are enough pairs, and no more than leave about four items of a
/// bucket, for runs are filled up to a multiple of `2^rounds`.
pub(super) fn rounds(entries: u64, buckets: u64) -> u32 {
    let by_pairs = (entries / ROUND).checked_ilog2().unwrap_or(0);
    let by_load = (entries / buckets / 4).checked_ilog2().unwrap_or(0);
    by_pairs.min(by_load).min(MAX_ROUNDS)
}

/// Entries of one thread, of so many.
pub(super) fn chunk(entries: u64) -> u64 {
    (entries / THREADS).clamp(CHUNK.start, CHUNK.end)
}
