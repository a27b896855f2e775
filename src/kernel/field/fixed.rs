//! Arithmetic for transforms: multiplication by numbers known ahead, and sums whose limbs are not carried.
//!
//! **Multiplication by a known number** (V. Shoup's, as in NTL and in D. Harvey, "Faster arithmetic for number-theoretic
//! transforms", J. Symbolic Computation 60, 2014). With `v = floor(w R / p)` beside `w`, the quotient of `a w` by `p` is
//! `floor(a v / R)` or little more, so `a w - q p` needs the upper half of one product and the lower halves of two: in
//! 9 limbs 53 + 36 + 21 products of 32 x 32 bits to 64 and 16 to 32, where Montgomery's way takes 153 to 64. What
//! differs from the source: `a` has limbs that were not carried, and since the scalar field has `p = 1 mod 2^32`, the
//! lowest limb of `p` costs nothing; the second of `R - p + 1` is 8, a shift.
//!
//! **Bounds** (`u64`, `w = 29` bits, 9 limbs, `R = 2^261 = 70.6 p`). Stated in limbs of `beta = 2^29`:
//! * a *tidy* number has limbs below `beta` (its top limb too), a *loose* one limbs up to `7 beta`, and both stay below
//!   `60 p`;
//! * `_mul_fixed` takes a loose number `a` and gives a tidy one below `(1 + a/R + 2^-20) p + 1 < 2p`: columns 0 to 6 of `a v`,
//!   which are left out, are less than `2^-20` of `R`, and `v` is less than one too small. Columns hold 9 products below
//!   `7 beta^2` and one carry, or 8 such and 6 below `beta^2`: both below `2^64`;
//! * `_sub_loose(a, b)` is `a - b + 5p` limb by limb, for `b` below `4p` with limbs below `2 beta`: the limbs of `5p`
//!   have two borrowed from the next one each, and so lie between `2 beta - 2` and `3 beta`. A loose number that was
//!   tidy two subtractions before has limbs up to `(1 + 2 * 3) beta`.
//! * `_settle` brings a tidy number below `60 p` under `2p`.
//!
//! In the portable format one multiplication is worth thirty additions, so everything stays below `2p` there and the
//! functions are the ordinary ones.

use std::fmt::Write;

use super::Field;
use crate::encoding::Format;

/// Words of an element in workgroup memory. Loose limbs are kept as they are.
fn exchanged(format: Format) -> usize {
    match format {
        Format::U64 => format.fr().count,
        Format::U32 => 8,
    }
}

impl Field {
    /// `5p` with two units of the next limb lent to each: what a subtraction adds.
    fn lent(&self) -> Vec<u32> {
        let mut limbs = self.multiple(5);
        let unit = 2u32 << self.limbs.bits;
        let last = limbs.len() - 1;
        for i in 0..last {
            limbs[i] += unit;
            limbs[i + 1] -= 2;
        }
        limbs
    }

    /// `R - p + 1`, of which the lowest limb is zero.
    fn complement(&self) -> Vec<u32> {
        let mask = self.mask();
        let mut limbs: Vec<u32> = self.modulus.iter().map(|limb| mask - limb).collect();
        limbs[0] = 0;
        limbs[1] += 1;
        limbs
    }

    /// Everything of this file.
    pub(super) fn emit_fixed(&self) -> String {
        let Self { prefix: p, ty, .. } = self;
        match self.format {
            Format::U32 => format!(
                "alias {ty}Fixed = {ty}Words;
fn {p}_mul_fixed(a: {ty}, f: {ty}Fixed) -> {ty} {{ return {p}_mul(a, {p}_unpack(f)); }}
fn {p}_add_loose(a: {ty}, b: {ty}) -> {ty} {{ return {p}_add(a, b); }}
fn {p}_sub_loose(a: {ty}, b: {ty}) -> {ty} {{ return {p}_sub(a, b); }}
fn {p}_tidy(a: {ty}) -> {ty} {{ return a; }}
fn {p}_settle(a: {ty}) -> {ty} {{ return a; }}
"
            ),
            Format::U64 => self.mul_fixed() + &self.loose(),
        }
    }

