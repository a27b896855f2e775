//! The quotient `h = (a b - c) / (x^n - 1)` of a Groth16 proof by six transforms, without ever looking at `c`.
//!
//! Let `A`, `B` be the polynomials of degree below `n` with the given values over the powers of `omega`, and
//! `A B = U + x^n V` with `U`, `V` of degree below `n`. A satisfied assignment has `C = A B mod (x^n - 1) = U + V`, so
//! `A B - C = V (x^n - 1)`: the quotient is `V`. Over the coset of a `g` with `g^n = -1`, which any square root `g` of
//! `omega` of order `2n` is, values of `A B` determine `A B mod (x^n + 1) = U - V`. Hence
//! ```text
//!     h = 1/2 (P - Q),   P = iNTT(a . b),   Q = icosetNTT(A . B)
//! ```
//! The textbook needs seven transforms and a third vector. An assignment that is not satisfied yields some other
//! polynomial, here as there: the check of the proof catches it.
//!
//! All forward transforms start from what an inverse one left, so no vector is ever permuted, but for the last kernel,
//! which stores in natural order. **Factors**: with `F = 2^256` and `R` the radix of `fr_mul`, `a F` and `b F` come in;
//! a pointwise product of two such is `a b F^2 / R`; the shift to the coset carries `1/n` in its powers; the last two
//! inverse transforms are left unscaled, and so is the half. What remains in memory is `2 n h F^2 / R`, and
//! `fr_mul(stored, scale)` with `scale = R^2 / (2 n F^2)` is plain `h`: the MSM's digit kernel does just that.

use std::sync::Arc;

use ark_bls12_381::Fr;
use ark_ff::{Field, PrimeField};

use super::{
    Direction, NttError,
    domain::{Domain, Series},
};
use crate::{
    device::{Limits, Span},
    kernel::{Kernels, Steps, table::QUOTIENT_COMBINE, twins::CombineParams},
};

/// The tables for quotients over one domain.
#[derive(Debug)]
pub struct Quotient {
    domain: Arc<Domain>,
    /// `g^i / n`.
    to_coset: Series,
    /// `g^-i`.
    from_coset: Series,
    scale: [u32; 8],
}

impl Quotient {
    /// Tables for the odd coset of a domain; `kernels` are those the domain was made with.
    pub fn new(kernels: &Kernels, domain: Arc<Domain>) -> Result<Self, NttError> {
        if domain.format != kernels.format() {
            return Err(NttError::Format { found: domain.format.name(), kernels: kernels.format().name() });
        }
        let log_n = domain.log_n();
        let root = domain.root().sqrt().ok_or(NttError::TooLong { log_n: log_n + 1 })?;
        // Both square roots have order 2n, but for n = 1, where one of them is 1.
        let root = if root == Fr::ONE { -root } else { root };
        let size_inverse = domain.size_inverse();
        let inverse = |x: Fr| x.inverse().unwrap_or(Fr::ONE);
        let radix = Fr::from(2u64).pow([kernels.format().fr().radix_bits() as u64 - 256]);
        let scale = (radix.square() * size_inverse * inverse(Fr::from(2u64))).into_bigint();
        Ok(Self {
            to_coset: Series::even(kernels, (root, size_inverse), log_n)?,
            from_coset: Series::even(kernels, (inverse(root), Fr::ONE), log_n)?,
            scale: std::array::from_fn(|i| (scale.0[i / 2] >> (32 * (i % 2))) as u32),
            domain,
        })
    }

    /// Bytes that a quotient and its domain lease, and those of each of the three vectors it works on.
    pub fn memory(log_n: u32, limits: &Limits) -> Result<(u64, u64), NttError> {
        let (plan, bytes) = Domain::memory(log_n, limits)?;
        Ok((bytes + 2 * Series::memory(log_n, log_n / 2), plan.bytes()))
    }

    /// The domain.
    pub fn domain(&self) -> &Arc<Domain> {
        &self.domain
    }

    /// Bytes of each of the three vectors that [`Self::record`] works on.
    pub fn bytes(&self) -> u64 {
        self.domain.plan().bytes()
    }

    /// What a stored coefficient has to be multiplied by (by the device's `fr_mul`) to be plain.
    pub fn scale(&self) -> [u32; 8] {
        self.scale
    }

    /// Records the six transforms under the stage `quotient`. `a` and `b` hold values over the domain in natural order,
    /// in arkworks' Montgomery words, filled up with zeros; `spare` is for work. All three are read-write spans of
    /// [`Self::bytes`] that do not overlap. The coefficients of `h`, in natural order and with the factor that
    /// [`Self::scale`] takes away, replace `b`, which is returned; the last one is zero for a satisfied assignment.
    pub fn record(&self, steps: &mut Steps, a: &Span, b: &Span, spare: &Span) -> Span {
        let domain = &*self.domain;
        let [a, plain, pages_of_b] = [a, spare, b].map(|span| domain.pages(span));
        let b_pages = &pages_of_b;
        steps.stage("quotient");
        domain.copy(steps, &a, &plain);
        domain.product(steps, &plain, b_pages);
        domain.dif(steps, &plain, Direction::Inverse);
        for vector in [&a, b_pages] {
            domain.dif(steps, vector, Direction::Inverse);
            domain.scale(steps, vector, &self.to_coset, true);
            domain.dit(steps, vector, Direction::Forward);
        }
        domain.product(steps, &a, b_pages);
        domain.dif(steps, &a, Direction::Inverse);
        for m in domain.moves() {
            let params = CombineParams {
                group0: 0,
                n: 1 << m.bits,
                bits: m.bits,
                stride_bits: m.stride_bits,
                from0: m.from0,
                to0: m.to0,
                first: domain.first(m.to as u32),
                low_bits: self.from_coset.low_bits,
            };
            let series = [&self.from_coset.high, &self.from_coset.low];
            let bindings = [&plain[m.from], &a[m.from], &b_pages[m.to], series[0], series[1]];
            steps.dispatch(&QUOTIENT_COMBINE, 1 << m.bits, params, &bindings);
        }
        b.clone()
    }
}
