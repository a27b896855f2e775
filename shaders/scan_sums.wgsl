// One workgroup walks over all tile sums, 256 at a time.
@compute @workgroup_size(256)
fn scan_sums(@builtin(local_invocation_index) lane: u32) {
    var before = 0u;
    for (var first = 0u; first < params.tiles; first += 256u) {
        var own = 0u;
        if (first + lane < params.tiles) { own = sums[first + lane]; }
        let inclusive = lanes_inclusive(lane, own);
        if (first + lane < params.tiles) { sums[first + lane] = before + inclusive - own; }
        before += sh_sums[255];
        workgroupBarrier();
    }
}
