// Test-only: point functions, out[i] = op(a[i], b[i]).
struct ProbeParams { group0: u32, n: u32, op: u32, count: u32 }
@group(0) @binding(0) var<uniform> params: ProbeParams;
@group(0) @binding(1) var<storage, read> points: array<AffineWords>;
@group(0) @binding(2) var<storage, read_write> a: array<XyzzWords>;
@group(0) @binding(3) var<storage, read_write> b: array<XyzzWords>;
@group(0) @binding(4) var<storage, read_write> out: array<XyzzWords>;

@compute @workgroup_size(64)
fn probe_curve(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = (group.x + params.group0) * 64u + lane;
    if (i >= params.n) { return; }
    let p = affine_unpack(points[i]);
    let x = xyzz_unpack(a[i]);
    var r = xyzz_infinity();
    switch (params.op) {
        case 0u, 1u: { r = xyzz_add_affine(x, affine_negate_if(p, params.op == 1u)); }
        case 2u: { r = xyzz_add(x, xyzz_unpack(b[i])); }
        default: { r = xyzz_from_affine(p); }
    }
    out[i] = xyzz_pack(r);
}
