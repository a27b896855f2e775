//! Differences that are not brought back below `2p`, and what tells zero among them.

use std::fmt::Write;

use super::Field;
use crate::encoding::Format;

impl Field {
    /// What only a field with `R > 512 p` has: differences that are not brought back, and the sum of two products.
    pub(super) fn emit_lazy(&self) -> String {
        let mut out: String = [2, 4, 8, 16].map(|k| self.sub_lazy(k)).concat();
        out += &self.sub_two_lazy();
        out += &self.is_zero_lazy();
        out += &self.inverse();
        out += &self.as_digits();
        match self.format {
            Format::U64 => out + &self.mul_rolled("u64", "lu", true),
            Format::U32 => out + &self.mul_rolled("u32", "u", true),
        }
    }

    /// What `signed.rs` has functions of its own for: here limbs in memory are limbs.
    fn as_digits(&self) -> String {
        let Self { prefix: p, ty, .. } = self;
        format!(
            "fn {p}_digits(v: {ty}Words) -> {ty} {{ return {p}_unpack(v); }}
fn {p}_words(a: {ty}) -> {ty}Words {{ return {p}_pack(a); }}
fn {p}_centre(a: {ty}) -> {ty} {{ return a; }}
fn {p}_diff(a: {ty}, b: {ty}) -> {ty} {{ return {p}_sub2(a, b); }}
fn {p}_diff_carried(a: {ty}, b: {ty}) -> {ty} {{ return {p}_sub2(a, b); }}
fn {p}_settle(a: {ty}) -> {ty} {{ return a; }}
fn {p}_negated_if(a: {ty}, negative: bool) -> {ty} {{
  if (negative) {{ return {p}_sub2({p}_zero(), a); }}
  return a;
}}
fn {p}_chord_x(l: {ty}, a: {ty}, b: {ty}) -> {ty} {{ return {p}_sub({p}_sub(l, a), b); }}
fn {p}_chord_y(l: {ty}, a: {ty}) -> {ty} {{ return {p}_sub(l, a); }}
"
        )
    }

    /// `(a0 b0 - a1 b1) + (a0 b1 + a1 b0) u`. Two products share a reduction, so this takes the limb products of three
    /// multiplications, as Karatsuba's trick does, and one subtraction instead of five additions. Both halves share one
    /// call: inlined twice in every formula they make compilers slow.
    pub(super) fn mul_lazy_extension(&self) -> String {
        let Self { prefix: p, ty, .. } = self;
        format!(
            "fn {p}2_mul(a: {ty}2, b: {ty}2) -> {ty}2 {{
  var low = {p}_zero();
  var x = b.c0;
  var y = {p}_sub16({p}_zero(), b.c1);
  for (var k = 0u; k < 2u; k++) {{
    let half = {p}_mul2(a.c0, x, a.c1, y);
    if (k == 0u) {{ low = half; }} else {{ y = half; break; }}
    x = b.c1;
    y = b.c0;
  }}
  return {ty}2(low, y);
}}
"
        )
    }

    /// `k p`.
    pub(super) fn multiple(&self, k: u32) -> Vec<u32> {
        let mut carry = 0u64;
        let mut limb = |&limb: &u32| {
            carry += u64::from(limb) * u64::from(k);
            let low = carry as u32 & self.mask();
            carry >>= self.limbs.bits;
            low
        };
        self.modulus.iter().map(&mut limb).collect()
    }

    /// `a - b + k p` for `b` up to `k p`.
    pub(super) fn sub_lazy(&self, k: u32) -> String {
        let Self { prefix: p, ty, .. } = self;
        let mut out = format!("fn {p}_sub{k}(a: {ty}, b: {ty}) -> {ty} {{\n");
        self.chain(&mut out, k, |i| format!("bitcast<i32>(a[{i}]) - bitcast<i32>(b[{i}])"));
        out
    }

    /// `a - b - c + 6 p` for `b + c` up to `6 p`.
    pub(super) fn sub_two_lazy(&self) -> String {
        let Self { prefix: p, ty, .. } = self;
        let mut out = format!("fn {p}_sub_two6(a: {ty}, b: {ty}, c: {ty}) -> {ty} {{\n");
        self.chain(&mut out, 6, |i| format!("bitcast<i32>(a[{i}]) - bitcast<i32>(b[{i}]) - bitcast<i32>(c[{i}])"));
        out
    }

    /// The limbs of a sum of `term`s and of `k p`, carried.
    pub(super) fn chain(&self, out: &mut String, k: u32, term: impl Fn(usize) -> String) {
        let (w, n, mask) = (self.limbs.bits, self.limbs.count, self.mask());
        for (i, multiple) in self.multiple(k).iter().enumerate() {
            let carry = if i == 0 { String::new() } else { format!(" + (e{} >> {w}u)", i - 1) };
            writeln!(out, "  let e{i} = {} + {multiple}{carry};", term(i)).ok();
        }
        let limbs: Vec<_> = (0..n).map(|i| format!("bitcast<u32>(e{i}) & {mask}u")).collect();
        writeln!(out, "  return {}({});\n}}", self.ty, limbs.join(", ")).ok();
    }

    /// Whether `a`, below `16 p`, is a multiple of `p`. Its lowest limb tells which multiple it could be, and is nearly
    /// always that of none: three operations where a comparison with each would take hundreds.
    pub(super) fn is_zero_lazy(&self) -> String {
        let Self { prefix: p, ty, .. } = self;
        let (w, n, mask) = (self.limbs.bits, self.limbs.count, self.mask());
        let inverse = self.negated_inverse.wrapping_neg() & mask;
        let mut out = format!(
            "fn {p}_is_zero(a: {ty}) -> bool {{\n  let k = (a[0] * {inverse}u) & {mask}u;\n  if (k > 15u) {{ return false; }}\n  \
             var r = a;\n  for (var i = 0u; i < k; i++) {{\n    var e: i32 = 0;\n"
        );
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
