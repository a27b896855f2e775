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

// 2 p, 6M + 3S; infinity stays infinity because ZZ3 = V ZZ = 0.
fn xyzz_double(p: Xyzz) -> Xyzz {
    let u = coord_add(p.y, p.y);
    let v = coord_sqr(u);
    let w = coord_mul(u, v);
    let s = coord_mul(p.x, v);
    let xx = coord_sqr(p.x);
    let m = coord_add(coord_add(xx, xx), xx);
    let x = coord_sub(coord_sqr(m), coord_add(s, s));
    let y = coord_sub(coord_mul(m, coord_sub(s, x)), coord_mul(w, p.y));
    return Xyzz(x, y, coord_mul(v, p.zz), coord_mul(w, p.zzz));
}

// a + p, 8M + 2S; the doubling of a repeated point costs 9 more and is rare.
fn xyzz_add_affine(a: Xyzz, p: Affine) -> Xyzz {
    if (affine_is_infinity(p)) { return a; }
    if (xyzz_is_infinity(a)) { return Xyzz(p.x, p.y, coord_one(), coord_one()); }
    let u = coord_sub(coord_mul(p.x, a.zz), a.x); // P: zero iff the x agree
    let r = coord_sub(coord_mul(p.y, a.zzz), a.y); // R: zero iff the y agree
    if (coord_is_zero(u)) {
        if (coord_is_zero(r)) { return xyzz_double(a); }
        return xyzz_infinity();
    }
    let pp = coord_sqr(u);
    let ppp = coord_mul(u, pp);
    let q = coord_mul(a.x, pp);
    let x = coord_sub(coord_sub(coord_sqr(r), ppp), coord_add(q, q));
    let y = coord_sub(coord_mul(r, coord_sub(q, x)), coord_mul(a.y, ppp));
    return Xyzz(x, y, coord_mul(a.zz, pp), coord_mul(a.zzz, ppp));
}

// a + b, 12M + 2S.
fn xyzz_add(a: Xyzz, b: Xyzz) -> Xyzz {
    if (xyzz_is_infinity(b)) { return a; }
    if (xyzz_is_infinity(a)) { return b; }
    let u1 = coord_mul(a.x, b.zz);
    let s1 = coord_mul(a.y, b.zzz);
    let u = coord_sub(coord_mul(b.x, a.zz), u1);
    let r = coord_sub(coord_mul(b.y, a.zzz), s1);
    if (coord_is_zero(u)) {
        if (coord_is_zero(r)) { return xyzz_double(a); }
        return xyzz_infinity();
    }
    let pp = coord_sqr(u);
    let ppp = coord_mul(u, pp);
    let q = coord_mul(u1, pp);
    let x = coord_sub(coord_sub(coord_sqr(r), ppp), coord_add(q, q));
    let y = coord_sub(coord_mul(r, coord_sub(q, x)), coord_mul(s1, ppp));
    let zz = coord_mul(coord_mul(a.zz, b.zz), pp);
    let zzz = coord_mul(coord_mul(a.zzz, b.zzz), ppp);
    return Xyzz(x, y, zz, zzz);
}
