//! A bare transform on ark types: coefficients to values over a coset and back, compared with ark-poly.
use std::error::Error;

use ark_bls12_381::Fr;
use ark_ff::UniformRand;
use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};
use prooflane::{engine::Engine, ntt::Direction};

fn main() -> Result<(), Box<dyn Error>> {
    let rng = &mut ark_std::test_rng();
    let coefficients: Vec<Fr> = (0..1 << 12).map(|_| Fr::rand(rng)).collect();
    let domain = Radix2EvaluationDomain::<Fr>::new(coefficients.len()).ok_or("no such domain")?;
    let shift = Fr::from(7u64);

    let engine = Engine::best();
    let mut values = coefficients.clone();
    engine.ntt(&mut values, Direction::Forward, Some(shift), domain.group_gen)?;
    assert_eq!(values, domain.get_coset(shift).ok_or("no such coset")?.fft(&coefficients));
    engine.ntt(&mut values, Direction::Inverse, Some(shift), domain.group_gen)?;
    assert_eq!(values, coefficients);
    println!("{engine}: 2^12 coefficients to values over a coset and back");
    Ok(())
}
