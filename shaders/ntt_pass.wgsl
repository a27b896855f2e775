// One digit of the places in a vector transformed, in place.
@compute @workgroup_size(256)
fn ntt_pass(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let tile = group.x + params.group0;
    let acting = tile < params.tiles && lane < tile_lanes();
    let base = tile_place(tile);
    let taken = lane_place(lane, (params.along & 1u) != 0u);
    var x: array<Fr, 4>;
    if (acting) {
        let at = taken_places(taken);
        x[0] = fr_unpack(vector_get(min(base | within(at.x), params.last)));
        x[1] = fr_unpack(vector_get(min(base | within(at.y), params.last)));
        x[2] = fr_unpack(vector_get(min(base | within(at.z), params.last)));
        x[3] = fr_unpack(vector_get(min(base | within(at.w), params.last)));
    }
    var at = tile_levels(&x, taken, lane, acting);
    if (!acting) { return; }
    for (var e = 0u; e < params.elements; e++) {
        let place = base | within(at.x);
        if (place <= params.last) { vector_put(place, fr_pack(finished(x[0], place))); }
        at = at.yzwx;
        x = array<Fr, 4>(x[1], x[2], x[3], x[0]);
    }
}
