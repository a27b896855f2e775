//! How keys of other tools become a [`ProvingKey`], and what refuses them.
//!
//! **Theory and what differs.** See [`super::key`]: the lengths of a key are those of a circuit, and
//! they are checked against each other (arkworks) or against the circuit's [`Shape`] (bellman)
//! before any point is paired with a scalar.
//!
//! **Use.** [`ProvingKey::from_bellman`] and `ProvingKey::try_from`. The points' curve and subgroup
//! are the business of whoever read them; here are only the checks that need the whole key.

use ark_bls12_381::Bls12_381;
use ark_ec::{
    AffineRepr,
    pairing::{Pairing, PairingOutput},
};
use rayon::prelude::*;

use super::key::{KeyError, MAX_LOG2_DOMAIN, ProvingKey, Query, Shape};
use crate::formats::bellman::Parameters;

impl ProvingKey {
    /// Joins bellman's parameters to the shape of their circuit.
    pub fn from_bellman(params: Parameters, shape: &Shape) -> Result<Self, KeyError> {
        let (inputs, aux) = (shape.inputs(), shape.aux());
        if shape.b_aux.len() != aux {
            return Err(KeyError::Shape { a_aux: aux, b_aux: shape.b_aux.len() });
        }
        let variables = variables(inputs, aux)?;
        let log2 = log2_of_rows(shape.rows())?;
        let expect = |query, found, expected, because| match found == expected {
            true => Ok(()),
            false => Err(KeyError::Length { query, found, expected, because }),
        };
        expect("ic", params.vk.gamma_abc_g1.len(), inputs, "the circuit's inputs with ONE")?;
        expect("h", params.h.len(), (1 << log2) - 1, "the domain of the circuit's rows, less one")?;
        expect("l", params.l.len(), aux, "the circuit's private variables")?;

        let present = |flags: &[bool], first: usize| -> Vec<u32> {
            let places = (first as u32..).zip(flags);
            places.filter(|(_, present)| **present).map(|(place, _)| place).collect()
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
        // The pairings below, and every verification, take these for members of their groups.
        member("alpha_g1", &vk.alpha_g1)?;
        member("beta_g1", &self.beta_g1)?;
        member("beta_g2", &vk.beta_g2)?;
        member("gamma_g2", &vk.gamma_g2)?;
        member("delta_g1", &self.delta_g1)?;
        member("delta_g2", &vk.delta_g2)?;
        if let Some(index) = self.h.par_iter().position_first(|point| point.is_zero()) {
            return Err(KeyError::Infinity { query: "h", index });
        }
        if self.b_g1.index != self.b_g2.index {
            let (one, two) = (self.b_g1.index.iter(), self.b_g2.index.iter());
            // The shorter list ran out without a difference: its successor's next variable differs.
            let common = one.clone().zip(two.clone()).position(|(x, y)| x != y);
            let at = common.unwrap_or(self.b_g1.len().min(self.b_g2.len()));
            let index = one.skip(at).take(1).chain(two.skip(at).take(1)).min();
            return Err(KeyError::BMismatch { index: index.copied().unwrap_or(0) });
        }
        // e(delta_1, beta_2) = e(beta_1, delta_2) holds whatever generators the setup took, so it
        // also fits arkworks, which takes random ones.
        let crossed = Bls12_381::multi_pairing(
            [self.delta_g1.into_group(), -self.beta_g1.into_group()],
            [vk.beta_g2, vk.delta_g2],
        );
        if crossed != PairingOutput::default() {
            return Err(KeyError::GroupMismatch);
        }
        Ok(self)
    }
}

impl TryFrom<&ark_groth16::ProvingKey<Bls12_381>> for ProvingKey {
    type Error = KeyError;

    fn try_from(key: &ark_groth16::ProvingKey<Bls12_381>) -> Result<Self, KeyError> {
        key.clone().try_into()
    }
}

/// Without a copy of the points.
impl TryFrom<ark_groth16::ProvingKey<Bls12_381>> for ProvingKey {
    type Error = KeyError;

    fn try_from(key: ark_groth16::ProvingKey<Bls12_381>) -> Result<Self, KeyError> {
        let inputs = key.vk.gamma_abc_g1.len();
        if inputs == 0 {
            return Err(KeyError::NoInputs);
        }
        let aux = key.l_query.len();
        let expected = variables(inputs, aux)? as usize;
        for (query, found) in [("a", key.a_query.len()), ("b_g1", key.b_g1_query.len()), ("b_g2", key.b_g2_query.len())]
        {
            if found != expected {
                let because = "the ic and l queries together count the variables";
                return Err(KeyError::Length { query, found, expected, because });
            }
        }
        let domain = key.h_query.len() + 1;
        if !domain.is_power_of_two() {
            return Err(KeyError::Domain { found: key.h_query.len() });
        }
        Self {
            vk: key.vk,
            beta_g1: key.beta_g1,
            delta_g1: key.delta_g1,
            a: without_infinity(key.a_query, 0),
            b_g1: without_infinity(key.b_g1_query, 0),
            b_g2: without_infinity(key.b_g2_query, 0),
            h: key.h_query,
            l: without_infinity(key.l_query, inputs as u32),
            num_inputs: inputs,
            num_aux: aux,
            log2_domain: log2_of_rows(domain)?,
        }
        .checked()
    }
}

/// In the group of prime order, and not its identity.
fn member<P: AffineRepr>(element: &'static str, point: &P) -> Result<(), KeyError> {
    match point {
        point if point.is_zero() => Err(KeyError::Identity { element }),
        point if point.check().is_err() => Err(KeyError::NotInGroup { element }),
        _ => Ok(()),
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
    let log2 = rows.checked_next_power_of_two().map_or(usize::BITS, usize::trailing_zeros);
    match log2 <= MAX_LOG2_DOMAIN {
        true => Ok(log2),
        false => Err(KeyError::DomainTooLarge { log2 }),
    }
}

/// A query of a format that leaves absent variables out, hence has no infinity.
fn full<P: AffineRepr>(query: &'static str, bases: Vec<P>, index: Vec<u32>) -> Result<Query<P>, KeyError> {
    match bases.par_iter().position_first(|point| point.is_zero()) {
        Some(index) => Err(KeyError::Infinity { query, index }),
        None => Ok(Query { bases, index }),
    }
}

/// A query of a format that marks absent variables by infinity; `first` is its first variable.
fn without_infinity<P: AffineRepr>(mut bases: Vec<P>, first: u32) -> Query<P> {
    let present = (first..).zip(&bases).filter(|(_, point)| !point.is_zero());
    let index = present.map(|(place, _)| place).collect();
    bases.retain(|point| !point.is_zero());
    Query { bases, index }
}
