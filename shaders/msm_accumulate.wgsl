// Sorted items into buckets: entries, or what rounds of pairs made of them (`msm_pair`). Every thread takes the same
// number of consecutive items, wherever bucket boundaries fall: a run of entries of one bucket that lies inside a
// thread's chunk is summed and stored; a run that crosses a chunk's border leaves a partial sum, and `msm_merge` sums
// those the same way until none is left. What a bucket holds from earlier pieces of the bases goes in where its run
// begins. So the work is even for any distribution of digits, a bucket that holds
// everything included.
//
// A thread owns two partial slots. Slot 2t is its first run, if that began in an earlier chunk; slot 2t+1 its last
// run, if that goes on in the next. A run that covers the whole chunk fills slot 2t and leaves infinity under the
// same key in slot 2t+1, so that the partials of one bucket are always neighbours. An unused slot has the key NONE.

struct AccumulateParams {
    group0: u32,
    // Buckets of the batch of sets.
    keys: u32,
    // Items of one thread.
    chunk: u32,
    threads: u32,
    // Rounds of pairs before: 2^rounds entries are one item, which is a point; else an entry is an item.
    rounds: u32,
    // 1 if buckets hold sums of earlier pieces, to which this one is added; else they hold nothing yet.
    onto: u32,
}

@group(0) @binding(0) var<uniform> params: AccumulateParams;
@group(0) @binding(1) var<storage, read> bases: array<AffineWords>;
// End of each bucket's run in `entries`.
@group(0) @binding(2) var<storage, read_write> ends: array<u32>;
@group(0) @binding(3) var<storage, read_write> entries: array<u32>;
@group(0) @binding(4) var<storage, read_write> buckets: array<XyzzWords>;
@group(0) @binding(5) var<storage, read_write> partial_keys: array<u32>;
@group(0) @binding(6) var<storage, read_write> partials: array<XyzzWords>;
@group(0) @binding(7) var<storage, read_write> points: array<AffineWords>;

// The bucket of position `at`: the first, from `low` on, that ends beyond it.
fn bucket_of(at: u32, low: u32) -> u32 {
    var first = low;
    var last = params.keys - 1u;
    while (first < last) {
        let middle = (first + last) / 2u;
        if (end_of(middle) > at) { last = middle; } else { first = middle + 1u; }
    }
    return first;
}

@compute @workgroup_size(64)
fn msm_accumulate(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let t = (group.x + params.group0) * 64u + lane;
    if (t >= params.threads) { return; }
    var head = NONE;
    var tail = NONE;
    let total = end_of(params.keys - 1u);
    let start = t * params.chunk;
    if (start < total) {
        let stop = min(start + params.chunk, total);
        var key = bucket_of(start, 0u);
        var end = end_of(key);
        var began_before = false;
        if (key == 0u) { began_before = start != 0u; } else { began_before = end_of(key - 1u) != start; }
        var sum = xyzz_infinity();
        var begins = !began_before;
        for (var at = start; at < stop; at++) {
            if (at == end) {
                if (began_before) {
                    head = key;
                    partials[2u * t] = xyzz_pack(sum);
                } else {
                    buckets[key] = xyzz_pack(sum);
                }
                began_before = false;
                begins = true;
                key += 1u;
                if (end_of(key) <= at) { key = bucket_of(at, key + 1u); }
                end = end_of(key);
            }
            if (begins) {
                begins = false;
                sum = xyzz_infinity();
                if (params.onto != 0u) { sum = xyzz_unpack(buckets[key]); }
            }
            var negative = false;
            var words: AffineWords;
            if (params.rounds > 0u) {
                words = points[at << (params.rounds - 1u)];
            } else {
                let entry = entries[at];
                negative = entry >= 0x80000000u;
                words = bases[(entry & 0x7fffffffu) - 1u];
            }
            sum = xyzz_add_affine(sum, affine_negate_if(affine_unpack(words), negative));
        }
        let goes_on = end > stop;
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
        } else {
            buckets[key] = xyzz_pack(sum);
        }
    }
    partial_keys[2u * t] = head;
    partial_keys[2u * t + 1u] = tail;
}
