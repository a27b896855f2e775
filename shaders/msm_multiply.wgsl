// The next table of multiples: 2^doublings times each of n points, affine again, and canonical as uploaded points are:
// rounds of pairs know infinity by its zero words, and negate y where they expect it above -p.
struct MultiplyParams {
    group0: u32,
    n: u32,
    doublings: u32,
    // Where the first of the n is.
    from0: u32,
    // Where the first goes.
    to0: u32,
}

@group(0) @binding(0) var<uniform> params: MultiplyParams;
// All tables of a piece.
@group(0) @binding(1) var<storage, read_write> points: array<AffineWords>;

@compute @workgroup_size(64)
fn msm_multiply(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = (group.x + params.group0) * 64u + lane;
    if (i >= params.n) { return; }
    var sum = xyzz_from_affine(affine_unpack(points[params.from0 + i]));
    for (var k = 0u; k < params.doublings; k++) { sum = xyzz_add(sum, sum); }
    // 1 / Z = ZZ / ZZZ,  x = X / Z^2,  y = Y / ZZZ; the inverse of infinity's zero is zero.
    let inverse = coord_inverse(sum.zzz);
    var left = inverse;
    var right = sum.zz;
    var x = inverse;
    for (var step = 0u; step < 4u; step++) {
        let product = coord_mul(left, right);
        switch (step) {
            case 0u: { left = product; right = product; }
            case 1u: { left = product; right = sum.x; }
            case 2u: { x = product; left = inverse; right = sum.y; }
            default: { left = product; }
        }
    }
    points[params.to0 + i] = AffineWords(coord_words(coord_canonical(x)), coord_words(coord_canonical(left)));
}
