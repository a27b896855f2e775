// Exclusive prefix sum of u32 in three dispatches: tiles, the sums of the tiles, and the sums added back.
// A tile is 1024 values: 256 lanes of four.

struct ScanParams {
    group0: u32,
    n: u32,
    // Tiles: ceil(n / 1024).
    tiles: u32,
    // Values are rounded up to multiples of 1 more than this, a power of two.
    slack: u32,
}

@group(0) @binding(0) var<uniform> params: ScanParams;
@group(0) @binding(1) var<storage, read_write> data: array<u32>;
@group(0) @binding(2) var<storage, read_write> sums: array<u32>;

var<workgroup> sh_sums: array<u32, 256>;

// Inclusive prefix sum over the lanes, by doubling distance (Hillis and Steele).
fn lanes_inclusive(lane: u32, value: u32) -> u32 {
    var sum = value;
    sh_sums[lane] = sum;
    workgroupBarrier();
    for (var distance = 1u; distance < 256u; distance <<= 1u) {
        var other = 0u;
        if (lane >= distance) { other = sh_sums[lane - distance]; }
        workgroupBarrier();
        sum += other;
        sh_sums[lane] = sum;
        workgroupBarrier();
    }
    return sum;
}
