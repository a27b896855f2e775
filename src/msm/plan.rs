//! The numbers of one multi-scalar multiplication, before anything touches a device: window, chunks, levels, bytes.

use std::{fmt, ops::Range};

use super::MsmError;
use crate::{
    device::{Limits, leased},
    kernel::Group,
};

/// Bits that signed windows must cover: scalars are brought below `r/2 < 2^254`, and the last digit may not carry.
const BITS: u32 = 255;
/// Largest window. Beyond it buckets no longer pay for sizes that fit a card.
const MAX_WINDOW: u32 = 20;
/// Cost of a bucket (two full additions, 28 multiplications) against that of an entry (a mixed addition, 10).
const BUCKET_COST: f64 = 2.8;
/// Mixed additions that a large card could have done while one waited for the one before.
const LATENCY: f64 = 8192.0;
/// Threads that keep a large card busy; below that, threads take fewer entries each.
const THREADS: u64 = 1 << 16;
/// Entries of one thread: enough to make partial sums rare, few enough to end well before a watchdog looks.
const CHUNK: Range<u64> = 8..64;
/// Partial sums of one merging thread: each level leaves two of these, so the list shrinks fourfold.
const MERGE: u64 = 8;
/// Threads that a run of partial sums may reach over to be joined by one thread.
const JOIN: u64 = 32;
/// Chunks of bases are multiples of this, so that their spans keep the alignment of bindings.
const GRAIN: usize = 64;

/// A piece of the bases that fits the device's bindings. Pieces are summed one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Bases.
    pub bases: Range<usize>,
    /// Positions in the scalar vector that the bases refer to; the start is a multiple of 8 (256 bytes).
    pub scalars: Range<usize>,
}

/// One level of summing runs: `threads` threads take `chunk` of `n` items each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// Items that come in: entries at the first level (at most so many), partial sums later.
    pub n: u64,
    /// Items of one thread.
    pub chunk: u64,
    /// Threads; two partial sums each go out.
    pub threads: u64,
}

/// One level of the reduction, per window: pairs of nodes become one node, which has one value more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fold {
    /// Nodes that go out.
    pub nodes: u64,
    /// Values of a node that comes in.
    pub values: u64,
}

/// The plan of one multi-scalar multiplication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Source group.
    pub group: Group,
    /// Bases altogether.
    pub n: usize,
    /// Bits of a window.
    pub window: u32,
    /// Windows.
    pub windows: u32,
    /// Pieces.
    pub chunks: Vec<Chunk>,
    /// Levels of accumulation for the largest piece: the first from entries, the others from partial sums.
    pub levels: Vec<Level>,
    /// Runs over at most so many threads of the first level are summed at once, before the others.
    pub join: u64,
    /// Levels of reduction.
    pub folds: Vec<Fold>,
}

impl Plan {
    /// Plans `n` bases within `limits`. `positions[i]` is the place of base `i`'s scalar, in increasing order; without
    /// it base `i` takes scalar `i`. `window` overrides the choice by cost.
    pub fn new(
        group: Group,
        n: usize,
        positions: Option<&[u32]>,
        limits: &Limits,
        window: Option<u32>,
    ) -> Result<Self, MsmError> {
        if let Some(positions) = positions.filter(|positions| positions.len() != n) {
            return Err(MsmError::Lengths { bases: n, scalars: positions.len() });
        }
        if n >= 1 << 31 {
            return Err(MsmError::TooMany { n });
        }
        let fits = |window: u32| keys(window) * group.sum_bytes() <= limits.binding;
        let window = match window {
            Some(window) if (2..=MAX_WINDOW).contains(&window) && fits(window) => window,
            Some(window) => {
                let max = (2..=MAX_WINDOW).filter(|&window| fits(window)).max();
                let refused = MsmError::Binding { needed: least(group), limit: limits.binding };
                return Err(max.map_or(refused, |max| MsmError::Window { window, max }));
            }
            None => (2..=MAX_WINDOW)
                .filter(|&window| fits(window))
                .min_by(|&a, &b| cost(n, a).total_cmp(&cost(n, b)))
                .ok_or(MsmError::Binding { needed: least(group), limit: limits.binding })?,
        };
        let windows = BITS.div_ceil(window);
        let chunks = chunks(group, n, positions, limits, windows)?;
        let longest = chunks.iter().map(|chunk| chunk.bases.len() as u64).max().unwrap_or(0);
        let entries = longest * u64::from(windows);
        Ok(Self {
            group,
            n,
            window,
            windows,
            chunks,
            levels: levels(entries, limits.binding / group.sum_bytes()),
            join: JOIN,
            folds: folds(1 << (window - 1)),
        })
    }

