//! Writes the limb arithmetic of one prime field as WGSL, from constants taken out of ark-ff.
//!
//! Montgomery multiplication (P. Montgomery, Math. Comp. 44, 1985) over `n` limbs of `w` bits with all column sums
//! held lazily in a wider integer. What differs from the textbook: no conditional subtraction ends a multiplication.
//!
//! **Bounds.** Limbs are always below `2^w`. A product of operands below `x p` and `y p` is `(ab + mp)/R < (xy p/R + 1) p`:
//! below `2p` for `xy <= R/p`.
//! * Both fields: `_add`, `_sub`, `_neg` take and give values below `2p`; `_add_lazy` gives `4p` for a `_mul` or `_sqr`.
//!   `R > 16 p` is enough.
//! * The base field has `R/p` between 512 and 1024, so formulas there go without bringing back: `_add_lazy` adds bounds, `_subK` gives
//!   `a - b + K p` for `b` up to `K p`, and `_mul2`, the sum of two products under one reduction, takes what amounts to
//!   `300 p^2`. Half the cost of a subtraction is its second pass. Values in memory have 384 bits, which is `9.8 p`.
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

/// What an unrolled multiplication multiplies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// `a b`
    Product,
    /// `a^2`
    Square,
    /// `a b + c d`, with one reduction.
    TwoProducts,
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
        match (self.format, self.code) {
            (Format::U64, Code::Unrolled) => {
                out + &self.mul_unrolled(Shape::Product) + &self.mul_unrolled(Shape::Square)
            }
            (Format::U64, Code::Compact) => out + &self.mul_rolled("u64", "lu", false),
            (Format::U32, _) => out + &self.mul_rolled("u32", "u", false),
        }
    }

    /// What only a field with `R > 512 p` has: differences that are not brought back, and the sum of two products.
    fn emit_lazy(&self) -> String {
        let mut out: String = [2, 4, 8, 16].map(|k| self.sub_lazy(k)).concat();
        out += &self.sub_two_lazy();
        out += &self.is_zero_lazy();
        out += &self.inverse();
        match (self.format, self.code) {
            (Format::U64, Code::Unrolled) => out + &self.mul_unrolled(Shape::TwoProducts),
            (Format::U64, Code::Compact) => out + &self.mul_rolled("u64", "lu", true),
            (Format::U32, _) => out + &self.mul_rolled("u32", "u", true),
        }
    }

    /// `k p`.
    fn multiple(&self, k: u32) -> Vec<u32> {
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
    fn sub_lazy(&self, k: u32) -> String {
        let Self { prefix: p, ty, .. } = self;
        let mut out = format!("fn {p}_sub{k}(a: {ty}, b: {ty}) -> {ty} {{\n");
        self.chain(&mut out, k, |i| format!("bitcast<i32>(a[{i}]) - bitcast<i32>(b[{i}])"));
        out
    }

    /// `a - b - c + 6 p` for `b + c` up to `6 p`.
    fn sub_two_lazy(&self) -> String {
        let Self { prefix: p, ty, .. } = self;
        let mut out = format!("fn {p}_sub_two6(a: {ty}, b: {ty}, c: {ty}) -> {ty} {{\n");
        self.chain(&mut out, 6, |i| format!("bitcast<i32>(a[{i}]) - bitcast<i32>(b[{i}]) - bitcast<i32>(c[{i}])"));
        out
    }

    /// The limbs of a sum of `term`s and of `k p`, carried.
    fn chain(&self, out: &mut String, k: u32, term: impl Fn(usize) -> String) {
        let (w, n, mask) = (self.limbs.bits, self.limbs.count, self.mask());
        for (i, multiple) in self.multiple(k).iter().enumerate() {
            let carry = if i == 0 { String::new() } else { format!(" + (e{} >> {w}u)", i - 1) };
            writeln!(out, "  let e{i} = {} + {multiple}{carry};", term(i)).ok();
        }
        let limbs: Vec<_> = (0..n).map(|i| format!("bitcast<u32>(e{i}) & {mask}u")).collect();
        writeln!(out, "  return {}({});\n}}", self.ty, limbs.join(", ")).ok();
    }

    /// Whether `a`, below `16 p`, is a multiple of `p`. Its lowest limb tells which multiple it could be, and is nearly always
    /// that of none: three operations where a comparison with each would take hundreds.
    fn is_zero_lazy(&self) -> String {
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

    /// The inverse of a value below `2p`; zero goes to zero. Division steps of Bernstein and Yang ("Fast constant-time gcd
    /// computation and modular inversion", TCHES 2019) in the variant that starts at delta = 1/2 (P. Wuille's analysis in
    /// libsecp256k1: `(45907 b + 26313) / 19929` steps are enough for a modulus of `b` bits). Steps are taken on the lowest `w` bits, `w` at a
    /// time, and what they did is then applied to all limbs as one matrix. It is `p^-1 mod 2^w` that keeps `d` and `e` whole.
    ///
    /// Every thread takes the same way, some 30 K instructions; `a^(p-2)` would be 570 multiplications one after the
    /// other, which take 20 times as long where there are few threads.
    fn inverse(&self) -> String {
        let Self { prefix: p, ty, .. } = self;
        let (w, n, mask) = (self.limbs.bits, self.limbs.count, self.mask());
        let batches = (45907 * self.bits + 26313).div_ceil(19929).div_ceil(w as u64);
        let wide = if self.format == Format::U64 { "i64" } else { "i32" };
        let cast = |e: &str| if wide == "i32" { e.to_string() } else { format!("{wide}({e})") };
        let narrow = |e: &str| if wide == "i32" { e.to_string() } else { format!("i32({e} & {mask}li)") };
        // Parenthesised: `&` binds less than `*` and `+`.
        let keep = |e: &str| if wide == "i32" { format!("({e} & {mask})") } else { narrow(e) };
        let signed = format!("array<i32, {n}>");
        let list = |values: &[u32]| values.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let limbs = |name: &str| (0..n).map(|i| format!("bitcast<i32>({name}[{i}])")).collect::<Vec<_>>().join(", ");
        let inverse = self.negated_inverse.wrapping_neg() & mask;
        let mut out = format!(
            "fn {p}_inverse(a: {ty}) -> {ty} {{\n  let c = {p}_canonical(a);\n  var f = {signed}({});\n  \
             var g = {signed}({});\n  var d = {signed}();\n  var e = {signed}();\n  e[0] = 1;\n  var zeta: i32 = -1;\n",
            list(&self.modulus),
            limbs("c")
        );
        write!(
            out,
            "  for (var batch = 0u; batch < {batches}u; batch++) {{
    var u: i32 = 1; var v: i32 = 0; var q: i32 = 0; var r: i32 = 1;
    var f0 = f[0]; var g0 = g[0];
    for (var step = 0u; step < {w}u; step++) {{
      var swap = zeta >> 31u;
      let odd = -(g0 & 1);
      g0 += ((f0 ^ swap) - swap) & odd;
      q += ((u ^ swap) - swap) & odd;
      r += ((v ^ swap) - swap) & odd;
      swap &= odd;
      zeta = (zeta ^ swap) - 1;
      f0 += g0 & swap;
      u += q & swap;
      v += r & swap;
      g0 >>= 1u;
      u <<= 1u;
      v <<= 1u;
    }}
    let wu = {}; let wv = {}; let wq = {}; let wr = {};
    var cf = wu * {} + wv * {};
    var cg = wq * {} + wr * {};
",
            cast("u"),
            cast("v"),
            cast("q"),
            cast("r"),
            cast("f[0]"),
            cast("g[0]"),
            cast("f[0]"),
            cast("g[0]"),
        )
        .ok();
        // Both lines read limb i before they write limb i - 1.
        let row = |out: &mut String,
                   (x, y): (&str, &str),
                   (cx, cy): (&str, &str),
                   extra: &dyn Fn(usize) -> [String; 2]| {
            writeln!(out, "    {cx} >>= {w}u; {cy} >>= {w}u;").ok();
            for i in 1..n {
                let [more_x, more_y] = extra(i);
                let (xi, yi) = (cast(&format!("{x}[{i}]")), cast(&format!("{y}[{i}]")));
                writeln!(out, "    {cx} += wu * {xi} + wv * {yi}{more_x}; {cy} += wq * {xi} + wr * {yi}{more_y};").ok();
                let j = i - 1;
                writeln!(out, "    {x}[{j}] = {}; {y}[{j}] = {}; {cx} >>= {w}u; {cy} >>= {w}u;", keep(cx), keep(cy))
                    .ok();
            }
            let top = |c: &str| if wide == "i32" { c.to_string() } else { format!("i32({c})") };
            writeln!(out, "    {x}[{}] = {}; {y}[{}] = {};", n - 1, top(cx), n - 1, top(cy)).ok();
        };
        row(&mut out, ("f", "g"), ("cf", "cg"), &|_| [String::new(), String::new()]);
        write!(
            out,
            "    let sd = d[{t}] >> 31u; let se = e[{t}] >> 31u;
    var md = (u & sd) + (v & se); var me = (q & sd) + (r & se);
    var cd = wu * {d0} + wv * {e0};
    var ce = wq * {d0} + wr * {e0};
    md -= ({inverse} * {low_d} + md) & {mask}; me -= ({inverse} * {low_e} + me) & {mask};
    let wmd = {}; let wme = {};
    cd += {p0} * wmd; ce += {p0} * wme;
",
            cast("md"),
            cast("me"),
            t = n - 1,
            d0 = cast("d[0]"),
            e0 = cast("e[0]"),
            low_d = keep("cd"),
            low_e = keep("ce"),
            p0 = cast(&self.modulus[0].to_string()),
        )
        .ok();
        row(&mut out, ("d", "e"), ("cd", "ce"), &|i| {
            let limb = cast(&self.modulus[i].to_string());
            [format!(" + {limb} * wmd"), format!(" + {limb} * wme")]
        });
        out += "  }\n";
        // -2p < d < p; f is 1 or -1, and its sign is that of the inverse.
        let chain = |out: &mut String, name: &str, term: &dyn Fn(usize) -> String| {
            for i in 0..n {
                let carry = if i == 0 { String::new() } else { format!(" + ({name}{} >> {w}u)", i - 1) };
                writeln!(out, "  let {name}{i} = {}{carry};", term(i)).ok();
            }
        };
        writeln!(out, "  let low = d[{}] >> 31u; let negative = f[{}] >> 31u;", n - 1, n - 1).ok();
        chain(&mut out, "x", &|i| {
            let limb = if i == n - 1 { format!("d[{i}]") } else { format!("(d[{i}] & {mask})") };
            format!("{limb} + ({} & low)", self.modulus[i])
        });
        // Of either sign, above -p and below p.
        chain(&mut out, "y", &|i| {
            let limb = if i == n - 1 { format!("x{i}") } else { format!("(x{i} & {mask})") };
            format!("((({limb}) ^ negative) - negative)")
        });
        writeln!(out, "  let below = y{} >> 31u;", n - 1).ok();
        chain(&mut out, "z", &|i| {
            let limb = if i == n - 1 { format!("y{i}") } else { format!("(y{i} & {mask})") };
            format!("{limb} + ({} & below)", self.modulus[i])
        });
        let limbs: Vec<_> = (0..n).map(|i| format!("bitcast<u32>(z{i} & {mask})")).collect();
        writeln!(
            out,
            "  // x R to x^-1 R^-1; times R^3 and R^-1.\n  return {p}_mul({ty}({}), {});\n}}",
            limbs.join(", "),
            self.constant(&self.radix_cubed)
        )
        .ok();
        out
    }

    /// Product columns, one carry pass, then the reduction rows. `n^2` (or `n(n+1)/2` when squaring, or `2 n^2`) products
    /// of 32 x 32 bits, then `n^2` for the reduction and `n` for its quotients.
    fn mul_unrolled(&self, shape: Shape) -> String {
        let Self { prefix: p, ty, .. } = self;
        let (w, n, mask) = (self.limbs.bits, self.limbs.count, self.mask());
        let mut out = match shape {
            Shape::Product => format!("fn {p}_mul(a: {ty}, b: {ty}) -> {ty} {{\n"),
            Shape::Square => format!("fn {p}_sqr(a: {ty}) -> {ty} {{\n"),
            Shape::TwoProducts => format!("fn {p}_mul2(a: {ty}, b: {ty}, c: {ty}, d: {ty}) -> {ty} {{\n"),
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
        if shape == Shape::TwoProducts {
            for k in (0..2 * n - 1).filter(|&k| pairs(k).count() > self.unscathed()) {
                writeln!(out, "  t{} = t{} + (t{k} >> {w}u); t{k} = t{k} & {mask}lu;", k + 1, k + 1).ok();
            }
            for k in 0..2 * n - 1 {
                for (i, j) in pairs(k) {
                    writeln!(out, "  t{k} = u64(c[{i}]) * u64(d[{j}]) + t{k};").ok();
                }
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

    /// Products that a column may hold before as many are added again, with room for carries.
    fn unscathed(&self) -> usize {
        let top = (1u128 << self.limbs.bits) - 1;
        (((1u128 << 64) - (1 << 40)) / (2 * top * top)) as usize
    }

    /// Rows that lazy columns can take before they have to be carried: so many products a row, and room for a carry.
    fn rows_between_carries(&self, products: u128) -> usize {
        let top = (1u128 << self.limbs.bits) - 1;
        let room: u128 = if self.format == Format::U64 { 1 << 64 } else { 1 << 32 };
        (((room - (room >> 8)) / (products * top * top)) as usize).min(self.limbs.count)
    }

    /// One row per limb of `b`: add `a * b_i` (and `c * d_i`), add the multiple of `p` that clears the lowest limb, shift
    /// down.
    fn mul_rolled(&self, wide: &str, suffix: &str, two: bool) -> String {
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

/// The scalar field: type `Fr`, functions `fr_*`.
pub fn fr(format: Format, code: Code) -> String {
    let field = Field::new::<ark_bls12_381::Fr, 4>("fr", "Fr", format, code, format.fr());
    field.emit() + &field.is_zero()
}

/// The base field: type `Fq`, functions `fq_*`.
pub fn fq(format: Format, code: Code) -> String {
    let field = Field::new::<ark_bls12_381::Fq, 6>("fq", "Fq", format, code, format.fq());
    field.emit() + &field.emit_lazy()
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
            if format == Format::U64 {
                // A column of so many products is left as it is and takes as many again; a longer one was carried first.
                let unscathed = fq.unscathed() as u128;
                assert!(2 * unscathed * top * top + (1 << 36) < 1 << 64 && n * top * top + (1 << 36) < 1 << 64);
            }
            // R > 16 p, and R > 512 p in the base field: p is below 2^modulus_bits.
            let spare = if modulus_bits == 381 { 9 } else { 4 };
            assert!(limbs.radix_bits() as u32 >= modulus_bits + spare, "{format:?} {limbs:?}");
            // Limbs of p and 2p fit i32 arithmetic in the borrow chains.
            assert!(limbs.bits <= 30);
        }
    }
}
