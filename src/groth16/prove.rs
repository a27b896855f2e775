//! Blinding, assembly, and the check that lets a proof out.
//!
//! **Theory.** Section 3.2 of the paper, written out over the sums of a [`Backend`]; zero knowledge
//! comes from `r` and `s`, which must be fresh and uniform for each proof.
//!
//! **What differs from the paper.** Every proof is verified before it is returned (default on): a
//! backend may run on hardware, drivers and shader compilers that err, and a pairing check of a few
//! milliseconds tells.
//!
//! **Use.** [`Prover::prove`] with a cryptographic generator; [`Prover::prove_with`] where `r` and
//! `s` are given, as tests and comparisons need.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use ark_bls12_381::{Bls12_381, Fr};
use ark_ec::{AffineRepr, CurveGroup};
use ark_ff::UniformRand;
use ark_groth16::{Groth16, PreparedVerifyingKey, Proof, prepare_verifying_key};
use ark_serialize::Valid;
use ark_std::rand::{CryptoRng, RngCore};

use crate::device::DeviceError;

use super::{Assignment, AssignmentError, Backend, ProvingKey, StageTime, Sums, quotient};

/// Why there is no proof.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProveError {
    /// The assignment is not of the key's circuit, or does not satisfy it.
    #[error(transparent)]
    Assignment(#[from] AssignmentError),
    /// The key's domain cannot be computed over.
    #[error(transparent)]
    Domain(#[from] quotient::DomainError),
    /// The device failed: lost, out of memory, or wrong at its self-test.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The backend failed.
    #[error("the backend failed: {0}")]
    Backend(#[from] Box<dyn Error + Send + Sync>),
    /// The proof does not verify, so it was thrown away.
    #[error(
        "the proof made by {backend} does not verify and was thrown away: \
         its sums are wrong, or the key is not this circuit's"
    )]
    ProofRejected {
        /// [`Backend::name`] of who computed.
        backend: String,
    },
}

/// A proof and what it took.
#[derive(Clone, Debug)]
pub struct Proved {
    /// The proof.
    pub proof: Proof<Bls12_381>,
    /// The time of each stage, in the order in which they began.
    pub stages: Vec<StageTime>,
}

impl Proved {
    /// The proof as bellman's 192 bytes.
    pub fn bytes(&self) -> [u8; super::PROOF_BYTES] {
        super::proof_to_bytes(&self.proof)
    }

    /// Wall time of all stages together.
    pub fn total(&self) -> Duration {
        self.stages.iter().map(|stage| stage.host).sum()
    }
}

/// Proves under one key with one backend.
pub struct Prover {
    key: Arc<ProvingKey>,
    backend: Box<dyn Backend>,
    vk: PreparedVerifyingKey<Bls12_381>,
    verify: bool,
}

impl Prover {
    /// A prover that verifies; `backend` must have been loaded with the same `key`.
    pub fn new(key: Arc<ProvingKey>, backend: Box<dyn Backend>) -> Self {
        let vk = prepare_verifying_key(&key.vk);
        Self { key, backend, vk, verify: true }
    }

    /// Whether to verify every proof before it is returned. Off, a wrong proof can get out.
    pub fn verify(mut self, verify: bool) -> Self {
        self.verify = verify;
        self
    }

    /// The key.
    pub fn key(&self) -> &Arc<ProvingKey> {
        &self.key
    }

    /// The backend.
    pub fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// The verifying key, prepared.
    pub fn prepared_vk(&self) -> &PreparedVerifyingKey<Bls12_381> {
        &self.vk
    }

    /// A zero-knowledge proof, blinded out of `rng`.
    pub fn prove<R: RngCore + CryptoRng>(&self, assignment: &Assignment, rng: &mut R) -> Result<Proved, ProveError> {
        let (r, s) = (Fr::rand(rng), Fr::rand(rng));
        self.prove_with(assignment, r, s)
    }

    /// The proof with the blinding `(r, s)`; the same arguments always give the same proof.
    ///
    /// It is zero-knowledge only when `r` and `s` are uniform, secret and never used again. With `r = s = 0` an element of
    /// a circuit without live constraints can be the point at infinity, which readers of proofs refuse.
    pub fn prove_with(&self, assignment: &Assignment, r: Fr, s: Fr) -> Result<Proved, ProveError> {
        let log = &mut Vec::new();
        StageTime::host(log, "check", || assignment.check(&self.key))?;
        let satisfied = AtomicBool::new(false);
        let sums = self.backend.sums(assignment, &|| {
            assignment.satisfied()?;
            satisfied.store(true, Relaxed);
            Ok(())
        });
        // Whether the backend asked or not, and whatever else it has to say.
        if !satisfied.load(Relaxed) {
            assignment.satisfied()?;
        }
        let (sums, stages) = sums?;
        log.extend(stages);
        let proof = StageTime::host(log, "assemble", || assemble(&self.key, &sums, r, s));
        if self.verify {
            let inputs = assignment.public_inputs();
            let right = StageTime::host(log, "verify", || verifies(&self.vk, &proof, inputs));
            if !right {
                let backend = self.backend.name();
                tracing::error!(%backend, "a proof does not verify and was thrown away");
                return Err(ProveError::ProofRejected { backend });
            }
        }
        Ok(Proved { proof, stages: std::mem::take(log) })
    }
}

/// Whether `proof` is one of the statement `inputs` (without ONE) under `vk`.
pub(crate) fn verifies(vk: &PreparedVerifyingKey<Bls12_381>, proof: &Proof<Bls12_381>, inputs: &[Fr]) -> bool {
    // A pairing does not see a component of small order, and readers refuse such points. arkworks would silently take
    // fewer inputs than the key has.
    proof.check().is_ok()
        && inputs.len() + 1 == vk.vk.gamma_abc_g1.len()
        && Groth16::<Bls12_381>::verify_proof(vk, proof, inputs).unwrap_or(false)
}

/// The proof out of its sums.
pub(crate) fn assemble(key: &ProvingKey, sums: &Sums, r: Fr, s: Fr) -> Proof<Bls12_381> {
    // A = A0 + r delta with A0 = alpha + sum z_i u_i(tau), B = B0 + s delta with B0 = beta + sum z_i v_i(tau), and
    // C = L + H + s A + r B - r s delta = L + H + s A0 + r B0 + r s delta: five multiplications that do not wait for each
    // other, the one in G2 as long as three in G1.
    let delta = key.delta_g1.into_group();
    let (a0, b0) = (sums.a + key.vk.alpha_g1, sums.b_g1 + key.beta_g1);
    let b = || (sums.b_g2 + key.vk.beta_g2 + key.vk.delta_g2 * s).into_affine();
    let a = || (a0 + delta * r).into_affine();
    let c = || {
        let (left, (right, blinding)) = rayon::join(|| a0 * s, || rayon::join(|| b0 * r, || delta * (r * s)));
        (sums.l + sums.h + left + right + blinding).into_affine()
    };
    let (b, (a, c)) = rayon::join(b, || rayon::join(a, c));
    Proof { a, b, c }
}
