//! Whole proofs on the CPU backend: equal to ark-groth16's, and none for a bad witness.

mod circuits;

use std::sync::Arc;

use ark_bls12_381::{Bls12_381, Fr, G1Affine, G2Affine};
use ark_ec::AffineRepr;
use ark_ff::{One, Zero};
use ark_groth16::Groth16;
use ark_relations::{
    gr1cs::{ConstraintSynthesizer, ConstraintSystemRef, SynthesisError, predicate::PredicateConstraintSystem},
    lc,
};
use ark_serialize::CanonicalSerialize;
use ark_std::rand::{SeedableRng, rngs::StdRng};
use circuits::Chain;
use prooflane::{
    arkworks::record,
    groth16::{
        Assignment, Backend, CpuBackend, Meanwhile, ProveError, Prover, ProvingKey, StageTime, Sums, proof_from_bytes,
    },
};

fn cpu(key: Arc<ProvingKey>) -> Box<dyn Backend> {
    Box::new(CpuBackend::load(key).unwrap())
}

fn prover(circuit: Chain) -> Prover {
    let key = Arc::new(ProvingKey::try_from(&circuit.key()).unwrap());
    Prover::new(key.clone(), cpu(key))
}

fn prove(prover: &Prover, assignment: &Assignment) -> Result<[u8; 192], ProveError> {
    let proved = prover.prove_with(assignment, Fr::from(3u64), Fr::from(4u64));
    proved.map(|proved| proved.bytes())
}

#[test]
fn proofs_equal_arkworks() {
    circuits::proofs_equal_arkworks(&cpu);
}

#[test]
fn random_blinding_verifies_and_differs() {
    let circuit = Chain::new(50, 3);
    let (prover, assignment) = (prover(circuit), record(circuit).unwrap());
    let rng = &mut StdRng::seed_from_u64(1);
    let [one, two] = [(), ()].map(|()| prover.prove(&assignment, rng).unwrap());
    assert_ne!(one.proof, two.proof);
    for proof in [&one.proof, &two.proof] {
        let mut inputs = assignment.public_inputs().to_vec();
        let vk = prover.prepared_vk();
        assert!(Groth16::<Bls12_381>::verify_proof(vk, proof, &inputs).unwrap());
        inputs[1] += Fr::one();
        assert!(!Groth16::<Bls12_381>::verify_proof(vk, proof, &inputs).unwrap());
    }
    let stages: Vec<_> = one.stages.iter().map(|stage| stage.stage).collect();
    let all = ["check", "constraints", "quotient", "h", "l", "a", "b_g1", "b_g2", "assemble", "verify"];
    assert_eq!(stages, all);
}

#[test]
fn a_witness_that_does_not_satisfy_gives_no_proof() {
    for (wrong, message) in [
        (0, "constraint 0 (counted from 0) of 50 does not hold"),
        (2, "constraint 2 (counted from 0) of 50 does not hold"),
        (49, "constraint 49 (counted from 0) of 50 does not hold"),
    ] {
        let circuit = Chain::new(50, 3);
        let assignment = record(Chain { wrong: Some(wrong), ..circuit }).unwrap();
        let error = prove(&prover(circuit), &assignment).unwrap_err();
        assert!(matches!(error, ProveError::Assignment(_)));
        assert!(error.to_string().starts_with(message), "{error}");
    }
}

