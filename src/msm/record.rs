//! From plan to dispatches, and from what they leave to one point.

use std::marker::PhantomData;

use rayon::prelude::*;

use super::{
    Bases, MsmError, Options, Plan, Scalars, Source,
    plan::{Room, SPANS},
};
use crate::{
    device::{Pool, Span},
    encoding::Format,
    kernel::{
        Kernels, Steps,
        table::{
            MSM_ACCUMULATE, MSM_COUNT, MSM_JOIN, MSM_MERGE, MSM_PAIR_ADD, MSM_PAIR_ADD_FIRST, MSM_PAIR_INVERT,
            MSM_PAIR_PRODUCTS, MSM_PAIR_PRODUCTS_FIRST, MSM_PLAIN, MSM_REDUCE, MSM_SCATTER, SCAN_ADD, SCAN_SUMS,
            SCAN_TILES,
        },
        twins::{
            AccumulateParams, DigitParams, InvertParams, JoinParams, MergeParams, PairParams, PlainParams,
            ReduceParams, ScanParams,
        },
    },
};

/// An MSM that was written into a list of steps: where its window sums will lie, and how they make one point.
#[derive(Debug, Clone)]
pub struct Recorded<G> {
    plan: Plan,
    format: Format,
    /// A row for each reduction.
    rows: Option<Span>,
    group: PhantomData<fn() -> G>,
}

impl<G: Source> Recorded<G> {
    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What has to be read back once the steps have run; nothing for an empty MSM.
    pub fn rows(&self) -> Option<&Span> {
        self.rows.as_ref()
    }

    /// The sum, from the bytes of [`Self::rows`]; of several that were done together, the sum of all.
    pub fn sum(&self, bytes: &[u8]) -> Result<G, MsmError> {
        Ok(self.sums(bytes)?.into_iter().sum())
    }

    /// The sum of each part, from the bytes of [`Self::rows`]: Horner's rule over the bits of each set, by the threads of
    /// the current pool, and over the sets. (One thread alone takes twice as long, on a machine of 16 cores.)
    pub fn sums(&self, bytes: &[u8]) -> Result<Vec<G>, MsmError> {
        let plan = &self.plan;
        let expected = if self.rows.is_some() { plan.rows_bytes() as usize } else { 0 };
        if bytes.len() != expected {
            return Err(MsmError::Rows { found: bytes.len(), expected });
        }
        if expected == 0 {
            return Ok(vec![G::zero(); plan.parts as usize]);
        }
        let (row, reduced) = (plan.row_bytes() as usize, plan.reduced as usize);
        let set_bytes = (plan.values() * plan.group.sum_bytes()) as usize;
        let horner = |sum: G, bit: &G| sum.double() + bit;
        let of_bits = |bytes: &[u8]| {
            let sums = G::decode(self.format, bytes);
            // Buckets count from 0, and the plain sum of them, which comes first, lifts them by one.
            sums[1..].iter().rev().fold(G::zero(), horner) + sums[0]
        };
        let of_set = |set: usize| of_bits(&bytes[set / reduced * row + set % reduced * set_bytes..][..set_bytes]);
        let sets: Vec<G> = (0..plan.all_sets() as usize).into_par_iter().map(of_set).collect();
        let shift = |sum: G, bits: u32| (0..bits).fold(sum, |sum, _| sum.double());
        let above = |sum: G, (index, set): (u32, &G)| shift(sum, plan.cut.width(index)) + set;
        let of_part = |sets: &[G]| (0..plan.sets).zip(sets).rev().fold(G::zero(), above);
        Ok(sets.par_chunks(plan.sets as usize).map(of_part).collect())
    }
}

/// The scratch memory of an MSM on a device, or of several that run one after the other.
#[derive(Debug, Clone)]
pub struct Work {
    room: Room,
    spans: Vec<Option<Span>>,
}

impl Work {
    /// Leases it.
    pub fn lease(kernels: &Kernels, room: Room) -> Result<Self, MsmError> {
        let span = |(what, &bytes): (&&str, &u64)| match bytes {
            0 => Ok(None),
            _ => kernels.gpu().allocate(Pool::Scratch, what, bytes).map(Some),
        };
        let spans = SPANS.iter().zip(&room.0).map(span).collect::<Result<_, _>>()?;
        Ok(Self { room, spans })
    }

    /// The spans for a plan; the longest stands for those that it does not use, as kernels bind them all the same.
    fn spans(&self, plan: &Plan) -> Result<Vec<Span>, MsmError> {
        let wanted = plan.room();
        if wanted.join(self.room) != self.room {
            return Err(MsmError::Work { needed: wanted.bytes(), given: self.room.bytes() });
        }
        let some = self.spans.iter().flatten().max_by_key(|span| span.size());
        let cut = |(span, bytes): (&Option<Span>, u64)| match span {
            Some(span) if bytes > 0 => Some(span.slice(0, bytes)),
            _ => some.cloned(),
        };
        Ok(self.spans.iter().zip(wanted.0).filter_map(cut).collect())
    }
}

