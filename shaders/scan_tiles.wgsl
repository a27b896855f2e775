@compute @workgroup_size(256)
fn scan_tiles(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let tile = group.x + params.group0;
    let first = tile * 1024u + lane * 4u;
    var values = vec4<u32>();
    for (var k = 0u; k < 4u; k++) {
        if (first + k < params.n) { values[k] = (data[first + k] + params.slack) & ~params.slack; }
    }
    let own = values.x + values.y + values.z + values.w;
    let inclusive = lanes_inclusive(lane, own);
    var running = inclusive - own;
    for (var k = 0u; k < 4u; k++) {
        if (first + k < params.n) { data[first + k] = running; }
        running += values[k];
    }
    if (lane == 255u && tile < params.tiles) { sums[tile] = inclusive; }
}
