//! The numbers of one multi-scalar multiplication, before anything touches a device: window, chunks, levels, bytes.

use std::{fmt, ops::Range};

use super::{
    MsmError, Options,
    cost::{BITS, CHUNK, Costs, JOIN, MAX_ROUNDS, MAX_WINDOW, MERGE, Sizes},
    cut::Cut,
    pieces::{self, GRAIN, Part, Piece},
};
use crate::{
    device::{Limits, leased},
    kernel::Group,
};

/// Pairs of one thread.
const PAIRS: u64 = 16;
/// Products that share an inversion.
const INVERSIONS: u64 = 8;
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

/// One round of pairs: neighbours become their sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// Pairs, at most so many.
    pub pairs: u64,
    /// Threads that add.
    pub threads: u64,
    /// Threads that invert.
    pub inverters: u64,
}

/// One level of the reduction, per window: pairs of nodes become one node, which has one value more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fold {
    /// Nodes that go out.
    pub nodes: u64,
    /// Values of a node that comes in.
    pub values: u64,
}

/// The plan of one multi-scalar multiplication, or of several that are done together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Source group.
    pub group: Group,
    /// Bases altogether.
    pub n: usize,
    /// MSMs, each with sets of buckets of its own.
    pub parts: u32,
    /// Windows of a scalar.
    pub cut: Cut,
    /// Multiples of each base that are stored, itself first: [`Self::apart`] tells how far they are apart.
    pub tables: u32,
    /// Sets of buckets of a part: window `w` adds multiple `w / sets` to set `w % sets`. With one table, a set for each
    /// window.
    pub sets: u32,
    /// Sets that are sorted and summed together: as many as bindings have room for.
    pub batch: u32,
    /// Sets that are reduced together: all, where a binding has room for their buckets; else those of a batch.
    pub reduced: u32,
    /// Pieces of the bases.
    pub pieces: Vec<Piece>,
    /// Rounds of affine additions of pairs before.
    pub rounds: Vec<Round>,
    /// Levels of accumulation for the largest piece: the first from entries, the others from partial sums.
    pub levels: Vec<Level>,
    /// Runs over at most so many threads of the first level are summed at once, before the others.
    pub join: u64,
    /// Levels of reduction.
    pub folds: Vec<Fold>,
}

impl Plan {
    /// Plans `n` bases within `limits`. `positions[i]` is the place of base `i`'s scalar, in increasing order; without
    /// it base `i` takes scalar `i`. `options` may override the choices by cost.
    pub fn new(
        group: Group,
        n: usize,
        positions: Option<&[u32]>,
        limits: &Limits,
        options: &Options,
    ) -> Result<Self, MsmError> {
        Self::joint(group, &[Part { n, positions }], limits, options)
    }

