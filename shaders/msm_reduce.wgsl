// Buckets to one weighted sum per window, `segment` values at a time.
//
// Wanted, per window: sum_i i A_i. Cut A into segments of s; with i = s j + k, the sum is
//     sum_j (sum_k k A_{sj+k}) + s sum_j j (sum_k A_{sj+k}),
// local weighted sums plus s times the same problem on segment sums. Each level writes, per segment j, the sum A'_j
// and the weighted part T'_j = sum of the T before + 2^shift sum_k k A_{sj+k}, where 2^shift is the weight that a step
// has at this level. The last level leaves A' and T' of whole windows; T' + A' weighs buckets from 1.
//
// Inside a segment: running sums from the top, two additions a value. All of it goes through one call of `xyzz_add`
// (a doubling is an addition of a point to itself), since every inlined copy costs compile time and registers.

struct ReduceParams {
    group0: u32,
    // Values per window that come in and go out.
    n: u32,
    segments: u32,
    windows: u32,
    segment: u32,
    // Doublings that weigh this level.
    shift: u32,
    // 1: there is no T yet.
    first: u32,
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: ReduceParams;
@group(0) @binding(1) var<storage, read_write> sums: array<XyzzWords>;
@group(0) @binding(2) var<storage, read_write> weighted: array<XyzzWords>;
@group(0) @binding(3) var<storage, read_write> sums_out: array<XyzzWords>;
@group(0) @binding(4) var<storage, read_write> weighted_out: array<XyzzWords>;

@compute @workgroup_size(64)
fn msm_reduce(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let t = (group.x + params.group0) * 64u + lane;
    if (t >= params.segments * params.windows) { return; }
    let w = t / params.segments;
    let low = (t % params.segments) * params.segment;
    let count = min(params.segment, params.n - low);
    let base = w * params.n + low;
    // Both sums live in memory, where they end: registers that a long loop carries cost compilers more than they save.
    sums_out[t] = XyzzWords();
    weighted_out[t] = XyzzWords();
    // Steps: run and sum by turns over k = count-1 .. 1, run over k = 0, the doublings, the T that came in.
    let turns = 2u * (count - 1u);
    let doublings = turns + 1u + params.shift;
    let steps = doublings + select(count, 0u, params.first != 0u);
    for (var step = 0u; step < steps; step++) {
        let to_run = step <= turns && (step & 1u) == 0u;
        var left = weighted_out[t];
        var right = left; // the doublings
        if (to_run) {
            left = sums_out[t];
            right = sums[base + count - 1u - step / 2u];
        } else if (step < turns) {
            right = sums_out[t];
        } else if (step >= doublings) {
            right = weighted[base + step - doublings];
        }
        let result = xyzz_pack(xyzz_add(xyzz_unpack(left), xyzz_unpack(right)));
        if (to_run) { sums_out[t] = result; } else { weighted_out[t] = result; }
    }
}
