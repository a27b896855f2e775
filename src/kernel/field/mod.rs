//! Writes the limb arithmetic of one prime field as WGSL, from constants taken out of ark-ff.
//!
//! Montgomery multiplication (P. Montgomery, Math. Comp. 44, 1985) over `n` limbs of `w` bits with all column sums
//! held lazily in a wider integer. What differs from the textbook: no conditional subtraction ends a multiplication.
//!
//! **Bounds**, but for Fq unrolled in `u64`, whose limbs and values have either sign (`signed.rs`), and for transforms
//! (`fixed.rs`). Limbs are always below `2^w`. A product of operands below `x p` and `y p` is `(ab + mp)/R < (xy p/R + 1)
//! p`: below `2p` for `xy <= R/p`.
//! * Both fields: `_add`, `_sub`, `_neg` take and give values below `2p`; `_add_lazy` gives `4p` for a `_mul` or `_sqr`.
//!   `R > 16 p` is enough.
//! * The base field has `R/p` between 512 and 1024, so formulas there go without bringing back: `_add_lazy` adds
//!   bounds, `_subK` gives `a - b + K p` for `b` up to `K p`, and `_mul2`, the sum of two products under one reduction,
//!   takes what amounts to `300 p^2`. Half the cost of a subtraction is its second pass. Values in memory have 384
//!   bits, which is `9.8 p`.
//!
//! `tests/arithmetic.rs` checks each function at the worst-case limbs, and `tests` below checks the column sums:
//! * unrolled: `n` products of `2w` bits, then after a carry pass `n` more from the reduction rows, each below `2^64`; of two
//!   products the middle columns are carried between them;
//! * compact: columns are carried after so many rows of two or three products each as the wide integer holds
//!   (`rows_between_carries`: 7 of 13 for Fq in `u64`, or 5, all of them in `u32`, or 21 of 30).
//!
//! Elements are `array<u32, n>` accessed by constant index only: a run-time index would move each limb to memory.
//! Multiplication comes in two shapes of [`Code`]. Unrolled, all products stand in line. Compact, the loop over rows
//! stays a loop and the operand rotates through it: a tenth of the text, which software adapters need (llvmpipe
//! took 72 s for the six MSM kernels unrolled and inlined), and which `u32` always takes, its unrolled text being 1,800
//! products.

mod fixed;
pub mod float;
mod inverse;
mod lazy;
mod product;
mod signed;

use std::fmt::Write;

use ark_ff::{BigInteger, PrimeField};

use crate::encoding::{Format, Limbs};
use product::Shape;

/// Shape of the emitted multiplication, and of what point formulas keep their values in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Fast to run: for real adapters.
    Unrolled,
    /// Fast to compile: for software adapters.
    Compact,
}

impl Code {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Unrolled, Self::Compact];
}

/// The constants of a field in a limb format.
struct Field {
    /// `fr` or `fq`.
    prefix: &'static str,
    /// WGSL type name.
    ty: &'static str,
    limbs: Limbs,
    /// Words of 32 bits in memory.
    words: usize,
    modulus: Vec<u32>,
    twice: Vec<u32>,
    one: Vec<u32>,
    /// `R^3 mod p`.
    radix_cubed: Vec<u32>,
    /// Bits of the modulus.
    bits: u64,
    /// `-p^-1 mod 2^w`.
    negated_inverse: u32,
    format: Format,
    code: Code,
}

fn split<const N: usize>(mut value: ark_ff::BigInt<N>, limbs: Limbs) -> Vec<u32> {
    let mask = (1u64 << limbs.bits) - 1;
    (0..limbs.count)
        .map(|_| {
            let limb = value.0[0] & mask;
            value >>= limbs.bits as u32;
            limb as u32
        })
        .collect()
}

