// The forward pass of a round: 1M a pair.
@compute @workgroup_size(64)
fn msm_pair_products(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let t = (group.x + params.group0) * 64u + lane;
    if (t >= params.threads) { return; }
    let count = pair_count();
    var product = coord_one();
    for (var i = t; i < count; i += params.threads) {
        let p = pair(i);
        if (p.kind == CHORD || p.kind == TANGENT) {
            prefixes[i] = coord_pack(product);
            product = coord_mul(p.denominator, product);
        }
    }
    products[t] = coord_pack(product);
}
