//! Assignments recorded from bellman circuits (feature `bellman`).
//!
//! **Theory.** A [`Circuit`] drives any [`ConstraintSystem`]; this one evaluates each linear
//! combination as it comes and notes which variables the two queries of a bellman key have points
//! for. That note, the [`Shape`], must equal what the key's generator saw.
//!
//! **What differs.** The rule is that of `groth16` 0.2 and of bellperson: a variable is present
//! where it appears with a coefficient other than zero, even if its terms cancel. The constraint
//! system inside bellman's prover does the same and is private, so this is our own.
//!
//! **Use.** [`record`] for a circuit with its witness; [`shape`] for a circuit without one, to load
//! a key before the first statement is known.

use ::bellman::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use ark_bls12_381::Fr;
use ark_ff::{BigInteger256, PrimeField};
use bls12_381::Scalar;
use ff::Field;
use rayon::prelude::*;

use crate::groth16::{Assignment, Shape};

/// Why a circuit gave no assignment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The circuit itself failed, for example for want of a value.
    #[error("the circuit's synthesis failed: {0}")]
    Synthesis(#[from] SynthesisError),
    /// A constraint names a variable that this circuit never allocated.
    #[error("constraint {row} uses {kind} {variable}, but only {allocated} were allocated before it")]
    Variable {
        /// The constraint, counting from 0.
        row: usize,
        /// `input` or `private variable`.
        kind: &'static str,
        /// The variable's number among its kind.
        variable: usize,
        /// How many of that kind there were.
        allocated: usize,
    },
}

/// Runs `circuit` with its witness: the rows and variables, and which variables its key has.
pub fn record<C: Circuit<Scalar>>(circuit: C) -> Result<(Assignment, Shape), RecordError> {
    let mut recorder = Recorder { values: Some(Values::default()), ..Recorder::default() };
    let shape = recorder.run(circuit)?;
    let Values { a, b, c, inputs, aux } = recorder.values.unwrap_or_default();
    let [a, b, c, inputs, aux] = [a, b, c, inputs, aux].map(|values| to_ark(&values));
    let mut assignment = Assignment { a, b, c, inputs, aux };
    assignment.push_input_rows();
    Ok((assignment, shape))
}

/// Runs `circuit` without a witness, as a key's generator does; no value is asked for.
pub fn shape<C: Circuit<Scalar>>(circuit: C) -> Result<Shape, RecordError> {
    Recorder::default().run(circuit)
}

/// A scalar of the `bls12_381` crate as arkworks'.
pub fn scalar_to_ark(scalar: &Scalar) -> Fr {
    // Both are Montgomery with the same radix inside, but neither lets the words be taken over
    // without `unsafe`; two multiplications it is. The value is reduced, so nothing is lost.
    let mut limbs = [0u64; 4];
    for (limb, word) in limbs.iter_mut().zip(scalar.to_bytes().chunks_exact(8)) {
        *limb = word.iter().rev().fold(0, |limb, byte| limb << 8 | u64::from(*byte));
    }
    Fr::from_bigint(BigInteger256::new(limbs)).unwrap_or_default()
}

/// An arkworks scalar as the `bls12_381` crate's.
pub fn scalar_from_ark(scalar: &Fr) -> Scalar {
    Scalar::from_raw(scalar.into_bigint().0)
}

fn to_ark(scalars: &[Scalar]) -> Vec<Fr> {
    scalars.par_iter().map(scalar_to_ark).collect()
}

/// The constraint system; without `values` it only counts.
#[derive(Default)]
struct Recorder {
    shape: Shape,
    values: Option<Values>,
    /// The first row that named an unknown variable: `enforce` cannot return it.
    error: Option<RecordError>,
}

#[derive(Default)]
struct Values {
    a: Vec<Scalar>,
    b: Vec<Scalar>,
    c: Vec<Scalar>,
    inputs: Vec<Scalar>,
    aux: Vec<Scalar>,
}

impl Recorder {
    fn run<C: Circuit<Scalar>>(&mut self, circuit: C) -> Result<Shape, RecordError> {
        self.alloc_input(|| "ONE", || Ok(Scalar::ONE))?;
        circuit.synthesize(self)?;
        match self.error.take() {
            Some(error) => Err(error),
            None => Ok(std::mem::take(&mut self.shape)),
        }
    }

    /// The value of one linear combination (zero without values), its variables noted for `query`.
    fn evaluate(&mut self, lc: &LinearCombination<Scalar>, query: Query) -> Scalar {
        let mut sum = Scalar::ZERO;
        for (variable, coefficient) in lc.as_ref() {
            // bellman neither counts nor adds such a term.
            if coefficient.is_zero_vartime() {
                continue;
            }
            let value = match variable.get_unchecked() {
                Index::Input(i) => self.input(i, query),
                Index::Aux(i) => self.aux(i, query),
            };
            match value {
                Ok(Some(value)) if *coefficient == Scalar::ONE => sum += value,
                Ok(Some(value)) => sum += value * coefficient,
                Ok(None) => {}
                Err(error) => {
                    self.error.get_or_insert(error);
                }
            }
        }
        sum
    }

    fn input(&mut self, i: usize, query: Query) -> Result<Option<Scalar>, RecordError> {
        let allocated = self.shape.b_inputs.len();
        match self.shape.b_inputs.get_mut(i) {
            // Every input is present in A through its own row, whatever the constraints say.
            Some(present) => *present |= query == Query::B,
            None => return Err(self.unknown("input", i, allocated)),
        }
        Ok(self.values.as_ref().and_then(|values| values.inputs.get(i).copied()))
    }