impl Field {
    fn new<F: PrimeField<BigInt = ark_ff::BigInt<N>>, const N: usize>(
        prefix: &'static str,
        ty: &'static str,
        format: Format,
        code: Code,
        limbs: Limbs,
    ) -> Self {
        let mut twice = F::MODULUS;
        twice.mul2();
        // Newton: each step doubles the number of correct low bits.
        let p0 = F::MODULUS.0[0] as u32;
        let inverse = (0..5).fold(1u32, |x, _| x.wrapping_mul(2u32.wrapping_sub(p0.wrapping_mul(x))));
        let radix = F::from(2u64).pow([limbs.radix_bits() as u64]);
        Self {
            prefix,
            ty,
            limbs,
            words: 2 * N,
            modulus: split(F::MODULUS, limbs),
            twice: split(twice, limbs),
            radix_cubed: split(radix.pow([3]).into_bigint(), limbs),
            bits: u64::from(F::MODULUS_BIT_SIZE),
            one: split(radix.into_bigint(), limbs),
            negated_inverse: inverse.wrapping_neg() & ((1u32 << limbs.bits) - 1),
            format,
            code,
        }
    }

    fn constant(&self, values: &[u32]) -> String {
        let list: Vec<_> = values.iter().map(|v| format!("{v}u")).collect();
        format!("{}({})", self.ty, list.join(", "))
    }

    /// Limbs of either sign: `signed.rs`.
    fn signed(&self) -> bool {
        (self.format, self.code) == (Format::U64, Code::Unrolled)
    }

    fn mask(&self) -> u32 {
        (1 << self.limbs.bits) - 1
    }

    /// Everything, in an order that reads top-down.
    fn emit(&self) -> String {
        let Self { prefix: p, ty, words, .. } = self;
        let n = self.limbs.count;
        let mut out = format!(
            "alias {ty} = array<u32, {n}>;\nalias {ty}Words = array<vec4<u32>, {}>;\n\
             fn {p}_zero() -> {ty} {{ return {ty}(); }}\nfn {p}_one() -> {ty} {{ return {}; }}\n",
            words / 4,
            self.constant(&self.one)
        );
        out += &self.unpack(&format!("{p}_unpack"));
        out += &self.pack(&format!("{p}_pack"));
        out += &self.add();
        out += &self.sub();
        match (self.format, self.code) {
            (Format::U64, Code::Unrolled) => {
                out + &self.mul_unrolled(Shape::Product) + &self.mul_unrolled(Shape::Square)
            }
            (Format::U64, Code::Compact) => out + &self.mul_rolled("u64", "lu", false),
            (Format::U32, _) => out + &self.mul_rolled("u32", "u", false),
        }
    }

    /// Word `k` of a packed element as an expression over `v`, an array of `vec4<u32>`.
    fn word(k: usize) -> String {
        format!("v[{}].{}", k / 4, ["x", "y", "z", "w"][k % 4])
    }

    fn unpack(&self, name: &str) -> String {
        let (w, ty) = (self.limbs.bits, self.ty);
        let limb = |i: usize| {
            let (word, shift) = (w * i / 32, w * i % 32);
            let mut e = format!("({} >> {shift}u)", Self::word(word));
            if shift + w > 32 && word + 1 < self.words {
                write!(e, " | ({} << {}u)", Self::word(word + 1), 32 - shift).ok();
            }
            // The top limb keeps whatever the words hold: values below 2p fit.
            format!("({e}) & {}u", self.mask())
        };
        let limbs: Vec<_> =
            (0..self.limbs.count).map(|i| if w * i < 32 * self.words { limb(i) } else { "0u".into() }).collect();
        format!("fn {name}(v: {ty}Words) -> {ty} {{\n  return {ty}({});\n}}\n", limbs.join(",\n    "))
    }

    fn pack(&self, name: &str) -> String {
        let (w, n) = (self.limbs.bits, self.limbs.count);
        let word = |k: usize| {
            let parts: Vec<_> = (0..n)
                .filter(|i| w * i < 32 * (k + 1) && w * (i + 1) > 32 * k)
                .map(|i| match (w * i) as i64 - 32 * k as i64 {
                    0 => format!("a[{i}]"),
                    s if s > 0 => format!("(a[{i}] << {s}u)"),
                    s => format!("(a[{i}] >> {}u)", -s),
                })
                .collect();
            parts.join(" | ")
        };
        let vectors: Vec<_> = (0..self.words / 4)
            .map(|v| format!("vec4<u32>({})", (0..4).map(|k| word(4 * v + k)).collect::<Vec<_>>().join(", ")))
            .collect();
        let ty = self.ty;
        format!("fn {name}(a: {ty}) -> {ty}Words {{\n  return {ty}Words({});\n}}\n", vectors.join(",\n    "))
    }

