//! The base field with signed limbs, unrolled: what GPUs with 64-bit integers get.
//!
//! A value is `sum l_i 2^(30 i)` with limbs of either sign (u32 bits of an i32), and stands between `-9 p` and `9 p`.
//! *Centred* limbs lie in `[-2^29, 2^29)`, *loose* ones within `2^30` of zero: what words hold, and what the
//! difference of two centred or of two unpacked values has without any carrying. The top limb is as large as the value
//! needs, some 25 bits.
//!
//! What that buys, against limbs that are never negative (`lazy.rs`):
//! * a column of a loose times a centred value is below `12 * 2^59`, and of the reduction, with centred quotient and
//!   modulus, below `2^61`: both fit `i64`, so no carries come between product and reduction;
//! * differences need no multiple of `p`, and as factors no carries;
//! * `2^64` wraps, so only the true value of a column has to fit. Karatsuba's trick costs additions only, on another
//!   pipe than products: a product is 49 + 36 + 49 products of limbs where rows are 169. Of Fq2, three products of Fq
//!   where rows are four, under two reductions. A level of both loses, to registers.
//!
//! Products `ab/R + qp/R` with a centred `q` lie within `|ab|/R + p/2` of zero: below `0.52 p` for factors below `3.5 p`
//! and `3.5 p`, below `1.2 p` for any two in the range above. In memory values are not negative: below `9.8 p`, as in
//! `lazy.rs`.

use std::fmt::Write;

use super::Field;

/// What `chord_x` adds, in multiples of `p`, to what it subtracts two numbers from, by where their sum begins, in
/// hundredths of `p`; and `chord_y`, of one number.
const CHORD_X: [(u64, u32); 3] = [(0, 3), (245, 6), (545, 9)];
const CHORD_Y: [(u64, u32); 2] = [(0, 2), (145, 5)];

/// Limbs of the lower half.
const HALF: usize = 7;

