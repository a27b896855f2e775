//! Writes the limb arithmetic of one prime field as WGSL, from constants taken out of ark-ff.
//!
//! Montgomery multiplication (P. Montgomery, Math. Comp. 44, 1985) over `n` limbs of `w` bits with all column sums
//! held lazily in a wider integer. What differs from the textbook: no conditional subtraction ends a multiplication.
//!
//! **Bounds.** Every element that a function takes or returns is below `2p` with limbs below `2^w`, except the result
//! of `_add_lazy`, which is below `4p` and may only be fed to `_mul` or `_sqr`. A product of operands below
//! `4p` is `(ab + mp)/R < (16 p/R + 1) p`, so `R > 16 p` keeps it below `2p`. `tests/arithmetic.rs` checks each
//! function at the worst-case limbs, and `tests` below checks the column sums:
//! * unrolled: `n` products of `2w` bits, then after a carry pass `n` more from the reduction rows, each below `2^64`;
//! * compact: columns are carried after so many rows of two products each as the wide integer holds
//!   (`rows_between_carries`: 7 of 13 for Fq in `u64`, all of them elsewhere).
//!
//! Elements are `array<u32, n>` accessed by constant index only: a run-time index would move each limb to memory.
//! Multiplication comes in two shapes of [`Code`]. Unrolled, all products stand in line. Compact, the loop over rows
//! stays a loop and the operand rotates through it: a tenth of the text, which software adapters need (llvmpipe
//! took 72 s for the six MSM kernels unrolled and inlined), and which `u32` always takes, its unrolled text being 1,800 products.

use std::fmt::Write;

use ark_ff::{BigInteger, PrimeField};

