@compute @workgroup_size(256)
fn scan_add(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let tile = group.x + params.group0;
    if (tile >= params.tiles) { return; }
    for (var k = 0u; k < 4u; k++) {
        let at = tile * 1024u + k * 256u + lane;
        if (at < params.n) { data[at] += sums[tile]; }
    }
}
