//! What the tests of whole proofs share: circuits, keys, and tables that any backend must pass.
//!
//! A table takes a function that loads a key into the backend under test, so that the same cases
//! run over every backend.

#![allow(dead_code, reason = "each test binary uses its own part")]

#[cfg(feature = "sapling")]
pub mod sapling;

use std::sync::Arc;

use ark_bls12_381::{Bls12_381, Fr, G1Affine};
use ark_ec::AffineRepr;
use ark_ff::{One, UniformRand, Zero};
use ark_groth16::Groth16;
use ark_relations::{
    gr1cs::{ConstraintSynthesizer, ConstraintSystemRef, SynthesisError, Variable},
    lc,
};
use ark_serialize::CanonicalSerialize;
use ark_std::rand::{Rng, SeedableRng, rngs::StdRng};
use prooflane::{
    arkworks::record,
    engine::{ProofTask, SharedKey},
    groth16::{Assignment, Backend, Prover, ProvingKey, Shape, proof_from_bytes, proof_to_bytes},
};

/// Loads a key into the backend under test.
pub type Load<'a> = &'a dyn Fn(Arc<ProvingKey>) -> Box<dyn Backend>;

/// A circuit with all that makes queries uneven: bits, long sums, inputs in A and in B, variables
/// absent from A, from B, from both, and (`idle`) from everything.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    pub constraints: usize,
    /// Without ONE.
    pub publics: usize,
    /// Whether there is a variable in no constraint, which bellman cannot express.
    pub idle: bool,
    /// A constraint whose witness is off by one.
    pub wrong: Option<usize>,
}

impl Chain {
    pub fn new(constraints: usize, publics: usize) -> Self {
        Self { constraints, publics, idle: false, wrong: None }
    }

    pub fn key(self) -> ark_groth16::ProvingKey<Bls12_381> {
        let rng = &mut StdRng::seed_from_u64(self.constraints as u64);
        Groth16::<Bls12_381>::generate_random_parameters_with_reduction(self, rng).unwrap()
    }

    pub fn proving_key(self) -> Arc<ProvingKey> {
        Arc::new((&self.key()).try_into().unwrap())
    }

    pub fn assignment(self) -> Arc<Assignment> {
        Arc::new(record(self).unwrap())
    }
}

/// `(r, s)` of the `i`-th proof of a job: different, and nobody's secret.
pub fn blinding(i: u64) -> (Fr, Fr) {
    (Fr::from(i + 2), Fr::from(3 * i + 5))
}

/// The `i`-th proof of a job.
pub fn task(key: &Arc<SharedKey>, assignment: &Arc<Assignment>, i: u64) -> ProofTask {
    ProofTask { key: key.clone(), assignment: assignment.clone(), blinding: blinding(i) }
}

