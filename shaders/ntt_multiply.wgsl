// Pointwise: data *= by. `ntt_product` in place, since a binding may not be two.
struct ProductParams { group0: u32, n: u32, unused0: u32, unused1: u32 }

@group(0) @binding(0) var<uniform> params: ProductParams;
@group(0) @binding(1) var<storage, read_write> data: array<FrWords>;
@group(0) @binding(2) var<storage, read_write> by: array<FrWords>;

@compute @workgroup_size(128)
fn ntt_multiply(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = (group.x + params.group0) * 128u + lane;
    if (i >= params.n) { return; }
    data[i] = fr_pack(fr_mul(fr_unpack(data[i]), fr_unpack(by[i])));
}
