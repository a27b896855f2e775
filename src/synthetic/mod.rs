//! Circuits of any size with key and witness, for demonstrations and measurements: [`Synthetic`].
//!
//! **Theory.** The variables of the constraints are known in closed form, and so are the rows of a witness. The key is that
//! of a Groth16 setup whose trapdoor comes out of the seed; whoever knows the trapdoor computes every exponent in the field,
//! and all points are multiples of one of two generators.
//!
//! **What differs.** arkworks' generator makes the same key out of the same generator of random numbers, three to four times
//! slower.

mod multiples;
mod setup;

use ark_bls12_381::{Bls12_381, Fr};
use ark_ff::{One, UniformRand, Zero};
use ark_relations::{
    gr1cs::{ConstraintSynthesizer, ConstraintSystemRef, SynthesisError, Variable},
    lc,
};
use ark_std::rand::{Rng, SeedableRng, rngs::StdRng};

use crate::groth16::{Assignment, KeyError, MAX_LOG2_DOMAIN, ProvingKey};

/// Public inputs, with ONE.
const INPUTS: usize = 2;

/// What the variables of a circuit are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nine in ten are bits, as in circuits of hash functions.
    Bits,
    /// All are of full size.
    Dense,
}

/// `2^log2 - 2` constraints, so that with the rows of the two inputs the domain is `2^log2`. Each has a variable of its own:
/// a bit, or the square of the last such variable (at first the input), plus one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synthetic {
    /// Bits or not.
    pub kind: Kind,
    /// Binary logarithm of the domain, at least 2.
    pub log2: u32,
    /// Decides the values of the witness, and of [`Self::key`] the trapdoor. A witness of any seed fits the key of any
    /// other of the same kind and size.
    pub seed: u64,
}

/// Why there is no synthetic key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SyntheticError {
    /// No such size.
    #[error("there is no circuit of 2^{log2} rows: from 2^2 to 2^{MAX_LOG2_DOMAIN} is possible")]
    Size {
        /// Asked for.
        log2: u32,
    },
    /// The key is none.
    #[error(transparent)]
    Key(#[from] KeyError),
}

