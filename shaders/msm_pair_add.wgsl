// The backward pass of a round: 4M + 1S a pair, one more squaring for equal points. As in `curve.wgsl` a loop over
// steps around one multiplication. Coordinates are loaded again where they are needed, which costs less than to hold
// them.
@compute @workgroup_size(64)
fn msm_pair_add(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let t = (group.x + params.group0) * 64u + lane;
    if (t >= params.threads) { return; }
    let count = pair_count();
    if (t >= count) { return; }
    // Of the product of the denominators up to that of pair i.
    var inverse = coord_unpack(products[t]);
    var i = t + (count - 1u - t) / params.threads * params.threads;
    loop {
        // Asked for before what the tests wait for.
        let before = prefixes[i];
        let p = pair(i);
        var sum: AffineWords;
        if (p.kind == NOTHING) {
            let other = p.a | p.b;
            if (other != 0u) { sum = AffineWords(item_x(other), coord_words(coord_settle(item_y(other)))); }
        } else if (p.kind != OPPOSITE) {
            var left = coord_digits(before);
            var right = inverse;
            // First the inverse of this pair's denominator.
            var slope = left;
            for (var step = 0u; step < 6u; step++) {
                let product = coord_mul(left, right);
                switch (step) {
                    case 0u: { slope = product; left = p.denominator; }
                    case 1u: {
                        inverse = product;
                        if (p.kind == CHORD) {
                            left = coord_diff_carried(item_y(p.b), item_y(p.a));
                            right = slope;
                            step = 2u;
                        } else {
                            left = coord_unpack(item_x(p.a));
                            right = left;
                        }
                    }
                    case 2u: { left = coord_add(product, coord_add(product, product)); right = slope; }
                    case 3u: { slope = product; left = product; right = product; }
                    case 4u: {
                        let x1 = coord_digits(item_x(p.a));
                        let x3 = coord_chord_x(product, x1, coord_digits(item_x(p.b)));
                        sum.x = coord_words(x3);
                        left = coord_diff(x1, x3);
                        right = slope;
                    }
                    default: { sum.y = coord_words(coord_chord_y(product, item_y(p.a))); }
                }
            }
        }
        points[i << params.round] = sum;
        if (i < params.threads) { break; }
        i -= params.threads;
    }
}