    /// Plans MSMs that are sorted, summed and reduced together, with windows of the same size.
    pub fn joint(group: Group, parts: &[Part], limits: &Limits, options: &Options) -> Result<Self, MsmError> {
        parts.iter().try_for_each(Part::even)?;
        let n = parts.iter().map(|part| part.n).sum();
        // Places of bases, and one more, have to fit beside a sign.
        if n + (GRAIN - 1) * parts.len().saturating_sub(1) >= 1 << 31 {
            return Err(MsmError::TooMany { n });
        }
        let fits = |window: u32| (group.sum_bytes() << (window - 1)) <= limits.binding;
        let costs = &options.costs[group as usize];
        let longest = |tables: u32| pieces::longest(group, limits, widest(group), tables);
        let sizes = |window: u32| {
            let sizes = Sizes { n, pieces: 1, parts: parts.len() as u32, window, tables: options.tables };
            Sizes { pieces: pieces::count(parts, longest(sizes.multiples())), ..sizes }
        };
        let estimate = |window: u32| costs.estimate(sizes(window));
        let window = match options.window {
            Some(window) if (2..=MAX_WINDOW).contains(&window) && fits(window) => window,
            Some(window) => {
                let max = (2..=MAX_WINDOW).filter(|&window| fits(window)).max();
                let refused = MsmError::Binding { needed: least(group, options.tables), limit: limits.binding };
                return Err(max.map_or(refused, |max| MsmError::Window { window, max }));
            }
            None => (2..=MAX_WINDOW)
                .filter(|&window| fits(window))
                .min_by(|&a, &b| estimate(a).total_cmp(&estimate(b)))
                .ok_or(MsmError::Binding { needed: least(group, options.tables), limit: limits.binding })?,
        };
        let sizes = sizes(window);
        let (cut, sets, tables) = (sizes.cut(), sizes.sets(), sizes.multiples());
        let pieces = pieces::pieces(group, parts, limits, longest(tables), tables)?;
        let all = (sets * sizes.parts).max(1);
        let most = |batch: u32| {
            let batches = (0..all.div_ceil(batch)).map(|index| index * batch..((index + 1) * batch).min(all));
            let of = |range: Range<u32>| {
                let entries = |piece: &Piece| {
                    let chunk = |chunk: &pieces::Chunk| {
                        let rows = u64::from(own(&range, chunk.part, sets).len() as u32);
                        chunk.bases.len() as u64 * rows * u64::from(tables)
                    };
                    piece.chunks.iter().map(chunk).sum::<u64>()
                };
                pieces.iter().map(entries).max().unwrap_or(0)
            };
            batches.map(of).max().unwrap_or(0)
        };
        let items = |rounds: u32, batch: u32| {
            let (entries, keys) = (most(batch), u64::from(batch) << (window - 1));
            (entries + entries.min(keys) * ((1 << rounds) - 1)) >> rounds << rounds
        };
        // Windows at a time that every binding has room for.
        let room = |rounds: u32| {
            let fits = |&batch: &u32| {
                let buckets = (u64::from(batch) << (window - 1)) * group.sum_bytes();
                let items = items(rounds, batch);
                let sums = if rounds > 0 { items / 2 * group.affine_bytes() } else { 4 * items };
                buckets.max(sums) <= limits.binding
            };
            (1..=all).rev().find(fits)
        };
        let by_cost = || costs.rounds(Sizes { pieces: pieces.len().max(1), ..sizes });
        let wanted = options.rounds.unwrap_or_else(by_cost);
        let (round_count, batch) = (0..=wanted.min(MAX_ROUNDS))
            .rev()
            .find_map(|rounds| room(rounds).map(|batch| (rounds, batch)))
            .ok_or(MsmError::Binding { needed: least(group, tables), limit: limits.binding })?;
        // The same number of batches, of more even sizes.
        let batch = all.div_ceil(all.div_ceil(batch));
        // Buckets of a set begin where a binding may.
        let set = group.sum_bytes() << (window - 1);
        let together = u64::from(all) * set <= limits.binding && set.is_multiple_of(256);
        let items = items(round_count, batch);
        let rounds = (1..=round_count)
            .map(|round| {
                let pairs = items >> round;
                let threads = pairs.div_ceil(PAIRS).max(costs.threads().min(pairs.div_ceil(8)));
                Round { pairs, threads, inverters: threads.div_ceil(INVERSIONS) }
            })
            .collect();
        Ok(Self {
            rounds,
            group,
            n,
            parts: sizes.parts,
            cut,
            tables,
            sets,
            batch,
            reduced: if together { all } else { batch },
            pieces,
            levels: levels(costs, items >> round_count, limits.binding / group.sum_bytes()),
            join: JOIN,
            folds: folds(1 << (window - 1)),
        })
    }

    /// Buckets of one window: digits `1 ..= 2^(window-1)`.
    pub fn buckets(&self) -> u64 {
        1 << (self.cut.window - 1)
    }

    /// Doublings from multiple `table - 1` of a base to multiple `table`: the bits of the windows that one multiple of
    /// each base serves.
    pub fn apart(&self, table: u32) -> u32 {
        self.cut.offset(table * self.sets) - self.cut.offset((table - 1) * self.sets)
    }

    /// Buckets of the sets of a batch.
    pub fn keys(&self) -> u64 {
        self.buckets() * u64::from(self.batch)
    }

    /// Sets of all parts, part by part.
    pub fn all_sets(&self) -> u32 {
        self.sets * self.parts
    }

    /// Those sets of a part, counted from its first, that a batch has.
    pub fn own(&self, batch: &Range<u32>, part: usize) -> Range<u32> {
        own(batch, part, self.sets)
    }

    /// Batches of sets, one after the other.
    pub fn batches(&self) -> impl Iterator<Item = Range<u32>> {
        let (sets, batch) = (self.all_sets(), self.batch);
        (0..sets.div_ceil(batch)).map(move |index| index * batch..((index + 1) * batch).min(sets))
    }

    /// Most entries of a piece's batch.
    pub fn entries(&self) -> u64 {
        self.levels.first().map_or(0, |level| level.n << self.rounds.len())
    }

    /// Sums that a window ends as: of all its buckets, and for each bit of a bucket's number of those that have it.
    pub fn values(&self) -> u64 {
        u64::from(self.cut.window)
    }

    /// Bytes of a device vector with the sums of the sets that are reduced together, aligned for binding.
    pub fn row_bytes(&self) -> u64 {
        (u64::from(self.reduced) * self.values() * self.group.sum_bytes()).next_multiple_of(256)
    }

    /// Bytes that bases and their multiples lease, piece by piece.
    pub fn bases_bytes(&self) -> u64 {
        let piece = |piece: &Piece| leased(u64::from(self.tables) * piece.len() as u64 * self.group.affine_bytes());
        self.pieces.iter().map(piece).sum()
    }

    /// Bytes of work space that a run leases beside bases and scalars, without the window sums.
    pub fn scratch_bytes(&self) -> u64 {
        self.room().bytes()
    }

    /// All bytes that a run leases beside bases and scalars.
    pub fn leased_bytes(&self) -> u64 {
        self.scratch_bytes() + self.sums_bytes()
    }

