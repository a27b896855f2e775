// Elements to another place, in the same order or with the bits of their index reversed.
//
// Of a vector of 2^P pages of 2^q elements, those that go from page a to page b when all bits are reversed are the
// ones of index (z << P) | reverse(b) in page a, and they land at (reverse(z) << P) | reverse(a), with z of q - P bits.
struct PermuteParams {
    group0: u32,
    // Elements that move; 2^bits if reversed.
    n: u32,
    bits: u32,
    // P, and the places of element 0.
    stride_bits: u32,
    from0: u32,
    to0: u32,
    // 1: bits are reversed.
    reversed: u32,
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: PermuteParams;
@group(0) @binding(1) var<storage, read_write> source: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> destination: array<vec4<u32>>;

@compute @workgroup_size(128)
fn ntt_permute(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = (group.x + params.group0) * 128u + lane;
    if (i >= params.n) { return; }
    var j = i;
    if (params.reversed != 0u) { j = reverse(i, params.bits); }
    let a = 2u * ((i << params.stride_bits) + params.from0);
    let b = 2u * ((j << params.stride_bits) + params.to0);
    destination[b] = source[a];
    destination[b + 1u] = source[a + 1u];
}
