//! What the planner decides by: an estimate of the time of an MSM with uniform scalars, out of eight measured numbers.
//!
//! With `n` bases and windows of `c` bits there are `w = ceil(255 / c)` windows, `e = n w` entries and `b` buckets in
//! all sets. `r` rounds of pairs fill runs up to multiples of `2^r`, by half of `2^r - 1` on average, and leave
//! `l = (e + min(e, b) (2^r - 1) / 2) / 2^r` items. In nanoseconds, pass by pass:
//!
//! | pass | estimate |
//! |---|---|
//! | sort | `e sort (1 + 2^(c-1) / 2^19) + 6 dispatch`: the open ends of many runs outgrow the cache |
//! | pairs | `l (2^r - 1) pair + r round` |
//! | accumulate | the longer of `l mixed` and `chunk wait`, a thread's items one after the other |
//! | merge | `dispatch` a level, `wait` for each partial sum of the longest run |
//! | reduce | `2 b add + (c - 1) (wait + dispatch)` |
//!
//! MSMs that are done together have their bases counted in `n` and a set of buckets each for every window. Bases in
//! several pieces take all passes but the last for each, with the entries of one.
//!
//! On an H200 the sums are within a fifth of what was measured from 2^14 to 2^26 in G1 and to 2^22 in G2.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::cut::Cut;

/// Bits that signed windows must cover: scalars are brought below `r/2 < 2^254`, and the last digit may not carry.
pub(super) const BITS: u32 = 255;
/// Entries of one thread: enough to make partial sums rare, few enough to end well before a watchdog looks.
pub(super) const CHUNK: Range<u64> = 8..64;
/// Largest window. Beyond it buckets no longer pay for sizes that fit a card.
pub(super) const MAX_WINDOW: u32 = 20;
/// Most rounds of pairs: beyond it runs are filled up with more than they hold.
pub(super) const MAX_ROUNDS: u32 = 6;
/// Partial sums of one merging thread: each level leaves two of these, so the list shrinks fourfold.
pub(super) const MERGE: u64 = 8;
/// Threads that a run of partial sums may reach over to be joined by one thread.
pub(super) const JOIN: u64 = 32;
/// Dispatches of a sort.
pub(super) const SORT: u64 = 6;

/// Times of one group's kernels on one adapter in nanoseconds, and where the device begins to pay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// An affine addition of a pair, one among plenty.
    pub pair: f64,
    /// A mixed addition to a bucket, one among plenty.
    pub mixed: f64,
    /// A full addition of the reduction, one among plenty.
    pub add: f64,
    /// Sorting an entry, one among plenty.
    pub sort: f64,
    /// An addition that the next one waits for.
    pub wait: f64,
    /// A round with next to no pairs: three dependent kernels, and an inversion.
    pub round: f64,
    /// A dispatch with next to nothing to do that the next one waits for.
    pub dispatch: f64,
    /// Fewer bases than this are left to the host; [`Self::NEVER`] if all are.
    pub cpu_below: u64,
}

impl Costs {
    /// [`Self::cpu_below`] where the host is always faster: more bases than an MSM can have.
    pub const NEVER: u64 = 1 << 31;

    /// By group: what fits an H200 in the `u64` format, where nothing was measured and where plans have to be the same
    /// everywhere. `cpu_below` is a guess: that card beside 16 cores.
    pub const H200: [Self; 2] = [
        Self {
            pair: 0.38,
            mixed: 0.63,
            add: 0.9,
            sort: 0.047,
            wait: 20_000.0,
            round: 180_000.0,
            dispatch: 6_000.0,
            cpu_below: 512,
        },
        Self {
            pair: 1.03,
            mixed: 2.2,
            add: 3.0,
            sort: 0.047,
            wait: 55_000.0,
            round: 600_000.0,
            dispatch: 6_000.0,
            cpu_below: 512,
        },
    ];

