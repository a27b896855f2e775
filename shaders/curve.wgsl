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

// The formulas below are written as short programs: a loop over steps with one multiplication in it. Unrolled, the ten
// to fifteen copies of the multiplication in each formula overflow instruction caches and cost drivers seconds of
// compilation each; here a kernel holds two. A squaring is a multiplication of a value by itself.

// The common end of addition and doubling, 6M + 2S; a doubling takes one step more. Both formulas compute, from a difference P and
// a slope numerator R,
//     X3 = R^2 - PPP - 2 Q,   Y3 = R (Q - X3) - Y1 PPP,   Q = X1 PP,   ZZ3 = ZZ PP,   ZZZ3 = ZZZ PPP,
// where a doubling has P = 2 Y1, R = 3 X1^2 and no PPP in X3 (EFD's U, M; V = PP, W = PPP, S = Q). So a doubling is an
// addition with another P and R: one more squaring, where a branch of its own would double the code.
// Opposite points need no case of their own: P = 0 makes PP and with it ZZ3 zero, which is infinity.
fn chord(x1: Coord, y1: Coord, zz: Coord, zzz: Coord, difference: Coord, slope: Coord) -> Xyzz {
    let doubling = coord_is_zero(difference) && coord_is_zero(slope);
    var r = slope;
    var pp = coord_zero();
    var ppp = coord_zero();
    var q = coord_zero();
    var sum = Xyzz(x1, y1, zz, zzz);
    var left = difference;
    var right = difference;
    var step = 1u;
    if (doubling) {
        left = x1;
        right = x1;
        step = 0u;
    }
    for (; step < 9u; step++) {
        let product = coord_mul(left, right);
        switch (step) {
            case 0u: {
                r = coord_add(coord_add(product, product), product);
                left = coord_add(y1, y1);
                right = left;
            }
            case 1u: { pp = product; right = pp; }
            case 2u: { ppp = product; left = sum.x; }
            case 3u: { q = product; left = r; right = r; }
            case 4u: {
                sum.x = coord_sub(product, coord_add(q, q));
                if (!doubling) { sum.x = coord_sub(sum.x, ppp); }
                right = coord_sub(q, sum.x);
            }
            case 5u: { q = product; left = sum.y; right = ppp; }
            case 6u: { sum.y = coord_sub(q, product); left = sum.zzz; }
            case 7u: { sum.zzz = product; left = sum.zz; right = pp; }
            default: { sum.zz = product; }
        }
    }
    return sum;
}

// a + p, 8M + 2S (+ 1S where a = p).
fn xyzz_add_affine(a: Xyzz, p: Affine) -> Xyzz {
    if (affine_is_infinity(p)) { return a; }
    if (xyzz_is_infinity(a)) { return Xyzz(p.x, p.y, coord_one(), coord_one()); }
    var x = p.x;
    var y = p.y;
    var factor = a.zz;
    for (var step = 0u; step < 2u; step++) {
        // First x ZZ1, then, with both exchanged, y ZZZ1.
        let product = coord_mul(x, factor);
        x = y;
        y = product;
        factor = a.zzz;
    }
    // x and y have changed places twice.
    return chord(a.x, a.y, a.zz, a.zzz, coord_sub(x, a.x), coord_sub(y, a.y));
}

// a + b, 12M + 2S (+ 1S where a = b). When doubling, X1 and Y1 carry the factors ZZ2 and ZZZ2, and so does the result:
// (X1 ZZ2, Y1 ZZZ2, ZZ1 ZZ2, ZZZ1 ZZZ2) is the same point as a.
fn xyzz_add(a: Xyzz, b: Xyzz) -> Xyzz {
    if (xyzz_is_infinity(b)) { return a; }
    if (xyzz_is_infinity(a)) { return b; }
    var x1 = coord_zero();
    var y1 = coord_zero();
    var x2 = coord_zero();
    var y2 = coord_zero();
    var zz = coord_zero();
    var left = a.x;
    var right = b.zz;
    for (var step = 0u; step < 6u; step++) {
        let product = coord_mul(left, right);
        switch (step) {
            case 0u: { x1 = product; left = a.zz; }
            case 1u: { zz = product; right = b.x; }
            case 2u: { x2 = product; left = b.y; right = a.zzz; }
            case 3u: { y2 = product; left = b.zzz; right = a.y; }
            case 4u: { y1 = product; right = a.zzz; }
            default: { left = product; }
        }
    }
    return chord(x1, y1, zz, left, coord_sub(x2, x1), coord_sub(y2, y1));
}
