// A page that is read, and one binding that is written.
@group(0) @binding(1) var<storage, read_write> source: array<FrWords>;
@group(0) @binding(2) var<storage, read_write> data: array<FrWords>;
@group(0) @binding(3) var<storage, read> inner: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> factors: array<FrWords>;

fn target_put(k: u32, a: FrWords) { data[k & params.target_mask] = a; }
