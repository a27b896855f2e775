//! The backend that needs no adapter: arkworks on all cores.
//!
//! **Theory.** The odd-coset quotient ([`super::quotient`]) and arkworks' Pippenger, which already
//! sets zeros, ones and small scalars apart.
//!
//! **What differs.** Nothing from [`super::Backend`]'s contract; it is the oracle of the other
//! backends and the answer where no adapter is found.
//!
//! **Use.** [`CpuBackend::load`] keeps a reference to the key and precomputes nothing.

use std::sync::Arc;

use ark_bls12_381::{Fr, G1Projective, G2Projective};
use ark_ec::VariableBaseMSM;
use ark_ff::PrimeField;
use rayon::prelude::*;

use super::{Assignment, Backend, Meanwhile, ProveError, ProvingKey, Query, StageTime, Sums, quotient};

/// Proves on the CPU.
#[derive(Clone, Debug)]
pub struct CpuBackend {
    key: Arc<ProvingKey>,
    domain: quotient::Domain,
}

impl CpuBackend {
    /// A backend for `key`.
    pub fn load(key: Arc<ProvingKey>) -> Result<Self, ProveError> {
        let domain = quotient::Domain::new(key.log2_domain)?;
        Ok(Self { key, domain })
    }
}

impl Backend for CpuBackend {
    fn name(&self) -> String {
        "cpu (arkworks)".into()
    }

    fn sums(&self, assignment: &Assignment, meanwhile: Meanwhile<'_>) -> Result<(Sums, Vec<StageTime>), ProveError> {
        // The quotient would panic or be nonsense over another circuit's rows.
        assignment.check(&self.key)?;
        let (key, log) = (&*self.key, &mut Vec::with_capacity(7));
        StageTime::host(log, "constraints", meanwhile)?;
        let Assignment { a, b, inputs, aux, .. } = assignment;
        let h = StageTime::host(log, "quotient", || quotient::odd_coset(&self.domain, a, b));
        let sums = Sums {
            h: StageTime::host(log, "h", || msm::<G1Projective>(&key.h, &h)),
            l: StageTime::host(log, "l", || indexed::<G1Projective>(&key.l, inputs, aux))?,
            a: StageTime::host(log, "a", || indexed::<G1Projective>(&key.a, inputs, aux))?,
            b_g1: StageTime::host(log, "b_g1", || indexed::<G1Projective>(&key.b_g1, inputs, aux))?,
            b_g2: StageTime::host(log, "b_g2", || indexed::<G2Projective>(&key.b_g2, inputs, aux))?,
        };
        Ok((sums, std::mem::take(log)))
    }
}

fn indexed<G: VariableBaseMSM<ScalarField = Fr>>(
    query: &Query<G::MulBase>,
    inputs: &[Fr],
    aux: &[Fr],
) -> Result<G, ProveError> {
    let scalars = ProvingKey::scalars(query, inputs, aux)
        .ok_or_else(|| ProveError::Backend("a query names a variable beyond the assignment".into()))?;
    Ok(msm(&query.bases, &scalars))
}

fn msm<G: VariableBaseMSM<ScalarField = Fr>>(bases: &[G::MulBase], scalars: &[Fr]) -> G {
    let scalars: Vec<_> = scalars.par_iter().map(|scalar| scalar.into_bigint()).collect();
    G::msm_bigint(bases, &scalars)
}
