// `quotient_put_whole.wgsl` beside four bindings that are written.
@group(0) @binding(8) var<storage, read_write> plain: array<FrWords>;

fn put_out(a: Fr, place: u32) -> FrWords { return fr_pack(fr_sub(fr_unpack(plain[place & params.place_mask]), a)); }
