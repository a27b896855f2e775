// For tests and the bench of fields: out[i] is a[i] after `count` steps with b[i], each a multiplication or a squaring.
struct ProbeParams { group0: u32, n: u32, op: u32, count: u32 }
@group(0) @binding(0) var<uniform> params: ProbeParams;
@group(0) @binding(1) var<storage, read_write> a: array<FqWords>;
@group(0) @binding(2) var<storage, read_write> b: array<FqWords>;
@group(0) @binding(3) var<storage, read_write> out: array<FqWords>;

@compute @workgroup_size(64)
fn probe(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = (group.x + params.group0) * 64u + lane;
    if (i >= params.n) { return; }
    var r = fq_unpack(a[i]);
    let y = fq_unpack(b[i]);
    for (var k = 0u; k < params.count; k++) { r = fq_step(r, y); }
    out[i] = fq_pack(r);
}
