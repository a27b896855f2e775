//! From plan to dispatches, and from what they leave to one point.

use std::marker::PhantomData;

use rayon::prelude::*;

use super::{Bases, MsmError, Options, Plan, Scalars, Source};
use crate::{
    device::{Pool, Span},
    encoding::Format,
    kernel::{
        Kernels, Steps,
        table::{
            MSM_ACCUMULATE, MSM_COUNT, MSM_JOIN, MSM_MERGE, MSM_REDUCE, MSM_SCATTER, SCAN_ADD, SCAN_SUMS, SCAN_TILES,
        },
        twins::{AccumulateParams, DigitParams, JoinParams, MergeParams, ReduceParams, ScanParams},
    },
};

/// An MSM that was written into a list of steps: where its window sums will lie, and how they make one point.
#[derive(Debug, Clone)]
pub struct Recorded<G> {
    plan: Plan,
    format: Format,
    /// One row per piece.
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

    /// The sum, from the bytes of [`Self::rows`]: Horner's rule over the bits of each window, by the threads of the
    /// current pool, and over the windows.
    pub fn sum(&self, bytes: &[u8]) -> Result<G, MsmError> {
        let expected = if self.rows.is_some() { self.plan.rows_bytes() as usize } else { 0 };
        if bytes.len() != expected {
            return Err(MsmError::Rows { found: bytes.len(), expected });
        }
        let (row, windows) = (self.plan.row_bytes() as usize, self.plan.windows as usize);
        let window_bytes = (self.plan.values() * self.plan.group.sum_bytes()) as usize;
        let horner = |sum: G, bit: &G| sum.double() + bit;
        let of_bits = |bytes: &[u8]| {
            let sums = G::decode(self.format, bytes);
            // Buckets count from 0, and the plain sum of them, which comes first, lifts them by one.
            sums[1..].iter().rev().fold(G::zero(), horner) + sums[0]
        };
        let of_window = |window: usize| -> G {
            bytes.chunks_exact(row).map(|row| of_bits(&row[window * window_bytes..][..window_bytes])).sum()
        };
        let windows: Vec<G> = (0..windows).into_par_iter().map(of_window).collect();
        let shift = |sum: G| (0..self.plan.window).fold(sum, |sum, _| sum.double());
        Ok(windows.iter().rev().fold(G::zero(), |sum, window| shift(sum) + window))
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
    let gpu = kernels.gpu();
    let positions = bases.positions.as_deref();
    for (what, format) in [("bases", bases.format), ("scalars", scalars.format)] {
        if format != kernels.format() {
            let (found, kernels) = (format.name(), kernels.format().name());
            return Err(MsmError::Format { what, found, kernels });
        }
    }
    let have = (scalars.span.size() / 32) as usize;
    if have < bases.scalars() {
        return Err(MsmError::Lengths { bases: bases.scalars(), scalars: have });
    }
    let plan = Plan::new(G::GROUP, bases.n, positions, &gpu.limits(), options.window)?;
    let mut recorded = Recorded { format: kernels.format(), rows: None, group: PhantomData, plan };
    let plan = &recorded.plan;
    if plan.n == 0 {
        return Ok(recorded);
    }
    let mut scratch: Vec<Span> = Vec::with_capacity(9);
    for (what, bytes) in plan.sizes() {
        let span = match scratch.first() {
            // Any span will do for one that is not used.
            Some(first) if bytes == 0 => first.clone(),
            _ => gpu.allocate(Pool::Scratch, what, bytes)?,
        };
        scratch.push(span);
    }
    let [counts, tiles, entries, buckets, keys0, partials0, keys1, partials1, folded] = &scratch[..] else {
        unreachable!("nine sizes")
    };
    let row = plan.row_bytes();
    let rows = gpu.allocate(Pool::Scratch, "msm window sums", plan.rows_bytes())?;
    let which = G::GROUP as usize;
    let stage = |steps: &mut Steps, part| steps.stage(options.stage.unwrap_or(part));
    for (index, chunk) in plan.chunks.iter().enumerate() {
        let n = chunk.bases.len() as u64;
        let point = G::GROUP.affine_bytes();
        let points = bases.points.slice(chunk.bases.start as u64 * point, n * point);
        let map = match positions {
            Some(_) => bases.map.slice(4 * chunk.bases.start as u64, 4 * n),
            None => bases.map.clone(),
        };
        let words = scalars.span.slice(32 * chunk.scalars.start as u64, 32 * chunk.scalars.len() as u64);
        stage(steps, "msm sort");
        steps.clear(counts);
        let digits = DigitParams {
            group0: 0,
            n: n as u32,
            window: plan.window,
            windows: plan.windows,
            buckets: plan.buckets() as u32,
            mapped: u32::from(positions.is_some()),
            scalar0: if positions.is_some() { chunk.scalars.start as u32 } else { 0 },
            unused: 0,
            scale: scalars.scale,
        };
        steps.dispatch(&MSM_COUNT, n, digits, &[&words, &map, counts]);
        let tile_count = plan.keys().div_ceil(1024);
        let scan = ScanParams { group0: 0, n: plan.keys() as u32, tiles: tile_count as u32, unused: 0 };
        steps.dispatch(&SCAN_TILES, 256 * tile_count, scan, &[counts, tiles]);
        steps.dispatch(&SCAN_SUMS, 1, scan, &[counts, tiles]);
        steps.dispatch(&SCAN_ADD, 256 * tile_count, scan, &[counts, tiles]);
        steps.dispatch(&MSM_SCATTER, n, digits, &[&words, &map, counts, entries]);
        stage(steps, "msm accumulate");
        steps.clear(buckets);
        for (depth, level) in plan.levels.iter().enumerate() {
            let (from, to) = if depth % 2 == 0 {
                ([keys1, partials1], [keys0, partials0])
            } else {
                ([keys0, partials0], [keys1, partials1])
            };
            let (chunk, threads) = (level.chunk as u32, level.threads as u32);
            if depth == 0 {
                let params = AccumulateParams { group0: 0, keys: plan.keys() as u32, chunk, threads };
                let spans = [&points, counts, entries, buckets, to[0], to[1]];
                steps.dispatch(&MSM_ACCUMULATE[which], level.threads, params, &spans);
                stage(steps, "msm merge");
                let params = JoinParams { group0: 0, chunk, threads, longest: plan.join as u32 };
                steps.dispatch(&MSM_JOIN[which], level.threads, params, &[counts, to[0], to[1], buckets]);
            } else {
                let params = MergeParams { group0: 0, n: level.n as u32, chunk, threads };
                steps.dispatch(&MSM_MERGE[which], level.threads, params, &[from[0], from[1], buckets, to[0], to[1]]);
            }
        }
        stage(steps, "msm reduce");
        let result = rows.slice(index as u64 * row, row);
        for (depth, fold) in plan.folds.iter().enumerate() {
            let threads = u64::from(plan.windows) * fold.values * fold.nodes;
            let params = ReduceParams {
                group0: 0,
                values: fold.values as u32,
                nodes: fold.nodes as u32,
                threads: threads as u32,
            };
            let (from, to) = if depth % 2 == 0 { (buckets, folded) } else { (folded, buckets) };
            let to = if depth + 1 == plan.folds.len() { &result } else { to };
            steps.dispatch(&MSM_REDUCE[which], threads, params, &[from, to]);
        }
    }
    recorded.rows = Some(rows);
    Ok(recorded)
}