    fn aux(&mut self, i: usize, query: Query) -> Result<Option<Scalar>, RecordError> {
        let allocated = self.shape.a_aux.len();
        let present = match query {
            Query::A => self.shape.a_aux.get_mut(i),
            Query::B => self.shape.b_aux.get_mut(i),
            // C has no query of its own, and L has every private variable.
            Query::C if i < allocated => Some(&mut true),
            Query::C => None,
        };
        match present {
            Some(present) => *present = true,
            None => return Err(self.unknown("private variable", i, allocated)),
        }
        Ok(self.values.as_ref().and_then(|values| values.aux.get(i).copied()))
    }

    fn unknown(&self, kind: &'static str, variable: usize, allocated: usize) -> RecordError {
        RecordError::Variable { row: self.shape.constraints, kind, variable, allocated }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Query {
    A,
    B,
    C,
}

impl ConstraintSystem<Scalar> for Recorder {
    type Root = Self;

    fn alloc<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        if let Some(values) = &mut self.values {
            values.aux.push(value()?);
        }
        self.shape.a_aux.push(false);
        self.shape.b_aux.push(false);
        Ok(Variable::new_unchecked(Index::Aux(self.shape.a_aux.len() - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        if let Some(values) = &mut self.values {
            values.inputs.push(value()?);
        }
        self.shape.b_inputs.push(false);
        Ok(Variable::new_unchecked(Index::Input(self.shape.b_inputs.len() - 1)))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, a: LA, b: LB, c: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LB: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LC: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
    {
        let a = self.evaluate(&a(LinearCombination::zero()), Query::A);
        let b = self.evaluate(&b(LinearCombination::zero()), Query::B);
        let c = self.evaluate(&c(LinearCombination::zero()), Query::C);
        if let Some(values) = &mut self.values {
            values.a.push(a);
            values.b.push(b);
            values.c.push(c);
        }
        self.shape.constraints += 1;
    }

    // Names are for people who debug circuits; nothing here shows them.
    fn push_namespace<NR, N>(&mut self, _: N)
    where
        NR: Into<String>,
        N: FnOnce() -> NR,
    {
    }

    fn pop_namespace(&mut self) {}

    fn get_root(&mut self) -> &mut Self::Root {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_survive_the_way_there_and_back() {
        let edges = [Scalar::ZERO, Scalar::ONE, -Scalar::ONE, Scalar::from(u64::MAX)];
        for scalar in edges.into_iter().chain((0..64).map(|bit| Scalar::from(2).pow_vartime(&[4 * bit, 0, 0, 0]))) {
            let ark = scalar_to_ark(&scalar);
            assert_eq!(scalar_from_ark(&ark), scalar);
            assert_eq!(ark + Fr::from(1u64), scalar_to_ark(&(scalar + Scalar::ONE)));
        }
    }

    /// `x * x = y`, with every way in which a variable can be present or not.
    struct Square(Option<Scalar>);

    impl Circuit<Scalar> for Square {
        fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
            let value = || self.0.ok_or(SynthesisError::AssignmentMissing);
            let x = cs.alloc(|| "x", value)?;
            let y = cs.alloc_input(|| "y", || Ok(value()?.square()))?;
            let idle = cs.alloc(|| "idle", || Ok(Scalar::ONE))?;
            let zero = Scalar::ZERO;
            cs.enforce(|| "", |lc| lc + x + (zero, idle), |lc| lc + x + (zero, y), |lc| lc + y);
            // The terms of `idle` cancel, yet bellman counts it.
            cs.enforce(|| "", |lc| lc + idle - idle, |lc| lc + CS::one(), |lc| lc);
            Ok(())
        }
    }

    #[test]
    fn presence_is_by_coefficient() {
        let expected =
            Shape { constraints: 2, a_aux: vec![true, true], b_inputs: vec![true, false], b_aux: vec![true, false] };
        assert_eq!(shape(Square(None)).unwrap(), expected);
        let (assignment, shape) = record(Square(Some(Scalar::from(3)))).unwrap();
        assert_eq!(shape, expected);
        let fr = |values: &[u64]| values.iter().map(|value| Fr::from(*value)).collect::<Vec<_>>();
        assert_eq!(assignment.a, fr(&[3, 0, 1, 9]));
        assert_eq!(assignment.b, fr(&[3, 1, 0, 0]));
        assert_eq!(assignment.c, fr(&[9, 0, 0, 0]));
        assert_eq!((assignment.inputs, assignment.aux), (fr(&[1, 9]), fr(&[3, 1])));
    }

    #[test]
    fn missing_values_and_unknown_variables_are_errors() {
        let missing = record(Square(None)).unwrap_err().to_string();
        assert_eq!(missing, "the circuit's synthesis failed: an assignment for a variable could not be computed");

        struct Stray;
        impl Circuit<Scalar> for Stray {
            fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
                let stray = Variable::new_unchecked(Index::Aux(7));
                cs.enforce(|| "", |lc| lc + stray, |lc| lc, |lc| lc);
                Ok(())
            }
        }
        assert_eq!(
            shape(Stray).unwrap_err().to_string(),
            "constraint 0 uses private variable 7, but only 0 were allocated before it"
        );
    }
}
