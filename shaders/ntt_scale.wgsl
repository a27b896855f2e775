// Each element times factor * base^i, where i is its index: a shift to or from a coset, or just 1/n (base 1).
struct ScaleParams {
    group0: u32,
    // Elements of this binding, and the index of its first in the vector.
    n: u32,
    first: u32,
    log_n: u32,
    low_bits: u32,
    // 1: the vector is in bit-reversed order.
    reversed: u32,
    unused0: u32,
    unused1: u32,
}

@group(0) @binding(0) var<uniform> params: ScaleParams;
@group(0) @binding(1) var<storage, read_write> data: array<FrWords>;
@group(0) @binding(2) var<storage, read> high: array<FrWords>;
@group(0) @binding(3) var<storage, read> low: array<FrWords>;

@compute @workgroup_size(128)
fn ntt_scale(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = (group.x + params.group0) * 128u + lane;
    if (i >= params.n) { return; }
    var index = params.first + i;
    if (params.reversed != 0u) { index = reverse(index, params.log_n); }
    data[i] = fr_pack(fr_mul(fr_unpack(data[i]), series(index)));
}