/// Writes the MSM of `bases` and `scalars` into `steps`, leasing its scratch memory.
pub fn record<G: Source>(
    kernels: &Kernels,
    steps: &mut Steps,
    bases: &Bases<G>,
    scalars: &Scalars,
    options: &Options,
) -> Result<Recorded<G>, MsmError> {
    let plan = bases.plan(&kernels.gpu().limits(), options)?;
    let work = Work::lease(kernels, plan.room())?;
    write(kernels, steps, bases, &[scalars], options.stage, plan, &work)
}

/// The same in scratch memory that earlier steps may have used and later ones may use again.
pub fn record_in<G: Source>(
    kernels: &Kernels,
    steps: &mut Steps,
    bases: &Bases<G>,
    scalars: &Scalars,
    options: &Options,
    work: &Work,
) -> Result<Recorded<G>, MsmError> {
    record_joint(kernels, steps, bases, &[scalars], options, work)
}

/// The same for [`Bases::load_joint`], with the scalars of each part.
pub fn record_joint<G: Source>(
    kernels: &Kernels,
    steps: &mut Steps,
    bases: &Bases<G>,
    scalars: &[&Scalars],
    options: &Options,
    work: &Work,
) -> Result<Recorded<G>, MsmError> {
    write(kernels, steps, bases, scalars, options.stage, bases.plan(&kernels.gpu().limits(), options)?, work)
}

