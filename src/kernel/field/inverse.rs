//! Inverses by division steps.

use std::fmt::Write;

use super::Field;
use crate::encoding::Format;

impl Field {
    /// The inverse of a value below `2p`; zero goes to zero. Division steps of Bernstein and Yang ("Fast constant-time
    /// gcd computation and modular inversion", TCHES 2019) in the variant that starts at delta = 1/2 (P. Wuille's
    /// analysis in libsecp256k1: `(45907 b + 26313) / 19929` steps are enough for a modulus of `b` bits). Steps are
    /// taken on the lowest `w` bits, `w` at a time, and what they did is then applied to all limbs as one matrix. It is
    /// `p^-1 mod 2^w` that keeps `d` and `e` whole.
    ///
    /// Every thread takes the same way, some 30 K instructions; `a^(p-2)` would be 570 multiplications one after the
    /// other, which took seven times as long on an H200.
    pub(super) fn inverse(&self) -> String {
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
}