    /// The times, by name.
    pub fn times(&self) -> [(&'static str, f64); 7] {
        let Self { pair, mixed, add, sort, wait, round, dispatch, cpu_below: _ } = *self;
        [
            ("pair", pair),
            ("mixed", mixed),
            ("add", add),
            ("sort", sort),
            ("wait", wait),
            ("round", round),
            ("dispatch", dispatch),
        ]
    }

    /// Nanoseconds of an MSM with the best number of rounds.
    pub fn estimate(&self, sizes: Sizes) -> f64 {
        self.estimate_with(sizes, self.rounds(sizes))
    }

    /// Nanoseconds of an MSM, by the table above.
    pub fn estimate_with(&self, sizes: Sizes, rounds: u32) -> f64 {
        let Sizes { window, parts, pieces, .. } = sizes;
        let windows = sizes.windows();
        let buckets = u64::from(parts * sizes.sets()) << (window - 1);
        let n = sizes.n.div_ceil(pieces);
        let entries = n as u64 * u64::from(windows);
        let left = items(entries, buckets, rounds) / (1u64 << rounds) as f64;
        let chunk = self.chunk(left as u64);
        // The set with the longest runs is that of the topmost window, whose digits are the fewest: below r/2, so there are
        // 0.9 as many as bits have room for; half of that to be on the safe side, merging being dearer than told here.
        let (cut, sets) = (sizes.cut(), sizes.sets() as usize);
        let topmost = (BITS - 1 - cut.offset(windows - 1)).saturating_sub(1);
        let others = (0..windows - 1).rev().skip(sets - 1).step_by(sets);
        let share = |bits: u32| f64::from(bits).exp2().recip();
        let shares = share(topmost) + others.map(|index| share(cut.width(index) - 1)).sum::<f64>();
        let run = (n as f64 / f64::from(parts.max(1)) * shares) as u64 / (chunk << rounds) + 1;
        let levels = (left as u64 / chunk).max(1).ilog2() / 2 + 1;
        let joined = run.min(JOIN) + if run > JOIN { u64::from(levels) * MERGE } else { 0 };
        // Runs that are written to lie open in the cache, a line each. On an H200 2^24 bases in windows of 17 bits take
        // 0.049 ns an entry (0.053 by this), 2^26 in windows of 20 bits 0.087 (0.094).
        let spread = 1.0 + f64::from(1u32 << (window - 1)) / f64::from(1u32 << 19);
        let sort = entries as f64 * self.sort * spread + SORT as f64 * self.dispatch;
        let pairs = left * ((1u64 << rounds) - 1) as f64 * self.pair + f64::from(rounds) * self.round;
        let accumulate = (left * self.mixed).max(chunk as f64 * self.wait);
        let merge = f64::from(levels) * self.dispatch + joined as f64 * self.wait;
        let reduce = 2.0 * buckets as f64 * self.add + f64::from(window - 1) * (self.wait + self.dispatch);
        (sort + pairs + accumulate + merge) * pieces as f64 + reduce
    }

    /// The estimate with the best window, where no binding is too small for it.
    pub(super) fn best(&self, n: usize) -> f64 {
        (2..=MAX_WINDOW).map(|window| self.estimate(Sizes::alone(n, window))).fold(f64::INFINITY, f64::min)
    }

    /// Rounds of pairs for uniform scalars: each halves what is left and doubles what fills runs up; as many as the
    /// estimate is best with, and only while a round saves more than it takes with no pairs.
    pub(super) fn rounds(&self, sizes: Sizes) -> u32 {
        let saved = sizes.n.div_ceil(sizes.pieces) as f64 * f64::from(sizes.windows()) * (self.mixed - self.pair);
        // What is negative or no number becomes 0.
        let most = ((saved / self.round) as u64).checked_ilog2().unwrap_or(0).min(MAX_ROUNDS);
        let estimate = |rounds: u32| self.estimate_with(sizes, rounds);
        (0..=most).min_by(|&a, &b| estimate(a).total_cmp(&estimate(b))).unwrap_or(0)
    }

    /// Threads that keep the adapter busy; below that, threads take fewer entries each. While one addition waits for
    /// another, `wait / mixed` could be done; waits are longer on a busy adapter than they were measured, so more.
    pub(super) fn threads(&self) -> u64 {
        ((1.75 * self.wait / self.mixed) as u64).clamp(1 << 6, 1 << 17).next_power_of_two()
    }

    /// Entries of one thread, of so many.
    pub(super) fn chunk(&self, entries: u64) -> u64 {
        (entries / self.threads()).clamp(CHUNK.start, CHUNK.end)
    }
}

/// What an estimate is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Bases of all parts.
    pub n: usize,
    /// Pieces that they are cut into, at least one.
    pub pieces: usize,
    /// MSMs that are done together, at least one.
    pub parts: u32,
    /// Bits of a window.
    pub window: u32,
    /// Most multiples of each base, itself among them.
    pub tables: u32,
}

