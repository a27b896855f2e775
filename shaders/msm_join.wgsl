// Partial sums of short runs into buckets: what nearly all are, unless one digit is common. One thread for each border
// that a run crosses first; it adds the partials of at most `longest` threads one after the other. Longer runs are left
// to `msm_merge`, which then finds nothing else. Slots and keys are explained in `msm_accumulate`.

struct JoinParams {
    group0: u32,
    // Items of one accumulating thread.
    chunk: u32,
    // Accumulating threads.
    threads: u32,
    // Accumulating threads that a run may reach over.
    longest: u32,
    // Rounds of pairs before.
    rounds: u32,
}

@group(0) @binding(0) var<uniform> params: JoinParams;
// End of each bucket's run in the entries.
@group(0) @binding(1) var<storage, read_write> ends: array<u32>;
@group(0) @binding(2) var<storage, read_write> keys: array<u32>;
@group(0) @binding(3) var<storage, read_write> partials: array<XyzzWords>;
@group(0) @binding(4) var<storage, read_write> buckets: array<XyzzWords>;

@compute @workgroup_size(64)
fn msm_join(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let t = (group.x + params.group0) * 64u + lane;
    if (t >= params.threads) { return; }
    let key = keys[2u * t + 1u];
    if (key == NONE) { return; }
    // Who decides does so by `ends` alone, which nobody writes: keys of a run are cleared by its first thread only.
    var start = 0u;
    if (key > 0u) { start = end_of(key - 1u); }
    let last = (end_of(key) - 1u) / params.chunk;
    if (start / params.chunk != t || last - t >= params.longest) { return; }
    keys[2u * t + 1u] = NONE;
    var sum = xyzz_unpack(partials[2u * t + 1u]);
    for (var u = t + 1u; u <= last; u++) {
        sum = xyzz_add(sum, xyzz_unpack(partials[2u * u]));
        keys[2u * u] = NONE;
        // A thread that the run fills left infinity under the same key.
        if (u < last) { keys[2u * u + 1u] = NONE; }
    }
    buckets[key] = xyzz_pack(sum);
}