impl ConstraintSynthesizer<Fr> for Chain {
    fn generate_constraints(self, cs: ConstraintSystemRef<Fr>) -> Result<(), SynthesisError> {
        let rng = &mut StdRng::seed_from_u64(7 * self.constraints as u64 + self.publics as u64);
        let mut inputs = Vec::new();
        for _ in 0..self.publics {
            let value = Fr::rand(rng);
            inputs.push((cs.new_input_variable(|| Ok(value))?, value));
        }
        if self.idle {
            let _idle = cs.new_witness_variable(|| Ok(Fr::from(5u64)))?;
        }
        let first = Fr::rand(rng);
        let mut links = vec![(cs.new_witness_variable(|| Ok(first))?, first)];
        let one = (Fr::one(), Variable::One);
        for row in 0..self.constraints {
            let off = if self.wrong == Some(row) { Fr::one() } else { Fr::zero() };
            if row % 3 == 2 {
                // bit * (bit - 1) = 0
                let value = Fr::from(rng.r#gen::<bool>()) + off + off;
                let bit = cs.new_witness_variable(|| Ok(value))?;
                cs.enforce_r1cs_constraint(|| lc!() + bit, || lc!() + bit - one, || lc!())?;
                continue;
            }
            // (last + k x) (earlier + 1 [+ x]) = next
            let (last, last_value) = links[links.len() - 1];
            let (earlier, earlier_value) = links[links.len() / 2];
            let (x, x_value) = inputs[row % self.publics];
            let k = Fr::from(rng.gen_range(1..4u64));
            let in_b = if row % 5 == 0 { Fr::one() } else { Fr::zero() };
            let value = (last_value + k * x_value) * (earlier_value + Fr::one() + in_b * x_value);
            let next = cs.new_witness_variable(|| Ok(value + off))?;
            cs.enforce_r1cs_constraint(
                || lc!() + last + (k, x),
                || lc!() + earlier + one + (in_b, x),
                || lc!() + next,
            )?;
            links.push((next, value));
        }
        Ok(())
    }
}

/// One key and the blindings to prove with under it.
pub struct Case {
    pub circuit: Chain,
    pub blindings: Vec<[Fr; 2]>,
}

/// Rows at, below and above powers of two from 2^4 to 2^12, 1 to 5 public inputs.
pub fn cases() -> Vec<Case> {
    let rng = &mut StdRng::seed_from_u64(3);
    let mut random = || Fr::rand(rng);
    let mut cases = Vec::new();
    for log2 in 4..=12usize {
        let publics = log2 % 5 + 1;
        // As many constraints as fill the domain with the rows of the inputs and of ONE.
        let filled = (1 << log2) - publics - 1;
        let (zero, minus_one) = (Fr::zero(), -Fr::one());
        let mut blindings = vec![[random(), random()]];
        if log2 % 4 == 0 {
            blindings.extend([[zero, zero], [zero, random()], [random(), zero]]);
            blindings.push([minus_one, minus_one]);
        }
        cases.push(Case { circuit: Chain::new(filled, publics), blindings });
        let fewer = Chain { idle: true, ..Chain::new(filled - 1, publics) };
        cases.push(Case { circuit: fewer, blindings: vec![[random(), random()]] });
        if log2 < 12 {
            let more = Chain::new(filled + 1, publics);
            cases.push(Case { circuit: more, blindings: vec![[random(), random()]] });
        }
    }
    cases
}

/// Every case's proof equals, byte for byte, the one that ark-groth16 makes.
pub fn proofs_equal_arkworks(load: Load) {
    for Case { circuit, blindings } in cases() {
        let ark = circuit.key();
        let key = Arc::new(ProvingKey::try_from(&ark).unwrap());
        let prover = Prover::new(key.clone(), load(key));
        let assignment = record(circuit).unwrap();
        assert_eq!(assignment.constraints(), circuit.constraints);
        for [r, s] in blindings {
            let proved = prover.prove_with(&assignment, r, s).unwrap();
            let expected = Groth16::<Bls12_381>::create_proof_with_reduction(circuit, &ark, r, s).unwrap();
            let bytes = proved.bytes();
            assert_eq!(bytes, proof_to_bytes(&expected), "{circuit:?}, r = {r}, s = {s}");
            assert_eq!(proof_from_bytes(&bytes).unwrap(), expected);
        }
    }
}

/// Which points of an arkworks key are there, as a bellman circuit would tell.
pub fn shape_of(ark: &ark_groth16::ProvingKey<Bls12_381>, constraints: usize) -> Shape {
    let inputs = ark.vk.gamma_abc_g1.len();
    let present = |points: &[G1Affine]| points.iter().map(|point| !point.is_zero()).collect();
    Shape {
        constraints,
        a_aux: present(&ark.a_query[inputs..]),
        b_inputs: present(&ark.b_g1_query[..inputs]),
        b_aux: present(&ark.b_g1_query[inputs..]),
    }
}

/// An arkworks key as bellman would write it.
pub fn bellman_file(ark: &ark_groth16::ProvingKey<Bls12_381>) -> Vec<u8> {
    let mut file = Vec::new();
    let vk = &ark.vk;
    for point in [vk.alpha_g1, ark.beta_g1] {
        point.serialize_uncompressed(&mut file).unwrap();
    }
    for point in [vk.beta_g2, vk.gamma_g2] {
        point.serialize_uncompressed(&mut file).unwrap();
    }
    ark.delta_g1.serialize_uncompressed(&mut file).unwrap();
    vk.delta_g2.serialize_uncompressed(&mut file).unwrap();
    write_vector(&mut file, &vk.gamma_abc_g1, false);
    write_vector(&mut file, &ark.h_query, false);
    write_vector(&mut file, &ark.l_query, false);
    write_vector(&mut file, &ark.a_query, true);
    write_vector(&mut file, &ark.b_g1_query, true);
    write_vector(&mut file, &ark.b_g2_query, true);
    file
}

fn write_vector<P: AffineRepr>(file: &mut Vec<u8>, points: &[P], compact: bool) {
    let points: Vec<&P> = points.iter().filter(|point| !compact || !point.is_zero()).collect();
    file.extend((points.len() as u32).to_be_bytes());
    for point in points {
        point.serialize_uncompressed(&mut *file).unwrap();
    }
}
