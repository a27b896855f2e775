// For tests: arithmetic of transforms, out[i] = op(a[i], f[i]), on numbers as loose as a transform of ten levels makes them.
struct ProbeParams { group0: u32, n: u32, op: u32, count: u32 }
@group(0) @binding(0) var<uniform> params: ProbeParams;
@group(0) @binding(1) var<storage, read_write> a: array<FrWords>;
@group(0) @binding(2) var<storage, read> f: array<FrFixed>;
@group(0) @binding(3) var<storage, read_write> out: array<FrWords>;

// x + 50p, the limbs of which the last two levels left as they were.
fn loosest(x: Fr) -> Fr {
    var y = x;
    for (var step = 0u; step < 5u; step++) {
        y = fr_sub_loose(fr_sub_loose(fr_tidy(y), fr_zero()), fr_zero());
    }
    return y;
}

@compute @workgroup_size(64)
fn probe_fixed(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = (group.x + params.group0) * 64u + lane;
    if (i >= params.n) { return; }
    let x = fr_unpack(a[i]);
    var r = fr_zero();
    switch (params.op) {
        case 0u: { r = fr_mul_fixed(x, f[i]); }
        case 1u: { r = fr_mul_fixed(loosest(x), f[i]); }
        case 2u: { r = fr_settle(fr_tidy(loosest(x))); }
        case 3u: { r = fr_mul(fr_tidy(loosest(x)), fr_canonical(x)); }
        case 4u: { r = fr_mul_fixed(fr_sub_loose(x, fr_add_loose(x, x)), f[i]); }
        default: { r = fr_one(); }
    }
    out[i] = fr_pack(r);
}