    fn loose(&self) -> String {
        let Self { prefix: p, ty, .. } = self;
        let (w, n, mask) = (self.limbs.bits, self.limbs.count, self.mask());
        let each = |term: &dyn Fn(usize) -> String| (0..n).map(term).collect::<Vec<_>>().join(", ");
        let lent = self.lent();
        let mut out = format!(
            "fn {p}_add_loose(a: {ty}, b: {ty}) -> {ty} {{\n  return {ty}({});\n}}\n\
             fn {p}_sub_loose(a: {ty}, b: {ty}) -> {ty} {{\n  return {ty}({});\n}}\n\
             fn {p}_tidy(a: {ty}) -> {ty} {{\n  let c0 = a[0];\n",
            each(&|i| format!("a[{i}] + b[{i}]")),
            each(&|i| format!("a[{i}] - b[{i}] + {}u", lent[i])),
        );
        for i in 1..n {
            writeln!(out, "  let c{i} = a[{i}] + (c{} >> {w}u);", i - 1).ok();
        }
        let tidy = each(&|i| format!("c{i} & {mask}u"));
        // Without the mask the top limb would be the same.
        writeln!(out, "  return {ty}({tidy});\n}}\nfn {p}_settle(a: {ty}) -> {ty} {{").ok();
        // floor(a / p) by the top limb alone: never more, and less than 2^-17 below a / p before the floor.
        let factor = (1u64 << 48) / (u64::from(self.modulus[n - 1]) + 1);
        writeln!(out, "  let q = (u64(a[{}]) * {factor}lu) >> 48u;\n  var k: u64 = q;", n - 1).ok();
        // a + q (R - p), modulo R; the lowest limb of R - p is that of R - p + 1 less one.
        let complement = self.complement();
        for (i, limb) in complement.iter().enumerate() {
            let product = match i {
                0 => format!("(k << {w}u) - k"),
                _ => format!("q * {}lu + k", limb - u32::from(i == 1)),
            };
            writeln!(out, "  k = {product} + u64(a[{i}]); let r{i} = u32(k) & {mask}u; k = k >> {w}u;").ok();
        }
        out + &format!("  return {ty}({});\n}}\n", each(&|i| format!("r{i}")))
    }

    /// The product of a loose number and a fixed one: `w` and `floor(w R / p)`, a limb each word.
    fn mul_fixed(&self) -> String {
        let Self { prefix: p, ty, .. } = self;
        let (w, n, mask) = (self.limbs.bits, self.limbs.count, self.mask());
        let word = |k: usize| format!("f[{}].{}", k / 4, ["x", "y", "z", "w"][k % 4]);
        let mut out = format!(
            "alias {ty}Fixed = array<vec4<u32>, {}>;\nfn {p}_mul_fixed(a: {ty}, f: {ty}Fixed) -> {ty} {{\n",
            (2 * n).div_ceil(4)
        );
        for k in n - 2..2 * n - 1 {
            let pairs = (0..n).filter(|&i| k >= i && k - i < n);
            for (index, i) in pairs.enumerate() {
                let product = format!("u64(a[{i}]) * u64({})", word(n + k - i));
                match index {
                    0 => writeln!(out, "  var t{k}: u64 = {product};"),
                    _ => writeln!(out, "  t{k} = {product} + t{k};"),
                }
                .ok();
            }
            if k > n - 2 {
                writeln!(out, "  t{k} = t{k} + (t{} >> {w}u);", k - 1).ok();
            }
            if k >= n {
                writeln!(out, "  let q{} = u32(t{k}) & {mask}u;", k - n).ok();
            }
        }
        writeln!(out, "  let q{} = u32(t{} >> {w}u);", n - 1, 2 * n - 2).ok();
        // r = a w + q (R - p + 1) - q mod R. So that no column goes below zero, R is added to the last term as
        // (beta - 1) in each column and one in the lowest.
        let complement = self.complement();
        let top = n - 1;
        for k in 0..n {
            // Of the top column only the low bits matter.
            let wide = |e: String| if k == top { e } else { format!("u64({e})") };
            let first = match k {
                0 => wide(format!("(q0 ^ {mask}u) + 1u")),
                _ if k == top => format!("{mask}u - q{top} + (q{} * {}u)", k - 1, complement[1]),
                _ => format!(
                    "{} + {}",
                    wide(format!("q{k} ^ {mask}u")),
                    wide(format!("q{} * {}u", k - 1, complement[1]))
                ),
            };
            writeln!(out, "  var r{k}: {} = {first};", if k == top { "u32" } else { "u64" }).ok();
            for (j, limb) in complement.iter().enumerate().take(k + 1).skip(2) {
                let factor = if k == top { format!("{limb}u") } else { format!("{limb}lu") };
                writeln!(out, "  r{k} = {} * {factor} + r{k};", wide(format!("q{}", k - j))).ok();
            }
            for i in 0..=k {
                writeln!(out, "  r{k} = {} * {} + r{k};", wide(format!("a[{i}]")), wide(word(k - i))).ok();
            }
            if k > 0 {
                let carry = format!("(r{} >> {w}u)", k - 1);
                let carry = if k == top { format!("u32{carry}") } else { carry };
                writeln!(out, "  r{k} = r{k} + {carry};").ok();
            }
        }
        let limbs: Vec<_> =
            (0..n).map(|k| if k == top { format!("r{k} & {mask}u") } else { format!("u32(r{k}) & {mask}u") }).collect();
        out + &format!("  return {ty}({});\n}}\n", limbs.join(", "))
    }
}

