//! A circuit of any size, for demonstrations and measurements: [`MostlyBits`], with a key and a witness.

use ark_bls12_381::{Bls12_381, Fr};
use ark_ff::{One, UniformRand};
use ark_groth16::Groth16;
use ark_relations::{
    gr1cs::{ConstraintSynthesizer, ConstraintSystemRef, SynthesisError, Variable},
    lc,
};
use ark_std::rand::{Rng, SeedableRng, rngs::StdRng};

use crate::{
    arkworks::{RecordError, record},
    groth16::{Assignment, KeyError, MAX_LOG2_DOMAIN, ProvingKey},
};

/// `2^log2 - 2` constraints, so that with the rows of the two inputs the domain is `2^log2`: nine in ten say that a
/// variable is a bit, as in circuits of hash functions, the tenth is a product of full size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MostlyBits {
    /// Binary logarithm of the domain, at least 2.
    pub log2: u32,
    /// Decides the values of the witness, and of [`Self::key`] the trapdoor. A witness of any seed fits the key of any
    /// other of the same size.
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
    /// arkworks could not make a key.
    #[error("the key could not be made: {0}")]
    Generate(#[from] SynthesisError),
    /// The key is none.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The witness could not be recorded.
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl ConstraintSynthesizer<Fr> for MostlyBits {
    fn generate_constraints(self, cs: ConstraintSystemRef<Fr>) -> Result<(), SynthesisError> {
        self.check().map_err(|_| SynthesisError::Unsatisfiable)?;
        let rng = &mut self.rng(0);
        let mut value = Fr::rand(rng);
        let mut last = cs.new_input_variable(|| Ok(value))?;
        let one = (Fr::one(), Variable::One);
        for row in 0..(1u64 << self.log2) - 2 {
            if row % 10 == 9 {
                value = value * value + Fr::one();
                let next = cs.new_witness_variable(|| Ok(value))?;
                cs.enforce_r1cs_constraint(|| lc!() + last, || lc!() + last, || lc!() + next - one)?;
                last = next;
            } else {
                let bit = cs.new_witness_variable(|| Ok(Fr::from(rng.r#gen::<bool>())))?;
                cs.enforce_r1cs_constraint(|| lc!() + bit, || lc!() + bit - one, || lc!())?;
            }
        }
        Ok(())
    }
}

impl MostlyBits {
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

    /// A key whose trapdoor nobody kept, and nobody should trust: it comes out of a seed. Takes host time that grows with
    /// the size, about a minute for 2^20 on 16 processors.
    pub fn key(self) -> Result<ProvingKey, SyntheticError> {
        let rng = &mut self.rng(1);
        let key = Groth16::<Bls12_381>::generate_random_parameters_with_reduction(self.check()?, rng)?;
        Ok(ProvingKey::try_from(&key)?)
    }

    /// The witness.
    pub fn assignment(self) -> Result<Assignment, SyntheticError> {
        Ok(record(self.check()?)?)
    }
}
