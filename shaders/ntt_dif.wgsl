// Decimation in frequency (Gentleman and Sande, 1966): (u, v) to (u + v, (u - v) w), from the tile's top bit down.
@compute @workgroup_size(256)
fn ntt_dif(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let tile = group.x + params.group0;
    let size = tile_size(tile);
    tile_load(tile, lane);
    workgroupBarrier();
    for (var bit = params.tile_bits; bit > params.column_bits; bit--) {
        if (2u * lane < size) {
            let b = butterfly(tile, lane, bit - 1u);
            // A negative twiddle turns the difference around and leaves the sum as it is.
            let u = tile_get(select(b.at, b.other, b.negative));
            let v = tile_get(select(b.other, b.at, b.negative));
            var difference = fr_sub(u, v);
            if (b.bit != 0u) { difference = fr_mul(difference, twiddle(b)); }
            tile_set(b.at, fr_add(u, v));
            tile_set(b.other, difference);
        }
        workgroupBarrier();
    }
    tile_store(tile, lane);
}