fn write<G: Source>(
    kernels: &Kernels,
    steps: &mut Steps,
    bases: &Bases<G>,
    scalars: &[&Scalars],
    stage: Option<&'static str>,
    plan: Plan,
    work: &Work,
) -> Result<Recorded<G>, MsmError> {
    let gpu = kernels.gpu();
    if scalars.len() != bases.parts.len() {
        return Err(MsmError::Parts { bases: bases.parts.len(), scalars: scalars.len() });
    }
    let formats = scalars.iter().map(|scalars| ("scalars", scalars.format));
    for (what, format) in std::iter::once(("bases", bases.format)).chain(formats) {
        if format != kernels.format() {
            let (found, kernels) = (format.name(), kernels.format().name());
            return Err(MsmError::Format { what, found, kernels });
        }
    }
    for (part, scalars) in bases.parts.iter().zip(scalars) {
        let (needs, have) = (part.part().scalars(), (scalars.span.size() / 32) as usize);
        if have < needs {
            return Err(MsmError::Lengths { bases: needs, scalars: have });
        }
    }
    let mut recorded = Recorded { format: kernels.format(), rows: None, group: PhantomData, plan };
    let plan = &recorded.plan;
    if plan.n == 0 {
        return Ok(recorded);
    }
    let scratch = work.spans(plan)?;
    let [
        plain,
        counts,
        tiles,
        entries,
        all_buckets,
        keys0,
        partials0,
        keys1,
        partials1,
        folded,
        sums,
        prefixes,
        products0,
        products1,
    ] = &scratch[..]
    else {
        unreachable!("one of each")
    };
    let row = plan.row_bytes();
    let rows = gpu.allocate(Pool::Scratch, "msm window sums", plan.rows_bytes())?;
    let which = G::GROUP as usize;
    let stage = |steps: &mut Steps, part: &'static str| steps.stage(stage.unwrap_or(part));
    let pieces: Vec<_> = plan.pieces.iter().zip(&bases.pieces).collect();
    let mut row_index = 0;
    for batch in plan.batches() {
        // Sets that are reduced together have their buckets side by side.
        let at = if plan.reduced > plan.batch { batch.start } else { 0 };
        let set = plan.buckets() * plan.group.sum_bytes();
        let buckets = &all_buckets.slice(u64::from(at) * set, batch.len() as u64 * set);
        for (index, &(piece, points)) in pieces.iter().enumerate() {
            stage(steps, "msm sort");
            let round_count = plan.rounds.len() as u32;
            steps.clear(counts);
            if round_count > 0 {
                steps.clear(entries);
            }
            // Digits and plain scalars of each chunk with sets of this batch.
            let mut chunks = Vec::new();
            for chunk in &piece.chunks {
                let (part, scalars) = (&bases.parts[chunk.part], scalars[chunk.part]);
                let sets = plan.own(&batch, chunk.part);
                if sets.is_empty() {
                    continue;
                }
                let n = chunk.bases.len() as u64;
                let plain = plain.slice(32 * chunk.at as u64, 32 * n);
                // Scalars of a lone piece stay plain for the next batch.
                if sets.start == 0 || pieces.len() > 1 {
                    let mapped = part.part().positions.is_some();
                    let map =
                        if mapped { part.map.slice(4 * chunk.bases.start as u64, 4 * n) } else { part.map.clone() };
                    let words = scalars.span.slice(32 * chunk.scalars.start as u64, 32 * chunk.scalars.len() as u64);
                    let params = PlainParams {
                        group0: 0,
                        n: n as u32,
                        mapped: u32::from(mapped),
                        scalar0: if mapped { chunk.scalars.start as u32 } else { 0 },
                        scale: scalars.scale,
                    };
                    steps.dispatch(&MSM_PLAIN, n, params, &[&words, &map, &plain]);
                }
                let before = chunk.part as u32 * plan.sets + sets.start - batch.start;
                let digits = DigitParams {
                    group0: 0,
                    n: n as u32,
                    window: plan.cut.window,
                    windows: plan.cut.windows,
                    wide: plan.cut.wide,
                    buckets: plan.buckets() as u32,
                    sets: plan.sets,
                    first: sets.start,
                    end: sets.end,
                    key0: before * plan.buckets() as u32,
                    base0: chunk.at as u32,
                    stride: piece.len() as u32,
                };
                steps.dispatch(&MSM_COUNT, n, digits, &[&plain, counts]);
                chunks.push((digits, plain));
            }
            let tile_count = plan.keys().div_ceil(1024);
            let scan = ScanParams {
                group0: 0,
                n: plan.keys() as u32,
                tiles: tile_count as u32,
                slack: (1 << round_count) - 1,
            };
            steps.dispatch(&SCAN_TILES, 256 * tile_count, scan, &[counts, tiles]);
            steps.dispatch(&SCAN_SUMS, 1, scan, &[counts, tiles]);
            steps.dispatch(&SCAN_ADD, 256 * tile_count, scan, &[counts, tiles]);
            for (digits, plain) in &chunks {
                steps.dispatch(&MSM_SCATTER, u64::from(digits.n), *digits, &[plain, counts, entries]);
            }
            if round_count > 0 {
                stage(steps, "msm pair");
            }
            for (round, level) in plan.rounds.iter().enumerate() {
                let threads = level.threads as u32;
                let params = PairParams {
                    group0: 0,
                    keys: plan.keys() as u32,
                    threads,
                    round: round as u32,
                    rounds: round_count,
                };
                let spans = [points, counts, entries, sums, prefixes, products0];
                let (multiply, add) = match round {
                    0 => (&MSM_PAIR_PRODUCTS_FIRST[which], &MSM_PAIR_ADD_FIRST[which]),
                    _ => (&MSM_PAIR_PRODUCTS[which], &MSM_PAIR_ADD[which]),
                };
                steps.dispatch(multiply, level.threads, params, &spans);
                let invert = InvertParams { group0: 0, n: threads, threads: level.inverters as u32, unused: 0 };
                steps.dispatch(&MSM_PAIR_INVERT[which], level.inverters, invert, &[products0, products1]);
                steps.dispatch(add, level.threads, params, &spans);
            }
            stage(steps, "msm accumulate");
            if index == 0 {
                steps.clear(buckets);
            }
            for (depth, level) in plan.levels.iter().enumerate() {
                let (from, to) = if depth % 2 == 0 {
                    ([keys1, partials1], [keys0, partials0])
                } else {
                    ([keys0, partials0], [keys1, partials1])
                };
                let (chunk, threads) = (level.chunk as u32, level.threads as u32);
                if depth == 0 {
                    let (keys, onto) = (plan.keys() as u32, u32::from(index > 0));
                    let params = AccumulateParams { group0: 0, keys, chunk, threads, rounds: round_count, onto };
                    let spans = [points, counts, entries, buckets, to[0], to[1], sums];
                    steps.dispatch(&MSM_ACCUMULATE[which], level.threads, params, &spans);
                    stage(steps, "msm merge");
                    let params =
                        JoinParams { group0: 0, chunk, threads, longest: plan.join as u32, rounds: round_count };
                    steps.dispatch(&MSM_JOIN[which], level.threads, params, &[counts, to[0], to[1], buckets]);
                } else {
                    let params = MergeParams { group0: 0, n: level.n as u32, chunk, threads };
                    steps.dispatch(
                        &MSM_MERGE[which],
                        level.threads,
                        params,
                        &[from[0], from[1], buckets, to[0], to[1]],
                    );
                }
            }
        }
        let sets = if plan.reduced > plan.batch { plan.all_sets() } else { batch.len() as u32 };
        if at + batch.len() as u32 != sets {
            continue;
        }
        stage(steps, "msm reduce");
        let result = rows.slice(row_index * row, row);
        row_index += 1;
        for (depth, fold) in plan.folds.iter().enumerate() {
            let threads = u64::from(sets) * fold.values * fold.nodes;
            let params = ReduceParams {
                group0: 0,
                values: fold.values as u32,
                nodes: fold.nodes as u32,
                threads: threads as u32,
            };
            let (from, to) = if depth % 2 == 0 { (all_buckets, folded) } else { (folded, all_buckets) };
            let to = if depth + 1 == plan.folds.len() { &result } else { to };
            steps.dispatch(&MSM_REDUCE[which], threads, params, &[from, to]);
        }
    }
    recorded.rows = Some(rows);
    Ok(recorded)
}
