// The coordinate interface over Fq: what `curve.wgsl` needs to be G1.
alias Coord = Fq;
alias CoordWords = FqWords;
fn coord_zero() -> Coord { return fq_zero(); }
fn coord_one() -> Coord { return fq_one(); }
fn coord_unpack(v: CoordWords) -> Coord { return fq_unpack(v); }
fn coord_pack(a: Coord) -> CoordWords { return fq_pack(a); }
fn coord_digits(v: CoordWords) -> Coord { return fq_digits(v); }
fn coord_words(a: Coord) -> CoordWords { return fq_words(a); }
fn coord_centre(a: Coord) -> Coord { return fq_centre(a); }
fn coord_diff(a: Coord, b: Coord) -> Coord { return fq_diff(a, b); }
fn coord_diff_carried(a: Coord, b: Coord) -> Coord { return fq_diff_carried(a, b); }
fn coord_negated_if(a: Coord, negative: bool) -> Coord { return fq_negated_if(a, negative); }
fn coord_canonical(a: Coord) -> Coord { return fq_canonical(a); }
fn coord_settle(a: Coord) -> Coord { return fq_settle(a); }
fn coord_chord_x(l: Coord, a: Coord, b: Coord) -> Coord { return fq_chord_x(l, a, b); }
fn coord_chord_y(l: Coord, a: Coord) -> Coord { return fq_chord_y(l, a); }
fn coord_add(a: Coord, b: Coord) -> Coord { return fq_add_lazy(a, b); }
fn coord_sub(a: Coord, b: Coord) -> Coord { return fq_sub(a, b); }
fn coord_sub2(a: Coord, b: Coord) -> Coord { return fq_sub2(a, b); }
fn coord_sub4(a: Coord, b: Coord) -> Coord { return fq_sub4(a, b); }
fn coord_sub8(a: Coord, b: Coord) -> Coord { return fq_sub8(a, b); }
fn coord_sub_two6(a: Coord, b: Coord, c: Coord) -> Coord { return fq_sub_two6(a, b, c); }
fn coord_mul(a: Coord, b: Coord) -> Coord { return fq_mul(a, b); }
fn coord_inverse(a: Coord) -> Coord { return fq_inverse(a); }
fn coord_words_are_zero(v: CoordWords) -> bool { return all((v[0] | v[1] | v[2]) == vec4<u32>()); }
fn coord_is_zero(a: Coord) -> bool { return fq_is_zero(a); }