    /// `s0..` to `d = s - k` with borrows; then `s` where that went below zero, else `d`.
    fn subtract_if_not_below(&self, k: &[u32]) -> String {
        let (w, n, mask) = (self.limbs.bits, self.limbs.count, self.mask());
        let mut out = String::from("  var e: i32 = 0;\n");
        for (i, k) in k.iter().enumerate() {
            writeln!(out, "  e = bitcast<i32>(s{i}) - {k} + (e >> {w}u); let d{i} = bitcast<u32>(e) & {mask}u;").ok();
        }
        let list: Vec<_> = (0..n).map(|i| format!("select(d{i}, s{i}, keep)")).collect();
        write!(
            out,
            "  // Parenthesised: `&` binds less than `*` and `+`.
        let keep = e < 0;\n  return {}({});\n",
            self.ty,
            list.join(", ")
        )
        .ok();
        out
    }

    fn add(&self) -> String {
        let Self { prefix: p, ty, .. } = self;
        let (w, n, mask) = (self.limbs.bits, self.limbs.count, self.mask());
        let sum = |out: &mut String| {
            for i in 0..n {
                let carry = if i == 0 { String::new() } else { format!(" + (c{} >> {w}u)", i - 1) };
                writeln!(out, "  let c{i} = a[{i}] + b[{i}]{carry}; let s{i} = c{i} & {mask}u;").ok();
            }
        };
        let mut out = format!("fn {p}_add_lazy(a: {ty}, b: {ty}) -> {ty} {{\n");
        sum(&mut out);
        let list: Vec<_> = (0..n).map(|i| format!("s{i}")).collect();
        writeln!(out, "  return {ty}({});\n}}\nfn {p}_add(a: {ty}, b: {ty}) -> {ty} {{", list.join(", ")).ok();
        sum(&mut out);
        out += &self.subtract_if_not_below(&self.twice);
        // From below 2p to below p: the one canonical form.
        write!(out, "}}\nfn {p}_canonical(a: {ty}) -> {ty} {{\n").ok();
        for i in 0..n {
            write!(out, "  let s{i} = a[{i}];").ok();
        }
        out += "\n";
        out += &self.subtract_if_not_below(&self.modulus);
        out + "}\n"
    }

    /// `a - b + 2p`, which lies in `(0, 4p)`, then one conditional subtraction of `2p`: equivalently, `2p` is added
    /// back only where `a - b` went below zero.
    fn sub(&self) -> String {
        let Self { prefix: p, ty, .. } = self;
        let (w, n, mask) = (self.limbs.bits, self.limbs.count, self.mask());
        let mut out = format!("fn {p}_sub(a: {ty}, b: {ty}) -> {ty} {{\n  var c: i32 = 0;\n");
        for i in 0..n {
            writeln!(
                out,
                "  c = bitcast<i32>(a[{i}]) - bitcast<i32>(b[{i}]) + (c >> {w}u); let d{i} = bitcast<u32>(c) & {mask}u;"
            )
            .ok();
        }
        out += "  let below = c < 0; var k: u32 = 0u;\n";
        for (i, t) in self.twice.iter().enumerate() {
            let carry = if i == 0 { String::new() } else { format!(" + (k >> {w}u)") };
            writeln!(out, "  k = d{i} + select(0u, {t}u, below){carry}; let r{i} = k & {mask}u;").ok();
        }
        let list: Vec<_> = (0..n).map(|i| format!("r{i}")).collect();
        out + &format!(
            "  return {ty}({});\n}}\nfn {p}_neg(a: {ty}) -> {ty} {{ return {p}_sub({p}_zero(), a); }}\n",
            list.join(", ")
        )
    }

