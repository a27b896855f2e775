//! What a circuit says about one statement: the values of its rows and of its variables.
//!
//! **Theory.** The quadratic arithmetic program is given by its values on the domain: row `j` of
//! `a`, `b` and `c` is the inner product of constraint `j` with the full assignment `z`, and the
//! witness is right exactly when `a[j] * b[j] = c[j]` in every row.
//!
//! **What differs from the paper.** After the constraints comes one row for each input, with
//! `a = input`, `b = 0`, `c = 0`; it makes the input polynomials independent, as libsnark, bellman
//! and arkworks do, and it holds for any value.
//!
//! **Use.** An adapter records it ([`crate::arkworks::record`], `bellman::record`); a prover calls
//! [`Assignment::check`] before it spends any time on it, and [`Assignment::satisfied`] before it answers.

use super::key::ProvingKey;
use ark_bls12_381::Fr;
use ark_ff::{One, Zero};

/// Rows for which a thread is worth its while.
const SHARE: usize = 1 << 13;

/// The rows and variables of one statement with its witness.
///
/// Fields are public so that provers with their own circuit compilers can fill them; nothing here
/// is trusted before [`check`](Self::check).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assignment {
    /// Left factors: a value for each constraint, then the inputs.
    pub a: Vec<Fr>,
    /// Right factors: a value for each constraint, then a zero for each input.
    pub b: Vec<Fr>,
    /// Products: a value for each constraint, then a zero for each input.
    pub c: Vec<Fr>,
    /// Public inputs, the constant ONE first.
    pub inputs: Vec<Fr>,
    /// Private variables.
    pub aux: Vec<Fr>,
}

/// Why an assignment cannot be proved under a key, or at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AssignmentError {
    /// A vector of variables has not the key's length.
    #[error("the assignment has {found} {vector}, the key is for {expected}")]
    Variables {
        /// `inputs (with ONE)` or `private variables`.
        vector: &'static str,
        /// Values in the assignment.
        found: usize,
        /// Values that the key calls for.
        expected: usize,
    },
    /// The three vectors of rows are of different lengths.
    #[error("the assignment has {a} rows in a, {b} in b and {c} in c; they must be equal")]
    Rows {
        /// Rows in `a`.
        a: usize,
        /// Rows in `b`.
        b: usize,
        /// Rows in `c`.
        c: usize,
    },
    /// The rows belong to another domain, hence to another circuit.
    #[error("the assignment's {rows} rows need a domain of {needed}, the key's domain is {domain}")]
    Domain {
        /// Rows, constraints and inputs together.
        rows: usize,
        /// The smallest power of two that holds them.
        needed: usize,
        /// The key's domain size.
        domain: usize,
    },
    /// Fewer rows than inputs.
    #[error("the assignment has {rows} rows, fewer than its {inputs} inputs, each of which has one")]
    NoInputRows {
        /// Rows.
        rows: usize,
        /// Inputs, with ONE.
        inputs: usize,
    },
    /// The first input is not the constant ONE.
    #[error("the first input is {found}, but it must be the constant 1")]
    One {
        /// What stands there; `nothing` when there is no input.
        found: String,
    },
    /// The row of an input is not that input times zero.
    #[error("row {row} belongs to input {input} and must be (input, 0, 0), but it is not")]
    InputRow {
        /// The row.
        row: usize,
        /// The input, ONE being 0.
        input: usize,
    },
    /// A constraint does not hold. The values are not told: witnesses are secret, and errors end in logs.
    #[error("constraint {row} (counted from 0) of {constraints} does not hold")]
    Unsatisfied {
        /// The first such constraint, counting from 0.
        row: usize,
        /// How many constraints there are.
        constraints: usize,
    },
}

impl Assignment {
    /// How many constraints there are, not counting the rows of the inputs.
    pub fn constraints(&self) -> usize {
        self.a.len().saturating_sub(self.inputs.len())
    }

    /// The inputs that a verifier is given: without the constant ONE.
    pub fn public_inputs(&self) -> &[Fr] {
        self.inputs.get(1..).unwrap_or_default()
    }

