// Decimation in time (Cooley and Tukey, 1965): (u, v) to (u + wv, u - wv), from the tile's bottom bit up.
@compute @workgroup_size(256)
fn ntt_dit(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let tile = group.x + params.group0;
    let size = tile_size(tile);
    tile_load(tile, lane);
    workgroupBarrier();
    for (var bit = params.column_bits; bit < params.tile_bits; bit++) {
        if (2u * lane < size) {
            let b = butterfly(tile, lane, bit);
            let u = tile_get(b.at);
            var v = tile_get(b.other);
            if (b.bit != 0u) { v = fr_mul(v, twiddle(b)); }
            // A negative twiddle exchanges sum and difference.
            tile_set(select(b.at, b.other, b.negative), fr_add(u, v));
            tile_set(select(b.other, b.at, b.negative), fr_sub(u, v));
        }
        workgroupBarrier();
    }
    tile_store(tile, lane);
}
