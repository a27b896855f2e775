//! Opens an engine, loads a key once, proves two statements: `x^3 + x + 5 = y` with `y` public.
use std::{error::Error, sync::Arc};

use ark_bls12_381::{Bls12_381, Fr};
use ark_groth16::Groth16;
use ark_relations::gr1cs::{self, ConstraintSystemRef, Variable};
use ark_relations::lc;
use ark_std::rand::rngs::OsRng;
use prooflane::{arkworks::record, engine::Engine, groth16::ProvingKey};

#[derive(Clone)]
struct Cubic(Fr);

impl gr1cs::ConstraintSynthesizer<Fr> for Cubic {
    fn generate_constraints(self, cs: ConstraintSystemRef<Fr>) -> gr1cs::Result<()> {
        let (v, five) = (self.0, Fr::from(5u64));
        let y = cs.new_input_variable(|| Ok(v * v * v + v + five))?;
        let x = cs.new_witness_variable(|| Ok(v))?;
        let square = cs.new_witness_variable(|| Ok(v * v))?;
        cs.enforce_r1cs_constraint(|| lc!() + x, || lc!() + x, || lc!() + square)?;
        cs.enforce_r1cs_constraint(|| lc!() + square, || lc!() + x, || lc!() + y - x - (five, Variable::One))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let ark = Groth16::<Bls12_381>::generate_random_parameters_with_reduction(Cubic(Fr::from(0u64)), &mut OsRng)?;
    let engine = Engine::best();
    let prover = engine.load(Arc::new(ProvingKey::try_from(&ark)?))?;
    for x in [3u64, 4] {
        let assignment = record(Cubic(Fr::from(x)))?;
        let proved = prover.prove(&assignment, &mut OsRng)?;
        let y = Fr::from(x * x * x + x + 5);
        assert!(Groth16::<Bls12_381>::verify_proof(prover.prepared_vk(), &proved.proof, &[y])?);
        println!("{engine}: {} bytes in {:?}", proved.bytes().len(), proved.total());
    }
    Ok(())
}
