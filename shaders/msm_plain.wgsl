// Scalars to what digits are cut from, once for all windows and batches of sets.
//
// A scalar s arrives with a factor; one multiplication by `scale` makes it plain and one subtraction canonical. Where
// s > (r-1)/2, r - s is stored with bit 255 set, and every digit changes its sign, so that 254 bits remain and -1 costs
// what 1 costs.

struct PlainParams {
    group0: u32,
    // Bases, and so threads that act.
    n: u32,
    // 1: base i takes scalar map[i] - scalar0; 0: base i takes scalar i.
    mapped: u32,
    scalar0: u32,
    scale: FrWords,
}

@group(0) @binding(0) var<uniform> params: PlainParams;
@group(0) @binding(1) var<storage, read_write> scalars: array<FrWords>;
@group(0) @binding(2) var<storage, read> map: array<u32>;
@group(0) @binding(3) var<storage, read_write> plain: array<FrWords>;

// a < b for 256-bit integers: the borrow out of a - b.
fn below(a: FrWords, b: FrWords) -> bool {
    for (var v = 1; v >= 0; v--) {
        for (var k = 3; k >= 0; k--) {
            if (a[v][k] != b[v][k]) { return a[v][k] < b[v][k]; }
        }
    }
    return false;
}

@compute @workgroup_size(128)
fn msm_plain(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = (group.x + params.group0) * 128u + lane;
    if (i >= params.n) { return; }
    var at = i;
    if (params.mapped != 0u) { at = map[i] - params.scalar0; }
    let s = fr_canonical(fr_mul(fr_unpack(scalars[at]), fr_unpack(params.scale)));
    var words = fr_pack(s);
    var opposite = fr_pack(fr_canonical(fr_neg(s)));
    if (below(opposite, words)) {
        opposite[1].w |= 0x80000000u;
        words = opposite;
    }
    plain[i] = words;
}
