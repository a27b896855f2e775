//! Real Sapling statements over any backend.

use std::sync::LazyLock;

use ark_bls12_381::{Bls12_381, Fr};
use ark_ff::{One, UniformRand};
use ark_groth16::Groth16;
use ark_std::rand::{SeedableRng, rngs::StdRng};
use prooflane::{
    groth16::Prover,
    sapling::{Case, Circuit, ParameterFiles, parameters},
};

use super::Load;

/// The ceremony's files.
pub static FILES: LazyLock<ParameterFiles> = LazyLock::new(|| parameters().unwrap());

/// `circuit` over a backend: counts, statement, bytes, both verifiers, a flipped input.
pub fn equals_bellman(circuit: Circuit, load: Load) {
    let case = Case::new(&FILES, circuit, 1).unwrap();
    let counts = circuit.counts();
    let (key, assignment) = (&case.key, &case.assignment);
    assert_eq!(assignment.constraints(), counts.constraints);
    assert_eq!(key.num_inputs(), counts.inputs);
    assert_eq!(key.num_aux(), counts.aux);
    assert_eq!(key.log2_domain(), counts.log2_domain);
    assert_eq!([key.a().len(), key.b_g1().len(), key.b_g2().len()], [counts.a, counts.b, counts.b]);
    assert_eq!(FILES.file(circuit).len(), counts.file);
    // Computed by the wallet's functions against recorded from the circuit.
    assert_eq!(case.public_inputs, assignment.public_inputs());

    let rng = &mut StdRng::seed_from_u64(2);
    let (r, s) = (Fr::rand(rng), Fr::rand(rng));
    let prover = Prover::new(key.clone(), load(key.clone()));
    let proved = prover.prove_with(assignment, r, s).unwrap();
    assert_eq!(proved.bytes(), case.reference_proof(r, s).unwrap());
    for stage in &proved.stages {
        eprintln!("{circuit:?} {:<12} {:>10.3?} {:>10.3?}", stage.stage, stage.host, stage.device);
    }

    let ark = |inputs: &[Fr]| Groth16::<Bls12_381>::verify_proof(prover.prepared_vk(), &proved.proof, inputs).unwrap();
    let bellman = |inputs: &[Fr]| case.bellman_verifies(&proved.bytes(), inputs).unwrap();
    assert!(ark(&case.public_inputs) && bellman(&case.public_inputs));
    for flipped in 0..case.public_inputs.len() {
        let mut inputs = case.public_inputs.clone();
        inputs[flipped] += Fr::one();
        assert!(!ark(&inputs) && !bellman(&inputs), "input {flipped}");
    }
}
