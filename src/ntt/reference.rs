//! What the kernels of this module compute, on the host: the oracle by the definition, and one plain function of the
//! same name for each kernel.

use std::ops::Range;

use ark_bls12_381::Fr;
use ark_ff::{Field, Zero};

use super::{Direction, plan::Plan};

/// The transform by its definition, in `n^2` multiplications.
pub fn naive(values: &[Fr], direction: Direction, coset: Option<Fr>, root: Fr) -> Vec<Fr> {
    let n = values.len();
    let shift = coset.unwrap_or(Fr::ONE);
    let inverse = |x: Fr| x.inverse().unwrap_or(Fr::ONE);
    let powers = |base: Fr| std::iter::successors(Some(Fr::ONE), move |power| Some(*power * base)).take(n);
    match direction {
        Direction::Forward => {
            powers(root).map(|x| powers(shift * x).zip(values).map(|(power, c)| power * c).sum()).collect()
        }
        Direction::Inverse => powers(inverse(root))
            .zip(powers(inverse(shift)))
            .map(|(x, unshift)| {
                let sum: Fr = powers(x).zip(values).map(|(power, v)| power * v).sum();
                sum * unshift * inverse(Fr::from(n as u64))
            })
            .collect(),
    }
}

fn reverse(i: usize, log_n: u32) -> usize {
    i.reverse_bits().checked_shr(usize::BITS - log_n).unwrap_or(0)
}

/// Calls `act` on both elements of each pair of the stage on `bit`, with the pair's twiddle.
fn stage(values: &mut [Fr], bit: u32, root: Fr, act: impl Fn(&mut Fr, &mut Fr, Fr)) {
    let half = 1usize << bit;
    // root^(n / 2^(bit+1)) steps from twiddle to twiddle.
    let ratio = root.pow([(values.len() >> (bit + 1)) as u64]);
    for block in values.chunks_exact_mut(2 * half) {
        let (left, right) = block.split_at_mut(half);
        let mut twiddle = Fr::ONE;
        for (u, v) in left.iter_mut().zip(right) {
            act(u, v, twiddle);
            twiddle *= ratio;
        }
    }
}

/// The stages on `bits`, from the top: `(u, v)` to `(u + v, (u - v) w)`.
pub fn ntt_dif(values: &mut [Fr], bits: Range<u32>, root: Fr) {
    for bit in bits.rev() {
        stage(values, bit, root, |u, v, w| (*u, *v) = (*u + *v, (*u - *v) * w));
    }
}

/// The stages on `bits`, from the bottom: `(u, v)` to `(u + wv, u - wv)`.
pub fn ntt_dit(values: &mut [Fr], bits: Range<u32>, root: Fr) {
    for bit in bits {
        stage(values, bit, root, |u, v, w| (*u, *v) = (*u + *v * w, *u - *v * w));
    }
}

/// Element `i` times `factor * base^i`; `i` is the element's place with its bits reversed if `reversed`.
pub fn ntt_scale(values: &mut [Fr], base: Fr, factor: Fr, reversed: bool) {
    let log_n = values.len().ilog2();
    for (i, value) in values.iter_mut().enumerate() {
        let index = if reversed { reverse(i, log_n) } else { i };
        *value *= factor * base.pow([index as u64]);
    }
}

/// Elements at the reversed bits of their index.
pub fn ntt_permute(values: &[Fr]) -> Vec<Fr> {
    let log_n = values.len().ilog2();
    (0..values.len()).map(|i| values[reverse(i, log_n)]).collect()
}

/// Element by element.
pub fn ntt_product(values: &mut [Fr], by: &[Fr]) {
    values.iter_mut().zip(by).for_each(|(value, by)| *value *= by);
}

/// `plain[i] - base^i coset[i]` from bit-reversed order to natural order.
pub fn quotient_combine(plain: &[Fr], coset: &[Fr], base: Fr) -> Vec<Fr> {
    let mut shifted = ntt_permute(coset);
    ntt_scale(&mut shifted, base, Fr::ONE, false);
    ntt_permute(plain).iter().zip(shifted).map(|(plain, shifted)| *plain - shifted).collect()
}

/// The bits of whole-vector indices that each pass of a plan takes, in its order.
fn pass_bits(plan: &Plan) -> Vec<Range<u32>> {
    let shift = plan.page_bits - plan.strip_bits;
    let across = plan.across.iter().map(|pass| (pass, shift));
    let all = across.chain(plan.within.iter().map(|pass| (pass, 0)));
    all.map(|(pass, shift)| pass.row_bit + shift..pass.row_bit + shift + pass.rows).collect()
}

/// [`super::Domain::transform`], pass by pass.
pub fn transform(plan: &Plan, values: &mut Vec<Fr>, direction: Direction, coset: Option<Fr>, root: Fr) {
    let inverse = |x: Fr| x.inverse().unwrap_or(Fr::ONE);
    let shift = coset.unwrap_or(Fr::ONE);
    let passes = pass_bits(plan);
    match direction {
        Direction::Forward => {
            ntt_scale(values, shift, Fr::ONE, false);
            passes.into_iter().for_each(|bits| ntt_dif(values, bits, root));
        }
        Direction::Inverse => {
            passes.into_iter().for_each(|bits| ntt_dif(values, bits, inverse(root)));
            let n_inverse = inverse(Fr::from(values.len() as u64));
            ntt_scale(values, inverse(shift), n_inverse, true);
        }
    }
    *values = ntt_permute(values);
}

/// [`super::Quotient::record`], pass by pass, with the half and `1/n` taken care of.
pub fn quotient(plan: &Plan, a: &[Fr], b: &[Fr], root: Fr) -> Option<Vec<Fr>> {
    let inverse = |x: Fr| x.inverse().unwrap_or(Fr::ONE);
    let n_inverse = inverse(Fr::from(a.len() as u64));
    let coset = root.sqrt().map(|g| if g == Fr::ONE { -g } else { g }).filter(|g| !g.is_zero())?;
    let passes = pass_bits(plan);
    let dif = |values: &mut [Fr]| passes.iter().for_each(|bits| ntt_dif(values, bits.clone(), inverse(root)));
    let mut plain = a.to_vec();
    ntt_product(&mut plain, b);
    dif(&mut plain);
    let [mut a, b] = [a, b].map(|values| {
        let mut values = values.to_vec();
        dif(&mut values);
        ntt_scale(&mut values, coset, n_inverse, true);
        passes.iter().rev().for_each(|bits| ntt_dit(&mut values, bits.clone(), root));
        values
    });
    ntt_product(&mut a, &b);
    dif(&mut a);
    let mut h = quotient_combine(&plain, &a, inverse(coset));
    let factor = n_inverse * inverse(Fr::from(2u64));
    h.iter_mut().for_each(|value| *value *= factor);
    Some(h)
}