impl Sizes {
    /// One MSM in one piece, without multiples.
    pub fn alone(n: usize, window: u32) -> Self {
        Self { n, pieces: 1, parts: 1, window, tables: 1 }
    }

    /// Windows.
    pub fn windows(self) -> u32 {
        Cut::even(self.window).windows
    }

    /// Those windows. Where several sets of buckets each take several windows, all have to be as wide: multiples of a base
    /// are the same for all sets.
    pub fn cut(self) -> Cut {
        let sets = self.sets();
        if sets == 1 || sets == self.windows() { Cut::even(self.window) } else { Cut::uniform(self.window) }
    }

    /// Sets of buckets of a part.
    pub fn sets(self) -> u32 {
        let windows = self.windows();
        windows.div_ceil(self.tables.clamp(1, windows))
    }

    /// Multiples that are of use.
    pub fn multiples(self) -> u32 {
        self.windows().div_ceil(self.sets())
    }
}

/// Items that rounds of pairs begin with, for uniform scalars: entries, and what fills their runs up.
pub(super) fn items(entries: u64, buckets: u64, rounds: u32) -> f64 {
    entries as f64 + entries.min(buckets) as f64 * ((1u64 << rounds) - 1) as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Device times of an H200 in milliseconds, of the windows and rounds that they were measured with.
    #[test]
    fn estimates_are_what_was_measured() {
        for (group, log_n, window, pieces, rounds, ms) in [
            (0, 14, 12, 1, 0, 0.82),
            (0, 16, 13, 1, 0, 1.52),
            (0, 20, 13, 1, 4, 11.35),
            (0, 20, 15, 1, 4, 10.36),
            (0, 20, 16, 1, 3, 10.55),
            (0, 22, 17, 1, 3, 35.1),
            (0, 24, 17, 1, 4, 123.5),
            (0, 24, 17, 1, 6, 132.9),
            (0, 26, 20, 4, 3, 517.1),
            (1, 14, 12, 1, 0, 2.13),
            (1, 16, 13, 1, 1, 3.70),
            (1, 20, 16, 1, 3, 28.4),
            (1, 22, 16, 1, 4, 94.3),
        ] {
            let sizes = Sizes { pieces, ..Sizes::alone(1 << log_n, window) };
            let estimate = Costs::H200[group].estimate_with(sizes, rounds) / 1e6;
            assert!((0.8..1.2).contains(&(estimate / ms)), "2^{log_n}: {estimate} ms, measured {ms}");
        }
    }

    /// Numbers that no adapter has may lead to odd plans, but to plans.
    #[test]
    fn any_numbers_will_do() {
        for odd in [f64::NAN, f64::INFINITY, -1.0, 0.0, f64::MIN_POSITIVE, f64::MAX] {
            let costs = Costs { pair: odd, mixed: odd, add: odd, sort: odd, wait: odd, ..Costs::H200[0] };
            let slow = Costs { pair: odd, round: odd, dispatch: odd, ..Costs::H200[0] };
            for costs in [costs, slow] {
                for n in [0, 1, 1 << 20, 1 << 31] {
                    costs.estimate(Sizes::alone(n, 2));
                    costs.estimate(Sizes { pieces: 3, parts: 4, tables: 255, ..Sizes::alone(n, 20) });
                    assert!(costs.rounds(Sizes::alone(n, 20)) <= MAX_ROUNDS);
                    assert!((CHUNK.start..=CHUNK.end).contains(&costs.chunk(n as u64)));
                }
            }
        }
    }
}