/// Twiddle `at` of a tile's heap, whose vectors of four words lie in planes: lanes that ask for neighbours share cache
/// lines, which takes a third of the time of 2^20 elements, in digits of ten bits, on an H200.
pub fn twiddle(format: Format) -> String {
    let planes = format.fr_fixed_size() / 16;
    let list: Vec<_> = (0..planes).map(|plane| format!("inner[at + ({plane}u << params.rows)]")).collect();
    format!("fn twiddle(at: u32) -> FrFixed {{ return FrFixed({}); }}\n", list.join(", "))
}

/// Words of each element that change places at a time: 12 KiB for a tile. What workgroup memory takes, tiles that run side
/// by side and caches lack: on an H200 five words make 2^20 elements a twelfth slower and all nine half as slow again,
/// though each round has two barriers more; two words make 2^24 a fiftieth slower.
const PLANES: usize = 3;

/// How elements of a workgroup change places, four to a lane: `tile_exchange`.
pub fn exchange(format: Format) -> String {
    let (words, planes) = (exchanged(format), PLANES);
    let mut out = format!(
        "var<workgroup> tile_words: array<u32, {}>;\n\
         fn tile_exchange(x: ptr<function, array<Fr, 4>>, from_at: vec4<u32>, to_at: vec4<u32>, acting: bool) {{\n",
        planes * TILE as usize
    );
    let packed = format == Format::U32;
    let place = |side: &str, e: usize, plane: usize| {
        format!("tile_words[{side}.{} + {}u]", ["x", "y", "z", "w"][e], plane * TILE as usize)
    };
    let word = |e: usize, k: usize| match packed {
        true => format!("w{e}[{}].{}", k / 4, ["x", "y", "z", "w"][k % 4]),
        false => format!("(*x)[{e}][{k}]"),
    };
    if packed {
        for e in 0..4 {
            writeln!(out, "  var w{e} = fr_pack((*x)[{e}]);").ok();
        }
    }
    for first in (0..words).step_by(planes) {
        let round = first..words.min(first + planes);
        let moves = |to_tile: bool| {
            let mut text = String::new();
            for (plane, k) in round.clone().enumerate() {
                for e in 0..4 {
                    match to_tile {
                        true => write!(text, " {} = {};", place("from_at", e, plane), word(e, k)),
                        false => write!(text, " {} = {};", word(e, k), place("to_at", e, plane)),
                    }
                    .ok();
                }
            }
            text
        };
        // The first barrier waits for who still reads what the last exchange left.
        writeln!(out, "  workgroupBarrier();\n  if (acting) {{{} }}", moves(true)).ok();
        writeln!(out, "  workgroupBarrier();\n  if (acting) {{{} }}", moves(false)).ok();
    }
    if packed {
        for e in 0..4 {
            writeln!(out, "  (*x)[{e}] = fr_unpack(w{e});").ok();
        }
    }
    out + "}\n"
}

/// Elements of a tile: four for each of 256 lanes, which is as many as WebGPU promises.
pub const TILE: u32 = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Code;

    /// The bounds that the module's documentation states, from the limbs themselves.
    #[test]
    fn loose_columns_hold() {
        let format = Format::U64;
        let field = Field::new::<ark_bls12_381::Fr, 4>("fr", "Fr", format, Code::Unrolled, format.fr());
        let (beta, n) = (1u128 << field.limbs.bits, field.limbs.count);
        let lent: Vec<u128> = field.lent().into_iter().map(u128::from).collect();
        // A sum of two tidy numbers below 2p can be subtracted; its top limb is at most that of 4p.
        assert!(lent[..n - 1].iter().all(|&limb| (2 * beta - 2..3 * beta).contains(&limb)));
        assert!((u128::from(field.multiple(4)[n - 1])..beta).contains(&lent[n - 1]));
        let loose = beta - 1 + 2 * lent.iter().max().expect("limbs");
        assert!(loose < 7 * beta && loose < 1 << 32);
        let carry = 1u128 << (64 - field.limbs.bits);
        assert!(9 * loose * beta + carry < 1 << 64);
        // Column 7, the longest that is kept whole, with what is added to it first.
        assert!(8 * loose * beta + 6 * beta * beta + (1 << 34) + carry < 1 << 64);
        // The lowest limb of p is 1, and the second of R - p + 1 times a limb fits a word.
        assert!(field.modulus[0] == 1 && u128::from(field.complement()[1]) * beta <= 1 << 32);
        // Ten levels, 2p at the beginning.
        assert!(2 + 5 * TILE.ilog2() <= 60);
        // 60 p has its top limb below beta, and 60 p / R is below one.
        assert!(60 * (u128::from(field.modulus[n - 1]) + 1) < beta);
    }
}
