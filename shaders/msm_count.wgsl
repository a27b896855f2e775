// First pass of the counting sort: how many entries each bucket of each set will hold.
@group(0) @binding(2) var<storage, read_write> counts: array<atomic<u32>>;

@compute @workgroup_size(128)
fn msm_count(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = (group.x + params.group0) * 128u + lane;
    if (i >= params.n) { return; }
    var s = scalar_load(i);
    var row = 0u;
    for (var w = 0u; w < params.windows; w++) {
        let d = scalar_next(&s, w);
        if (d.magnitude != 0u && row >= params.first && row < params.end) {
            atomicAdd(&counts[params.key0 + (row - params.first) * params.buckets + d.magnitude - 1u], 1u);
        }
        row += 1u;
        if (row == params.sets) { row = 0u; }
    }
}