impl Field {
    /// All functions of the base field.
    pub(super) fn emit_signed(&self) -> String {
        let Self { prefix: p, ty, words, .. } = self;
        let n = self.limbs.count;
        let mut out = format!(
            "alias {ty} = array<u32, {n}>;\nalias {ty}Words = array<vec4<u32>, {}>;\n\
             fn {p}_zero() -> {ty} {{ return {ty}(); }}\nfn {p}_one() -> {ty} {{ return {}; }}\n",
            words / 4,
            self.constant(&self.one)
        );
        out += &self.unpack(&format!("{p}_digits"));
        out += &self.pack(&format!("{p}_words"));
        let limb = |i: usize| format!("bitcast<i32>(a[{i}])");
        let both = |sign: &'static str| move |i: usize| format!("bitcast<i32>(a[{i}]) {sign} bitcast<i32>(b[{i}])");
        out += &self.centred("centre(a", limb);
        out += &self.centred(&format!("add(a: {ty}, b"), both("+"));
        out += &self.centred(&format!("sub(a: {ty}, b"), both("-"));
        out += &self.centred("neg(a", |i| format!("-bitcast<i32>(a[{i}])"));
        let list: Vec<_> = (0..n).map(|i| format!("bitcast<u32>({})", both("-")(i))).collect();
        writeln!(out, "fn {p}_diff(a: {ty}, b: {ty}) -> {ty} {{ return {ty}({}); }}", list.join(", ")).ok();
        // Of two whose limbs may have either sign: every limb carries once, into its neighbour, and none waits for another.
        writeln!(out, "fn {p}_diff_carried(a: {ty}, b: {ty}) -> {ty} {{").ok();
        for i in 0..n {
            writeln!(out, "  let e{i} = {};", both("-")(i)).ok();
        }
        let (w, mask) = (self.limbs.bits, self.mask());
        let list: Vec<_> = (0..n)
            .map(|i| {
                let low = if i + 1 == n { format!("e{i}") } else { format!("(e{i} & {mask})") };
                let carry = if i == 0 { String::new() } else { format!(" + (e{} >> {w}u)", i - 1) };
                format!("bitcast<u32>({low}{carry})")
            })
            .collect();
        writeln!(out, "  return {ty}({});\n}}", list.join(", ")).ok();
        // Not negative any more: what `_words` packs. A value from -4p on gets 4p if it may be negative, and is left as it is
        // else, so that what is loaded and stored again does not grow. What lies below the top limb is less than a unit.
        writeln!(out, "fn {p}_settle(a: {ty}) -> {ty} {{\n  let low = bitcast<i32>(a[{}]) < 2;", n - 1).ok();
        let four = self.multiple(4);
        self.carry_chain(&mut out, |i| format!("bitcast<i32>(a[{i}]) + select(0, {}, low)", four[i]));
        let list: Vec<_> = (0..n).map(|i| format!("(a[{i}] ^ sign) - sign")).collect();
        writeln!(
            out,
            "fn {p}_negated_if(a: {ty}, negative: bool) -> {ty} {{
  let sign = select(0u, 0xffffffffu, negative);\n  return {ty}({});\n}}",
            list.join(", ")
        )
        .ok();
        for (name, value) in [("twice", &self.twice), ("once", &self.modulus)] {
            writeln!(out, "fn {p}_less_{name}(s: {ty}) -> {ty} {{").ok();
            for i in 0..n {
                write!(out, "  let s{i} = s[{i}];").ok();
            }
            out += "\n";
            out += &self.subtract_if_not_below(value);
            out += "}\n";
        }
        // Of a value from -2p on, below 2p.
        out += &self.carried(&format!("{p}_up(a: {ty})"), &self.twice, limb);
        writeln!(
            out,
            "fn {p}_canonical(a: {ty}) -> {ty} {{ return {p}_less_once({p}_less_twice({p}_up(a))); }}
fn {p}_unpack(v: {ty}Words) -> {ty} {{ return {p}_centre({p}_digits(v)); }}
fn {p}_pack(a: {ty}) -> {ty}Words {{ return {p}_words({p}_settle(a)); }}
fn {p}_add_lazy(a: {ty}, b: {ty}) -> {ty} {{ return {p}_add(a, b); }}
fn {p}_sub_two6(a: {ty}, b: {ty}, c: {ty}) -> {ty} {{ return {p}_sub({p}_sub(a, b), c); }}
fn {p}_sqr(a: {ty}) -> {ty} {{ return {p}_mul(a, a); }}"
        )
        .ok();
        for k in [2, 4, 8, 16] {
            writeln!(out, "fn {p}_sub{k}(a: {ty}, b: {ty}) -> {ty} {{ return {p}_sub(a, b); }}").ok();
        }
        out += &self.chord();
        out += &self.is_zero_signed();
        out += &self.inverse();
        out + &self.mul_signed()
    }

    /// The type of Fq2 and its product, `(a0 b0 - a1 b1) + (a0 b1 + a1 b0) u` with `a0 b1 + a1 b0 = a0 b0 + a1 b1 +
    /// (a0 - a1)(b1 - b0)`: 3 n^2 products of limbs and two reductions. Columns in order, so that three sums are alive
    /// and not 75. `a` may be loose, `b` is centred: with both centred a column is below `24 * 2^58` and the reduction's.
    pub(super) fn mul_signed_extension(&self) -> String {
        let Self { prefix: p, ty, .. } = self;
        let (w, n) = (self.limbs.bits, self.limbs.count);
        let mut out = format!(
            "fn {p}2_mul(l: {ty}2, r: {ty}2) -> {ty}2 {{\n  let x = {p}_centre(l.c0); let y = {p}_centre(l.c1);\n"
        );
        for i in 0..n {
            let wide = |name: &str, value: &str| format!("let {name}{i} = i64({value});");
            let limb = |v: &str| format!("bitcast<i32>({v}[{i}])");
            let (x, y, z, t) = (limb("x"), limb("y"), limb("r.c0"), limb("r.c1"));
            let list = [
                wide("a", &x),
                wide("b", &y),
                wide("e", &z),
                wide("f", &t),
                wide("g", &format!("{x} - {y}")),
                wide("h", &format!("{t} - {z}")),
            ];
            writeln!(out, "  {}", list.join(" ")).ok();
        }
        out += "  var c: i64 = 0li; var d: i64 = 0li;\n";
        for k in 0..2 * n - 1 {
            for (name, left, right) in [("u", "a", "e"), ("v", "b", "f"), ("w", "g", "h")] {
                self.column(&mut out, &format!("{name}{k}"), (left, right), k, 0..n);
            }
            writeln!(out, "  c = c + u{k} - v{k}; d = d + u{k} + v{k} + w{k};").ok();
            for (sum, quotient, digit) in [("c", "m", "r"), ("d", "q", "s")] {
                for i in (0..n).filter(|&i| i < k && k - i < n) {
                    writeln!(out, "  {sum} = i64({quotient}{i}) * {} + {sum};", self.wide_modulus(k - i)).ok();
                }
                if k < n {
                    writeln!(out, "  let {quotient}{k} = {};", self.quotient(sum)).ok();
                    writeln!(out, "  {sum} = (i64({quotient}{k}) * {} + {sum}) >> {w}u;", self.wide_modulus(0)).ok();
                } else {
                    let (half, mask) = (1 << (w - 1), self.mask());
                    writeln!(
                        out,
                        "  {sum} = {sum} + {half}li; let {digit}{} = (i32({sum}) & {mask}) - {half}; {sum} = {sum} >> {w}u;",
                        k - n
                    )
                    .ok();
                }
            }
        }
        writeln!(out, "  let r{} = i32(c); let s{} = i32(d);", n - 1, n - 1).ok();
        let list = |digit: &str| (0..n).map(|i| format!("bitcast<u32>({digit}{i})")).collect::<Vec<_>>().join(", ");
        out + &format!("  return {ty}2({ty}({}), {ty}({}));\n}}\n", list("r"), list("s"))
    }

    /// `a b / R` for a loose `a` and a centred `b`, centred. One level of Karatsuba's trick: with halves of 7 and 6 limbs
    /// and `X = 2^210`, `a b = a0 b0 + (a0 b0 + a1 b1 + (a0 - a1)(b1 - b0)) X + a1 b1 X^2`.
    fn mul_signed(&self) -> String {
        let Self { prefix: p, ty, .. } = self;
        let (w, n) = (self.limbs.bits, self.limbs.count);
        let mut out = format!("fn {p}_mul(x: {ty}, y: {ty}) -> {ty} {{\n");
        for i in 0..n {
            let limb = |v: &str, i: usize| format!("bitcast<i32>({v}[{i}])");
            writeln!(out, "  let a{i} = i64({}); let b{i} = i64({});", limb("x", i), limb("y", i)).ok();
            if i + HALF < n {
                let (left, right) = (limb("x", i + HALF), limb("y", i + HALF));
                let differences = (format!("{} - {left}", limb("x", i)), format!("{right} - {}", limb("y", i)));
                writeln!(out, "  let d{i} = i64({}); let e{i} = i64({});", differences.0, differences.1).ok();
            } else if i < HALF {
                writeln!(out, "  let d{i} = a{i}; let e{i} = -b{i};").ok();
            }
        }
        for k in 0..2 * HALF - 1 {
            self.column(&mut out, &format!("z{k}"), ("a", "b"), k, 0..HALF);
            self.column(&mut out, &format!("v{k}"), ("d", "e"), k, 0..HALF);
        }
        for k in 0..2 * (n - HALF) - 1 {
            self.column(&mut out, &format!("w{k}"), ("a", "b"), k + 2 * HALF, HALF..n);
        }
        for k in 0..2 * n {
            let part = |name: &str, at: usize, len: usize| {
                k.checked_sub(at).filter(|&k| k < len).map(|k| format!("{name}{k}"))
            };
            let (low, high) = (2 * HALF - 1, 2 * (n - HALF) - 1);
            let parts = [("z", 0, low), ("z", HALF, low), ("v", HALF, low), ("w", HALF, high), ("w", 2 * HALF, high)];
            let terms: Vec<_> = parts.into_iter().filter_map(|(name, at, len)| part(name, at, len)).collect();
            writeln!(out, "  var t{k}: i64 = {};", if terms.is_empty() { "0li".into() } else { terms.join(" + ") })
                .ok();
        }
        for i in 0..n {
            writeln!(out, "  let m{i} = {};", self.quotient(&format!("t{i}"))).ok();
            for j in 0..n {
                writeln!(out, "  t{} = i64(m{i}) * {} + t{};", i + j, self.wide_modulus(j), i + j).ok();
            }
            writeln!(out, "  t{} = t{} + (t{i} >> {w}u);", i + 1, i + 1).ok();
        }
        let (half, mask) = (1 << (w - 1), self.mask());
        writeln!(out, "  var k: i64 = {half}li;").ok();
        for j in 0..n - 1 {
            writeln!(out, "  k = k + t{}; let r{j} = (i32(k) & {mask}) - {half}; k = (k >> {w}u) + {half}li;", n + j)
                .ok();
        }
        writeln!(out, "  let r{} = i32(k + t{} - {half}li);", n - 1, 2 * n - 1).ok();
        let list: Vec<_> = (0..n).map(|i| format!("bitcast<u32>(r{i})")).collect();
        out + &format!("  return {ty}({});\n}}\n", list.join(", "))
    }

    /// The sum of all `left_i right_j` with `i + j = k`.
    fn column(
        &self,
        out: &mut String,
        name: &str,
        (left, right): (&str, &str),
        k: usize,
        limbs: std::ops::Range<usize>,
    ) {
        let pairs = limbs.clone().filter(|i| k >= *i && limbs.contains(&(k - i)));
        for (at, i) in pairs.enumerate() {
            let product = format!("{left}{i} * {right}{}", k - i);
            match at {
                0 => writeln!(out, "  var {name}: i64 = {product};"),
                _ => writeln!(out, "  {name} = {product} + {name};"),
            }
            .ok();
        }
    }

    /// Limb `i` of the centred modulus.
    fn wide_modulus(&self, i: usize) -> String {
        format!("({}li)", self.centred_modulus()[i])
    }

    pub(super) fn centred_modulus(&self) -> Vec<i64> {
        centre(&self.modulus, self.limbs.bits)
    }

    /// What multiple of the modulus, centred, clears the lowest limb of `sum`: `-sum / p mod 2^w`, computed `32 - w` bits
    /// up, so that one shift extends the sign.
    fn quotient(&self, sum: &str) -> String {
        let up = 32 - self.limbs.bits;
        format!("(i32({sum}) * bitcast<i32>({}u)) >> {up}u", self.negated_inverse << up)
    }

    /// A function of one or two elements whose limbs are centred sums of `term`s below `3 * 2^29`.
    fn centred(&self, head: &str, term: impl Fn(usize) -> String) -> String {
        let Self { prefix: p, ty, .. } = self;
        let (w, n, mask) = (self.limbs.bits, self.limbs.count, self.mask());
        let half = 1 << (w - 1);
        let mut out = format!("fn {p}_{head}: {ty}) -> {ty} {{\n");
        let mut limbs = Vec::new();
        for i in 0..n {
            let carry = if i == 0 { String::new() } else { format!(" + (e{} >> {w}u)", i - 1) };
            let top = i + 1 == n;
            let bias = if top { String::new() } else { format!(" + {half}") };
            writeln!(out, "  let e{i} = {}{carry}{bias};", term(i)).ok();
            limbs.push(if top {
                format!("bitcast<u32>(e{i})")
            } else {
                format!("bitcast<u32>((e{i} & {mask}) - {half})")
            });
        }
        writeln!(out, "  return {ty}({});\n}}", limbs.join(", ")).ok();
        out
    }

    /// A function whose value, the sum of `term`s and of `multiple`, is not negative, in limbs that are not either.
    fn carried(&self, head: &str, multiple: &[u32], term: impl Fn(usize) -> String) -> String {
        let multiple: Vec<_> = multiple.iter().map(u32::to_string).collect();
        let mut out = format!("fn {head} -> {} {{\n", self.ty);
        self.carry_chain(&mut out, |i| format!("{} + {}", term(i), multiple[i]));
        out
    }

    fn carry_chain(&self, out: &mut String, term: impl Fn(usize) -> String) {
        let (w, n, mask) = (self.limbs.bits, self.limbs.count, self.mask());
        for i in 0..n {
            let carry = if i == 0 { String::new() } else { format!(" + (e{} >> {w}u)", i - 1) };
            writeln!(out, "  let e{i} = {}{carry};", term(i)).ok();
        }
        let limbs: Vec<_> = (0..n).map(|i| format!("bitcast<u32>(e{i} & {mask})")).collect();
        writeln!(out, "  return {}({});\n}}", self.ty, limbs.join(", ")).ok();
    }

    /// The third point's coordinates from limbs as memory holds them, again as memory holds them: `l - x1 - x2` and
    /// `l - y1` for a product `l` (within `0.52 p`), plus a multiple of `p` that the top limbs of what is subtracted
    /// choose. It takes one pass where bringing differences below `2p` one by one takes four and two.
    ///
    /// Bounds: with `x1`, `x2` below `4.08 p` the sum `s = x1 + x2` gets `3p` below `2.45 p`, `6p` below `5.45 p`, else
    /// `9p`: what is left lies above `0.02 p` and below `6 - 2.45 + 0.52 < 4.08 p` again. `y1`, which may be negated, between
    /// `-p` and `4.08 p`, gets `2p` below `1.45 p`, else `5p`: above `0.03 p` and below `5 - 1.45 + 0.52 < 4.08 p`.
    fn chord(&self) -> String {
        let Self { prefix: p, ty, .. } = self;
        let n = self.limbs.count;
        // Hundredths of p in units of the top limb; what lies below it adds less than 2 units.
        let top = |hundredths: u64| hundredths * u64::from(self.modulus[n - 1]) / 100;
        // Sums of a centred limb and two that are subtracted lie between -2^31 - 2^29 and 2^29: the limbs of the
        // multiple are taken from [2^29, 3 * 2^29), which brings them all into an i32.
        let raised = |k: u32| raised(&self.multiple(k), self.limbs.bits);
        let [three, six, nine] = CHORD_X.map(|class| raised(class.1));
        let mut out = format!(
            "fn {p}_chord_x(l: {ty}, a: {ty}, b: {ty}) -> {ty} {{\n  let s = a[{t}] + b[{t}];\n  \
             let some = s >= {}u; let more = s >= {}u;\n",
            top(CHORD_X[1].0),
            top(CHORD_X[2].0),
            t = n - 1
        );
        self.carry_chain(&mut out, |i| {
            format!(
                "(bitcast<i32>(l[{i}]) - bitcast<i32>(a[{i}]) + select(select({}, {}, some), {}, more) - bitcast<i32>(b[{i}]))",
                three[i], six[i], nine[i]
            )
        });
        // A centred limb, a loose one, and a centred one of the multiple.
        let [two, five] = CHORD_Y.map(|class| centre(&self.multiple(class.1), self.limbs.bits));
        writeln!(
            out,
            "fn {p}_chord_y(l: {ty}, a: {ty}) -> {ty} {{\n  let some = bitcast<i32>(a[{}]) >= {};",
            n - 1,
            top(CHORD_Y[1].0)
        )
        .ok();
        self.carry_chain(&mut out, |i| {
            format!("bitcast<i32>(l[{i}]) - bitcast<i32>(a[{i}]) + select({}, {}, some)", two[i], five[i])
        });
        out
    }

    /// Whether `a`, within `16 p` of zero and loose, is a multiple of `p`; as in `lazy.rs`.
    fn is_zero_signed(&self) -> String {
        let Self { prefix: p, ty, .. } = self;
        let (w, n, mask) = (self.limbs.bits, self.limbs.count, self.mask());
        let inverse = self.negated_inverse.wrapping_neg() & mask;
        let sixteen = self.multiple(16);
        let mut out = self.carried(&format!("{p}_up16(a: {ty})"), &sixteen, |i| format!("bitcast<i32>(a[{i}])"));
        write!(
            out,
            "fn {p}_is_zero(a: {ty}) -> bool {{\n  let k = ((a[0] + {}u) * {inverse}u) & {mask}u;\n  \
             if (k > 31u) {{ return false; }}\n  var r = {p}_up16(a);\n  for (var i = 0u; i < k; i++) {{\n    var e: i32 = 0;\n",
            sixteen[0]
        )
        .ok();
        for (i, limb) in self.modulus.iter().enumerate() {
            writeln!(out, "    e = bitcast<i32>(r[{i}]) - {limb} + (e >> {w}u); let r{i} = bitcast<u32>(e) & {mask}u;")
                .ok();
        }
        let limbs: Vec<_> = (0..n).map(|i| format!("r{i}")).collect();
        let any: Vec<_> = (0..n).map(|i| format!("r[{i}]")).collect();
        writeln!(out, "    r = {ty}({});\n  }}\n  return ({}) == 0u;\n}}", limbs.join(", "), any.join(" | ")).ok();
        out
    }
}

