// The coordinate interface over Fq: what `curve.wgsl` needs to be G1.
alias Coord = Fq;
alias CoordWords = FqWords;
fn coord_zero() -> Coord { return fq_zero(); }
fn coord_one() -> Coord { return fq_one(); }
fn coord_unpack(v: CoordWords) -> Coord { return fq_unpack(v); }
fn coord_pack(a: Coord) -> CoordWords { return fq_pack(a); }
fn coord_add(a: Coord, b: Coord) -> Coord { return fq_add(a, b); }
fn coord_sub(a: Coord, b: Coord) -> Coord { return fq_sub(a, b); }
fn coord_mul(a: Coord, b: Coord) -> Coord { return fq_mul(a, b); }
fn coord_is_zero(a: Coord) -> bool { return fq_is_zero(a); }
