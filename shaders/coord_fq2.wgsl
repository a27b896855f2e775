// The coordinate interface over Fq2 = Fq[u] / (u^2 + 1): what `curve.wgsl` needs to be G2.
// Factors have halves below 10p, which leaves products below 2p (src/kernel/field).
alias Coord = Fq2;
struct CoordWords { c0: FqWords, c1: FqWords }
fn coord_zero() -> Coord { return Fq2(fq_zero(), fq_zero()); }
fn coord_one() -> Coord { return Fq2(fq_one(), fq_zero()); }
fn coord_unpack(v: CoordWords) -> Coord { return Fq2(fq_unpack(v.c0), fq_unpack(v.c1)); }
fn coord_pack(a: Coord) -> CoordWords { return CoordWords(fq_pack(a.c0), fq_pack(a.c1)); }
fn coord_digits(v: CoordWords) -> Coord { return Fq2(fq_digits(v.c0), fq_digits(v.c1)); }
fn coord_words(a: Coord) -> CoordWords { return CoordWords(fq_words(a.c0), fq_words(a.c1)); }
fn coord_centre(a: Coord) -> Coord { return Fq2(fq_centre(a.c0), fq_centre(a.c1)); }
fn coord_diff(a: Coord, b: Coord) -> Coord { return Fq2(fq_diff(a.c0, b.c0), fq_diff(a.c1, b.c1)); }
fn coord_diff_carried(a: Coord, b: Coord) -> Coord {
    return Fq2(fq_diff_carried(a.c0, b.c0), fq_diff_carried(a.c1, b.c1));
}
fn coord_negated_if(a: Coord, negative: bool) -> Coord {
    return Fq2(fq_negated_if(a.c0, negative), fq_negated_if(a.c1, negative));
}
fn coord_canonical(a: Coord) -> Coord { return Fq2(fq_canonical(a.c0), fq_canonical(a.c1)); }
fn coord_settle(a: Coord) -> Coord { return Fq2(fq_settle(a.c0), fq_settle(a.c1)); }
fn coord_chord_x(l: Coord, a: Coord, b: Coord) -> Coord {
    return Fq2(fq_chord_x(l.c0, a.c0, b.c0), fq_chord_x(l.c1, a.c1, b.c1));
}
fn coord_chord_y(l: Coord, a: Coord) -> Coord { return Fq2(fq_chord_y(l.c0, a.c0), fq_chord_y(l.c1, a.c1)); }
fn coord_mul(a: Coord, b: Coord) -> Coord { return fq2_mul(a, b); }
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
