// The program of `curve.wgsl` with its values in memory of the thread, by run-time index: what GPUs get. Two loads and a
// store a multiplication, of 52 to 240 bytes each, cost less than eight coordinates in registers, above all in G2,
// where they do not fit.
//
// A step multiplies two of eight slots into a third. X1 Y1 ZZ1 ZZZ1 stand in slots 0 to 3, X2 Y2 ZZ2 ZZZ2 in 4 to 7;
// U2, S2, then P, R take slots 4 and 5, PP and PPP slots 6 and 7, Q slot 0.
fn xyzz_sum(a: Xyzz, b: Xyzz, zz2_is_one: bool) -> Xyzz {
    var slots = array<Coord, 8>(a.x, a.y, a.zz, a.zzz, b.x, b.y, b.zz, b.zzz);
    var doubling = false;
    for (var step = 0u; step < 15u; step++) {
        if (step == 6u) {
            let p = coord_sub8(slots[4u], slots[0u]);
            let r = coord_sub4(slots[5u], slots[1u]);
            slots[4u] = p;
            slots[5u] = r;
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
                let x3 = slots[4u];
                slots[6u] = coord_sub8(slots[0u], x3);
                slots[0u] = x3;
                code = 0x561u;
            }
        }
        var product = coord_mul(slots[code >> 8u], slots[(code >> 4u) & 7u]);
        switch (step) {
            case 1u: {
                if (zz2_is_one) { step = 5u; }
            }
            case 6u: {
                product = coord_add(coord_add(product, product), product);
                let y = slots[1u];
                slots[4u] = coord_add(y, y);
            }
            case 13u: {
                let q = slots[0u];
                var ppp = slots[7u];
                if (doubling) { ppp = coord_zero(); }
                product = coord_sub_two6(product, coord_add(q, q), ppp);
            }
            case 14u: { product = coord_sub2(product, slots[1u]); }
            default: {}
        }
        slots[code & 7u] = product;
    }
    return Xyzz(slots[0u], slots[1u], slots[2u], slots[3u]);
}
