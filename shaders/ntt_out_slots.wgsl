// A page that is read, and four bindings that are written.
@group(0) @binding(1) var<storage, read_write> source: array<FrWords>;
@group(0) @binding(2) var<storage, read_write> data0: array<FrWords>;
@group(0) @binding(3) var<storage, read_write> data1: array<FrWords>;
@group(0) @binding(4) var<storage, read_write> data2: array<FrWords>;
@group(0) @binding(5) var<storage, read_write> data3: array<FrWords>;
@group(0) @binding(6) var<storage, read> inner: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read> factors: array<FrWords>;

fn target_put(k: u32, a: FrWords) {
    let at = k & params.target_mask;
    switch ((k >> params.target_bit) & 3u) {
        case 0u: { data0[at] = a; }
        case 1u: { data1[at] = a; }
        case 2u: { data2[at] = a; }
        default: { data3[at] = a; }
    }
}
