//! The one shape of proving key that every backend computes with.
//!
//! **Theory.** A proving key is five lists of points (the queries A, B in G1, B in G2, H and L)
//! and the few single points of the blinding. A multi-scalar multiplication wants pairs
//! (base, scalar) and nothing else, so a [`Query`] says for each base which entry of the full
//! assignment `[1, inputs.., aux..]` multiplies it.
//!
//! **What differs between the tools.** arkworks writes A and B at full length with points at
//! infinity for absent variables; bellman leaves absent variables out and lets the prover find
//! them again from the circuit (a [`Shape`]). Both become a [`Query`] without infinity, so shaders
//! need not know that point among the bases.
//!
//! **Use.** `ProvingKey::try_from(&ark_key)`, or [`ProvingKey::from_bellman`] with the parsed
//! `.params` and the circuit's shape. Either refuses keys whose lengths contradict each other:
//! one lost point would shift all that follow it and every proof would be wrong.

use ark_bls12_381::{Bls12_381, Fr, G1Affine, G2Affine};
use ark_groth16::VerifyingKey;
use rayon::prelude::*;

/// The largest domain, as a power of two: the odd coset needs a root of unity of twice its size,
/// and the scalar field has none beyond 2^32.
pub const MAX_LOG2_DOMAIN: u32 = 31;

/// The bases of one multi-scalar multiplication, and which scalar goes with each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query<P> {
    /// The bases; none is the point at infinity.
    pub bases: Vec<P>,
    /// `bases[i]` is multiplied by entry `index[i]` of the full assignment; strictly increasing.
    pub index: Vec<u32>,
}

impl<P> Query<P> {
    /// How many bases there are.
    pub fn len(&self) -> usize {
        self.bases.len()
    }

    /// Whether there is no base at all, as for B in a circuit without multiplications.
    pub fn is_empty(&self) -> bool {
        self.bases.is_empty()
    }
}

/// Which variables of a circuit have a base in a bellman key, and how many rows it has.
///
/// A variable counts as present in a query when it appears there with a coefficient other than
/// zero; the inputs are always present in A, because of the row that each input has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Constraints, not counting the row of each input.
    pub constraints: usize,
    /// Private variables present in A, one entry for each private variable.
    pub a_aux: Vec<bool>,
    /// Inputs present in B, one entry for each input, the constant ONE first.
    pub b_inputs: Vec<bool>,
    /// Private variables present in B, one entry for each private variable.
    pub b_aux: Vec<bool>,
}

impl Shape {
    /// Public inputs, counting the constant ONE.
    pub fn inputs(&self) -> usize {
        self.b_inputs.len()
    }

    /// Private variables.
    pub fn aux(&self) -> usize {
        self.a_aux.len()
    }

    /// Rows of the quotient's vectors: constraints, and one for each input.
    pub fn rows(&self) -> usize {
        self.constraints.saturating_add(self.inputs())
    }
}

/// A proving key in the shape that backends load.
#[derive(Clone, Debug, PartialEq)]
pub struct ProvingKey {
    pub(crate) vk: VerifyingKey<Bls12_381>,
    pub(crate) beta_g1: G1Affine,
    pub(crate) delta_g1: G1Affine,
    pub(crate) a: Query<G1Affine>,
    pub(crate) b_g1: Query<G1Affine>,
    pub(crate) b_g2: Query<G2Affine>,
    pub(crate) h: Vec<G1Affine>,
    pub(crate) l: Query<G1Affine>,
    pub(crate) num_inputs: usize,
    pub(crate) num_aux: usize,
    pub(crate) log2_domain: u32,
}

