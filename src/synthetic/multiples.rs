//! Many multiples of one point: `scalars[i] * base` in affine coordinates.
//!
//! **Theory.** A scalar is `sum d_w 2^(c w)` with signed digits `|d_w| <= 2^(c-1)`; all `d 2^(c w) base` with positive `d`
//! lie in a table, so that a multiple is one addition for each digit, and none is doubled. Additions of many scalars go side
//! by side in affine coordinates, with one inversion for all of them (P. L. Montgomery, *Speeding the Pollard and Elliptic
//! Curve Methods of Factorization*, 1987, section 10.3.1): six multiplications each, and the results need no
//! normalisation.
//!
//! **What differs.** `ark_ec`'s `BatchMulPreprocessing` adds in Jacobian coordinates, eleven multiplications each, and
//! normalises. Its windows follow from the number of scalars by another rule.

use std::iter::successors;

use ark_ec::{
    AffineRepr, CurveGroup,
    short_weierstrass::{Affine, Projective, SWCurveConfig},
};
use ark_ff::{AdditiveGroup, Field, PrimeField, Zero};
use rayon::prelude::*;

/// Scalars whose additions share an inversion: it costs as much as some hundred multiplications, and what a thread works
/// on (230 KiB in G1) should stay in its cache.
const CHUNK: usize = 1024;

/// Multiples of one point, for any number of scalars.
pub(super) struct Multiples<P: SWCurveConfig> {
    /// Bits of a digit.
    window: usize,
    /// `rows[w][d - 1] = d 2^(window w) base`, for `d` up to `2^(window - 1)`.
    rows: Vec<Vec<Affine<P>>>,
}

/// Digits of a scalar. One bit more than scalars have, so that the last one has room for a carry.
fn digits<P: SWCurveConfig>(window: usize) -> usize {
    (P::ScalarField::MODULUS_BIT_SIZE as usize + 1).div_ceil(window)
}

impl<P: SWCurveConfig> Multiples<P> {
    /// A table that suits about `scalars` scalars.
    pub(super) fn new(base: Projective<P>, scalars: usize) -> Self {
        // Additions for scalars and for the table. Beyond 16 bits the table (2^19 points) would outgrow every cache.
        let cost = |window: &usize| digits::<P>(*window) * (scalars + (1 << (window - 1)));
        Self::with_window(base, (2..=16).min_by_key(cost).unwrap_or(2))
    }

    fn with_window(base: Projective<P>, window: usize) -> Self {
        let starts = successors(Some(base), |start| Some((0..window).fold(*start, |point, _| point.double())));
        let starts: Vec<_> = starts.take(digits::<P>(window)).collect();
        let rows = starts.into_par_iter().map(|start| row(start, 1 << (window - 1))).collect();
        Self { window, rows }
    }

    /// `scalars[i] * base`, on all processors.
    pub(super) fn of(&self, scalars: &[P::ScalarField]) -> Vec<Affine<P>> {
        let mut sums = vec![Affine::identity(); scalars.len()];
        let work = sums.par_chunks_mut(CHUNK).zip(scalars.par_chunks(CHUNK));
        work.for_each(|(sums, scalars)| self.chunk(sums, scalars));
        sums
    }

    fn chunk(&self, sums: &mut [Affine<P>], scalars: &[P::ScalarField]) {
        let mut scalars: Vec<_> =
            scalars.iter().map(|scalar| Digits { rest: scalar.into_bigint(), carry: 0 }).collect();
        let mut terms = Vec::with_capacity(sums.len());
        let mut scratch = Vec::with_capacity(sums.len());
        for row in &self.rows {
            terms.clear();
            for (at, scalar) in scalars.iter_mut().enumerate() {
                let digit = scalar.next(self.window);
                if let Some(point) = row.get((digit.unsigned_abs() as usize).wrapping_sub(1)) {
                    terms.push((at, if digit < 0 { -*point } else { *point }));
                }
            }
            add(sums, &terms, &mut scratch);
        }
    }
}

/// The digits of a scalar, lowest first.
struct Digits<B> {
    rest: B,
    carry: i64,
}

