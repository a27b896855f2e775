// The last step of the quotient: h[i] = plain[i] - g^-i coset[i], read in bit-reversed and written in natural order.
// Which elements go from which page to which is explained in `ntt_permute.wgsl`.
struct CombineParams {
    group0: u32,
    // Elements that move: 2^bits.
    n: u32,
    bits: u32,
    stride_bits: u32,
    from0: u32,
    to0: u32,
    // Index in the vector of the first element of the page that is written.
    first: u32,
    low_bits: u32,
}

@group(0) @binding(0) var<uniform> params: CombineParams;
@group(0) @binding(1) var<storage, read_write> plain: array<FrWords>;
@group(0) @binding(2) var<storage, read_write> coset: array<FrWords>;
@group(0) @binding(3) var<storage, read_write> quotient: array<FrWords>;
@group(0) @binding(4) var<storage, read> high: array<FrWords>;
@group(0) @binding(5) var<storage, read> low: array<FrWords>;

@compute @workgroup_size(128)
fn quotient_combine(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = (group.x + params.group0) * 128u + lane;
    if (i >= params.n) { return; }
    let from_at = (i << params.stride_bits) + params.from0;
    let to_at = (reverse(i, params.bits) << params.stride_bits) + params.to0;
    let shifted = fr_mul(fr_unpack(coset[from_at]), series(params.first + to_at));
    quotient[to_at] = fr_pack(fr_sub(fr_unpack(plain[from_at]), shifted));
}
