// For tests, the self-test and the choice of a limb format: one field function per operation number, out[i] = op(a[i], b[i]). The field comes from `probe_fr.wgsl` or `probe_fq.wgsl`.
struct ProbeParams { group0: u32, n: u32, op: u32, count: u32 }
@group(0) @binding(0) var<uniform> params: ProbeParams;
@group(0) @binding(1) var<storage, read_write> a: array<FieldWords>;
@group(0) @binding(2) var<storage, read_write> b: array<FieldWords>;
@group(0) @binding(3) var<storage, read_write> out: array<FieldWords>;

@compute @workgroup_size(64)
fn probe(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = (group.x + params.group0) * 64u + lane;
    if (i >= params.n) { return; }
    let x = field_unpack(a[i]);
    let y = field_unpack(b[i]);
    var r = field_zero();
    switch (params.op) {
        case 0u: { r = field_mul(x, y); }
        case 1u: { r = field_sqr(x); }
        case 2u: { r = field_add(x, y); }
        case 3u: { r = field_sub(x, y); }
        case 4u: { r = field_neg(x); }
        case 5u: {
            out[i] = field_words(field_canonical(x));
            return;
        }
        case 6u: { if (field_is_zero(x)) { r = field_one(); } }
        case 7u: { r = field_mul(field_add_lazy(x, y), field_add_lazy(y, y)); }
        case 8u: { r = field_sqr(field_add_lazy(x, y)); }
        case 9u: {
            // A chain of dependent multiplications: x y^count.
            r = x;
            for (var k = 0u; k < params.count; k++) { r = field_mul(r, y); }
        }
        default: { r = field_one(); }
    }
    out[i] = field_pack(r);
}