    /// Appends the row of each input; an adapter's last step after the constraints.
    pub(crate) fn push_input_rows(&mut self) {
        self.a.extend_from_slice(&self.inputs);
        self.b.resize(self.a.len(), Fr::zero());
        self.c.resize(self.a.len(), Fr::zero());
    }

    /// Whether this assignment is of the circuit of `key`, as far as numbers can tell.
    pub fn check(&self, key: &ProvingKey) -> Result<(), AssignmentError> {
        let expect = |vector, found, expected| match found == expected {
            true => Ok(()),
            false => Err(AssignmentError::Variables { vector, found, expected }),
        };
        expect("inputs (with ONE)", self.inputs.len(), key.num_inputs)?;
        expect("private variables", self.aux.len(), key.num_aux)?;
        self.check_rows()?;
        let (rows, domain) = (self.a.len(), 1 << key.log2_domain);
        // A key's domain is the *smallest* that holds its rows, so a smaller need is a mismatch too.
        let needed = rows.next_power_of_two();
        if needed != domain {
            return Err(AssignmentError::Domain { rows, needed, domain });
        }
        Ok(())
    }

    /// The rows' lengths and the rows of the inputs.
    fn check_rows(&self) -> Result<(), AssignmentError> {
        let (a, b, c, inputs) = (self.a.len(), self.b.len(), self.c.len(), self.inputs.len());
        if a != b || a != c {
            return Err(AssignmentError::Rows { a, b, c });
        }
        match self.inputs.first() {
            Some(one) if one.is_one() => {}
            Some(other) => {
                return Err(AssignmentError::One { found: other.to_string() });
            }
            None => {
                return Err(AssignmentError::One { found: "nothing".into() });
            }
        }
        let first = a.checked_sub(inputs).ok_or(AssignmentError::NoInputRows { rows: a, inputs })?;
        let rows = self.a.iter().zip(&self.b).zip(&self.c).skip(first);
        let mut wrong = rows.zip(&self.inputs).map(|(((a, b), c), input)| a != input || !b.is_zero() || !c.is_zero());
        match wrong.position(|wrong| wrong) {
            Some(input) => Err(AssignmentError::InputRow { row: first + input, input }),
            None => Ok(()),
        }
    }

    /// Whether every constraint holds; names the first that does not.
    ///
    /// One field multiplication a row over as many threads as the current pool has: milliseconds for a million rows. They are
    /// threads of its own: this runs beside a device that a pool's worker waits for, and a pool all of whose workers wait so
    /// would never get to it.
    pub fn satisfied(&self) -> Result<(), AssignmentError> {
        self.check_rows()?;
        let rows = self.a.len();
        let share = rows.div_ceil(rayon::current_num_threads()).max(SHARE);
        let wrong = |row: &usize| self.a[*row] * self.b[*row] != self.c[*row];
        let first = std::thread::scope(|scope| {
            let shares = (0..rows).step_by(share).map(|first| first..rows.min(first + share));
            let shares: Vec<_> = shares.map(|mut share| scope.spawn(move || share.find(wrong))).collect();
            shares.into_iter().find_map(|share| share.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        match first {
            None => Ok(()),
            Some(row) => Err(AssignmentError::Unsatisfied { row, constraints: self.constraints() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_wrong_row_is_named() {
        let constraints = 3 * SHARE + 5;
        let ones = vec![Fr::one(); constraints];
        let mut right = Assignment { a: ones.clone(), b: ones.clone(), c: ones, inputs: vec![Fr::one()], aux: vec![] };
        right.push_input_rows();
        for wrong in [vec![], vec![0], vec![SHARE - 1], vec![SHARE], vec![constraints - 1], vec![2 * SHARE, SHARE + 7]]
        {
            let mut assignment = right.clone();
            wrong.iter().for_each(|&row| assignment.c[row] += Fr::one());
            let want = match wrong.iter().min() {
                None => Ok(()),
                Some(&row) => Err(AssignmentError::Unsatisfied { row, constraints }),
            };
            // In one share and in several.
            for threads in [1, 2, 3, 16] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
                assert_eq!(pool.install(|| assignment.satisfied()), want, "{wrong:?} {threads}");
            }
        }
    }
}
