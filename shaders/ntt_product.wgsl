// Pointwise: to = a by. With both sides x * 2^256 and y * 2^256 the product is x y 2^512 / R.
struct ProductParams { group0: u32, n: u32, unused0: u32, unused1: u32 }

@group(0) @binding(0) var<uniform> params: ProductParams;
@group(0) @binding(1) var<storage, read_write> a: array<FrWords>;
@group(0) @binding(2) var<storage, read_write> by: array<FrWords>;
@group(0) @binding(3) var<storage, read_write> to: array<FrWords>;

@compute @workgroup_size(128)
fn ntt_product(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = (group.x + params.group0) * 128u + lane;
    if (i >= params.n) { return; }
    to[i] = fr_pack(fr_mul(fr_unpack(a[i]), fr_unpack(by[i])));
}
