//! The same sums on the host: a naive oracle, and a mirror of every pass of the device, one function per kernel and of
//! the same name, over the same lists and with the same thread's share of work.

use std::ops::Range;

use ark_bls12_381::Fr;
use ark_ff::PrimeField;

use super::{Cut, Piece, Plan, Source};

/// An unused slot of partial sums.
const NONE: u32 = u32::MAX;

/// `sum s_i P_i`, one scalar multiplication a term.
pub fn naive<G: Source>(bases: &[G::Affine], scalars: &[Fr]) -> G {
    bases.iter().zip(scalars).map(|(base, scalar)| *base * scalar).sum()
}

/// Signed digits of a scalar, lowest window first.
pub fn digits(scalar: Fr, cut: Cut) -> Vec<i64> {
    let (plain, opposite) = (scalar.into_bigint(), (-scalar).into_bigint());
    let (mut rest, sign) = if opposite < plain { (opposite, -1) } else { (plain, 1) };
    let mut carry = 0;
    (0..cut.windows)
        .map(|index| {
            let window = cut.width(index);
            let value = (rest.0[0] & ((1 << window) - 1)) as i64 + carry;
            rest >>= window;
            carry = i64::from(value > 1 << (window - 1));
            sign * (value - (carry << window))
        })
        .collect()
}

/// Entries sorted by bucket, `(place of the base or its multiple, negative)`, and the end of each bucket's run.
fn sort(scalars: &[&[Fr]], plan: &Plan, piece: &Piece, batch: &Range<u32>) -> (Vec<(usize, bool)>, Vec<usize>) {
    let mut buckets = vec![Vec::new(); plan.keys() as usize];
    for chunk in &piece.chunks {
        for (i, scalar) in scalars[chunk.part][chunk.bases.clone()].iter().enumerate() {
            for (w, digit) in (0..).zip(digits(*scalar, plan.cut)) {
                let (table, set) = (w / plan.sets, chunk.part as u32 * plan.sets + w % plan.sets);
                if digit != 0 && batch.contains(&set) {
                    let key = u64::from(set - batch.start) * plan.buckets() + digit.unsigned_abs() - 1;
                    buckets[key as usize].push((table as usize * piece.len() + chunk.at + i, digit < 0));
                }
            }
        }
    }
    let mut end = 0;
    let ends = buckets
        .iter()
        .map(|bucket| {
            end += bucket.len();
            end
        })
        .collect();
    (buckets.concat(), ends)
}

/// One round: neighbours in a run become their sums.
fn msm_pair<G: Source>(items: &[(u32, G)]) -> Vec<(u32, G)> {
    let pairs = items.chunk_by(|a, b| a.0 == b.0).flat_map(|run| run.chunks(2));
    pairs.map(|pair| (pair[0].0, pair.iter().map(|item| item.1).sum())).collect()
}

/// Runs of `(key, point)` summed in shares of `chunk`; what a share's border cuts comes back as partials.
/// With `onto` a run begins with what its bucket holds.
fn runs<G: Source>(items: &[(u32, G)], chunk: usize, threads: usize, onto: bool, buckets: &mut [G]) -> Vec<(u32, G)> {
    let mut partials = vec![(NONE, G::zero()); 2 * threads];
    for (t, share) in items.chunks(chunk).enumerate() {
        let key_at = |at: usize| items.get(at).map_or(NONE, |item| item.0);
        let (first, last) = (t * chunk, t * chunk + share.len());
        for run in share.chunk_by(|a, b| a.0 == b.0) {
            let key = run[0].0;
            if key == NONE {
                continue;
            }
            let mut sum: G = run.iter().map(|(_, point)| *point).sum();
            let at_start = std::ptr::eq(run.as_ptr(), share.as_ptr());
            let at_end = std::ptr::eq(run.as_ptr_range().end, share.as_ptr_range().end);
            let began_before = at_start && first > 0 && key_at(first - 1) == key;
            let goes_on = at_end && key_at(last) == key;
            if onto && !began_before {
                sum += buckets[key as usize];
            }
            match (began_before, goes_on) {
                (true, true) => {
                    partials[2 * t] = (key, sum);
                    partials[2 * t + 1] = (key, G::zero());
                }
                (true, false) => partials[2 * t] = (key, sum),
                (false, true) => partials[2 * t + 1] = (key, sum),
                (false, false) => buckets[key as usize] = sum,
            }
        }
    }
    partials
}

