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
use ark_ec::{AffineRepr, pairing::Pairing};
use ark_groth16::VerifyingKey;
use rayon::prelude::*;

use crate::formats::bellman::Parameters;

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
        self.constraints + self.inputs()
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
    #[error(
        "the shape gives a_aux {a_aux} entries and b_aux {b_aux}; both count the private variables"
    )]
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
    /// Joins bellman's parameters to the shape of their circuit.
    pub fn from_bellman(params: Parameters, shape: &Shape) -> Result<Self, KeyError> {
        let (inputs, aux) = (shape.inputs(), shape.aux());
        if shape.b_aux.len() != aux {
            return Err(KeyError::Shape {
                a_aux: aux,
                b_aux: shape.b_aux.len(),
            });
        }
        let variables = variables(inputs, aux)?;
        let log2 = log2_of_rows(shape.rows())?;
        let expect = |query, found, expected, because| match found == expected {
            true => Ok(()),
            false => Err(KeyError::Length {
                query,
                found,
                expected,
                because,
            }),
        };
        expect(
            "ic",
            params.vk.gamma_abc_g1.len(),
            inputs,
            "the circuit's inputs with ONE",
        )?;
        expect(
            "h",
            params.h.len(),
            (1 << log2) - 1,
            "the domain of the circuit's rows, less one",
        )?;
        expect("l", params.l.len(), aux, "the circuit's private variables")?;

        let present = |flags: &[bool], first: usize| -> Vec<u32> {
            let places = (first as u32..).zip(flags);
            places
                .filter(|(_, present)| **present)
                .map(|(place, _)| place)
                .collect()
        };
        let mut a_index: Vec<u32> = (0..inputs as u32).collect();
        a_index.extend(present(&shape.a_aux, inputs));
        let mut b_index = present(&shape.b_inputs, 0);
        b_index.extend(present(&shape.b_aux, inputs));
        let density = "the variables that the circuit's constraints use there";
        expect("a", params.a.len(), a_index.len(), density)?;
        expect("b_g1", params.b_g1.len(), b_index.len(), density)?;
        expect("b_g2", params.b_g2.len(), b_index.len(), density)?;

        Self {
            vk: params.vk,
            beta_g1: params.beta_g1,
            delta_g1: params.delta_g1,
            a: full("a", params.a, a_index)?,
            b_g1: full("b_g1", params.b_g1, b_index.clone())?,
            b_g2: full("b_g2", params.b_g2, b_index)?,
            h: params.h,
            l: full("l", params.l, (inputs as u32..variables).collect())?,
            num_inputs: inputs,
            num_aux: aux,
            log2_domain: log2,
        }
        .checked()
    }

    /// What must hold whatever tool wrote the key, beyond the lengths.
    fn checked(self) -> Result<Self, KeyError> {
        let vk = &self.vk;
        for (element, identity) in [
            ("alpha_g1", vk.alpha_g1.is_zero()),
            ("beta_g1", self.beta_g1.is_zero()),
            ("beta_g2", vk.beta_g2.is_zero()),
            ("gamma_g2", vk.gamma_g2.is_zero()),
            ("delta_g1", self.delta_g1.is_zero()),
            ("delta_g2", vk.delta_g2.is_zero()),
        ] {
            if identity {
                return Err(KeyError::Identity { element });
            }
        }
        if let Some(index) = self.h.par_iter().position_first(|point| point.is_zero()) {
            return Err(KeyError::Infinity { query: "h", index });
        }
        if self.b_g1.index != self.b_g2.index {
            let (one, two) = (self.b_g1.index.iter(), self.b_g2.index.iter());
            // The shorter list ran out without a difference: its successor's next variable differs.
            let common = one.clone().zip(two.clone()).position(|(x, y)| x != y);
            let at = common.unwrap_or(self.b_g1.len().min(self.b_g2.len()));
            let index = one.skip(at).take(1).chain(two.skip(at).take(1)).min();
            return Err(KeyError::BMismatch {
                index: index.copied().unwrap_or(0),
            });
        }
        // e(delta_1, beta_2) = e(beta_1, delta_2) holds whatever generators the setup took, so it
        // also fits arkworks, which takes random ones.
        let crossed = Bls12_381::multi_pairing(
            [self.delta_g1.into_group(), -self.beta_g1.into_group()],
            [vk.beta_g2, vk.delta_g2],
        );
        if crossed != ark_ec::pairing::PairingOutput::default() {
            return Err(KeyError::GroupMismatch);
        }
        Ok(self)
    }

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

    /// The bytes of all bases as pairs of coordinates: what a device needs room for at least.
    pub fn base_bytes(&self) -> u64 {
        let g1 = self.a.len() + self.b_g1.len() + self.h.len() + self.l.len();
        96 * g1 as u64 + 192 * self.b_g2.len() as u64
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

impl TryFrom<&ark_groth16::ProvingKey<Bls12_381>> for ProvingKey {
    type Error = KeyError;

    fn try_from(key: &ark_groth16::ProvingKey<Bls12_381>) -> Result<Self, KeyError> {
        let inputs = key.vk.gamma_abc_g1.len();
        if inputs == 0 {
            return Err(KeyError::NoInputs);
        }
        let aux = key.l_query.len();
        let expected = variables(inputs, aux)? as usize;
        for (query, found) in [
            ("a", key.a_query.len()),
            ("b_g1", key.b_g1_query.len()),
            ("b_g2", key.b_g2_query.len()),
        ] {
            if found != expected {
                let because = "the ic and l queries together count the variables";
                return Err(KeyError::Length {
                    query,
                    found,
                    expected,
                    because,
                });
            }
        }
        let domain = key.h_query.len() + 1;
        if !domain.is_power_of_two() {
            return Err(KeyError::Domain {
                found: key.h_query.len(),
            });
        }
        Self {
            vk: key.vk.clone(),
            beta_g1: key.beta_g1,
            delta_g1: key.delta_g1,
            a: without_infinity(&key.a_query, 0),
            b_g1: without_infinity(&key.b_g1_query, 0),
            b_g2: without_infinity(&key.b_g2_query, 0),
            h: key.h_query.clone(),
            l: without_infinity(&key.l_query, inputs as u32),
            num_inputs: inputs,
            num_aux: aux,
            log2_domain: log2_of_rows(domain)?,
        }
        .checked()
    }
}

/// How many variables there are, as far as 32-bit indices reach.
fn variables(inputs: usize, aux: usize) -> Result<u32, KeyError> {
    let found = inputs.saturating_add(aux);
    if inputs == 0 {
        return Err(KeyError::NoInputs);
    }
    u32::try_from(found).map_err(|_| KeyError::TooManyVariables { found })
}

/// The smallest domain that holds `rows`, as a power of two.
fn log2_of_rows(rows: usize) -> Result<u32, KeyError> {
    let log2 = rows
        .checked_next_power_of_two()
        .map_or(usize::BITS, usize::trailing_zeros);
    match log2 <= MAX_LOG2_DOMAIN {
        true => Ok(log2),
        false => Err(KeyError::DomainTooLarge { log2 }),
    }
}

/// A query of a format that leaves absent variables out, hence has no infinity.
fn full<P: AffineRepr>(
    query: &'static str,
    bases: Vec<P>,
    index: Vec<u32>,
) -> Result<Query<P>, KeyError> {
    match bases.par_iter().position_first(|point| point.is_zero()) {
        Some(index) => Err(KeyError::Infinity { query, index }),
        None => Ok(Query { bases, index }),
    }
}

/// A query of a format that marks absent variables by infinity; `first` is its first variable.
fn without_infinity<P: AffineRepr>(points: &[P], first: u32) -> Query<P> {
    let present = (first..).zip(points).filter(|(_, point)| !point.is_zero());
    let (index, bases) = present.map(|(place, point)| (place, *point)).unzip();
    Query { bases, index }
}
