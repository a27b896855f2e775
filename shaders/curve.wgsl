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

// Both additions are one program: a loop over steps around one multiplication. Unrolled, the ten to fifteen copies of
// the multiplication in a formula overflow instruction caches and cost drivers seconds of compilation each.
//
// A step multiplies two of eight slots into a third. X1 Y1 ZZ1 ZZZ1 stand in slots 0 to 3, X2 Y2 ZZ2 ZZZ2 in 4 to 7:
//     steps 0, 1     X2 ZZ1,  Y2 ZZZ1                                        2M
//     steps 2 to 5   X1 ZZ2,  Y1 ZZZ2,  ZZ1 ZZ2,  ZZZ1 ZZZ2                  4M, where ZZ2 is not 1
// After these, whose results take their left factors' places,
//     P = X2 - X1,  R = Y2 - Y1                                              into slots 4, 5
// and the rest is common to addition and doubling:
//     X3 = R^2 - PPP - 2 Q,   Y3 = R (Q - X3) - Y1 PPP,   Q = X1 PP,   ZZ3 = ZZ PP,   ZZZ3 = ZZZ PPP,    6M + 2S
// where a doubling (P = R = 0) has P = 2 Y1, R = 3 X1^2 and no PPP in X3 (EFD's U, M; V = PP, W = PPP, S = Q). So a
// doubling is an addition with another P and R: one more squaring, step 6, where a branch of its own would double the
// code. It holds after steps 2 to 5 too: (X1 ZZ2, Y1 ZZZ2, ZZ1 ZZ2, ZZZ1 ZZZ2) is the same point as the first.
// Opposite points need no case of their own: P = 0 and R not 0 make PP and with it ZZ3 zero, which is infinity.
// A squaring is a multiplication of a slot by itself.
fn xyzz_sum(a: Xyzz, x2: Coord, y2: Coord, zz2: Coord, zzz2: Coord, zz2_is_one: bool) -> Xyzz {
    var slots = slots_of(a.x, a.y, a.zz, a.zzz, x2, y2, zz2, zzz2);
    var doubling = false;
    for (var step = 0u; step < 15u; step++) {
        if (step == 6u) {
            let p = coord_sub(slot(&slots, 4u), slot(&slots, 0u));
            let r = coord_sub(slot(&slots, 5u), slot(&slots, 1u));
            set_slot(&slots, 4u, p);
            set_slot(&slots, 5u, r);
            doubling = coord_is_zero(p) && coord_is_zero(r);
            if (!doubling) { step = 7u; }
        }
        // Slots of the left factor, the right factor and the result, a digit each.
        var code = 0u;
        switch (step) {
            case 0u: { code = 0x424u; } // X2 ZZ1
            case 1u: { code = 0x535u; } // Y2 ZZZ1
            case 2u, 9u: { code = 0x060u; } // X1 ZZ2; Q = X1 PP
            case 3u, 12u: { code = 0x171u; } // Y1 ZZZ2; Y1 PPP
            case 4u, 10u: { code = 0x262u; } // ZZ1 ZZ2; ZZ3 = ZZ PP
            case 5u, 11u: { code = 0x373u; } // ZZZ1 ZZZ2; ZZZ3 = ZZZ PPP
            case 6u: { code = 0x005u; } // X1^2
            case 7u: { code = 0x446u; } // PP
            case 8u: { code = 0x467u; } // PPP
            case 13u: { code = 0x554u; } // R^2
            default: {
                // R (Q - X3), with X3 in its place from here on.
                let x3 = slot(&slots, 4u);
                set_slot(&slots, 6u, coord_sub(slot(&slots, 0u), x3));
                set_slot(&slots, 0u, x3);
                code = 0x561u;
            }
        }
        var product = coord_mul(slot(&slots, code >> 8u), slot(&slots, (code >> 4u) & 7u));
        switch (step) {
            case 1u: {
                if (zz2_is_one) { step = 5u; }
            }
            case 6u: {
                product = coord_add(coord_add(product, product), product);
                let y = slot(&slots, 1u);
                set_slot(&slots, 4u, coord_add(y, y));
            }
            case 13u: {
                let q = slot(&slots, 0u);
                product = coord_sub(product, coord_add(q, q));
                if (!doubling) { product = coord_sub(product, slot(&slots, 7u)); }
            }
            case 14u: { product = coord_sub(product, slot(&slots, 1u)); }
            default: {}
        }
        set_slot(&slots, code & 7u, product);
    }
    return Xyzz(slot(&slots, 0u), slot(&slots, 1u), slot(&slots, 2u), slot(&slots, 3u));
}

// a + p, 8M + 2S (+ 1S where a = p).
fn xyzz_add_affine(a: Xyzz, p: Affine) -> Xyzz {
    if (affine_is_infinity(p)) { return a; }
    if (xyzz_is_infinity(a)) { return Xyzz(p.x, p.y, coord_one(), coord_one()); }
    return xyzz_sum(a, p.x, p.y, coord_one(), coord_one(), true);
}

// a + b, 12M + 2S (+ 1S where a = b).
fn xyzz_add(a: Xyzz, b: Xyzz) -> Xyzz {
    if (xyzz_is_infinity(b)) { return a; }
    if (xyzz_is_infinity(a)) { return b; }
    return xyzz_sum(a, b.x, b.y, b.zz, b.zzz, false);
}