impl ConstraintSynthesizer<Fr> for Synthetic {
    fn generate_constraints(self, cs: ConstraintSystemRef<Fr>) -> Result<(), SynthesisError> {
        self.check().map_err(|_| SynthesisError::Unsatisfiable)?;
        let rng = &mut self.rng(0);
        let mut value = Fr::rand(rng);
        let mut last = cs.new_input_variable(|| Ok(value))?;
        let one = (Fr::one(), Variable::One);
        for row in 0..self.constraints() {
            if self.is_bit(row) {
                let bit = cs.new_witness_variable(|| Ok(Fr::from(rng.r#gen::<bool>())))?;
                cs.enforce_r1cs_constraint(|| lc!() + bit, || lc!() + bit - one, || lc!())?;
            } else {
                value = value * value + Fr::one();
                let next = cs.new_witness_variable(|| Ok(value))?;
                cs.enforce_r1cs_constraint(|| lc!() + last, || lc!() + last, || lc!() + next - one)?;
                last = next;
            }
        }
        Ok(())
    }
}

impl Synthetic {
    /// Streams of one seed that share nothing: of the witness and of the key.
    fn rng(self, stream: u8) -> StdRng {
        let mut seed = [stream; 32];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        StdRng::from_seed(seed)
    }

    fn check(self) -> Result<Self, SyntheticError> {
        let Self { log2, .. } = self;
        if (2..=MAX_LOG2_DOMAIN).contains(&log2) { Ok(self) } else { Err(SyntheticError::Size { log2 }) }
    }

    /// Of a circuit whose size was checked.
    fn constraints(self) -> usize {
        (1 << self.log2) - INPUTS
    }

    /// Whether a row says that its variable is a bit.
    fn is_bit(self, row: usize) -> bool {
        self.kind == Kind::Bits && row % 10 != 9
    }

    /// A key whose trapdoor nobody kept, and nobody should trust: it comes out of the seed. A processor takes some
    /// fifty microseconds for each row, and a row has 0.6 KiB of points.
    pub fn key(self) -> Result<ProvingKey, SyntheticError> {
        Ok(self.arkworks_key()?.try_into()?)
    }

    /// The same as arkworks keeps it.
    pub fn arkworks_key(self) -> Result<ark_groth16::ProvingKey<Bls12_381>, SyntheticError> {
        let trapdoor = setup::Trapdoor::draw(&mut self.rng(1), self.check()?.log2);
        Ok(trapdoor.key(self.qap(&trapdoor.lagrange()), INPUTS))
    }

    /// What each variable's polynomials are at a point where those of the rows are `lagrange`.
    fn qap(self, lagrange: &[Fr]) -> setup::Qap {
        let variables = INPUTS + self.constraints();
        let [mut u, mut v, mut w] = [(); 3].map(|()| vec![Fr::zero(); variables]);
        let (constraints, inputs) = lagrange.split_at(self.constraints());
        u[..INPUTS].copy_from_slice(inputs);
        let mut last = 1;
        for (row, value) in constraints.iter().enumerate() {
            let own = INPUTS + row;
            if self.is_bit(row) {
                u[own] += value;
                v[own] += value;
                v[0] -= value;
            } else {
                u[last] += value;
                v[last] += value;
                w[own] += value;
                w[0] -= value;
                last = own;
            }
        }
        setup::Qap { u, v, w }
    }

    /// The witness.
    pub fn assignment(self) -> Result<Assignment, SyntheticError> {
        let constraints = self.check()?.constraints();
        let rng = &mut self.rng(0);
        let mut value = Fr::rand(rng);
        let [a, b, c, aux] = [(); 4].map(|()| Vec::with_capacity(constraints + INPUTS));
        let mut all = Assignment { a, b, c, aux, inputs: vec![Fr::one(), value] };
        for row in 0..constraints {
            let (a, b, c, own) = if self.is_bit(row) {
                let bit = Fr::from(rng.r#gen::<bool>());
                (bit, bit - Fr::one(), Fr::zero(), bit)
            } else {
                let (last, square) = (value, value * value);
                value = square + Fr::one();
                (last, last, square, value)
            };
            all.a.push(a);
            all.b.push(b);
            all.c.push(c);
            all.aux.push(own);
        }
        all.push_input_rows();
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use ark_groth16::Groth16;

    use super::*;

    #[test]
    fn keys_are_those_of_arkworks_by_the_same_trapdoor() {
        for kind in [Kind::Bits, Kind::Dense] {
            for log2 in [2, 3, 4, 7, 10] {
                for seed in [0, u64::MAX] {
                    let circuit = Synthetic { kind, log2, seed };
                    // Alpha, beta, gamma, delta, both generators and tau, in this order.
                    let rng = &mut circuit.rng(1);
                    let want = Groth16::<Bls12_381>::generate_random_parameters_with_reduction(circuit, rng).unwrap();
                    assert_eq!(circuit.arkworks_key().unwrap(), want, "{circuit:?}");
                    assert_eq!(circuit.key().unwrap(), ProvingKey::try_from(&want).unwrap(), "{circuit:?}");
                }
            }
        }
    }

    #[test]
    fn sizes_that_are_none_are_refused() {
        for log2 in [0, 1, 32, u32::MAX] {
            let circuit = Synthetic { kind: Kind::Dense, log2, seed: 1 };
            let message = format!("there is no circuit of 2^{log2} rows: from 2^2 to 2^31 is possible");
            assert_eq!(circuit.key().unwrap_err().to_string(), message);
            assert_eq!(circuit.arkworks_key().unwrap_err().to_string(), message);
            assert_eq!(circuit.assignment().unwrap_err().to_string(), message);
        }
    }
}
