@compute @workgroup_size(64)
fn msm_pair_add(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let t = (group.x + params.group0) * 64u + lane;
    if (t >= params.threads) { return; }
    let count = pair_count();
    if (t >= count) { return; }
    var inverse = coord_unpack(products[t]);
    var i = t + (count - 1u - t) / params.threads * params.threads;
    loop {
        let p = pair(i);
        var x3 = coord_zero();
        var y3 = coord_zero();
        if (p.kind == NOTHING) {
            let one = p.a | p.b;
            if (one != 0u) {
                x3 = coord_unpack(item_x(one));
                y3 = item_y(one);
            }
        } else if (p.kind != OPPOSITE) {
            
            var f = coord_unpack(prefixes[i]);
            var g = inverse;
            var slope = f;
            for (var step = 0u; step < 6u; step++) {
                let m = coord_mul(f, g);
                switch (step) {
                    case 0u: { slope = m; f = p.denominator; }
                    case 1u: {
                        inverse = m;
                        if (p.kind == CHORD) {
                            f = coord_sub2(item_y(p.b), item_y(p.a));
                            g = slope;
                            step = 2u;
                        } else {
                            f = coord_unpack(item_x(p.a));
                            g = f;
                        }
                    }
                    case 2u: { f = coord_add(m, coord_add(m, m)); g = slope; }
                    case 3u: { slope = m; f = m; g = m; }
                    case 4u: {
                        let x1 = coord_unpack(item_x(p.a));
                        x3 = coord_sub(coord_sub(m, x1), coord_unpack(item_x(p.b)));
                        f = slope;
                        g = coord_sub2(x1, x3);
                    }
                    default: { y3 = coord_sub(m, item_y(p.a)); }
                }
            }

        }
        var to = i;
        if (params.round > 0u) { to = i << params.round; }
        points[to] = AffineWords(coord_pack(x3), coord_pack(y3));
        if (i < params.threads) { break; }
        i -= params.threads;
    }
}