/// Why a key was refused. Lengths are in points.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// One of the four lengths (or an input count) contradicts the rest.
    #[error("the key's {query} query has {found} points, but {expected} were expected ({because})")]
    Length {
        /// The query's name: `h`, `l`, `a`, `b_g1`, `b_g2` or `ic`.
        query: &'static str,
        /// Points in the key.
        found: usize,
        /// Points that the rest of the key, or the circuit, calls for.
        expected: usize,
        /// Where the expectation comes from.
        because: &'static str,
    },
    /// A key without the constant ONE among its inputs.
    #[error("the key's ic query is empty, but the constant ONE always has a point there")]
    NoInputs,
    /// The H query fits no power-of-two domain.
    #[error("the key's h query has {found} points; one less than a power of two was expected")]
    Domain {
        /// Points in the key.
        found: usize,
    },
    /// The H query calls for a domain without a coset.
    #[error("the key's domain is 2^{log2}, the largest possible is 2^{MAX_LOG2_DOMAIN}")]
    DomainTooLarge {
        /// The domain, as a power of two.
        log2: u32,
    },
    /// More variables than 32-bit indices can name.
    #[error("the key has {found} variables, the most possible is {}", u32::MAX)]
    TooManyVariables {
        /// Variables, counting ONE.
        found: usize,
    },
    /// The circuit's own vectors disagree.
    #[error("the shape gives a_aux {a_aux} entries and b_aux {b_aux}; both count the private variables")]
    Shape {
        /// Entries of `a_aux`.
        a_aux: usize,
        /// Entries of `b_aux`.
        b_aux: usize,
    },
    /// A point that must not be the identity is; for delta this is a known subversion attack.
    #[error("the key's {element} is the point at infinity; such a key is forged or broken")]
    Identity {
        /// For example `delta_g2`.
        element: &'static str,
    },
    /// A point is not on its curve, or not in the group of prime order.
    #[error("the key's {element} is not in the group of prime order")]
    NotInGroup {
        /// For example `beta_g2`.
        element: &'static str,
    },
    /// A query that has no absent variables holds the point at infinity.
    #[error("the key's {query} query holds the point at infinity at {index}")]
    Infinity {
        /// The query's name.
        query: &'static str,
        /// The point's place.
        index: usize,
    },
    /// B in G1 and B in G2 do not belong together.
    #[error(
        "the key's b_g1 and b_g2 queries disagree whether variable {index} is present: \
         they are of different keys"
    )]
    BMismatch {
        /// The variable's place in the full assignment.
        index: u32,
    },
    /// `beta` or `delta` differ between the groups.
    #[error("beta and delta in G1 are not those in G2: their points are of different keys")]
    GroupMismatch,
}

impl ProvingKey {
    /// The verifying key.
    pub fn vk(&self) -> &VerifyingKey<Bls12_381> {
        &self.vk
    }

    /// `beta` in G1.
    pub fn beta_g1(&self) -> G1Affine {
        self.beta_g1
    }

    /// `delta` in G1.
    pub fn delta_g1(&self) -> G1Affine {
        self.delta_g1
    }

    /// The A query.
    pub fn a(&self) -> &Query<G1Affine> {
        &self.a
    }

    /// The B query in G1; its `index` is that of [`Self::b_g2`].
    pub fn b_g1(&self) -> &Query<G1Affine> {
        &self.b_g1
    }

    /// The B query in G2; its `index` is that of [`Self::b_g1`].
    pub fn b_g2(&self) -> &Query<G2Affine> {
        &self.b_g2
    }

    /// The H query: base `i` goes with coefficient `i` of the quotient; one less than the domain.
    pub fn h(&self) -> &[G1Affine] {
        &self.h
    }

    /// The L query.
    pub fn l(&self) -> &Query<G1Affine> {
        &self.l
    }

    /// Public inputs, counting the constant ONE.
    pub fn num_inputs(&self) -> usize {
        self.num_inputs
    }

    /// Private variables.
    pub fn num_aux(&self) -> usize {
        self.num_aux
    }

    /// The evaluation domain's size, as a power of two.
    pub fn log2_domain(&self) -> u32 {
        self.log2_domain
    }

    /// The scalars of a query in the order of its bases: `full[index[i]]` out of inputs and aux.
    ///
    /// `None` when an index lies beyond the assignment, which [`crate::groth16::Assignment::check`]
    /// excludes.
    pub fn scalars<P>(query: &Query<P>, inputs: &[Fr], aux: &[Fr]) -> Option<Vec<Fr>> {
        let pick = |&place: &u32| match inputs.get(place as usize) {
            Some(input) => Some(*input),
            None => aux.get(place as usize - inputs.len()).copied(),
        };
        query.index.par_iter().map(pick).collect()
    }
}
