//! Multiplication in the base field by 64-bit floating point: an experiment that `cargo bench --bench field` measures.
//!
//! **Theory.** Eight limbs of 50 bits, of either sign, each exact in an f64. A product of two limbs is cut in two by two
//! fused multiplications (T. Dekker, Numer. Math. 18, 1971; with constants that make the parts readable as integers,
//! N. Emmart, J. Zheng and C. Weems, IEEE ARITH 2018): with `C = 3/2 2^102`, whose last bit is worth `2^50`,
//!
//! ```text
//! h = fma(a, b, C)              the bits of h are those of C, plus round(a b / 2^50)
//! l = fma(a, b, (C + D) - h)    D = 3/2 2^52: the bits of l are those of D, plus a b - 2^50 round(a b / 2^50)
//! ```
//!
//! so columns are sums of bit patterns as 64-bit integers, and the patterns of `C` and `D` are taken away once for each.
//! **What differs:** rounding is to nearest, the only kind a shader has, so limbs and quotients are centred; Montgomery's
//! reduction leaves the lower part of the lowest product out, which is known; and Karatsuba's trick is tried.
//!
//! **Bounds.** Limbs of `y` are centred, in `[-2^49, 2^49]`, those of `x` too for [`Products::Karatsuba`], whose differences
//! then lie within `2^50`, else within `2^50`. So `|a b| < 2^101`, and `h` stays between `2^102` and `2^103`. A column
//! has at most 16 parts below `2^51` from each of the product and the reduction. With `R = 2^400 = 2^19 p` a product is
//! within `0.51 p` of zero for factors within `50 p`.
//!
//! **Ties.** The part left out is that of `q p_0`, and it is the opposite of what the column holds below `2^50`, which is
//! centred to `[-2^49, 2^49)`. That leaves `q = -2^49`, where `q p_0` is half an odd multiple of `2^50`: rounded to an even
//! multiple, what is left is `2^49` if `p_0 = 3` modulo 4, and so it is (`tests`).
//!
//! Compilers that know no fused multiplication, llvmpipe's among them, compute something else. [`Code::Compact`] has
//! integers in its place, to test the rest with.

use std::fmt::Write;

use ark_bls12_381::Fq;
use ark_ff::{Field as _, PrimeField};

use super::Code;

/// Bits of a limb.
const W: usize = 50;
/// Limbs.
const N: usize = 8;
/// Binary logarithm of the Montgomery radix.
pub const RADIX_BITS: u64 = (W * N) as u64;
const MASK: i64 = (1 << W) - 1;
const HALF: i64 = 1 << (W - 1);

/// Which multiplication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Products {
    /// 64 products of limbs, row by row.
    Rows,
    /// 48, by Karatsuba's trick once.
    Karatsuba,
    /// 36: of `x` by itself.
    Square,
}

/// `3/2 2^exponent`: an f64 whose last bit is worth `2^(exponent - 52)`.
fn magic(exponent: i32) -> f64 {
    1.5 * f64::from(exponent).exp2()
}

fn bits(x: f64) -> i64 {
    x.to_bits().cast_signed()
}

/// The modulus in centred limbs.
fn modulus() -> [i64; N] {
    let mut rest = Fq::MODULUS;
    let mut carry = 0;
    std::array::from_fn(|i| {
        let digit = (rest.0[0].cast_signed() & MASK) + carry;
        rest >>= W as u32;
        carry = i64::from(digit >= HALF && i + 1 < N);
        digit - (carry << W)
    })
}

/// `-1/p` modulo `2^50`.
fn negated_inverse() -> i64 {
    let p = Fq::MODULUS.0[0];
    let inverse = (0..6).fold(1u64, |x, _| x.wrapping_mul(2u64.wrapping_sub(p.wrapping_mul(x))));
    inverse.wrapping_neg().cast_signed() & MASK
}

/// Accumulates products of limbs into columns that are declared later, when it is known what their constants sum up to.
struct Columns {
    name: &'static str,
    code: Code,
    /// What patterns each column took in.
    taken: Vec<i64>,
    text: String,
}

