//! Groth16: key, assignment, quotient, sums, proof.
//!
//! **Theory.** J. Groth, *On the Size of Pairing-based Non-interactive Arguments*, EUROCRYPT 2016
//! (<https://eprint.iacr.org/2016/260>), section 3.2. With the quadratic arithmetic program
//! `(u, v, w, t)`, the assignment `z = (1, inputs, aux)` and the trapdoor
//! `(alpha, beta, gamma, delta, tau)`, a proof is
//!
//! ```text
//! A = alpha + sum z_i u_i(tau) + r delta
//! B = beta  + sum z_i v_i(tau) + s delta
//! C = L + H + s A + r B - r s delta
//! L = sum over aux of z_i (beta u_i + alpha v_i + w_i)(tau) / delta
//! H = h(tau) t(tau) / delta
//! ```
//!
//! All the work is in `h` ([`quotient`]) and in five multi-scalar multiplications ([`Sums`]); the
//! rest is a handful of scalar multiplications and one pairing check ([`Prover`]).
//!
//! **What differs from the paper.** The instance polynomials are those of libsnark and bellman: one
//! row `z_i * 0 = 0` for each input follows the constraints, which makes the input polynomials
//! independent. Keys keep their query points in whatever shape their tool wrote; [`ProvingKey`]
//! brings them to one shape without points at infinity.
//!
//! **Use.** Make a [`ProvingKey`], load it into a [`Backend`] ([`CpuBackend`] here), wrap both in a
//! [`Prover`], and prove as many [`Assignment`]s as you like.

mod assignment;
mod cpu;
mod gpu;
mod key;
mod load;
mod proof;
mod prove;
pub mod quotient;

use std::time::Duration;

use ark_bls12_381::{G1Projective, G2Projective};
use serde::{Serialize, Serializer};

pub use assignment::{Assignment, AssignmentError};
pub use cpu::CpuBackend;
pub use gpu::{GpuBackend, Memory};
pub(crate) use gpu::{Ran, Ready};
pub use key::{KeyError, MAX_LOG2_DOMAIN, ProvingKey, Query, Shape};
pub use proof::{PROOF_BYTES, ProofBytesError, proof_from_bytes, proof_to_bytes};
pub use prove::{ProveError, Proved, Prover};
pub(crate) use prove::{assemble, verifies};

/// The five multi-scalar multiplications of one proof, before blinding.
///
/// `z` is the full assignment `(1, inputs, aux)`; the names are those of the paper's polynomials, evaluated at `tau`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sums {
    /// `sum z_i [u_i(tau)]_1`, over the A query.
    pub a: G1Projective,
    /// `sum z_i [v_i(tau)]_1`, over the B query in G1.
    pub b_g1: G1Projective,
    /// `sum z_i [v_i(tau)]_2`, over the B query in G2.
    pub b_g2: G2Projective,
    /// `[h(tau) t(tau) / delta]_1`, over the H query.
    pub h: G1Projective,
    /// `sum z_i [(beta u_i + alpha v_i + w_i)(tau) / delta]_1` over the private variables, over the
    /// L query.
    pub l: G1Projective,
}

/// A machine that holds one loaded key and computes the sums of proofs under it.
///
/// A backend may trust that [`Assignment::check`] has passed for the key that it holds; [`Prover`]
/// sees to it. It need not be trusted in turn: a wrong sum ends as [`ProveError::ProofRejected`].
pub trait Backend: Send + Sync {
    /// What computes, for people: `cpu (arkworks)`, or an adapter's name.
    fn name(&self) -> String;

    /// The five sums, and the time of each stage in the order in which the stages began. `meanwhile` is called once, while
    /// a device computes, or else before anything that takes long; its error ends the call.
    fn sums(&self, assignment: &Assignment, meanwhile: Meanwhile<'_>) -> Result<(Sums, Vec<StageTime>), ProveError>;
}

/// What a host does while a device computes.
pub type Meanwhile<'a> = &'a (dyn Fn() -> Result<(), ProveError> + Sync);

/// How long one stage of a proof took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StageTime {
    /// The stage, for example `quotient` or `b_g2`.
    pub stage: &'static str,
    /// Wall time on the host, from the stage's begin to its end; written as milliseconds.
    #[serde(rename = "host_ms", serialize_with = "as_ms")]
    pub host: Duration,
    /// Time on the device by its own timestamps, where it has them; written as milliseconds.
    #[serde(rename = "device_ms", serialize_with = "as_optional_ms")]
    pub device: Option<Duration>,
}

impl StageTime {
    /// Runs `work` as the stage `stage` of the host and appends its time to `log`.
    pub fn host<T>(log: &mut Vec<StageTime>, stage: &'static str, work: impl FnOnce() -> T) -> T {
        let begin = std::time::Instant::now();
        let result = work();
        log.push(StageTime { stage, host: begin.elapsed(), device: None });
        result
    }
}

fn ms(time: &Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn as_ms<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(ms(time))
}

fn as_optional_ms<S: Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    time.as_ref().map(ms).serialize(serializer)
}