#[test]
fn wrong_lengths_and_rows_are_refused() {
    let circuit = Chain::new(50, 3);
    let (prover, good) = (prover(circuit), record(circuit).unwrap());
    prove(&prover, &good).unwrap();
    type Damage = fn(&mut Assignment);
    let table: [(Damage, &str); 12] = [
        (|bad| bad.inputs.truncate(3), "the assignment has 3 inputs (with ONE), the key is for 4"),
        (|bad| bad.inputs.clear(), "the assignment has 0 inputs (with ONE), the key is for 4"),
        (|bad| bad.aux.truncate(50), "the assignment has 50 private variables, the key is for 51"),
        (|bad| bad.aux.push(Fr::one()), "the assignment has 52 private variables, the key is for 51"),
        (|bad| bad.a.truncate(53), "the assignment has 53 rows in a, 54 in b and 54 in c; they must be equal"),
        (|bad| bad.b.clear(), "the assignment has 54 rows in a, 0 in b and 54 in c; they must be equal"),
        (|bad| bad.c.push(Fr::zero()), "the assignment has 54 rows in a, 54 in b and 55 in c; they must be equal"),
        (
            |bad| [&mut bad.a, &mut bad.b, &mut bad.c].into_iter().for_each(|rows| rows.truncate(3)),
            "the assignment has 3 rows, fewer than its 4 inputs, each of which has one",
        ),
        (
            |bad| {
                for rows in [&mut bad.a, &mut bad.b, &mut bad.c] {
                    rows.splice(0..0, [Fr::zero(); 11]);
                }
            },
            "the assignment's 65 rows need a domain of 128, the key's domain is 64",
        ),
        (
            |bad| {
                for rows in [&mut bad.a, &mut bad.b, &mut bad.c] {
                    rows.drain(..22);
                }
            },
            "the assignment's 32 rows need a domain of 32, the key's domain is 64",
        ),
        (|bad| bad.inputs[0] = Fr::from(2u64), "the first input is 2, but it must be the constant 1"),
        (|bad| bad.inputs[2] += Fr::one(), "row 52 belongs to input 2 and must be (input, 0, 0), but it is not"),
    ];
    for (damage, message) in table {
        let mut bad = good.clone();
        damage(&mut bad);
        assert_eq!(prove(&prover, &bad).unwrap_err().to_string(), message);
    }
}

/// Computes right and answers wrong, as a miscompiled shader would.
struct Liar(Box<dyn Backend>, fn(&mut Sums));

impl Backend for Liar {
    fn name(&self) -> String {
        "liar".into()
    }

    fn sums(&self, assignment: &Assignment, meanwhile: Meanwhile<'_>) -> Result<(Sums, Vec<StageTime>), ProveError> {
        let (mut sums, stages) = self.0.sums(assignment, meanwhile)?;
        self.1(&mut sums);
        Ok((sums, stages))
    }
}

/// Computes right, and does not care for constraints.
struct Deaf(Box<dyn Backend>);

impl Backend for Deaf {
    fn name(&self) -> String {
        "deaf".into()
    }

    fn sums(&self, assignment: &Assignment, _: Meanwhile<'_>) -> Result<(Sums, Vec<StageTime>), ProveError> {
        self.0.sums(assignment, &|| Ok(()))
    }
}

#[test]
fn constraints_are_checked_whether_a_backend_asks_or_not() {
    let circuit = Chain::new(50, 3);
    let key = Arc::new(ProvingKey::try_from(&circuit.key()).unwrap());
    let prover = Prover::new(key.clone(), Box::new(Deaf(cpu(key)))).verify(false);
    let assignment = record(Chain { wrong: Some(2), ..circuit }).unwrap();
    let error = prove(&prover, &assignment).unwrap_err();
    assert!(error.to_string().starts_with("constraint 2 (counted from 0) of 50 does not hold"), "{error}");
    assert!(prove(&prover, &record(Chain::new(50, 3)).unwrap()).is_ok());
}

#[test]
fn a_wrong_sum_is_never_an_answer() {
    let circuit = Chain::new(20, 1);
    let assignment = record(circuit).unwrap();
    let key = Arc::new(ProvingKey::try_from(&circuit.key()).unwrap());
    let lies: [fn(&mut Sums); 6] = [
        |sums| sums.a += G1Affine::generator(),
        |sums| sums.b_g1 += G1Affine::generator(),
        |sums| sums.b_g2 += G2Affine::generator(),
        |sums| sums.h += G1Affine::generator(),
        |sums| sums.l = -sums.l,
        |sums| std::mem::swap(&mut sums.a, &mut sums.b_g1),
    ];
    for lie in lies {
        let prover = Prover::new(key.clone(), Box::new(Liar(cpu(key.clone()), lie)));
        let error = prove(&prover, &assignment).unwrap_err();
        assert!(matches!(error, ProveError::ProofRejected { .. }));
        assert_eq!(
            error.to_string(),
            "the proof made by liar does not verify and was thrown away: \
             its sums are wrong, or the key is not this circuit's"
        );
        assert!(prove(&prover.verify(false), &assignment).is_ok());
    }
}

#[test]
fn variables_that_contradict_the_rows_are_caught_by_the_pairing() {
    let circuit = Chain::new(20, 1);
    let mut assignment = record(circuit).unwrap();
    // The rows still satisfy each other, but they are not those of these variables.
    assignment.aux[3] += Fr::one();
    let error = prove(&prover(circuit), &assignment).unwrap_err();
    assert!(matches!(error, ProveError::ProofRejected { .. }), "{error}");
}