impl Columns {
    fn new(name: &'static str, count: usize, code: Code) -> Self {
        Self { name, code, taken: vec![0; count], text: String::new() }
    }

    fn add(&mut self, column: usize, pattern: f64, value: &str) {
        let name = self.name;
        let value = match self.code {
            Code::Unrolled => {
                self.taken[column] = self.taken[column].wrapping_add(bits(pattern));
                format!("bitcast<i64>({value})")
            }
            Code::Compact => value.into(),
        };
        writeln!(self.text, "  {name}{column} = {name}{column} + {value};").ok();
    }

    /// `left * right` from `column` on; `low` only if wanted.
    fn product(&mut self, column: usize, left: &str, right: &str, low: bool) {
        let (high, both) = (magic(52 + W as i32), magic(52 + W as i32) + magic(52));
        match self.code {
            Code::Unrolled => {
                writeln!(self.text, "  h = fma({left}, {right}, {high:?}lf);").ok();
                if low {
                    let value = format!("fma({left}, {right}, {both:?}lf - h)");
                    self.add(column, magic(52), &value);
                }
                self.add(column + 1, high, "h");
            }
            Code::Compact => {
                writeln!(self.text, "  two = float_two({left}, {right});").ok();
                if low {
                    self.add(column, 0.0, "two.low");
                }
                self.add(column + 1, 0.0, "two.high");
            }
        }
    }

    /// Declarations, without the constants, and what was added.
    fn emit(self) -> String {
        let Self { name, taken, text, .. } = self;
        let declare = |(k, taken): (usize, &i64)| format!("  var {name}{k}: i64 = {}li;\n", taken.wrapping_neg());
        taken.iter().enumerate().map(declare).collect::<String>() + &text
    }
}

/// Column `k` as a list of centred limbs: `r0 ..`, which carries go through from the lowest up.
fn centred(out: &mut String, columns: impl Fn(usize) -> String) {
    writeln!(out, "  var k: i64 = {} + {HALF}li;", columns(0)).ok();
    for i in 0..N - 1 {
        // Fifty bits under the exponent of 2^52 are an f64.
        let (one, less) = (bits(4503599627370496.0), 4503599627370496.0 + HALF as f64);
        writeln!(out, "  let r{i} = bitcast<f64>((k & {MASK}li) | {one}li) - {less:?}lf;").ok();
        writeln!(out, "  k = (k >> {W}u) + {} + {HALF}li;", columns(i + 1)).ok();
    }
    let d = magic(52);
    let rest = bits(d) - HALF;
    writeln!(out, "  let r{} = bitcast<f64>(k + {rest}li) - {d:?}lf;", N - 1).ok();
}

fn list(name: &str) -> String {
    (0..N).map(|i| format!("{name}{i}")).collect::<Vec<_>>().join(", ")
}

/// What stands for two fused multiplications where there are none: the same parts of `a b`, by integers.
const TWO: &str = "
struct FloatTwo { high: i64, low: i64 }
fn float_integer(a: f64) -> i64 { return bitcast<i64>(a + 6755399441055744.0lf) - 4843621399236968448li; }
fn float_two(a: f64, b: f64) -> FloatTwo {
    let x = float_integer(a);
    let y = float_integer(b);
    let x0 = x & 0x1ffffffli;
    let y0 = y & 0x1ffffffli;
    let x1 = x >> 25u;
    let y1 = y >> 25u;
    let middle = x1 * y0 + x0 * y1;
    let rest = ((middle & 0x1ffffffli) << 25u) + x0 * y0;
    let up = rest + 0x2000000000000li;
    var high = x1 * y1 + (middle >> 25u) + (up >> 50u);
    var low = (up & 0x3ffffffffffffli) - 0x2000000000000li;
    // A tie goes to the even one.
    if (low == -0x2000000000000li && (high & 1li) != 0li) {
        high = high - 1li;
        low = low + 0x4000000000000li;
    }
    return FloatTwo(high, low);
}
";