    /// Buckets of one window: digits `1 ..= 2^(window-1)`.
    pub fn buckets(&self) -> u64 {
        1 << (self.window - 1)
    }

    /// Buckets of all windows.
    pub fn keys(&self) -> u64 {
        self.buckets() * u64::from(self.windows)
    }

    /// Most entries of a piece.
    pub fn entries(&self) -> u64 {
        self.levels.first().map_or(0, |level| level.n)
    }

    /// Sums that a window ends as: of all its buckets, and for each bit of a bucket's number of those that have it.
    pub fn values(&self) -> u64 {
        u64::from(self.window)
    }

    /// Bytes of a device vector with the sums of all windows, aligned for binding.
    pub fn row_bytes(&self) -> u64 {
        (u64::from(self.windows) * self.values() * self.group.sum_bytes()).next_multiple_of(256)
    }

    /// Bytes of work space that a run leases beside bases and scalars.
    pub fn scratch_bytes(&self) -> u64 {
        self.sizes().iter().filter(|size| size.1 > 0).map(|&(_, bytes)| leased(bytes)).sum()
    }

    /// All bytes that a run leases beside bases and scalars.
    pub fn leased_bytes(&self) -> u64 {
        if self.n == 0 { 0 } else { self.scratch_bytes() + leased(self.rows_bytes()) }
    }

    /// Bytes of the window sums: a row for each piece.
    pub(super) fn rows_bytes(&self) -> u64 {
        self.row_bytes() * self.chunks.len() as u64
    }

    /// The scratch spans of a run: what for, and bytes; none where the span is not used.
    pub(super) fn sizes(&self) -> [(&'static str, u64); 9] {
        let sum = self.group.sum_bytes();
        let partials = |level: usize| self.levels.get(level).map_or(0, |level| 2 * level.threads);
        // Folds go to and fro between this and the buckets. The last leaves its sums where they are read back.
        let folded = match self.folds.first() {
            Some(fold) if self.folds.len() > 1 => u64::from(self.windows) * (fold.values + 1) * fold.nodes * sum,
            _ => 0,
        };
        [
            ("msm counts", 4 * self.keys()),
            ("msm tile sums", 4 * self.keys().div_ceil(1024)),
            ("msm entries", 4 * self.entries()),
            ("msm buckets", self.keys() * sum),
            ("msm partial keys", 4 * partials(0)),
            ("msm partial sums", partials(0) * sum),
            ("msm partial keys", 4 * partials(1)),
            ("msm partial sums", partials(1) * sum),
            ("msm folded sums", folded),
        ]
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} msm of {}: {} windows of {} bits, {} piece(s), {} bytes of scratch",
            self.group.name(),
            self.n,
            self.windows,
            self.window,
            self.chunks.len(),
            self.scratch_bytes()
        )?;
        for level in &self.levels {
            writeln!(f, "  sum {} items, {} a thread, {} threads", level.n, level.chunk, level.threads)?;
        }
        writeln!(f, "  join runs over up to {} threads after the first", self.join)?;
        for fold in &self.folds {
            writeln!(f, "  fold to {} nodes of {} values a window", fold.nodes, fold.values + 1)?;
        }
        Ok(())
    }
}

fn keys(window: u32) -> u64 {
    u64::from(BITS.div_ceil(window)) << (window - 1)
}

