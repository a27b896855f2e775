//! A bellman circuit under a bellman key (`.params`), proved here and accepted by bellman: `x^2 = y` with `y` public.
use std::{error::Error, sync::Arc};

use bellman::{Circuit, ConstraintSystem, SynthesisError};
use bellman_groth16::{Proof, generate_parameters, prepare_verifying_key, verify_proof};
use bls12_381::{Bls12, G1Projective, G2Projective, Scalar};
use prooflane::bellman::{record, shape};
use prooflane::formats::bellman::{Check, Parameters, Trailing};
use prooflane::{engine::Engine, groth16::ProvingKey};

struct Square(Option<u64>);

impl Circuit<Scalar> for Square {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let value = || self.0.map(Scalar::from).ok_or(SynthesisError::AssignmentMissing);
        let x = cs.alloc(|| "x", value)?;
        let y = cs.alloc_input(|| "y", || Ok(value()?.square()))?;
        cs.enforce(|| "square", |lc| lc + x, |lc| lc + x, |lc| lc + y);
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // A trapdoor that everybody knows is good for an example only.
    let [alpha, beta, gamma, delta, tau] = [3, 5, 7, 11, 13].map(Scalar::from);
    let (g1, g2) = (G1Projective::generator(), G2Projective::generator());
    let theirs = generate_parameters::<Bls12, _>(Square(None), g1, g2, alpha, beta, gamma, delta, tau)?;
    let mut file = Vec::new();
    theirs.write(&mut file)?;
    let params = Parameters::parse(&file, Trailing::Refuse, Check::Subgroup)?;
    let key = ProvingKey::from_bellman(params, &shape(Square(None))?)?;
    let engine = Engine::best();
    let proved = engine.load(Arc::new(key))?.prove(&record(Square(Some(9)))?.0, &mut ark_std::rand::rngs::OsRng)?;
    let proof = Proof::read(&proved.bytes()[..])?;
    verify_proof(&prepare_verifying_key(&theirs.vk), &proof, &[Scalar::from(81)])?;
    println!("{engine}: bellman accepts the proof, {:?}", proved.total());
    Ok(())
}
