// Inverses of n products, `per` of them by one inversion.
struct InvertParams {
    group0: u32,
    n: u32,
    threads: u32,
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: InvertParams;
@group(0) @binding(1) var<storage, read_write> products: array<CoordWords>;
@group(0) @binding(2) var<storage, read_write> prefixes: array<CoordWords>;

@compute @workgroup_size(32)
fn msm_pair_invert(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let t = (group.x + params.group0) * 32u + lane;
    if (t >= params.threads) { return; }
    var product = coord_unpack(products[t]);
    for (var i = t + params.threads; i < params.n; i += params.threads) {
        prefixes[i] = coord_pack(product);
        product = coord_mul(product, coord_unpack(products[i]));
    }
    var inverse = coord_inverse(product);
    var i = t + (params.n - 1u - t) / params.threads * params.threads;
    while (i > t) {
        let factor = coord_unpack(products[i]);
        products[i] = coord_pack(coord_mul(inverse, coord_unpack(prefixes[i])));
        inverse = coord_mul(inverse, factor);
        i -= params.threads;
    }
    products[t] = coord_pack(inverse);
}
