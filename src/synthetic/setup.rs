//! Groth16's setup by somebody who knows the trapdoor.
//!
//! **Theory.** Section 3.2 of the paper ([`crate::groth16`] has its formulas): with the values of all `u_i`, `v_i`, `w_i` at
//! `tau` each point of the key is a known multiple of one of two generators.
//!
//! **What differs.** `generator.rs` of ark-groth16 draws the same numbers in the same order, so that keys are equal; it
//! multiplies another way ([`super::multiples`]).

use std::iter::successors;

use ark_bls12_381::{Bls12_381, Fr, G1Projective, G2Projective};
use ark_ec::CurveGroup;
use ark_ff::{Field, One, UniformRand, Zero};
use ark_groth16::{ProvingKey, VerifyingKey};
use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};
use ark_std::rand::Rng;
use rayon::prelude::*;

use super::multiples::Multiples;

/// What must not be known where a key is trusted.
pub(super) struct Trapdoor {
    alpha: Fr,
    beta: Fr,
    gamma: Fr,
    delta: Fr,
    g1: G1Projective,
    g2: G2Projective,
    /// Not a root of unity of order `2^log2`.
    tau: Fr,
    log2: u32,
}

/// The values of `u_i`, `v_i`, `w_i` at `tau` for each variable, inputs first.
pub(super) struct Qap {
    pub(super) u: Vec<Fr>,
    pub(super) v: Vec<Fr>,
    pub(super) w: Vec<Fr>,
}

/// Of zero, zero: keys with such a gamma or delta hold points at infinity and are refused as they are loaded.
fn inverse(x: Fr) -> Fr {
    x.inverse().unwrap_or_default()
}

impl Trapdoor {
    /// Out of `rng`, in arkworks' order.
    pub(super) fn draw(rng: &mut impl Rng, log2: u32) -> Self {
        let [alpha, beta, gamma, delta] = [(); 4].map(|()| Fr::rand(rng));
        let (g1, g2) = (G1Projective::rand(rng), G2Projective::rand(rng));
        let tau = loop {
            let tau = Fr::rand(rng);
            if !vanishing(tau, log2).is_zero() {
                break tau;
            }
        };
        Self { alpha, beta, gamma, delta, g1, g2, tau, log2 }
    }

    /// The Lagrange polynomials of the domain's `2^log2` rows at `tau`.
    pub(super) fn lagrange(&self) -> Vec<Fr> {
        let domain = Radix2EvaluationDomain::<Fr>::new(1 << self.log2);
        // There is a domain of any size that a circuit has.
        domain.map_or(Vec::new(), |domain| domain.evaluate_all_lagrange_coefficients(self.tau))
    }

    /// The key, for so many inputs with ONE.
    pub(super) fn key(&self, qap: Qap, inputs: usize) -> ProvingKey<Bls12_381> {
        let Self { alpha, beta, gamma, delta, g1, g2, tau, log2 } = *self;
        let Qap { u, v, w } = qap;
        let rows = 1usize << log2;
        let (in_g1, in_g2) = (Multiples::new(g1, 4 * rows), Multiples::new(g2, rows));
        let a_query = in_g1.of(&u);
        let b_g1_query = in_g1.of(&v);
        let b_g2_query = in_g2.of(&v);
        drop(in_g2);

        let mut joined = w;
        joined.par_iter_mut().zip(&u).zip(&v).for_each(|((w, u), v)| *w += beta * u + alpha * v);
        drop((u, v));
        let (by_gamma, by_delta) = joined.split_at_mut(inputs);
        for (part, divisor) in [(&mut *by_gamma, gamma), (&mut *by_delta, delta)] {
            let factor = inverse(divisor);
            part.par_iter_mut().for_each(|value| *value *= factor);
        }
        let gamma_abc_g1 = in_g1.of(by_gamma);
        let l_query = in_g1.of(by_delta);
        drop(joined);

        // tau^i t(tau) / delta, for the coefficients of a quotient.
        let first = vanishing(tau, log2) * inverse(delta);
        let powers: Vec<Fr> = successors(Some(first), |power| Some(*power * tau)).take(rows - 1).collect();
        let h_query = in_g1.of(&powers);

        ProvingKey {
            vk: VerifyingKey {
                alpha_g1: (g1 * alpha).into_affine(),
                beta_g2: (g2 * beta).into_affine(),
                gamma_g2: (g2 * gamma).into_affine(),
                delta_g2: (g2 * delta).into_affine(),
                gamma_abc_g1,
            },
            beta_g1: (g1 * beta).into_affine(),
            delta_g1: (g1 * delta).into_affine(),
            a_query,
            b_g1_query,
            b_g2_query,
            h_query,
            l_query,
        }
    }
}

/// `t(x) = x^n - 1`.
fn vanishing(x: Fr, log2: u32) -> Fr {
    x.pow([1u64 << log2]) - Fr::one()
}