impl<B: ark_ff::BigInteger> Digits<B> {
    fn next(&mut self, window: usize) -> i64 {
        let size = 1i64 << window;
        let low = self.rest.as_ref().first().copied().unwrap_or_default();
        let digit = (low as i64 & (size - 1)) + self.carry;
        self.rest >>= window as u32;
        self.carry = i64::from(digit > size / 2);
        digit - self.carry * size
    }
}

/// `base, 2 base, .., count base`; `count` is a power of two.
fn row<P: SWCurveConfig>(base: Projective<P>, count: usize) -> Vec<Affine<P>> {
    let mut row = vec![base.into_affine()];
    let mut scratch = Vec::new();
    while let (Some(last), true) = (row.last().copied(), row.len() < count) {
        // The last one would be added to itself.
        let have = row.len();
        row.extend_from_within(..);
        let terms: Vec<_> = (0..have - 1).map(|at| (at, last)).collect();
        add(&mut row[have..], &terms, &mut scratch);
        row[2 * have - 1] = last.into_group().double().into_affine();
    }
    row
}

/// `sums[at] += point` for each term; no place has two.
fn add<P: SWCurveConfig>(
    sums: &mut [Affine<P>],
    terms: &[(usize, Affine<P>)],
    scratch: &mut Vec<(usize, P::BaseField, P::BaseField)>,
) {
    scratch.clear();
    let mut product = P::BaseField::ONE;
    for (index, (at, point)) in terms.iter().enumerate() {
        let sum = &mut sums[*at];
        let difference = point.x - sum.x;
        if sum.is_zero() {
            *sum = *point;
        } else if point.is_zero() || difference.is_zero() {
            *sum = (*sum + point).into_affine();
        } else {
            scratch.push((index, difference, product));
            product *= difference;
        }
    }
    // A product of units is one.
    let Some(mut inverse) = product.inverse() else { return };
    while let Some((index, difference, before)) = scratch.pop() {
        let (at, point) = &terms[index];
        let sum = &mut sums[*at];
        let slope = (point.y - sum.y) * inverse * before;
        inverse *= difference;
        let x = slope.square() - sum.x - point.x;
        sum.y = slope * (sum.x - x) - sum.y;
        sum.x = x;
    }
}

#[cfg(test)]
mod tests {
    use ark_bls12_381::{Fr, g1, g2};
    use ark_ff::{One, UniformRand};
    use ark_std::rand::{SeedableRng, rngs::StdRng};

    use super::*;

    fn check<P: SWCurveConfig<ScalarField = Fr>>() {
        let rng = &mut StdRng::seed_from_u64(1);
        let base = Projective::<P>::rand(rng);
        for window in [2, 3, 5, 8, 13] {
            let table = Multiples::with_window(base, window);
            // Digits at both ends of their range, carries through all of them, both signs of the whole.
            let half = Fr::from(1u64 << (window - 1));
            let two = Fr::from(2u64);
            let edges =
                [Fr::zero(), Fr::one(), two, half, half + Fr::one(), two.pow([254]), two.pow([254]) - Fr::one()];
            let repeated = successors(Some(half), |sum| Some(*sum * two.pow([window as u64]) + half));
            let mut scalars: Vec<Fr> = edges.into_iter().chain(repeated.take(20)).collect();
            scalars.extend(scalars.clone().into_iter().map(|scalar| -scalar));
            scalars.extend((0..10).map(|_| Fr::rand(rng)));
            let want: Vec<Affine<P>> = scalars.iter().map(|scalar| (base * scalar).into_affine()).collect();
            assert_eq!(table.of(&scalars), want, "{window} bits");
        }
        // More than one chunk, none, and a base that is not one.
        let scalars: Vec<Fr> = (0..2 * CHUNK + 3).map(|_| Fr::rand(rng)).collect();
        let want: Vec<Affine<P>> = scalars.iter().map(|scalar| (base * scalar).into_affine()).collect();
        assert_eq!(Multiples::new(base, scalars.len()).of(&scalars), want);
        assert!(Multiples::new(base, 0).of(&[]).is_empty());
        assert_eq!(Multiples::new(Projective::<P>::zero(), 3).of(&scalars[..3]), [Affine::identity(); 3]);
    }

    #[test]
    fn multiples_are_those_of_double_and_add() {
        check::<g1::Config>();
        check::<g2::Config>();
    }
}
