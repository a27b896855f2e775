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
//! Forward transforms start from the order in which inverse ones leave their coefficients in place, so no vector is ever
//! permuted, but that the last pass writes in natural order. **Factors**: with `F = 2^256` and `R` the radix of `fr_mul`,
//! `a F` and `b F` come in; a pointwise product of two such is `a b F^2 / R`; the shift to the coset carries `1/n`, the
//! inverse transforms are left unscaled, and so is the half. What remains in memory is `2 n h F^2 / R`, and
//! `fr_mul(stored, scale)` with `scale = R^2 / (2 n F^2)` is plain `h`: the MSM's digit kernel does just that.

use std::sync::Arc;

use ark_bls12_381::Fr;
use ark_ff::{Field, PrimeField};

use super::{
    NttError,
    domain::{self, Domain, Transform, inverse, size_inverse},
    laws::{Order, Twist},
    tables,
};
use crate::{
    device::{Limits, Span},
    encoding::Format,
    kernel::{Kernels, Steps},
};

/// The tables for quotients over one domain.
#[derive(Debug)]
pub struct Quotient {
    domain: Arc<Domain>,
    /// Values to coefficients, not scaled, in place.
    inverse: Transform,
    /// Such coefficients to values over the coset, times `1/n`, in place.
    to_coset: Transform,
    /// Values over the coset to coefficients, not scaled.
    from_coset: Transform,
    scale: [u32; 8],
}

/// The three kinds of transforms, over the coset by `g` of the powers of `root`.
pub(super) fn twists(log_n: u32, root: Fr, g: Fr) -> [(Order, Twist); 3] {
    let plain = Twist { root: inverse(root), input: Fr::ONE, output: Fr::ONE, scale: Fr::ONE };
    let to_coset = Twist { root, input: g, scale: size_inverse(log_n), ..plain };
    [(Order::Down, plain), (Order::Up, to_coset), (Order::Down, Twist { output: inverse(g), ..plain })]
}

impl Quotient {
    /// Tables for the odd coset of a domain; `kernels` are those the domain was made with.
    pub fn new(kernels: &Kernels, domain: Arc<Domain>) -> Result<Self, NttError> {
        domain.same_format(kernels)?;
        let log_n = domain.log_n();
        let root = domain.root().sqrt().ok_or(NttError::TooLong { log_n: log_n + 1 })?;
        // Both square roots have order 2n, but for n = 1, where one of them is 1.
        let root = if root == Fr::ONE { -root } else { root };
        let radix = Fr::from(2u64).pow([kernels.format().fr().radix_bits() as u64 - 256]);
        let scale = (radix.square() * size_inverse(log_n + 1)).into_bigint();
        let [inverse, to_coset, from_coset] =
            twists(log_n, domain.root(), root).map(|(order, twist)| domain.prepare_twisted(kernels, order, &twist));
        Ok(Self {
            inverse: inverse?,
            to_coset: to_coset?,
            from_coset: from_coset?,
            scale: std::array::from_fn(|i| (scale.0[i / 2] >> (32 * (i % 2))) as u32),
            domain,
        })
    }

    /// Bytes that a quotient leases, and those of each of the three vectors it works on.
    pub fn memory(log_n: u32, format: Format, limits: &Limits) -> Result<(u64, u64), NttError> {
        let plan = domain::plan(log_n, limits)?;
        // Which tables there are does not depend on the root, as long as the shift is none of its powers.
        let (root, g) = (domain::root_of_unity(7, log_n), domain::root_of_unity(7, log_n + 1));
        let (Some(root), Some(g)) = (root, g) else { return Err(NttError::TooLong { log_n: log_n + 1 }) };
        let bytes = twists(log_n, root, g).map(|(order, twist)| tables::memory(&plan, format, order, &twist));
        Ok((bytes.iter().sum(), plan.bytes()))
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
    /// [`Self::scale`] takes away, replace `a`, which is returned; the last one is zero for a satisfied assignment.
    pub fn record(&self, steps: &mut Steps, a: &Span, b: &Span, spare: &Span) -> Span {
        let plan = self.domain.plan();
        let [a_pages, b, plain] = [a, b, spare].map(|span| self.domain.pages(span));
        steps.stage("quotient");
        plan.product(steps, &a_pages, &b, &plain);
        self.inverse.record_in_place(steps, &plain);
        for vector in [&a_pages, &b] {
            self.inverse.record_in_place(steps, vector);
            self.to_coset.record_in_place(steps, vector);
        }
        plan.multiply(steps, &b, &a_pages);
        self.from_coset.record_out(steps, &b, Some(&plain), &a_pages);
        a.clone()
    }
}