    /// Bytes that the window sums lease.
    pub fn sums_bytes(&self) -> u64 {
        if self.n == 0 { 0 } else { leased(self.rows_bytes()) }
    }

    /// Bytes of the window sums: a row for each reduction.
    pub(super) fn rows_bytes(&self) -> u64 {
        self.row_bytes() * u64::from(self.all_sets().div_ceil(self.reduced))
    }

    /// The scratch spans of a run.
    pub fn room(&self) -> Room {
        if self.n == 0 {
            return Room::default();
        }
        let sum = self.group.sum_bytes();
        let partials = |level: usize| self.levels.get(level).map_or(0, |level| 2 * level.threads);
        // Folds go to and fro between this and the buckets. The last leaves its sums where they are read back.
        let folded = match self.folds.first() {
            Some(fold) if self.folds.len() > 1 => u64::from(self.reduced) * (fold.values + 1) * fold.nodes * sum,
            _ => 0,
        };
        let (pairs, threads) = self.rounds.first().map_or((0, 0), |round| (round.pairs, round.threads));
        let longest = self.pieces.iter().map(|piece| piece.len() as u64).max().unwrap_or(0);
        Room([
            32 * longest,
            4 * self.keys(),
            4 * self.keys().div_ceil(1024),
            4 * self.entries(),
            u64::from(self.reduced) * self.buckets() * sum,
            4 * partials(0),
            partials(0) * sum,
            4 * partials(1),
            partials(1) * sum,
            folded,
            pairs * self.group.affine_bytes(),
            pairs * self.group.affine_bytes() / 2,
            threads * self.group.affine_bytes() / 2,
            threads * self.group.affine_bytes() / 2,
        ])
    }
}

/// What the scratch spans of an MSM hold.
pub(super) const SPANS: [&str; 14] = [
    "msm plain scalars",
    "msm counts",
    "msm tile sums",
    "msm entries",
    "msm buckets",
    "msm partial keys",
    "msm partial sums",
    "msm partial keys",
    "msm partial sums",
    "msm folded sums",
    "msm pair sums",
    "msm pair prefixes",
    "msm pair products",
    "msm pair products",
];

/// Bytes of each scratch span of an MSM, none where it is not used. MSMs that run one after the other can share the
/// spans of the [`Self::join`] of their rooms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Room(pub(super) [u64; SPANS.len()]);

impl Room {
    /// Enough for either.
    pub fn join(self, other: Self) -> Self {
        Self(std::array::from_fn(|span| self.0[span].max(other.0[span])))
    }

    /// Bytes that it leases.
    pub fn bytes(&self) -> u64 {
        self.0.iter().filter(|&&bytes| bytes > 0).map(|&bytes| leased(bytes)).sum()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} msm of {}, {} part(s): {} windows, {} of them of {} bits, {} table(s), {} set(s) of buckets, {} at a time, \
             {} reduced at once, {} piece(s), {} bytes of scratch",
            self.group.name(),
            self.n,
            self.parts,
            self.cut.windows,
            self.cut.wide,
            self.cut.window,
            self.tables,
            self.sets,
            self.batch,
            self.reduced,
            self.pieces.len(),
            self.scratch_bytes()
        )?;
        for round in &self.rounds {
            let Round { pairs, threads, inverters } = round;
            writeln!(f, "  add {pairs} pairs, {threads} threads, {inverters} that invert")?;
        }
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

/// Bytes of a base in the binding where it takes most: itself, its entry, its part of the first partial sums (two for
/// CHUNK.end entries; two more for the last, partly filled thread are below the slack of the rounding to GRAIN).
fn widest(group: Group) -> u64 {
    group.affine_bytes().max(4).max((2 * group.sum_bytes()).div_ceil(CHUNK.end))
}

/// The smallest binding with which there is a plan: a piece of GRAIN bases with all their multiples, of which there are no more
/// than windows.
pub(super) fn least(group: Group, tables: u32) -> u64 {
    let tables = tables.clamp(1, BITS.div_ceil(2));
    (widest(group) * GRAIN as u64 * u64::from(tables) + 4 * group.sum_bytes()).next_multiple_of(256)
}

/// Those sets of a part, counted from its first, that lie in a range of the sets of all parts.
fn own(range: &Range<u32>, part: usize, sets: u32) -> Range<u32> {
    let first = part as u32 * sets;
    let clip = |at: u32| at.saturating_sub(first).min(sets);
    clip(range.start)..clip(range.end)
}

/// `room`: sums that fit one binding, which holds the two partial sums of every thread.
fn levels(costs: &Costs, entries: u64, room: u64) -> Vec<Level> {
    let mut all = Vec::new();
    let mut n = entries;
    let fewest = (2 * entries).div_ceil(room.saturating_sub(2).max(1));
    let mut chunk = costs.chunk(entries).max(fewest);
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
#[path = "plan_tests.rs"]
mod tests;
