//! A bare multi-scalar multiplication on ark types: `sum s_i P_i`, compared with arkworks.
use std::{error::Error, time::Instant};

use ark_bls12_381::{Fr, G1Projective, G2Projective};
use ark_ec::{CurveGroup, PrimeGroup, VariableBaseMSM};
use ark_ff::UniformRand;
use prooflane::engine::Engine;

fn main() -> Result<(), Box<dyn Error>> {
    let rng = &mut ark_std::test_rng();
    let scalars: Vec<Fr> = (0..1 << 10).map(|_| Fr::rand(rng)).collect();
    let g1 = G1Projective::normalize_batch(&multiples(G1Projective::generator(), scalars.len()));
    let g2 = G2Projective::normalize_batch(&multiples(G2Projective::generator(), scalars.len()));

    let engine = Engine::best();
    // The first call builds pipelines and tests the adapter; the second shows what an MSM costs.
    for _ in 0..2 {
        let begin = Instant::now();
        assert_eq!(engine.msm_g1(&g1, &scalars)?, G1Projective::msm_unchecked(&g1, &scalars));
        assert_eq!(engine.msm_g2(&g2, &scalars)?, G2Projective::msm_unchecked(&g2, &scalars));
        println!("{engine}: {} terms in G1 and in G2, with arkworks' own: {:?}", g1.len(), begin.elapsed());
    }
    Ok(())
}

/// `P, 2P, 3P, ...`
fn multiples<G: PrimeGroup>(point: G, count: usize) -> Vec<G> {
    std::iter::successors(Some(point), |last| Some(*last + point)).take(count).collect()
}