/// In mixed additions: those that are to be done, and those that a card could do while it waits for one after the other.
fn cost(n: usize, window: u32) -> f64 {
    let windows = BITS.div_ceil(window);
    let work = f64::from(windows) * (n as f64 + BUCKET_COST * (1u64 << (window - 1)) as f64);
    let entries = n as u64 * u64::from(windows);
    let chunk = chunk(entries);
    // The topmost window has what bits the others leave: the fewer buckets, the longer their runs.
    let buckets = 1u64 << (BITS - 1 - window * (windows - 1)).saturating_sub(1);
    let run = n as u64 / buckets / chunk + 1;
    let levels = f64::from((entries / chunk).max(1).ilog2()) / 2.0;
    let joined = run.min(JOIN) as f64 + if run > JOIN { levels * MERGE as f64 } else { 0.0 };
    work + LATENCY * (joined + f64::from(window - 1))
}

/// Entries of one thread, of so many.
fn chunk(entries: u64) -> u64 {
    (entries / THREADS).clamp(CHUNK.start, CHUNK.end)
}

/// Bytes of a base in the binding where it takes most, for that many windows.
fn widest(group: Group, windows: u32) -> u64 {
    let entry_bytes = 4 * u64::from(windows);
    let partial_bytes = (2 * group.sum_bytes() * u64::from(windows)).div_ceil(CHUNK.end);
    group.affine_bytes().max(entry_bytes).max(partial_bytes)
}

/// The smallest binding with which there is a plan: the buckets of the smallest window, and a piece of GRAIN bases.
fn least(group: Group) -> u64 {
    let piece = widest(group, BITS.div_ceil(2)) * GRAIN as u64 + 4 * group.sum_bytes();
    piece.max(keys(2) * group.sum_bytes()).next_multiple_of(256)
}

/// Greedy pieces, each as long as every binding allows.
fn chunks(
    group: Group,
    n: usize,
    positions: Option<&[u32]>,
    limits: &Limits,
    windows: u32,
) -> Result<Vec<Chunk>, MsmError> {
    // Per base: itself, its map word, its entries, and its part of the first partial sums (two for CHUNK.end entries;
    // two more for the last, partly filled thread are below the slack of the rounding to GRAIN).
    let widest = widest(group, windows);
    let longest = ((limits.binding - limits.binding.min(4 * group.sum_bytes())) / widest) as usize / GRAIN * GRAIN;
    let scalars = (limits.binding / 32) as usize;
    let refuse = MsmError::Binding { needed: least(group), limit: limits.binding };
    if n > 0 && (longest == 0 || scalars < GRAIN) {
        return Err(refuse);
    }
    let position = |i: usize| positions.map_or(i, |positions| positions[i] as usize);
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < n {
        let first = position(start) / 8 * 8;
        let mut end = (start + longest).min(n);
        if position(end - 1) - first >= scalars {
            // The first base that lies too far; positions increase, so bisection finds it.
            end = match positions {
                Some(positions) => start + positions[start..end].partition_point(|&p| (p as usize) < first + scalars),
                None => first + scalars,
            };
            if end < n {
                end = end / GRAIN * GRAIN;
            }
            if end <= start {
                return Err(MsmError::Spread { at: start, limit: scalars });
            }
        }
        pieces.push(Chunk { bases: start..end, scalars: first..position(end - 1) + 1 });
        start = end;
    }
    Ok(pieces)
}

/// `room`: sums that fit one binding, which holds the two partial sums of every thread.
fn levels(entries: u64, room: u64) -> Vec<Level> {
    let mut all = Vec::new();
    let mut n = entries;
    let fewest = (2 * entries).div_ceil(room.saturating_sub(2).max(1));
    let mut chunk = chunk(entries).max(fewest);
    while n > 0 {
        let threads = n.div_ceil(chunk);
        all.push(Level { n, chunk, threads });
        // A lone thread finds every run complete and leaves nothing.
        n = if threads == 1 { 0 } else { 2 * threads };
        chunk = MERGE;
    }
    all
}

