// The program of `curve.wgsl` with every value in a variable of its own, each step putting the product in its place and
// naming the next two factors: what software adapters get, whose compilers are quick with it. On GPUs eight
// coordinates, the two factors and the multiplication take more registers than leave enough threads resident.
fn xyzz_sum(a: Xyzz, b: Xyzz, zz2_is_one: bool) -> Xyzz {
    var x = a.x;
    var y = a.y;
    var zz = a.zz;
    var zzz = a.zzz;
    // X2, U2, P;  Y2, S2, R;  ZZ2, PP;  ZZZ2, PPP.
    var p = b.x;
    var r = b.y;
    var pp = b.zz;
    var ppp = b.zzz;
    var doubling = false;
    var left = p;
    var right = zz;
    for (var step = 0u; step < 15u; step++) {
        let product = coord_mul(left, right);
        switch (step) {
            case 0u: { p = product; left = r; right = zzz; }
            case 1u: {
                r = product;
                left = x;
                right = pp;
                if (zz2_is_one) { step = 5u; }
            }
            case 2u: { x = product; left = y; right = ppp; }
            case 3u: { y = product; left = zz; right = pp; }
            case 4u: { zz = product; left = zzz; right = ppp; }
            case 5u: { zzz = product; }
            case 6u: {
                r = coord_add(coord_add(product, product), product);
                p = coord_add(y, y);
                left = p;
                right = p;
            }
            case 7u: { pp = product; left = p; right = product; }
            case 8u: { ppp = product; left = x; right = pp; }
            case 9u: { x = product; left = zz; right = pp; } // Q
            case 10u: { zz = product; left = zzz; right = ppp; }
            case 11u: { zzz = product; left = y; right = ppp; }
            case 12u: { y = product; left = r; right = r; } // Y1 PPP
            case 13u: {
                if (doubling) { ppp = coord_zero(); }
                let x3 = coord_sub_two6(product, coord_add(x, x), ppp);
                left = r;
                right = coord_sub8(x, x3);
                x = x3;
            }
            default: { y = coord_sub2(product, y); }
        }
        if (step == 5u) {
            p = coord_sub8(p, x);
            r = coord_sub4(r, y);
            left = p;
            right = p;
            step = 6u;
            if (coord_is_zero(p)) {
                if (coord_is_zero(r)) {
                    doubling = true;
                    left = x;
                    right = x;
                    step = 5u;
                }
            }
        }
    }
    return Xyzz(x, y, zz, zzz);
}

