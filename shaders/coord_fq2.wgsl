// The coordinate interface over Fq2 = Fq[u] / (u^2 + 1): what `curve.wgsl` needs to be G2.
// Factors have halves below 10p, which leaves products below 2p (src/kernel/field).
struct Fq2 { c0: Fq, c1: Fq }
alias Coord = Fq2;
struct CoordWords { c0: FqWords, c1: FqWords }
fn coord_zero() -> Coord { return Fq2(fq_zero(), fq_zero()); }
fn coord_one() -> Coord { return Fq2(fq_one(), fq_zero()); }
fn coord_unpack(v: CoordWords) -> Coord { return Fq2(fq_unpack(v.c0), fq_unpack(v.c1)); }
fn coord_pack(a: Coord) -> CoordWords { return CoordWords(fq_pack(a.c0), fq_pack(a.c1)); }
fn coord_add(a: Coord, b: Coord) -> Coord { return Fq2(fq_add_lazy(a.c0, b.c0), fq_add_lazy(a.c1, b.c1)); }
fn coord_sub2(a: Coord, b: Coord) -> Coord { return Fq2(fq_sub2(a.c0, b.c0), fq_sub2(a.c1, b.c1)); }
fn coord_sub4(a: Coord, b: Coord) -> Coord { return Fq2(fq_sub4(a.c0, b.c0), fq_sub4(a.c1, b.c1)); }
fn coord_sub8(a: Coord, b: Coord) -> Coord { return Fq2(fq_sub8(a.c0, b.c0), fq_sub8(a.c1, b.c1)); }
fn coord_sub_two6(a: Coord, b: Coord, c: Coord) -> Coord {
    return Fq2(fq_sub_two6(a.c0, b.c0, c.c0), fq_sub_two6(a.c1, b.c1, c.c1));
}
fn coord_sub(a: Coord, b: Coord) -> Coord { return Fq2(fq_sub(a.c0, b.c0), fq_sub(a.c1, b.c1)); }
fn coord_words_are_zero(v: CoordWords) -> bool {
    return all((v.c0[0] | v.c0[1] | v.c0[2] | v.c1[0] | v.c1[1] | v.c1[2]) == vec4<u32>());
}
// (a0 - a1 u) / (a0^2 + a1^2)
fn coord_inverse(a: Coord) -> Coord {
    var norm = fq_zero();
    for (var k = 0u; k < 2u; k++) {
        var half = a.c0;
        if (k == 1u) { half = a.c1; }
        norm = fq_add(norm, fq_mul(half, half));
    }
    let inverse = fq_inverse(norm);
    return Fq2(fq_mul(a.c0, inverse), fq_mul(fq_neg(a.c1), inverse));
}
fn coord_is_zero(a: Coord) -> bool { return fq_is_zero(a.c0) && fq_is_zero(a.c1); }

// (a0 b0 - a1 b1) + (a0 b1 + a1 b0) u. Two products share a reduction, so this takes the limb products of three
// multiplications, as Karatsuba's trick does, and one subtraction instead of five additions. Both halves share one call:
// inlined twice in every formula they make compilers slow and overflow instruction caches.
fn coord_mul(a: Coord, b: Coord) -> Coord {
    var low = fq_zero();
    var x = b.c0;
    var y = fq_sub16(fq_zero(), b.c1);
    for (var k = 0u; k < 2u; k++) {
        let half = fq_mul2(a.c0, x, a.c1, y);
        if (k == 0u) { low = half; } else { y = half; break; }
        x = b.c1;
        y = b.c0;
    }
    return Fq2(low, y);
}
