// The field interface that `probe_field.wgsl` runs, over Fr.
alias Field = Fr;
alias FieldWords = FrWords;
fn field_zero() -> Field { return fr_zero(); }
fn field_one() -> Field { return fr_one(); }
fn field_unpack(v: FieldWords) -> Field { return fr_unpack(v); }
fn field_pack(a: Field) -> FieldWords { return fr_pack(a); }
// Of what has limbs as memory has them.
fn field_words(a: Field) -> FieldWords { return fr_pack(a); }
fn field_mul(a: Field, b: Field) -> Field { return fr_mul(a, b); }
fn field_sqr(a: Field) -> Field { return fr_sqr(a); }
fn field_add(a: Field, b: Field) -> Field { return fr_add(a, b); }
fn field_add_lazy(a: Field, b: Field) -> Field { return fr_add_lazy(a, b); }
fn field_sub(a: Field, b: Field) -> Field { return fr_sub(a, b); }
fn field_neg(a: Field) -> Field { return fr_neg(a); }
fn field_canonical(a: Field) -> Field { return fr_canonical(a); }
fn field_is_zero(a: Field) -> bool { return fr_is_zero(a); }
