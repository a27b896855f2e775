// The transform itself is what goes out.
fn put_out(a: Fr, place: u32) -> FrWords { return fr_pack(a); }