#[test]
fn a_key_of_another_circuit_with_equal_counts_is_caught_by_the_pairing() {
    let circuit = Chain::new(20, 1);
    let mut other = circuit.key();
    other.l_query.swap(0, 1);
    let key = Arc::new(ProvingKey::try_from(&other).unwrap());
    let error = prove(&Prover::new(key.clone(), cpu(key)), &record(circuit).unwrap()).unwrap_err();
    assert!(matches!(error, ProveError::ProofRejected { .. }), "{error}");
}

struct Broken(&'static str);

impl ConstraintSynthesizer<Fr> for Broken {
    fn generate_constraints(self, cs: ConstraintSystemRef<Fr>) -> Result<(), SynthesisError> {
        match self.0 {
            "missing" => cs.new_witness_variable(|| Err(SynthesisError::AssignmentMissing)).map(drop),
            _ => {
                let squares = PredicateConstraintSystem::new_sr1cs_predicate()?;
                cs.register_predicate("SR1CS", squares)?;
                let x = cs.new_witness_variable(|| Ok(Fr::one()))?;
                cs.enforce_sr1cs_constraint(|| lc!() + x, || lc!() + x)
            }
        }
    }
}

#[test]
fn circuits_that_groth16_cannot_prove_are_refused() {
    for (circuit, message) in [
        ("missing", "the circuit's synthesis failed: assignment couldn't be computed"),
        ("squares", "the circuit has 1 constraints of predicate \"SR1CS\"; Groth16 proves R1CS only"),
    ] {
        assert_eq!(record(Broken(circuit)).unwrap_err().to_string(), message);
    }
}

#[test]
fn bytes_that_are_no_proof_are_refused() {
    let circuit = Chain::new(20, 1);
    let good = prove(&prover(circuit), &record(circuit).unwrap()).unwrap();
    proof_from_bytes(&good).unwrap();
    let with = |offset: usize, bytes: &[u8]| {
        let mut bad = good.to_vec();
        bad[offset..offset + bytes.len()].copy_from_slice(bytes);
        bad
    };
    let mut infinity = [0; 96];
    infinity[0] = 0xc0;
    let mut off_subgroup = Vec::new();
    let outside = (1u64..).find_map(|x| {
        let point = G1Affine::get_point_from_x_unchecked(x.into(), false)?;
        (!point.is_in_correct_subgroup_assuming_on_curve()).then_some(point)
    });
    outside.unwrap().serialize_compressed(&mut off_subgroup).unwrap();
    let no_point = "has an x that is not reduced, or that no point of the curve has";
    for (bytes, message) in [
        (good[..191].to_vec(), "a proof has 192 bytes, these are 191".into()),
        ([&good[..], &[0]].concat(), "a proof has 192 bytes, these are 193".into()),
        (vec![], "a proof has 192 bytes, these are 0".into()),
        (with(0, &[good[0] & 0x7f]), "the proof's A (byte 0) is not compressed: its first bit is not set".into()),
        (with(0, &infinity[..48]), "the proof's A (byte 0) is the point at infinity".into()),
        (with(48, &infinity), "the proof's B (byte 48) is the point at infinity".into()),
        (with(144, &infinity[..48]), "the proof's C (byte 144) is the point at infinity".into()),
        (with(144, &[0x9f; 48]), format!("the proof's C (byte 144) {no_point}")),
        (with(48, &[0xbf; 96]), format!("the proof's B (byte 48) {no_point}")),
        (with(0, &off_subgroup), "the proof's A (byte 0) is not in the group of prime order".into()),
    ] {
        assert_eq!(proof_from_bytes(&bytes).unwrap_err().to_string(), message);
    }
}

// serde_json is the command line's dependency; serde alone has no format to show.
#[cfg(feature = "cli")]
#[test]
fn stage_times_serialise_in_milliseconds() {
    let time = std::time::Duration::from_micros(1500);
    let stage = StageTime { stage: "h", host: time, device: None };
    let on_device = StageTime { device: Some(time * 2), ..stage.clone() };
    for (stage, json) in [
        (stage, r#"{"stage":"h","host_ms":1.5,"device_ms":null}"#),
        (on_device, r#"{"stage":"h","host_ms":1.5,"device_ms":3.0}"#),
    ] {
        assert_eq!(serde_json::to_string(&stage).unwrap(), json);
    }
}