/// The same value in centred limbs.
pub(super) fn centre(limbs: &[u32], bits: usize) -> Vec<i64> {
    window(limbs, bits, -(1 << (bits - 1)))
}

/// The same value in limbs from `2^(bits-1)` on, but for the top one.
fn raised(limbs: &[u32], bits: usize) -> Vec<i64> {
    window(limbs, bits, 1 << (bits - 1))
}

/// The same value in limbs of a window of `2^bits` that begins at `first`, but for the top one.
fn window(limbs: &[u32], bits: usize, first: i64) -> Vec<i64> {
    let mut carry = 0;
    let limb = |(i, &limb): (usize, &u32)| {
        let value = i64::from(limb) + carry;
        if i + 1 == limbs.len() {
            return value;
        }
        let low = (value - first).rem_euclid(1 << bits) + first;
        carry = (value - low) >> bits;
        low
    };
    limbs.iter().enumerate().map(limb).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{encoding::Format, kernel::Code};

    fn field() -> Field {
        Field::new::<ark_bls12_381::Fq, 6>("fq", "Fq", Format::U64, Code::Unrolled, Format::U64.fq())
    }

    /// Most that a column of products may come to, of limbs up to `left` and `right` but for top limbs of values within
    /// 16 p, which are below 2^25; and what the reduction adds.
    fn column(left: i128, right: i128, products: i128) -> i128 {
        let modulus = field().centred_modulus();
        let n = modulus.len();
        let limb = |i: usize, most: i128| if i + 1 == n { 1 << 25 } else { most };
        let of = |k: usize| -> i128 {
            let pairs = (0..n).filter(|&i| k >= i && k - i < n);
            let product: i128 = pairs.clone().map(|i| limb(i, left) * limb(k - i, right)).sum();
            let reduction: i128 = pairs.map(|i| (1 << 29) * i128::from(modulus[k - i].abs())).sum();
            products * product + reduction
        };
        // And a carry of the column before, and half a limb for rounding.
        (0..2 * n - 1).map(of).max().unwrap_or(0) + (1 << 34)
    }

    #[test]
    fn columns_hold() {
        let room = 1i128 << 63;
        assert!(column(1 << 30, 1 << 29, 1) < room, "a loose times a centred value");
        assert!(column(1 << 29, 1 << 29, 2) < room, "two products of centred values");
        // What would not do, and why `fq2_mul` centres its left factor, and a loose factor meets a centred one.
        assert!(column(1 << 30, 1 << 29, 2) > room && column(1 << 30, 1 << 30, 1) > room);
    }

    #[test]
    fn windows_of_limbs_hold() {
        let field = field();
        let value = |limbs: &[i64]| {
            // Modulo a prime that no limb pattern knows.
            limbs.iter().rev().fold(0i128, |sum, &limb| ((sum << 30) + i128::from(limb)).rem_euclid((1 << 61) - 1))
        };
        for k in [1, 2, 3, 4, 6, 9, 16] {
            let plain = field.multiple(k);
            let wide: Vec<i64> = plain.iter().map(|&limb| i64::from(limb)).collect();
            let (half, top) = (1i64 << 29, plain.len() - 1);
            let (centred, raised) = (centre(&plain, 30), raised(&plain, 30));
            assert_eq!([value(&centred), value(&raised)], [value(&wide); 2], "{k}p");
            assert!(centred[..top].iter().all(|&limb| (-half..half).contains(&limb)));
            // In `chord_x`: a centred limb, two unsigned ones subtracted, a raised one, a carry.
            for &limb in &raised[..top] {
                assert!(-half - 2 * ((1 << 30) - 1) + limb - 3 >= i64::from(i32::MIN));
                assert!(half + limb + 3 <= i64::from(i32::MAX));
            }
        }
    }

    /// The bounds of `chord`, in thousandths of p: a product within 520, and 5 for what top limbs do not tell.
    #[test]
    fn chords_stay_in_bounds() {
        let (product, blur) = (520, 5);
        // The first class of y begins where negated values do.
        for (most, least, subtracted, classes) in [(4080, 0, 2 * 4080, &CHORD_X[..]), (4080, -1000, 4080, &CHORD_Y)] {
            let thousandths = |at: usize| classes.get(at).map(|class| 10 * class.0.cast_signed());
            for (at, class) in classes.iter().enumerate() {
                let from = thousandths(at).filter(|_| at > 0).unwrap_or(least);
                let (to, multiple) = (thousandths(at + 1).unwrap_or(subtracted), 1000 * i64::from(class.1));
                assert!(multiple - (to + blur) - product > 0, "negative from {from} on");
                assert!(multiple - (from - blur) + product < most, "beyond {most} from {from} on");
            }
        }
    }
}
