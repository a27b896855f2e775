//! Montgomery products, unrolled and as loops over rows.

use std::fmt::Write;

use super::Field;
use crate::encoding::Format;

/// What an unrolled multiplication multiplies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// `a b`
    Product,
    /// `a^2`
    Square,
}

impl Field {
    /// Product columns, one carry pass, then the reduction rows. `n^2` (or `n(n+1)/2` when squaring)
    /// products of 32 x 32 bits, then `n^2` for the reduction and `n` for its quotients.
    pub(super) fn mul_unrolled(&self, shape: Shape) -> String {
        let Self { prefix: p, ty, .. } = self;
        let (w, n, mask) = (self.limbs.bits, self.limbs.count, self.mask());
        let mut out = match shape {
            Shape::Product => format!("fn {p}_mul(a: {ty}, b: {ty}) -> {ty} {{\n"),
            Shape::Square => format!("fn {p}_sqr(a: {ty}) -> {ty} {{\n"),
        };
        if shape == Shape::Square {
            for i in 0..n {
                write!(out, "  let e{i} = a[{i}] << 1u;").ok();
            }
            out += "\n";
        }
        let pairs = |k: usize| (0..n).filter(move |&i| k >= i && k - i < n).map(move |i| (i, k - i));
        for k in 0..2 * n - 1 {
            let terms: Vec<_> =
                match shape {
                    Shape::Square => pairs(k)
                        .filter(|(i, j)| i <= j)
                        .map(|(i, j)| {
                            if i == j {
                                format!("u64(a[{i}]) * u64(a[{i}])")
                            } else {
                                format!("u64(e{i}) * u64(a[{j}])")
                            }
                        })
                        .collect(),
                    _ => pairs(k).map(|(i, j)| format!("u64(a[{i}]) * u64(b[{j}])")).collect(),
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
            writeln!(out, "  m = (u32(t{i}) * {}u) & {mask}u;", self.negated_inverse).ok();
            for (j, pj) in self.modulus.iter().enumerate() {
                writeln!(out, "  t{} = u64(m) * {pj}lu + t{};", i + j, i + j).ok();
            }
            writeln!(out, "  t{} = t{} + (t{i} >> {w}u);", i + 1, i + 1).ok();
        }
        out += "  var k: u64 = 0lu;\n";
        for j in 0..n {
            writeln!(out, "  k = k + t{}; let r{j} = u32(k) & {mask}u; k = k >> {w}u;", n + j).ok();
        }
        let list: Vec<_> = (0..n).map(|i| format!("r{i}")).collect();
        out + &format!("  return {ty}({});\n}}\n", list.join(", "))
    }

    /// Rows that lazy columns can take before they have to be carried: so many products a row, and room for a carry.
    pub(super) fn rows_between_carries(&self, products: u128) -> usize {
        let top = (1u128 << self.limbs.bits) - 1;
        let room: u128 = if self.format == Format::U64 { 1 << 64 } else { 1 << 32 };
        (((room - (room >> 8)) / (products * top * top)) as usize).min(self.limbs.count)
    }

    /// One row per limb of `b`: add `a * b_i` (and `c * d_i`), add the multiple of `p` that clears the lowest limb,
    /// shift down.
    pub(super) fn mul_rolled(&self, wide: &str, suffix: &str, two: bool) -> String {
        let Self { prefix: p, ty, .. } = self;
        let (w, n, mask) = (self.limbs.bits, self.limbs.count, self.mask());
        let block = self.rows_between_carries(if two { 3 } else { 2 });
        let cast = |e: &str| if wide == "u32" { e.to_string() } else { format!("{wide}({e})") };
        let mut out = if two {
            format!("fn {p}_mul2(a: {ty}, b: {ty}, c: {ty}, d: {ty}) -> {ty} {{\n  var q = b; var s = d;\n ")
        } else {
            format!("fn {p}_mul(a: {ty}, b: {ty}) -> {ty} {{\n  var q = b;\n ")
        };
        let row = |j: usize| {
            let first = format!("{} * x", cast(&format!("a[{j}]")));
            if two { format!("{first} + {} * y", cast(&format!("c[{j}]"))) } else { first }
        };
        for j in 0..n {
            write!(out, " var t{j}: {wide} = 0{suffix};").ok();
        }
        writeln!(out, "\n  for (var first = 0u; first < {n}u; first += {block}u) {{").ok();
        writeln!(out, "  for (var i = first; i < min(first + {block}u, {n}u); i++) {{\n    let x = {};", cast("q[0]"))
            .ok();
        let rotated = |from: &str| (1..n).map(|j| format!("{from}[{j}]")).collect::<Vec<_>>().join(", ");
        writeln!(out, "    q = {ty}({}, 0u);", rotated("q")).ok();
        if two {
            writeln!(out, "    let y = {}; s = {ty}({}, 0u);", cast("s[0]"), rotated("s")).ok();
        }
        writeln!(out, "    t0 = t0 + {};", row(0)).ok();
        let low = if wide == "u32" { "t0".into() } else { "u32(t0)".to_string() };
        writeln!(out, "    let m = {};", cast(&format!("({low} * {}u) & {mask}u", self.negated_inverse))).ok();
        writeln!(out, "    let k = (t0 + m * {}{suffix}) >> {w}u;", self.modulus[0]).ok();
        for j in 1..n {
            let carry = if j == 1 { " + k" } else { "" };
            writeln!(out, "    t{} = t{j} + {} + m * {}{suffix}{carry};", j - 1, row(j), self.modulus[j]).ok();
        }
        writeln!(out, "    t{} = 0{suffix};\n  }}", n - 1).ok();
        if block < n {
            for j in 0..n - 1 {
                writeln!(out, "  t{} = t{} + (t{j} >> {w}u); t{j} = t{j} & {mask}{suffix};", j + 1, j + 1).ok();
            }
        }
        writeln!(out, "  }}\n  var k: {wide} = 0{suffix};").ok();
        for j in 0..n {
            writeln!(out, "  k = k + t{j}; let r{j} = u32(k) & {mask}u; k = k >> {w}u;").ok();
        }
        let list: Vec<_> = (0..n).map(|i| format!("r{i}")).collect();
        writeln!(out, "  return {ty}({});\n}}", list.join(", ")).ok();
        if !two {
            writeln!(out, "fn {p}_sqr(a: {ty}) -> {ty} {{ return {p}_mul(a, a); }}").ok();
        }
        out
    }
}