/// Type `Fq`, `fq_unpack` to centred limbs, `fq_pack` of what is within `p` of zero, and `fq_step(x, y)`.
pub fn float(shape: Products, code: Code) -> String {
    let mut out = format!("alias Fq = array<f64, {N}>;\nalias FqWords = array<vec4<u32>, 3>;\n");
    if code == Code::Compact {
        out += TWO;
    }
    out += &unpack();
    out += &pack();
    out += "fn fq_step(x: Fq, y: Fq) -> Fq {\n  var h: f64;\n";
    if code == Code::Compact {
        out += "  var two: FloatTwo;\n";
    }
    let columns = |name, count| Columns::new(name, count, code);
    match shape {
        Products::Rows | Products::Square => {
            let mut t = columns("t", 2 * N);
            for i in 0..N {
                let first = if shape == Products::Square { i } else { 0 };
                for j in first..N {
                    let (left, right) = match shape {
                        Products::Square if i == j => (format!("x[{i}]"), format!("x[{i}]")),
                        // Twice a limb is as exact.
                        Products::Square => (format!("(x[{i}] + x[{i}])"), format!("x[{j}]")),
                        _ => (format!("x[{i}]"), format!("y[{j}]")),
                    };
                    t.product(i + j, &left, &right, true);
                }
            }
            reduce(&mut t);
            out += &t.emit();
        }
        Products::Karatsuba => {
            let m = N / 2;
            let [mut z, mut w, mut v] = [columns("z", N), columns("w", N), columns("v", N)];
            for i in 0..m {
                writeln!(out, "  let d{i} = x[{i}] - x[{}]; let e{i} = y[{}] - y[{i}];", i + m, i + m).ok();
            }
            for i in 0..m {
                for j in 0..m {
                    z.product(i + j, &format!("x[{i}]"), &format!("y[{j}]"), true);
                    w.product(i + j, &format!("x[{}]", i + m), &format!("y[{}]", j + m), true);
                    v.product(i + j, &format!("d{i}"), &format!("e{j}"), true);
                }
            }
            out += &(z.emit() + &w.emit() + &v.emit());
            let mut t = columns("t", 2 * N);
            for k in 0..2 * N {
                let parts = [("z", 0), ("z", m), ("v", m), ("w", m), ("w", N)];
                let terms: Vec<_> = parts
                    .iter()
                    .filter_map(|(name, at)| Some(format!("{name}{}", k.checked_sub(*at).filter(|k| *k < N)?)))
                    .collect();
                writeln!(t.text, "  t{k} = t{k} + {};", terms.join(" + ")).ok();
            }
            reduce(&mut t);
            out += &t.emit();
        }
    }
    centred(&mut out, |i| format!("t{}", N + i));
    writeln!(out, "  return Fq({});\n}}", list("r")).ok();
    out
}

/// Montgomery's reduction of the columns, row by row.
fn reduce(t: &mut Columns) {
    let (one, less) = (bits(4503599627370496.0), 4503599627370496.0 + HALF as f64);
    for i in 0..N {
        let inverse = negated_inverse();
        writeln!(
            t.text,
            "  let q{i} = bitcast<f64>(((t{i} * {inverse}li + {HALF}li) & {MASK}li) | {one}li) - {less:?}lf;"
        )
        .ok();
        for (j, limb) in modulus().into_iter().enumerate() {
            t.product(i + j, &format!("q{i}"), &format!("({:?}lf)", limb as f64), j > 0);
        }
        writeln!(t.text, "  t{} = t{} + ((t{i} + {HALF}li) >> {W}u);", i + 1, i + 1).ok();
    }
}

fn unpack() -> String {
    let word = |k: usize| match k < 12 {
        true => format!("v[{}].{}", k / 4, ["x", "y", "z", "w"][k % 4]),
        false => "0u".into(),
    };
    let from = |k: usize, shift: usize| match shift {
        0 => word(k),
        _ => format!("(({} >> {shift}u) | ({} << {}u))", word(k), word(k + 1), 32 - shift),
    };
    let limb = |i: usize| {
        let (k, shift) = (W * i / 32, W * i % 32);
        let (low, high) = (from(k, shift), from(k + 1, shift));
        // By way of u64: naga takes a u32 that becomes an i64 for signed.
        format!("i64(u64({low}) | (u64({high} & {}u) << 32u))", (1 << (W - 32)) - 1)
    };
    let mut out = String::from("fn fq_unpack(v: FqWords) -> Fq {\n");
    centred(&mut out, limb);
    writeln!(out, "  return Fq({});\n}}", list("r")).ok();
    out
}

