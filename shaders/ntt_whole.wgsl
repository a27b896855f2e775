// A vector, or a page of one, in one binding.
@group(0) @binding(1) var<storage, read_write> data: array<FrWords>;
@group(0) @binding(2) var<storage, read> inner: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> factors: array<FrWords>;

fn vector_get(place: u32) -> FrWords { return data[place & params.place_mask]; }

fn vector_put(place: u32, a: FrWords) { data[place & params.place_mask] = a; }
