//! Synthetic circuits: their rows are those of the constraints, and proofs under their keys verify.

use std::sync::Arc;

use ark_bls12_381::{Bls12_381, Fr};
use ark_ff::One;
use ark_groth16::Groth16;
use prooflane::{
    arkworks::record,
    groth16::{CpuBackend, Prover},
    synthetic::{Kind, Synthetic},
};

const KINDS: [Kind; 2] = [Kind::Bits, Kind::Dense];

#[test]
fn assignments_are_those_of_the_constraints() {
    for kind in KINDS {
        for log2 in [2, 3, 4, 7, 10] {
            let circuit = Synthetic { kind, log2, seed: u64::from(log2) };
            let assignment = circuit.assignment().unwrap();
            assert_eq!(assignment, record(circuit).unwrap(), "{circuit:?}");
            assert_eq!((assignment.a.len(), assignment.satisfied()), (1 << log2, Ok(())), "{circuit:?}");
        }
    }
}

#[test]
fn kinds_are_what_they_say() {
    let small = |value: &&Fr| **value == Fr::one() || **value == Fr::from(0u64);
    for (kind, bits) in [(Kind::Bits, 920), (Kind::Dense, 0)] {
        let assignment = Synthetic { kind, log2: 10, seed: 1 }.assignment().unwrap();
        assert_eq!(assignment.aux.len(), 1022);
        assert_eq!(assignment.aux.iter().filter(small).count(), bits, "{kind:?}");
    }
}

#[test]
fn proofs_verify_under_the_key_of_another_seed() {
    for kind in KINDS {
        for log2 in [2, 10] {
            let key = Arc::new(Synthetic { kind, log2, seed: 1 }.key().unwrap());
            assert_eq!((key.log2_domain(), key.num_inputs(), key.num_aux()), (log2, 2, (1 << log2) - 2));
            let prover = Prover::new(key.clone(), Box::new(CpuBackend::load(key).unwrap()));
            let assignment = Synthetic { kind, log2, seed: 2 }.assignment().unwrap();
            let proved = prover.prove_with(&assignment, Fr::from(3u64), Fr::from(4u64)).unwrap();
            let verifies = |inputs: &[Fr]| {
                Groth16::<Bls12_381>::verify_proof(prover.prepared_vk(), &proved.proof, inputs).unwrap()
            };
            let input = assignment.public_inputs()[0];
            assert!(verifies(&[input]), "{kind:?}, 2^{log2}");
            assert!(!verifies(&[input + Fr::one()]), "{kind:?}, 2^{log2}");
        }
    }
}