/// Partials of runs over at most `longest` threads into buckets.
fn msm_join<G: Source>(partials: &mut [(u32, G)], ends: &[usize], chunk: usize, longest: usize, buckets: &mut [G]) {
    for t in 0..partials.len() / 2 {
        let key = partials[2 * t + 1].0;
        if key == NONE {
            continue;
        }
        let start = if key == 0 { 0 } else { ends[key as usize - 1] };
        let last = (ends[key as usize] - 1) / chunk;
        if start / chunk == t && last - t < longest {
            let run = 2 * t + 1..=2 * last;
            buckets[key as usize] = partials[run.clone()].iter().map(|(_, sum)| *sum).sum();
            partials[run].iter_mut().for_each(|slot| slot.0 = NONE);
        }
    }
}

/// One level of the reduction of a window: rows of nodes, pairs added, and right ones of the first row once more.
fn msm_reduce<G: Source>(rows: &[Vec<G>]) -> Vec<Vec<G>> {
    let add = |row: &Vec<G>| row.chunks(2).map(|pair| pair[0] + pair[1]).collect();
    let right = rows[0].iter().skip(1).step_by(2).copied().collect();
    rows.iter().map(add).chain([right]).collect()
}

/// The plan, carried out on the host.
pub fn mirror<G: Source>(bases: &[G::Affine], scalars: &[Fr], plan: &Plan) -> G {
    mirror_joint::<G>(&[bases], &[scalars], plan).into_iter().sum()
}

/// The plan of several MSMs: the bases and scalars of each.
pub fn mirror_joint<G: Source>(bases: &[&[G::Affine]], scalars: &[&[Fr]], plan: &Plan) -> Vec<G> {
    let keys = plan.buckets() as usize;
    let mut all_buckets = vec![G::zero(); plan.all_sets() as usize * keys];
    for piece in &plan.pieces {
        let mut places = vec![G::zero(); piece.len()];
        for chunk in &piece.chunks {
            for (place, &base) in places[chunk.at..].iter_mut().zip(&bases[chunk.part][chunk.bases.clone()]) {
                *place = base.into();
            }
        }
        for table in 1..plan.tables {
            for at in places.len() - piece.len()..places.len() {
                places.push((0..plan.apart(table)).fold(places[at], |point, _| point.double()));
            }
        }
        for batch in plan.batches() {
            let (entries, mut ends) = sort(scalars, plan, piece, &batch);
            let mut items: Vec<(u32, G)> = entries
                .iter()
                .enumerate()
                .map(|(at, &(i, negative))| {
                    let point = places[i];
                    (ends.partition_point(|&end| end <= at) as u32, if negative { -point } else { point })
                })
                .collect();
            for _ in &plan.rounds {
                items = msm_pair(&items);
                for (key, end) in ends.iter_mut().enumerate() {
                    *end = items.partition_point(|item| item.0 as usize <= key);
                }
            }
            let buckets = &mut all_buckets[batch.start as usize * keys..batch.end as usize * keys];
            for (depth, level) in plan.levels.iter().enumerate() {
                let chunk = level.chunk as usize;
                items = runs(&items, chunk, level.threads as usize, depth == 0, buckets);
                if depth == 0 {
                    msm_join(&mut items, &ends, chunk, plan.join as usize, buckets);
                }
            }
        }
    }
    let of_set = |buckets: &[G]| {
        let rows = plan.folds.iter().fold(vec![buckets.to_vec()], |rows, _| msm_reduce(&rows));
        // The sum of all, then one for each bit.
        rows[0][0] + rows[1..].iter().rev().fold(G::zero(), |sum, row| sum + sum + row[0])
    };
    let sets: Vec<G> = all_buckets.chunks(keys).map(of_set).collect();
    let of_part = |sets: &[G]| {
        (0..plan.sets).zip(sets).rev().fold(G::zero(), |mut sum, (index, set)| {
            for _ in 0..plan.cut.width(index) {
                sum.double_in_place();
            }
            sum + set
        })
    };
    sets.chunks(plan.sets as usize).map(of_part).collect()
}
