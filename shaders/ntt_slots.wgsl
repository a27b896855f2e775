// A vector in four bindings, of which bits `slot_bit` and `slot_bit + 1` of the place choose one.
@group(0) @binding(1) var<storage, read_write> data0: array<FrWords>;
@group(0) @binding(2) var<storage, read_write> data1: array<FrWords>;
@group(0) @binding(3) var<storage, read_write> data2: array<FrWords>;
@group(0) @binding(4) var<storage, read_write> data3: array<FrWords>;
@group(0) @binding(5) var<storage, read> inner: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read> factors: array<FrWords>;

fn vector_get(place: u32) -> FrWords {
    let at = place & params.place_mask;
    switch ((place >> params.slot_bit) & 3u) {
        case 0u: { return data0[at]; }
        case 1u: { return data1[at]; }
        case 2u: { return data2[at]; }
        default: { return data3[at]; }
    }
}

fn vector_put(place: u32, a: FrWords) {
    let at = place & params.place_mask;
    switch ((place >> params.slot_bit) & 3u) {
        case 0u: { data0[at] = a; }
        case 1u: { data1[at] = a; }
        case 2u: { data2[at] = a; }
        default: { data3[at] = a; }
    }
}