    /// Below `2p` there are two forms of zero: `0` and `p`.
    fn is_zero(&self) -> String {
        let Self { prefix: p, ty, .. } = self;
        let n = self.limbs.count;
        let any: Vec<_> = (0..n).map(|i| format!("a[{i}]")).collect();
        let differs: Vec<_> = (0..n).map(|i| format!("(a[{i}] ^ {}u)", self.modulus[i])).collect();
        format!(
            "fn {p}_is_zero(a: {ty}) -> bool {{\n  return ({}) == 0u || ({}) == 0u;\n}}\n",
            any.join(" | "),
            differs.join(" | ")
        )
    }
}

/// The scalar field: type `Fr`, functions `fr_*`.
pub fn fr(format: Format, code: Code) -> String {
    let field = Field::new::<ark_bls12_381::Fr, 4>("fr", "Fr", format, code, format.fr());
    field.emit() + &field.is_zero()
}

/// Arithmetic of transforms over the scalar field: `fixed.rs`.
pub fn fixed(format: Format, code: Code) -> String {
    Field::new::<ark_bls12_381::Fr, 4>("fr", "Fr", format, code, format.fr()).emit_fixed()
}

/// The same with `twiddle` and `tile_exchange`.
pub fn tile(format: Format, code: Code) -> String {
    fixed(format, code) + &fixed::twiddle(format) + &fixed::exchange(format)
}

/// The base field: type `Fq`, functions `fq_*`.
pub fn fq(format: Format, code: Code) -> String {
    let mut field = Field::new::<ark_bls12_381::Fq, 6>("fq", "Fq", format, code, format.fq());
    if field.signed() {
        let centre = |limbs: &[u32]| signed::centre(limbs, field.limbs.bits).into_iter().map(|l| l as u32).collect();
        (field.one, field.radix_cubed) = (centre(&field.one), centre(&field.radix_cubed));
        return field.emit_signed();
    }
    field.emit() + &field.emit_lazy()
}

/// After [`fq`], the type of its quadratic extension and the product there: `Fq2`, `fq2_mul`.
pub fn fq2(format: Format, code: Code) -> String {
    let field = Field::new::<ark_bls12_381::Fq, 6>("fq", "Fq", format, code, format.fq());
    let product = if field.signed() { field.mul_signed_extension() } else { field.mul_lazy_extension() };
    format!("struct Fq2 {{ c0: Fq, c1: Fq }}\n{product}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bounds that the module's documentation promises, from the limb shapes themselves.
    #[test]
    fn columns_and_radix_hold() {
        for (format, limbs, modulus_bits) in [
            (Format::U64, Format::U64.fr(), 255u32),
            (Format::U64, Format::U64.fq(), 381),
            (Format::U32, Format::U32.fr(), 255),
            (Format::U32, Format::U32.fq(), 381),
        ] {
            let top = (1u128 << limbs.bits) - 1;
            let n = limbs.count as u128;
            match format {
                // After the carry pass a column starts below 2^w plus the last carry, then takes n reduction products.
                Format::U64 => assert!(n * top * top + (1 << 34) < 1 << 64),
                Format::U32 => assert!(2 * n * top * top + (1 << 20) < 1 << 32),
            }
            let fq = Field::new::<ark_bls12_381::Fq, 6>("fq", "Fq", format, Code::Compact, limbs);
            let rows = fq.rows_between_carries(2) as u128;
            let room = if format == Format::U64 { 1u128 << 64 } else { 1 << 32 };
            // What a carry pass leaves is below 2^w, but for the top limb, which a product below 4p keeps below 2^w too.
            assert!(2 * rows * top * top + (1 << limbs.bits) + (room >> limbs.bits) < room && rows >= 1);
            let rows = fq.rows_between_carries(3) as u128;
            assert!(3 * rows * top * top + (1 << limbs.bits) + (room >> limbs.bits) < room && rows >= 1);
            // R > 16 p, and R > 512 p in the base field: p is below 2^modulus_bits.
            let spare = if modulus_bits == 381 { 9 } else { 4 };
            assert!(limbs.radix_bits() as u32 >= modulus_bits + spare, "{format:?} {limbs:?}");
            // Limbs of p and 2p fit i32 arithmetic in the borrow chains.
            assert!(limbs.bits <= 30);
        }
    }
}
