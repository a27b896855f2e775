// Partial sums into buckets: `msm_accumulate` once more, on sums instead of points, with keys instead of ends.
// Slots, keys and the rule that a bucket's partials are neighbours are explained there.

const NONE: u32 = 0xffffffffu;

struct MergeParams {
    group0: u32,
    // Partials that come in.
    n: u32,
    // Partials of one thread.
    chunk: u32,
    threads: u32,
}

@group(0) @binding(0) var<uniform> params: MergeParams;
@group(0) @binding(1) var<storage, read_write> keys: array<u32>;
@group(0) @binding(2) var<storage, read_write> points: array<XyzzWords>;
@group(0) @binding(3) var<storage, read_write> buckets: array<XyzzWords>;
@group(0) @binding(4) var<storage, read_write> partial_keys: array<u32>;
@group(0) @binding(5) var<storage, read_write> partials: array<XyzzWords>;

@compute @workgroup_size(64)
fn msm_merge(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let t = (group.x + params.group0) * 64u + lane;
    if (t >= params.threads) { return; }
    var head = NONE;
    var tail = NONE;
    let start = t * params.chunk;
    let stop = min(start + params.chunk, params.n);
    if (start < stop) {
        var key = keys[start];
        var began_before = start > 0u && key != NONE && keys[max(start, 1u) - 1u] == key;
        var sum = xyzz_infinity();
        for (var at = start; at < stop; at++) {
            let next = keys[at];
            if (next != key) {
                if (began_before) {
                    head = key;
                    partials[2u * t] = xyzz_pack(sum);
                } else if (key != NONE) {
                    buckets[key] = xyzz_pack(sum);
                }
                began_before = false;
                sum = xyzz_infinity();
                key = next;
            }
            if (key != NONE) { sum = xyzz_add(sum, xyzz_unpack(points[at])); }
        }
        let goes_on = key != NONE && stop < params.n && keys[min(stop, params.n - 1u)] == key;
        if (began_before) {
            head = key;
            partials[2u * t] = xyzz_pack(sum);
            if (goes_on) {
                tail = key;
                partials[2u * t + 1u] = xyzz_pack(xyzz_infinity());
            }
        } else if (goes_on) {
            tail = key;
            partials[2u * t + 1u] = xyzz_pack(sum);
        } else if (key != NONE) {
            buckets[key] = xyzz_pack(sum);
        }
    }
    partial_keys[2u * t] = head;
    partial_keys[2u * t + 1u] = tail;
}