fn folds(buckets: u64) -> Vec<Fold> {
    (0..buckets.trailing_zeros())
        .map(|level| Fold { nodes: buckets >> (level + 1), values: u64::from(level) + 1 })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(binding: u64) -> Limits {
        Limits { binding, buffer: 1 << 40, memory: 1 << 40, block: 1 << 20, groups: 65535, workgroup_memory: 16384 }
    }

    /// Every span within a binding, every base in one piece, for sizes and limits far beyond what tests can run.
    #[test]
    fn plans_keep_within_bindings() {
        for group in [Group::G1, Group::G2] {
            for binding in [1 << 17, 1 << 20, 128 << 20, (1 << 31) - 256] {
                for n in [1, 31, 1 << 10, 131_071, 1 << 20, (1 << 26) + 1] {
                    let plan = Plan::new(group, n, None, &limits(binding), None).expect("a plan");
                    assert_eq!(plan.chunks.first().map(|c| c.bases.start), Some(0));
                    assert_eq!(plan.chunks.last().map(|c| c.bases.end), Some(n));
                    for pair in plan.chunks.windows(2) {
                        assert_eq!(pair[0].bases.end, pair[1].bases.start);
                        assert_eq!(pair[0].bases.end as u64 * group.affine_bytes() % 256, 0);
                    }
                    for chunk in &plan.chunks {
                        assert!(chunk.bases.len() as u64 * group.affine_bytes() <= binding);
                        assert!(chunk.scalars.len() as u64 * 32 <= binding && chunk.scalars.start % 8 == 0);
                    }
                    for (what, bytes) in plan.sizes().into_iter().chain([("a row", plan.row_bytes())]) {
                        assert!(bytes <= binding, "{what} {bytes} > {binding} in {plan}");
                    }
                    assert_eq!(plan.levels.last().map(|level| level.threads), Some(1));
                    assert_eq!(plan.folds.last().map(|fold| (fold.nodes, fold.values + 1)), Some((1, plan.values())));
                }
            }
        }
    }

    #[test]
    fn scattered_positions_are_cut_by_distance() {
        let positions: Vec<u32> = (0..1000).map(|i| i * 50).collect();
        let plan = Plan::new(Group::G1, 1000, Some(&positions), &limits(1 << 18), None).expect("a plan");
        for chunk in &plan.chunks {
            assert!(chunk.scalars.len() * 32 <= 1 << 18);
            assert_eq!(chunk.scalars.end, positions[chunk.bases.end - 1] as usize + 1);
            assert!(chunk.scalars.start <= positions[chunk.bases.start] as usize);
        }
        assert!(plan.chunks.len() > 5);
    }

    #[test]
    fn what_can_not_be_planned_is_refused_with_numbers() {
        let refused =
            |limit, window| Plan::new(Group::G2, 100, None, &limits(limit), window).expect_err("refused").to_string();
        assert_eq!(refused(4096, None), "the device binds 4096 bytes at once, an MSM needs at least 99840");
        assert_eq!(
            refused((1 << 31) - 256, Some(21)),
            "a window of 21 bits is not possible here; it is 2 to 19, fewer where bindings are small"
        );
        assert_eq!(
            refused(128 << 20, Some(16)),
            "a window of 16 bits is not possible here; it is 2 to 15, fewer where bindings are small"
        );
        // The number that is named is enough, and nothing below it is.
        for (group, least) in [(Group::G1, 49920), (Group::G2, 99840)] {
            assert_eq!(super::least(group), least);
            for n in [1, 64, 1000] {
                Plan::new(group, n, None, &limits(least), None).expect("a plan");
                Plan::new(group, n, None, &limits(least - 256), None).expect_err("too small");
            }
        }
        let uneven = Plan::new(Group::G1, 9, Some(&[1, 2]), &limits(1 << 30), None).expect_err("refused").to_string();
        assert_eq!(uneven, "an MSM that needs 9 scalars was given 2");
        let many = Plan::new(Group::G1, 1 << 31, None, &limits(1 << 30), None).expect_err("refused").to_string();
        assert_eq!(many, "2147483648 bases are too many for one MSM, the most is 2^31 - 1");
    }
}
