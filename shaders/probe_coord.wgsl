// Test-only: one coordinate function per operation number, out[i] = op(a[i], b[i]).
struct ProbeParams { group0: u32, n: u32, op: u32, count: u32 }
@group(0) @binding(0) var<uniform> params: ProbeParams;
@group(0) @binding(1) var<storage, read_write> a: array<CoordWords>;
@group(0) @binding(2) var<storage, read_write> b: array<CoordWords>;
@group(0) @binding(3) var<storage, read_write> out: array<CoordWords>;

@compute @workgroup_size(64)
fn probe_coord(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = (group.x + params.group0) * 64u + lane;
    if (i >= params.n) { return; }
    let x = coord_unpack(a[i]);
    let y = coord_unpack(b[i]);
    var r = coord_zero();
    switch (params.op) {
        case 0u: { r = coord_mul(x, y); }
        case 1u: { r = coord_add(x, y); }
        case 2u: { r = coord_sub(x, y); }
        case 3u: { if (coord_is_zero(x)) { r = coord_one(); } }
        case 4u: { r = coord_inverse(x); }
        case 5u: { r = coord_sub2(x, y); }
        case 6u: { r = coord_sub4(x, y); }
        case 7u: { r = coord_sub_two6(x, y, y); }
        case 8u: { r = coord_mul(coord_sub8(x, y), coord_sub8(y, x)); }
        case 9u: { if (coord_is_zero(coord_sub8(x, y))) { r = coord_one(); } }
        case 10u: { if (coord_is_zero(coord_sub4(coord_add(x, x), coord_add(y, y)))) { r = coord_one(); } }
        // From words and to words, as rounds of pairs do.
        case 11u, 12u, 13u: {
            let product = coord_mul(coord_diff(coord_digits(a[i]), coord_digits(b[i])), y);
            let left = coord_digits(a[i]);
            let right = coord_digits(b[i]);
            switch (params.op) {
                case 11u: { out[i] = coord_words(coord_chord_x(product, left, right)); }
                case 12u: { out[i] = coord_words(coord_chord_y(product, right)); }
                default: { out[i] = coord_words(coord_chord_y(product, coord_negated_if(left, true))); }
            }
            return;
        }
        case 14u: { if (coord_is_zero(coord_diff(coord_digits(a[i]), coord_digits(b[i])))) { r = coord_one(); } }
        case 15u, 16u: {
            let left = coord_negated_if(coord_digits(a[i]), params.op == 16u);
            r = coord_mul(coord_diff_carried(left, coord_negated_if(coord_digits(b[i]), params.op == 15u)), y);
        }
        default: { r = coord_one(); }
    }
    out[i] = coord_pack(r);
}
