//! What the kernels of this module compute, on the host: the oracle by the definition, and one plain function of the
//! same name for each kernel.

use ark_bls12_381::Fr;
use ark_ff::{Field, Zero};

use super::{
    Direction, Order, Twist,
    domain::{inverse, size_inverse, twist},
    laws::{Law, laws},
    plan::Plan,
};

/// The transform by its definition, in `n^2` multiplications.
pub fn naive(values: &[Fr], direction: Direction, coset: Option<Fr>, root: Fr) -> Vec<Fr> {
    let n = values.len();
    let shift = coset.unwrap_or(Fr::ONE);
    let powers = |base: Fr| std::iter::successors(Some(Fr::ONE), move |power| Some(*power * base)).take(n);
    match direction {
        Direction::Forward => {
            powers(root).map(|x| powers(shift * x).zip(values).map(|(power, c)| power * c).sum()).collect()
        }
        Direction::Inverse => powers(inverse(root))
            .zip(powers(inverse(shift)))
            .map(|(x, unshift)| {
                let sum: Fr = powers(x).zip(values).map(|(power, v)| power * v).sum();
                sum * unshift * inverse(Fr::from(n as u64))
            })
            .collect(),
    }
}

/// One column of a tile, transformed at `shift root^k`: evens and odds first (Cooley and Tukey).
fn column(values: &[Fr], root: Fr, shift: Fr) -> Vec<Fr> {
    if values.len() == 1 {
        return values.to_vec();
    }
    let half = |first| values.iter().skip(first).step_by(2).copied().collect::<Vec<_>>();
    let [evens, odds] = [0, 1].map(|first| column(&half(first), root.square(), shift.square()));
    let mut point = shift;
    let (mut low, mut high) = (Vec::new(), Vec::new());
    for (even, odd) in evens.into_iter().zip(odds) {
        low.push(even + point * odd);
        high.push(even - point * odd);
        point *= root;
    }
    low.extend(high);
    low
}

/// One digit of all places transformed, and multiplied by the factors behind it.
fn ntt_pass(plan: &Plan, values: &mut [Fr], law: &Law) {
    let (bits, below) = (plan.digits[law.digit], plan.below(law.digit));
    for start in (0..values.len()).filter(|place| place >> below & ((1 << bits) - 1) == 0) {
        let places = (0..1 << bits).map(|row| start + (row << below));
        let rows: Vec<_> = places.clone().map(|place| values[place]).collect();
        places.zip(column(&rows, law.root, law.shift)).for_each(|(place, value)| values[place] = value);
    }
    let Some(factors) = law.factors else { return };
    let columns = plan.below(factors.digit);
    for (place, value) in values.iter_mut().enumerate() {
        let row = (place >> columns) as u64 & ((1 << plan.digits[factors.digit]) - 1);
        let column = place as u64 & ((1 << columns) - 1);
        let powers = factors.row.pow([row]) * factors.column.pow([column]) * factors.both.pow([row * column]);
        *value *= factors.scale * powers;
    }
}

/// The output that lies at a place with swapped digits.
fn natural(plan: &Plan, place: usize) -> usize {
    let mut at = 0;
    (0..plan.digits.len()).fold(0, |k, digit| {
        let value = place >> plan.below(digit) & ((1 << plan.digits[digit]) - 1);
        at += plan.digits[digit];
        k | value << (at - plan.digits[digit])
    })
}

/// From swapped digits to natural order.
fn ntt_out(plan: &Plan, values: &[Fr]) -> Vec<Fr> {
    let mut out = vec![Fr::zero(); values.len()];
    values.iter().enumerate().for_each(|(place, value)| out[natural(plan, place)] = *value);
    out
}

/// Element by element.
fn ntt_product(a: &[Fr], by: &[Fr]) -> Vec<Fr> {
    a.iter().zip(by).map(|(a, by)| *a * by).collect()
}

/// `plain - values`, from swapped digits to natural order.
fn quotient_out(plan: &Plan, plain: &[Fr], values: &[Fr]) -> Vec<Fr> {
    ntt_out(plan, &plain.iter().zip(values).map(|(plain, value)| *plain - value).collect::<Vec<_>>())
}

fn in_place(plan: &Plan, values: &mut [Fr], order: Order, twist: &Twist) {
    laws(plan, order, twist).iter().for_each(|law| ntt_pass(plan, values, law));
}

/// [`super::Domain::transform`], pass by pass.
pub fn transform(plan: &Plan, values: &mut Vec<Fr>, direction: Direction, coset: Option<Fr>, root: Fr) {
    let twist = twist(plan.log_n, direction, coset.unwrap_or(Fr::ONE), root);
    in_place(plan, values, Order::Down, &twist);
    *values = ntt_out(plan, values);
}

/// [`super::Quotient::record`], pass by pass, with the half and `1/n` taken care of.
pub fn quotient(plan: &Plan, a: &[Fr], b: &[Fr], root: Fr) -> Option<Vec<Fr>> {
    let g = root.sqrt().map(|g| if g == Fr::ONE { -g } else { g }).filter(|g| !g.is_zero())?;
    let [to_plain, to_coset, from_coset] = super::quotient::twists(plan.log_n, root, g);
    let mut plain = ntt_product(a, b);
    in_place(plan, &mut plain, to_plain.0, &to_plain.1);
    let [a, b] = [a, b].map(|values| {
        let mut values = values.to_vec();
        in_place(plan, &mut values, to_plain.0, &to_plain.1);
        in_place(plan, &mut values, to_coset.0, &to_coset.1);
        values
    });
    let mut product = ntt_product(&b, &a);
    in_place(plan, &mut product, from_coset.0, &from_coset.1);
    let factor = size_inverse(plan.log_n + 1);
    Some(quotient_out(plan, &plain, &product).into_iter().map(|value| value * factor).collect())
}
