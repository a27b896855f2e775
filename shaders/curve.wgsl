// Points of y^2 = x^3 + b over the coordinate interface, b irrelevant to every formula.
// Formulas: Explicit-Formulas Database, short Weierstrass, XYZZ coordinates, `madd-2008-s`, `add-2008-s`,
// `dbl-2008-s-1`, `mdbl-2008-s-1`. They are made complete here: infinity on either side, doubling, cancellation.
// Neither group has a point of order two (both cofactors are odd), so doubling never meets y = 0.

struct AffineWords { x: CoordWords, y: CoordWords }
struct XyzzWords { x: CoordWords, y: CoordWords, zz: CoordWords, zzz: CoordWords }

// x = 0, y = 0 is infinity: it lies on neither curve.
struct Affine { x: Coord, y: Coord }
// x = X / ZZ, y = Y / ZZZ, ZZ^3 = ZZZ^2; ZZ = 0 is infinity.
struct Xyzz { x: Coord, y: Coord, zz: Coord, zzz: Coord }

fn affine_unpack(w: AffineWords) -> Affine { return Affine(coord_unpack(w.x), coord_unpack(w.y)); }
fn affine_is_infinity(p: Affine) -> bool { return coord_is_zero(p.x) && coord_is_zero(p.y); }
fn affine_negate_if(p: Affine, negative: bool) -> Affine {
    if (negative) { return Affine(p.x, coord_sub2(coord_zero(), p.y)); }
    return p;
}

fn xyzz_infinity() -> Xyzz { return Xyzz(coord_zero(), coord_zero(), coord_zero(), coord_zero()); }
fn xyzz_is_infinity(p: Xyzz) -> bool { return coord_is_zero(p.zz); }
fn xyzz_unpack(w: XyzzWords) -> Xyzz {
    return Xyzz(coord_unpack(w.x), coord_unpack(w.y), coord_unpack(w.zz), coord_unpack(w.zzz));
}
fn xyzz_pack(p: Xyzz) -> XyzzWords {
    return XyzzWords(coord_pack(p.x), coord_pack(p.y), coord_pack(p.zz), coord_pack(p.zzz));
}
fn xyzz_from_affine(p: Affine) -> Xyzz {
    if (affine_is_infinity(p)) { return xyzz_infinity(); }
    return Xyzz(p.x, p.y, coord_one(), coord_one());
}

// Both additions are one program: a loop over steps around one multiplication. Unrolled, the ten to fifteen copies of
// the multiplication in a formula overflow instruction caches and cost drivers seconds of compilation each.
// `xyzz_sum` stands in `xyzz_slots.wgsl` and `xyzz_registers.wgsl`, which differ in where values are kept:
//     steps 0, 1     U2 = X2 ZZ1,  S2 = Y2 ZZZ1                              2M
//     steps 2 to 5   U1 = X1 ZZ2,  S1 = Y1 ZZZ2,  ZZ1 ZZ2,  ZZZ1 ZZZ2        4M, where ZZ2 is not 1
// After these X1, Y1, ZZ1, ZZZ1 stand for U1, S1 and the products: the first point, with other ZZ. With
//     P = U2 - X1,  R = S2 - Y1
// the rest is common to addition and doubling:
//     X3 = R^2 - PPP - 2 Q,   Y3 = R (Q - X3) - Y1 PPP,   Q = X1 PP,   ZZ3 = ZZ PP,   ZZZ3 = ZZZ PPP,    6M + 2S
// where a doubling (P = R = 0) has P = 2 Y1, R = 3 X1^2 and no PPP in X3 (EFD's U, M; V = PP, W = PPP, S = Q). So a
// doubling is an addition with another P and R: one more squaring, step 6, where a branch of its own would double the
// code. Opposite points need no case of their own: P = 0 and R not 0 make PP and with it ZZ3 zero, which is infinity.
// A squaring is a multiplication of a value by itself.
//
// No difference is brought back below 2p. With products below 2p: X3 < 8p, Y3 < 4p, and so P < 10p, R < 6p, Q - X3 <
// 10p, whose products stay below what a multiplication takes (src/kernel/field).

// a + p, 8M + 2S (+ 1S where a = p).
fn xyzz_add_affine(a: Xyzz, p: Affine) -> Xyzz {
    if (affine_is_infinity(p)) { return a; }
    let b = Xyzz(p.x, p.y, coord_one(), coord_one());
    if (xyzz_is_infinity(a)) { return b; }
    return xyzz_sum(a, b, true);
}

// a + b, 12M + 2S (+ 1S where a = b).
fn xyzz_add(a: Xyzz, b: Xyzz) -> Xyzz {
    if (xyzz_is_infinity(b)) { return a; }
    if (xyzz_is_infinity(a)) { return b; }
    return xyzz_sum(a, b, false);
}
