// Buckets to the sums of one window, one bit of their numbers at a time.
//
// Wanted, per window: sum_i i A_i. With b running over the bits of i that is
//     sum_b 2^b O_b,    O_b = sum of the A_i whose i has bit b,
// so plain sums are enough, and the host gives them their weights. At level l a node covers 2^l neighbours and has
// l + 1 values: their sum S and the O_b of the lower bits. Two nodes make one: values add up, and O_l of the two is S of the
// right one. A thread adds one value of two nodes: n values of level 0 cost 2 n additions over all levels, as running
// sums do, but one after the other stand only log2 n of them.
//
// Node j of value v of window w lies at (w * values + v) * nodes + j. The last level leaves S, O_0, O_1, ... of whole
// windows.

struct ReduceParams {
    group0: u32,
    // Values of a node that comes in.
    values: u32,
    // Nodes of a window that go out: half of those that come in.
    nodes: u32,
    // Additions: windows * values * nodes.
    threads: u32,
}

@group(0) @binding(0) var<uniform> params: ReduceParams;
@group(0) @binding(1) var<storage, read_write> sums: array<XyzzWords>;
@group(0) @binding(2) var<storage, read_write> sums_out: array<XyzzWords>;

@compute @workgroup_size(64)
fn msm_reduce(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let t = (group.x + params.group0) * 64u + lane;
    if (t >= params.threads) { return; }
    let node = t % params.nodes;
    let row = t / params.nodes;
    let window = row / params.values;
    let right = sums[2u * t + 1u];
    // A window has one row more behind than before.
    sums_out[(row + window) * params.nodes + node] = xyzz_pack(xyzz_add(xyzz_unpack(sums[2u * t]), xyzz_unpack(right)));
    if (row % params.values == 0u) {
        sums_out[(row + window + params.values) * params.nodes + node] = right;
    }
}
