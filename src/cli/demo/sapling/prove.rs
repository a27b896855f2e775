//! One circuit: prove cold, prove warm, ask bellman, ask both verifiers.

use ark_bls12_381::{Bls12_381, Fr};
use ark_ff::{One, UniformRand};
use ark_groth16::Groth16;
use ark_std::rand::{SeedableRng, rngs::StdRng};
use prooflane::{
    engine::Engine,
    groth16::Proved,
    sapling::{Case, Circuit, ParameterFiles, SaplingError, proving_key},
};

use super::{
    super::super::{Failure, output::Output},
    report::{Check, CircuitReport, ProofTimes},
};

/// Steps of progress that [`circuit`] takes.
pub(super) const STEPS: u64 = 7;

/// Proves `circuit` once cold and `warm` times more, and checks the proofs every way there is.
pub(super) fn circuit(
    output: &Output,
    engine: &Engine,
    files: &ParameterFiles,
    circuit: Circuit,
    seed: u64,
    warm: usize,
) -> Result<CircuitReport, Failure> {
    let name = circuit.name();
    let (key, read) = output.step(&format!("{name}: reading the key"), || proving_key(files, circuit));
    let key = std::sync::Arc::new(key.map_err(Failure::failed)?);
    let (prover, load) = output.step(&format!("{name}: loading the key"), || engine.load(key.clone()));
    let prover = prover.map_err(Failure::failed)?;
    let (case, witness) =
        output.step(&format!("{name}: computing the witness"), || Case::with_key(files, key.clone(), circuit, seed));
    let case = case.map_err(Failure::failed)?;

    // Out of the seed, so that the bytes are the same everywhere. Real proofs take Prover::prove.
    let rng = &mut StdRng::seed_from_u64(seed);
    let (r, s) = (Fr::rand(rng), Fr::rand(rng));
    let prove = || prover.prove_with(&case.assignment, r, s).map_err(Failure::failed);
    let first = output.step(&format!("{name}: first proof"), prove).0?;
    let again = || (0..warm).map(|_| prove()).collect::<Result<Vec<_>, _>>();
    let again = output.step(&format!("{name}: warm proofs"), again).0?;

    let (theirs, bellman) = output.step(&format!("{name}: bellman's proof"), || case.reference_proof(r, s));
    let theirs = theirs.map_err(Failure::failed)?;
    let verified = output.step(&format!("{name}: verifying"), || verify(&case, &prover, &first)).0;
    let bytes = first.bytes();
    let mut checks = vec![
        Check::new(
            "the recorded public inputs are the wallet's",
            case.public_inputs == case.assignment.public_inputs(),
        ),
        Check::new("every warm proof has the first one's bytes", again.iter().all(|proved| proved.bytes() == bytes)),
        Check::new("bellman's proof for the same r and s has the same bytes", theirs == bytes),
    ];
    checks.extend(verified.map_err(Failure::failed)?);
    let counts = circuit.counts();
    Ok(CircuitReport {
        circuit: name,
        constraints: counts.constraints,
        log2_domain: counts.log2_domain,
        backend: prover.backend().name(),
        read,
        load,
        witness,
        first: ProofTimes::of(&first),
        warm: again.iter().map(ProofTimes::of).collect(),
        bellman,
        device_peak_bytes: engine.kernels().map(|kernels| kernels.gpu().usage().peak),
        proof: bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        checks,
    })
}

/// Both verifiers, on the statement and on each statement that differs from it in one input.
fn verify(case: &Case, prover: &prooflane::groth16::Prover, proved: &Proved) -> Result<Vec<Check>, SaplingError> {
    let bytes = proved.bytes();
    let bellman = |inputs: &[Fr]| case.bellman_verifies(&bytes, inputs);
    // Refusing to look at a proof is not accepting it.
    let ark = |inputs: &[Fr]| {
        Groth16::<Bls12_381>::verify_proof(prover.prepared_vk(), &proved.proof, inputs).unwrap_or(false)
    };
    let inputs = &case.public_inputs;
    let (mut bellman_rejects, mut ark_rejects) = (true, true);
    for flipped in 0..inputs.len() {
        let mut inputs = inputs.clone();
        inputs[flipped] += Fr::one();
        bellman_rejects &= !bellman(&inputs)?;
        ark_rejects &= !ark(&inputs);
    }
    Ok(vec![
        Check::new("bellman's verifier accepts it", bellman(inputs)?),
        Check::new("arkworks' verifier accepts it", ark(inputs)),
        Check::new("bellman's verifier rejects it for each flipped public input", bellman_rejects),
        Check::new("arkworks' verifier rejects it for each flipped public input", ark_rejects),
    ])
}
