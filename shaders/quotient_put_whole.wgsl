// The quotient goes out: h = plain - a, both at the same place before they are put in natural order.
@group(0) @binding(5) var<storage, read_write> plain: array<FrWords>;

fn put_out(a: Fr, place: u32) -> FrWords { return fr_pack(fr_sub(fr_unpack(plain[place & params.place_mask]), a)); }
