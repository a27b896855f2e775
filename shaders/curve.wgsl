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
    if (negative) { return Affine(p.x, coord_sub(coord_zero(), p.y)); }
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

// The common end of addition and doubling, 5M + 2S. Both formulas compute, from a difference P and a slope numerator R,
//     X3 = R^2 - PPP - 2 Q,   Y3 = R (Q - X3) - Y1 PPP,   Q = X1 PP,
// where a doubling has P = 2 Y1, R = 3 X1^2 and no PPP in X3 (EFD's U, M; V = PP, W = PPP, S = Q). So a doubling is an
// addition with another P and R: one more squaring, where a branch of its own would double the code.
struct Chord { x: Coord, y: Coord, pp: Coord, ppp: Coord }
fn chord(x1: Coord, y1: Coord, difference: Coord, slope: Coord) -> Chord {
    var p = difference;
    var r = slope;
    let doubling = coord_is_zero(p) && coord_is_zero(r);
    if (doubling) {
        p = coord_add(y1, y1);
        let xx = coord_sqr(x1);
        r = coord_add(coord_add(xx, xx), xx);
    }
    let pp = coord_sqr(p);
    let ppp = coord_mul(p, pp);
    let q = coord_mul(x1, pp);
    var x = coord_sub(coord_sqr(r), coord_add(q, q));
    if (!doubling) { x = coord_sub(x, ppp); }
    let y = coord_sub(coord_mul(r, coord_sub(q, x)), coord_mul(y1, ppp));
    return Chord(x, y, pp, ppp);
}

// a + p, 8M + 2S (+ 1S where a = p). Opposite points need no case of their own: P = 0 makes PP and with it ZZ3 zero,
// which is infinity.
fn xyzz_add_affine(a: Xyzz, p: Affine) -> Xyzz {
    if (affine_is_infinity(p)) { return a; }
    if (xyzz_is_infinity(a)) { return Xyzz(p.x, p.y, coord_one(), coord_one()); }
    let difference = coord_sub(coord_mul(p.x, a.zz), a.x);
    let slope = coord_sub(coord_mul(p.y, a.zzz), a.y);
    let c = chord(a.x, a.y, difference, slope);
    return Xyzz(c.x, c.y, coord_mul(a.zz, c.pp), coord_mul(a.zzz, c.ppp));
}

// a + b, 12M + 2S (+ 1S where a = b). When doubling, X1 and Y1 carry the factors ZZ2 and ZZZ2, and so does the result:
// (X1 ZZ2, Y1 ZZZ2, ZZ1 ZZ2, ZZZ1 ZZZ2) is the same point as a.
fn xyzz_add(a: Xyzz, b: Xyzz) -> Xyzz {
    if (xyzz_is_infinity(b)) { return a; }
    if (xyzz_is_infinity(a)) { return b; }
    let x1 = coord_mul(a.x, b.zz);
    let y1 = coord_mul(a.y, b.zzz);
    let difference = coord_sub(coord_mul(b.x, a.zz), x1);
    let slope = coord_sub(coord_mul(b.y, a.zzz), y1);
    let c = chord(x1, y1, difference, slope);
    let zz = coord_mul(coord_mul(a.zz, b.zz), c.pp);
    let zzz = coord_mul(coord_mul(a.zzz, b.zzz), c.ppp);
    return Xyzz(c.x, c.y, zz, zzz);
}
