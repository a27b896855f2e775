// Last pass of the counting sort: each entry to its place. `cursor` enters as the start of every bucket and leaves as
// its end. The order inside a bucket is whatever the atomics made it; a sum of points does not depend on it.
@group(0) @binding(2) var<storage, read_write> cursor: array<atomic<u32>>;
// One more than the index of a base, with bit 31 set where its point is to be subtracted.
@group(0) @binding(3) var<storage, read_write> entries: array<u32>;

@compute @workgroup_size(128)
fn msm_scatter(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = (group.x + params.group0) * 128u + lane;
    if (i >= params.n) { return; }
    var s = scalar_load(i);
    var row = 0u;
    var base = params.base0 + i + 1u;
    for (var w = 0u; w < params.windows; w++) {
        let d = scalar_next(&s, w);
        if (d.magnitude != 0u && row >= params.first && row < params.end) {
            let at = atomicAdd(&cursor[params.key0 + (row - params.first) * params.buckets + d.magnitude - 1u], 1u);
            entries[at] = base | select(0u, 0x80000000u, d.negative);
        }
        row += 1u;
        if (row == params.sets) {
            row = 0u;
            base += params.stride;
        }
    }
}
