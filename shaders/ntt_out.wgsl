// The last digit transformed, and everything written in natural order to another vector.
//
// Place k_1 k_2 .. k_D, k_1 topmost, holds the output k = k_1 + N_1 (k_2 + N_2 (k_3 + ..)). A tile's rows are k_D; its
// columns are neighbours in k_1, so that they are neighbours in what is written as well. Four bits each, from the lowest
// on, `digits` holds the widths of the digits from the topmost on. `last_digit` is where k_D goes.
//
// What is written may lie in more bindings than there are: of these only those of `window` are written, and the same work
// is done for each window.

// The output at a place.
fn natural(place: u32) -> u32 {
    var k = 0u;
    var at = 0u;
    var widths = params.digits;
    for (var top = params.log_n; top > 0u; widths >>= 4u) {
        let width = widths & 15u;
        top -= width;
        k |= ((place >> top) & ((1u << width) - 1u)) << at;
        at += width;
    }
    return k;
}

@compute @workgroup_size(256)
fn ntt_out(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let tile = group.x + params.group0;
    let acting = tile < params.tiles && lane < tile_lanes();
    let base = tile_place(tile);
    let taken = lane_place(lane, (params.along & 1u) != 0u);
    var x: array<Fr, 4>;
    if (acting) {
        let at = taken_places(taken);
        x[0] = fr_unpack(source[min(base | within(at.x), params.last) & params.place_mask]);
        x[1] = fr_unpack(source[min(base | within(at.y), params.last) & params.place_mask]);
        x[2] = fr_unpack(source[min(base | within(at.z), params.last) & params.place_mask]);
        x[3] = fr_unpack(source[min(base | within(at.w), params.last) & params.place_mask]);
    }
    var at = tile_levels(&x, taken, lane, acting);
    if (!acting) { return; }
    let out = natural(base);
    for (var e = 0u; e < params.elements; e++) {
        let place = base | within(at.x);
        let k = out | (row_of(at.x) << params.last_digit) | column_of(at.x);
        // Twice by 31 at most, since all bits may be the binding's own.
        if (place <= params.last && ((k >> params.target_bit) >> 1u) >> 1u == params.window) {
            target_put(k, put_out(finished(x[0], place), place));
        }
        at = at.yzwx;
        x = array<Fr, 4>(x[1], x[2], x[3], x[0]);
    }
}