/// With `p` added, which leaves nothing negative.
fn pack() -> String {
    let d = magic(52);
    let mut out = String::from("fn fq_pack(a: Fq) -> FqWords {\n  var k: i64 = 0li;\n");
    for (i, limb) in modulus().into_iter().enumerate() {
        let less = limb.wrapping_sub(bits(d));
        writeln!(out, "  k = k + bitcast<i64>(a[{i}] + {d:?}lf) + ({less}li);").ok();
        writeln!(out, "  let d{i} = u64(k & {MASK}li); k = k >> {W}u;").ok();
    }
    let word = |k: usize| {
        let part = |i: usize| match (W * i).checked_sub(32 * k) {
            Some(up) => format!("(d{i} << {up}u)"),
            None => format!("(d{i} >> {}u)", 32 * k - W * i),
        };
        let parts = (0..N).filter(|i| W * i < 32 * (k + 1) && W * (i + 1) > 32 * k).map(part);
        format!("u32(({}) & 0xfffffffflu)", parts.collect::<Vec<_>>().join(" | "))
    };
    let vector = |v: usize| format!("vec4<u32>({})", (0..4).map(|k| word(4 * v + k)).collect::<Vec<_>>().join(", "));
    writeln!(out, "  return FqWords({});\n}}", (0..3).map(vector).collect::<Vec<_>>().join(", ")).ok();
    out
}

/// What carries an element to Montgomery form with this radix.
pub fn radix() -> Fq {
    Fq::from(2u64).pow([RADIX_BITS])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modulus_is_what_reductions_lean_on() {
        let limbs = modulus();
        assert_eq!(limbs[0].rem_euclid(4), 3);
        assert!(limbs[..N - 1].iter().all(|limb| (-HALF..HALF).contains(limb)));
        let two = |power: u64| Fq::from(2u64).pow([power]);
        let value = |(i, limb): (usize, &i64)| match *limb < 0 {
            true => -Fq::from(limb.unsigned_abs()) * two((W * i) as u64),
            false => Fq::from(limb.unsigned_abs()) * two((W * i) as u64),
        };
        assert_eq!(limbs.iter().enumerate().map(value).sum::<Fq>(), Fq::from(0u64));
        assert_eq!(limbs[0].wrapping_mul(negated_inverse()) & MASK, MASK);
    }

    /// The step from fused multiplications to bit patterns, by the host's own.
    #[test]
    fn parts_of_a_product_are_read_off_bits() {
        let c = magic(52 + W as i32);
        for a in [0, 1, -1, HALF, -HALF, HALF - 1, 2 * HALF, -2 * HALF, 0x2_aaaa_aaaa_aaaa, -0x1_2345_6789_abcd] {
            for b in [0, 1, -1, HALF, -HALF, 1 - HALF, modulus()[0], modulus()[3]] {
                let h = (a as f64).mul_add(b as f64, c);
                let l = (a as f64).mul_add(b as f64, (c + magic(52)) - h);
                let (high, low) = (bits(h) - bits(c), bits(l) - bits(magic(52)));
                assert_eq!((i128::from(high) << W) + i128::from(low), i128::from(a) * i128::from(b), "{a} {b}");
                assert!((-HALF..=HALF).contains(&low), "{a} {b}");
            }
        }
        // The one quotient at which the lower part of the lowest product is a tie.
        let h = (-HALF as f64).mul_add(modulus()[0] as f64, c);
        assert_eq!(i128::from(-HALF) * i128::from(modulus()[0]) - (i128::from(bits(h) - bits(c)) << W), HALF.into());
    }
}
