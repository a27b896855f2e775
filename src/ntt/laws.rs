//! What the passes of a transform multiply with, as formulas.
//!
//! Cut the places of a vector into digits `i_1 i_2 .. i_D` of `N_1, .. N_D` values, the topmost first; let `L_b` be the
//! product of the sizes before digit `b` and `M_b` that of those after it. In the exponent of
//! ```text
//!     X_k = sum_i x_i omega^(i k),    i = sum_b i_b M_b,    k = sum_b k_b L_b
//! ```
//! what is not a multiple of `n` is, for each digit `b`, `i_b k_b n/N_b`, a transform of that digit, and
//! `L_b k_b (i mod M_b)`: factors between digit `b` and all digits below it. So passes from the topmost digit down leave
//! output `k` at the place with the digits `k_1 .. k_D`, and each is followed by its factors (Cooley and Tukey, 1965; two
//! digits are the four steps of Bailey, J. Supercomputing 4, 1990). The same sum read the other way, with the digits of
//! `k` in the places and those of `i` coming out, has the same factors, each before its digit's pass: passes from the
//! lowest digit up undo the order.
//!
//! **Cosets and scales cost next to nothing.** With inputs multiplied by `g^i`, going down, `g^(i_1 M_1)` is a shift of
//! the first digit's transform, and `g^(i mod M_1)` a part of its factors; going up, `i` has its digits like `k` above,
//! and only the first pass has a shift. Outputs times `s^k`, going down, are parts of all factors, and factors of their
//! own after the last pass. A scale is part of the topmost factors.

use ark_bls12_381::Fr;
use ark_ff::Field;

use super::plan::Plan;

/// Which order a transform of all digits starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// From natural order to swapped digits, the topmost digit first.
    Down,
    /// From swapped digits to natural order, the lowest digit first.
    Up,
}

/// What is transformed: `X_k = scale output^k sum_i input^i x_i root^(i k)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Twist {
    /// Of the order of the vector's length.
    pub root: Fr,
    /// Base of the inputs' factors.
    pub input: Fr,
    /// Base of the outputs' factors; 1 when going up.
    pub output: Fr,
    /// Of all outputs.
    pub scale: Fr,
}

/// The factor at row `k` and column `j` of a table: `scale row^k column^j both^(k j)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Factors {
    /// The digit whose values are the rows; the columns are all bits below it.
    pub(super) digit: usize,
    pub(super) scale: Fr,
    pub(super) row: Fr,
    pub(super) column: Fr,
    pub(super) both: Fr,
}

/// One pass: the transform of a digit at `shift root^k`, and the factors after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Law {
    pub(super) digit: usize,
    /// Of the order of the digit's size.
    pub(super) root: Fr,
    pub(super) shift: Fr,
    pub(super) factors: Option<Factors>,
}

/// The passes in their order.
pub(super) fn laws(plan: &Plan, order: Order, twist: &Twist) -> Vec<Law> {
    let Twist { root, input, output, scale } = *twist;
    let last = plan.digits.len() - 1;
    let power = |base: Fr, bits: u32| base.pow([1u64 << bits]);
    let above = |digit: usize| plan.log_n - plan.below(digit) - plan.digits[digit];
    let tied = |digit: usize| Factors {
        digit,
        scale: if digit == 0 { scale } else { Fr::ONE },
        row: power(if order == Order::Down { output } else { input }, above(digit)),
        column: if order == Order::Down && digit == 0 { input } else { Fr::ONE },
        both: power(root, above(digit)),
    };
    // Below the last digit there is nothing.
    let ending = |digit| Some(tied(digit)).filter(|factors| factors.row != Fr::ONE || factors.scale != Fr::ONE);
    let law = |digit: usize, shift, factors| Law {
        digit,
        root: power(root, plan.log_n - plan.digits[digit]),
        shift,
        factors,
    };
    let digits = 0..=last;
    match order {
        Order::Down => digits
            .map(|digit| {
                let shift = if digit == 0 { power(input, plan.below(0)) } else { Fr::ONE };
                law(digit, shift, if digit < last { Some(tied(digit)) } else { ending(digit) })
            })
            .collect(),
        Order::Up => digits
            .rev()
            .map(|digit| {
                let shift = if digit == last { power(input, above(last)) } else { Fr::ONE };
                let scaled = Factors { row: Fr::ONE, ..tied(0) };
                let ending = Some(scaled).filter(|factors| last == 0 && factors.scale != Fr::ONE);
                law(digit, shift, if digit > 0 { Some(tied(digit - 1)) } else { ending })
            })
            .collect(),
    }
}
