//! The main job: real Sapling statements under the ceremony's keys on the CPU, equal to bellman's. On the device: `sapling_gpu.rs`.

mod circuits;

use std::sync::Arc;

use ark_bls12_381::Fr;
use ark_ff::{One, Zero};
use ark_serialize::CanonicalSerialize;
use bls12_381::{Bls12, G1Projective, G2Projective, Scalar};
use circuits::{
    Load,
    sapling::{FILES, equals_bellman},
};
use prooflane::{
    bellman::{record, scalar_from_ark, shape},
    formats::bellman::{Check, Parameters, Trailing},
    groth16::{CpuBackend, Prover, ProvingKey},
    sapling::{Case, Circuit, check_hash},
};

const CPU: Load = &|key| Box::new(CpuBackend::load(key).unwrap());

#[test]
fn output_equals_bellman() {
    equals_bellman(Circuit::Output, CPU);
}

#[test]
fn spend_equals_bellman() {
    equals_bellman(Circuit::Spend, CPU);
}

#[test]
fn seeds_give_different_statements_and_the_same_seed_the_same() {
    let first = Case::new(&FILES, Circuit::Output, 1).unwrap();
    let again = Case::with_key(&FILES, first.key.clone(), Circuit::Output, 1).unwrap();
    assert_eq!(first.assignment, again.assignment);
    for seed in 2..6 {
        let other = Case::with_key(&FILES, first.key.clone(), Circuit::Output, seed).unwrap();
        assert_ne!(other.public_inputs, first.public_inputs);
        assert_eq!(other.public_inputs, other.assignment.public_inputs());
        other.assignment.satisfied().unwrap();
    }
    for seed in 1..4 {
        let key = first.key.clone();
        let spend = Case::with_key(&FILES, key, Circuit::Spend, seed).unwrap();
        assert_eq!(spend.public_inputs, spend.assignment.public_inputs());
        spend.assignment.satisfied().unwrap();
    }
}

#[test]
fn points_are_those_that_bellman_reads() {
    let case = Case::new(&FILES, Circuit::Output, 1).unwrap();
    let theirs = case.bellman_parameters().unwrap();
    let file = FILES.file(Circuit::Output);
    let ours = Parameters::parse(file, Trailing::Allow, Check::Subgroup).unwrap();
    assert_eq!(ours.trailing, Circuit::Output.counts().trailing);
    let ark = |point: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = Vec::new();
        point(&mut bytes);
        bytes
    };
    let g1 = [(&ours.h, &theirs.h), (&ours.l, &theirs.l), (&ours.a, &theirs.a)];
    for (ours, theirs) in g1.into_iter().chain([(&ours.b_g1, &theirs.b_g1)]) {
        assert_eq!(ours.len(), theirs.len());
        for (ours, theirs) in ours.iter().zip(theirs.iter()) {
            let ours = ark(&|bytes| ours.serialize_uncompressed(bytes).unwrap());
            assert_eq!(ours[..], theirs.to_uncompressed()[..]);
        }
    }
    assert_eq!(ours.b_g2.len(), theirs.b_g2.len());
    for (ours, theirs) in ours.b_g2.iter().zip(theirs.b_g2.iter()) {
        let ours = ark(&|bytes| ours.serialize_uncompressed(bytes).unwrap());
        assert_eq!(ours[..], theirs.to_uncompressed()[..]);
    }
}

#[test]
fn a_ceremony_file_is_refused_where_bytes_may_not_follow() {
    let error = Parameters::parse(FILES.file(Circuit::Output), Trailing::Refuse, Check::Encoding);
    assert_eq!(error.unwrap_err().to_string(), "52836 bytes follow the parameters' end at byte 3540024");
}

#[test]
fn files_that_are_not_the_ceremonys_are_refused() {
    for circuit in Circuit::ALL {
        let mut file = FILES.file(circuit).to_vec();
        check_hash(circuit, &file).unwrap();
        let last = file.len() - 1;
        file[last] ^= 1;
        let error = check_hash(circuit, &file).unwrap_err().to_string();
        let start = format!("the {} parameters have BLAKE2b-512 ", circuit.name());
        assert!(error.starts_with(&start) && error.ends_with(circuit.blake2b()), "{error}");
    }
}

#[test]
fn a_key_of_the_other_circuit_is_refused() {
    let output = Parameters::parse(FILES.file(Circuit::Output), Trailing::Allow, Check::Encoding);
    let shape = Circuit::Spend.shape().unwrap();
    let error = ProvingKey::from_bellman(output.unwrap(), &shape).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the key's ic query has 6 points, but 8 were expected (the circuit's inputs with ONE)"
    );
}

/// `x^2 = y`, `y` public: a key by bellman's own generator, so that small keys are covered too.
#[derive(Clone)]
struct Square(Option<Scalar>);

impl bellman::Circuit<Scalar> for Square {
    fn synthesize<CS: bellman::ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), bellman::SynthesisError> {
        let value = || self.0.ok_or(bellman::SynthesisError::AssignmentMissing);
        let x = cs.alloc(|| "x", value)?;
        let y = cs.alloc_input(|| "y", || Ok(value()?.square()))?;
        cs.enforce(|| "", |lc| lc + x, |lc| lc + x, |lc| lc + y);
        Ok(())
    }
}

#[test]
fn keys_of_bellmans_generator_load_and_prove() {
    let [alpha, beta, gamma, delta, tau] = [3, 5, 7, 11, 13].map(Scalar::from);
    let params = bellman_groth16::generate_parameters::<Bls12, _>(
        Square(None),
        G1Projective::generator(),
        G2Projective::generator(),
        alpha,
        beta,
        gamma,
        delta,
        tau,
    )
    .unwrap();
    let mut file = Vec::new();
    params.write(&mut file).unwrap();
    let parsed = Parameters::parse(&file, Trailing::Refuse, Check::Subgroup).unwrap();
    let key = ProvingKey::from_bellman(parsed, &shape(Square(None)).unwrap()).unwrap();
    let key = Arc::new(key);

    let circuit = Square(Some(Scalar::from(9)));
    let (assignment, _) = record(circuit.clone()).unwrap();
    let prover = Prover::new(key.clone(), CPU(key));
    for (r, s) in [(Fr::zero(), Fr::zero()), (Fr::one(), -Fr::one()), (Fr::from(2u64), Fr::zero())] {
        let ours = prover.prove_with(&assignment, r, s).unwrap();
        let (r, s) = (scalar_from_ark(&r), scalar_from_ark(&s));
        let theirs = bellman_groth16::create_proof(circuit.clone(), &params, r, s).unwrap();
        let mut bytes = Vec::new();
        theirs.write(&mut bytes).unwrap();
        assert_eq!(ours.bytes()[..], bytes[..]);
    }
}
