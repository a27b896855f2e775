//! Assignments recorded from arkworks circuits.
//!
//! **Theory.** A [`ConstraintSynthesizer`] pushes rank-1 constraints and values into arkworks'
//! constraint system; [`record`] evaluates its three matrices at the full assignment.
//!
//! **What differs.** Nothing may: variables and rows must come out in the order in which
//! ark-groth16's own generator saw them, so goal, mode and finalisation are those of its 0.6 prover.
//! Predicates other than R1CS, which Groth16 cannot prove, are refused instead of ignored.
//!
//! **Use.** `record(circuit)` gives the [`Assignment`]; the key comes from
//! `ProvingKey::try_from(&ark_key)`.

use ark_bls12_381::Fr;
use ark_ff::{One, Zero};
use ark_relations::gr1cs::{
    ConstraintSynthesizer, ConstraintSystem, Matrix, OptimizationGoal, R1CS_PREDICATE_LABEL, SynthesisError,
    SynthesisMode,
};
use rayon::prelude::*;

use crate::groth16::Assignment;

/// Why a circuit gave no assignment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The circuit itself failed, for example for want of a value.
    #[error("the circuit's synthesis failed: {0}")]
    Synthesis(#[from] SynthesisError),
    /// A constraint that is no R1CS row.
    #[error("the circuit has {constraints} constraints of predicate {label:?}; Groth16 proves R1CS only")]
    Predicate {
        /// The predicate's label.
        label: String,
        /// How many constraints use it.
        constraints: usize,
    },
    /// A row names a variable that was never allocated.
    #[error("constraint {row} uses variable {variable}, but only {variables} were allocated")]
    Variable {
        /// The row.
        row: usize,
        /// The variable's place in the full assignment.
        variable: usize,
        /// Variables, counting ONE.
        variables: usize,
    },
}

/// Runs `circuit` with its witness and records rows and variables.
pub fn record<C: ConstraintSynthesizer<Fr>>(circuit: C) -> Result<Assignment, RecordError> {
    let cs = ConstraintSystem::<Fr>::new_ref();
    cs.set_optimization_goal(OptimizationGoal::Constraints);
    cs.set_mode(SynthesisMode::Prove { construct_matrices: true, generate_lc_assignments: false });
    circuit.generate_constraints(cs.clone())?;
    cs.finalize();

    for (label, constraints) in cs.get_all_predicates_num_constraints() {
        if label != R1CS_PREDICATE_LABEL && constraints != 0 {
            return Err(RecordError::Predicate { label, constraints });
        }
    }
    let mut matrices = cs.to_matrices()?;
    let matrices = matrices.remove(R1CS_PREDICATE_LABEL).unwrap_or_default();
    let (inputs, aux) = (cs.instance_assignment()?, cs.witness_assignment()?);
    let rows = |matrix: usize| match matrices.get(matrix) {
        Some(matrix) => evaluate(matrix, &inputs, &aux),
        None => Ok(Vec::new()),
    };
    let (a, b, c) = (rows(0)?, rows(1)?, rows(2)?);
    let mut assignment = Assignment { a, b, c, inputs, aux };
    assignment.push_input_rows();
    Ok(assignment)
}

/// The matrix times the full assignment.
fn evaluate(matrix: &Matrix<Fr>, inputs: &[Fr], aux: &[Fr]) -> Result<Vec<Fr>, RecordError> {
    let value = |variable: usize| match inputs.get(variable) {
        Some(input) => Some(input),
        None => aux.get(variable - inputs.len()),
    };
    let evaluate_row = |(row, terms): (usize, &Vec<(Fr, usize)>)| {
        terms.iter().try_fold(Fr::zero(), |sum, &(coefficient, variable)| {
            let value =
                value(variable).ok_or(RecordError::Variable { row, variable, variables: inputs.len() + aux.len() })?;
            // Most coefficients are one, and an addition is ten times cheaper than a product.
            Ok(sum + if coefficient.is_one() { *value } else { coefficient * value })
        })
    };
    matrix.par_iter().enumerate().map(evaluate_row).collect()
}