use crate::encoding::{Format, Limbs};

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
    /// `-p^-1 mod 2^w`.
    inverse: u32,
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
            one: split(radix.into_bigint(), limbs),
            inverse: inverse.wrapping_neg() & ((1u32 << limbs.bits) - 1),
            format,
            code,
        }
    }

    fn constant(&self, values: &[u32]) -> String {
        let list: Vec<_> = values.iter().map(|v| format!("{v}u")).collect();
        format!("{}({})", self.ty, list.join(", "))
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
        out += &self.unpack();
        out += &self.pack();
        out += &self.add();
        out += &self.sub();
        out += &self.is_zero();
        match (self.format, self.code) {
            (Format::U64, Code::Unrolled) => out + &self.mul_unrolled(false) + &self.mul_unrolled(true),
            (Format::U64, Code::Compact) => out + &self.mul_rolled("u64", "lu"),
            (Format::U32, _) => out + &self.mul_rolled("u32", "u"),
        }
    }

    /// Word `k` of a packed element as an expression over `v`, an array of `vec4<u32>`.
    fn word(k: usize) -> String {
        format!("v[{}].{}", k / 4, ["x", "y", "z", "w"][k % 4])
    }

    fn unpack(&self) -> String {
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
        format!("fn {}_unpack(v: {ty}Words) -> {ty} {{\n  return {ty}({});\n}}\n", self.prefix, limbs.join(",\n    "))
    }

    fn pack(&self) -> String {
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
        format!(
            "fn {}_pack(a: {ty}) -> {ty}Words {{\n  return {ty}Words({});\n}}\n",
            self.prefix,
            vectors.join(",\n    ")
        )
    }

    /// `s0..` to `d = s - k` with borrows; then `s` where that went below zero, else `d`.
    fn subtract_if_not_below(&self, k: &[u32]) -> String {
        let (w, n, mask) = (self.limbs.bits, self.limbs.count, self.mask());
        let mut out = String::from("  var e: i32 = 0;\n");
        for (i, k) in k.iter().enumerate() {
            writeln!(out, "  e = bitcast<i32>(s{i}) - {k} + (e >> {w}u); let d{i} = bitcast<u32>(e) & {mask}u;").ok();
        }
        let list: Vec<_> = (0..n).map(|i| format!("select(d{i}, s{i}, keep)")).collect();
        write!(out, "  let keep = e < 0;\n  return {}({});\n", self.ty, list.join(", ")).ok();
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

    /// Product columns, one carry pass, then the reduction rows. `n^2` (or `n(n+1)/2` when squaring) products of
    /// 32 x 32 bits, then `n^2` for the reduction and `n` for its quotients.
    fn mul_unrolled(&self, square: bool) -> String {
        let Self { prefix: p, ty, .. } = self;
        let (w, n, mask) = (self.limbs.bits, self.limbs.count, self.mask());
        let mut out = if square {
            format!("fn {p}_sqr(a: {ty}) -> {ty} {{\n")
        } else {
            format!("fn {p}_mul(a: {ty}, b: {ty}) -> {ty} {{\n")
        };
        if square {
            for i in 0..n {
                write!(out, "  let e{i} = a[{i}] << 1u;").ok();
            }
            out += "\n";
        }
        for k in 0..2 * n - 1 {
            let pairs = (0..n).filter(|&i| k >= i && k - i < n).map(|i| (i, k - i));
            let terms: Vec<_> =
                if square {
                    pairs
                        .filter(|(i, j)| i <= j)
                        .map(|(i, j)| {
                            if i == j {
                                format!("u64(a[{i}]) * u64(a[{i}])")
                            } else {
                                format!("u64(e{i}) * u64(a[{j}])")
                            }
                        })
                        .collect()
                } else {
                    pairs.map(|(i, j)| format!("u64(a[{i}]) * u64(b[{j}])")).collect()
                };
            writeln!(out, "  var t{k}: u64 = {};", terms[0]).ok();
            for term in &terms[1..] {
                writeln!(out, "  t{k} = {term} + t{k};").ok();
            }
        }
        writeln!(out, "  var t{}: u64 = 0lu;", 2 * n - 1).ok();
        for k in 0..2 * n - 1 {
            writeln!(out, "  t{} = t{} + (t{k} >> {w}u); t{k} = t{k} & {mask}lu;", k + 1, k + 1).ok();
        }
        out += "  var m: u32;\n";
        for i in 0..n {
            writeln!(out, "  m = (u32(t{i}) * {}u) & {mask}u;", self.inverse).ok();
            for (j, pj) in self.modulus.iter().enumerate() {
                writeln!(out, "  t{} = u64(m) * {pj}lu + t{};", i + j, i + j).ok();
            }
            writeln!(out, "  t{} = t{} + (t{i} >> {w}u);", i + 1, i + 1).ok();
        }
        out += "  var c: u64 = 0lu;\n";
        for j in 0..n {
            writeln!(out, "  c = c + t{}; let r{j} = u32(c) & {mask}u; c = c >> {w}u;", n + j).ok();
        }
        let list: Vec<_> = (0..n).map(|i| format!("r{i}")).collect();
        out + &format!("  return {ty}({});\n}}\n", list.join(", "))
    }

    /// Rows that lazy columns can take before they have to be carried: two products a row, and room for a carry.
    fn rows_between_carries(&self) -> usize {
        let top = (1u128 << self.limbs.bits) - 1;
        let room: u128 = if self.format == Format::U64 { 1 << 64 } else { 1 << 32 };
        (((room - (room >> 8)) / (2 * top * top)) as usize).min(self.limbs.count)
    }

    /// One row per limb of `b`: add `a * b_i`, add the multiple of `p` that clears the lowest limb, shift down.
    fn mul_rolled(&self, wide: &str, suffix: &str) -> String {
        let Self { prefix: p, ty, .. } = self;
        let (w, n, mask, block) = (self.limbs.bits, self.limbs.count, self.mask(), self.rows_between_carries());
        let cast = |e: &str| if wide == "u32" { e.to_string() } else { format!("{wide}({e})") };
        let mut out = format!("fn {p}_mul(a: {ty}, b: {ty}) -> {ty} {{\n  var q = b;\n ");
        for j in 0..n {
            write!(out, " var t{j}: {wide} = 0{suffix};").ok();
        }
        writeln!(out, "\n  for (var first = 0u; first < {n}u; first += {block}u) {{").ok();
        writeln!(out, "  for (var i = first; i < min(first + {block}u, {n}u); i++) {{\n    let x = {};", cast("q[0]"))
            .ok();
        let rotated: Vec<_> = (1..n).map(|j| format!("q[{j}]")).collect();
        writeln!(out, "    q = {ty}({}, 0u);\n    t0 = t0 + {} * x;", rotated.join(", "), cast("a[0]")).ok();
        let low = if wide == "u32" { "t0".into() } else { "u32(t0)".to_string() };
        writeln!(out, "    let m = {};", cast(&format!("({low} * {}u) & {mask}u", self.inverse))).ok();
        writeln!(out, "    let c = (t0 + m * {}{suffix}) >> {w}u;", self.modulus[0]).ok();
        for j in 1..n {
            let carry = if j == 1 { " + c" } else { "" };
            writeln!(
                out,
                "    t{} = t{j} + {} * x + m * {}{suffix}{carry};",
                j - 1,
                cast(&format!("a[{j}]")),
                self.modulus[j]
            )
            .ok();
        }
        writeln!(out, "    t{} = 0{suffix};\n  }}", n - 1).ok();
        if block < n {
            for j in 0..n - 1 {
                writeln!(out, "  t{} = t{} + (t{j} >> {w}u); t{j} = t{j} & {mask}{suffix};", j + 1, j + 1).ok();
            }
        }
        writeln!(out, "  }}\n  var c: {wide} = 0{suffix};").ok();
        for j in 0..n {
            writeln!(out, "  c = c + t{j}; let r{j} = u32(c) & {mask}u; c = c >> {w}u;").ok();
        }
        let list: Vec<_> = (0..n).map(|i| format!("r{i}")).collect();
        out + &format!(
            "  return {ty}({});\n}}\nfn {p}_sqr(a: {ty}) -> {ty} {{ return {p}_mul(a, a); }}\n",
            list.join(", ")
        )
    }
}

/// The scalar field: type `Fr`, functions `fr_*`.
pub fn fr(format: Format, code: Code) -> String {
    Field::new::<ark_bls12_381::Fr, 4>("fr", "Fr", format, code, format.fr()).emit()
}

/// The base field: type `Fq`, functions `fq_*`.
pub fn fq(format: Format, code: Code) -> String {
    Field::new::<ark_bls12_381::Fq, 6>("fq", "Fq", format, code, format.fq()).emit()
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
            let rows = fq.rows_between_carries() as u128;
            let room = if format == Format::U64 { 1u128 << 64 } else { 1 << 32 };
            // What a carry pass leaves is below 2^w, but for the top limb, which a product below 4p keeps below 2^w too.
            assert!(2 * rows * top * top + (1 << limbs.bits) + (room >> limbs.bits) < room && rows >= 1);
            // R > 16 p: p is below 2^modulus_bits.
            assert!(limbs.radix_bits() as u32 >= modulus_bits + 4, "{format:?} {limbs:?}");
            // Limbs of p and 2p fit i32 arithmetic in the borrow chains.
            assert!(limbs.bits <= 30);
        }
    }
}
