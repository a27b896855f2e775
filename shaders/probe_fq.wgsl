// The field interface that `probe_field.wgsl` runs, over Fq.
alias Field = Fq;
alias FieldWords = FqWords;
fn field_zero() -> Field { return fq_zero(); }
fn field_one() -> Field { return fq_one(); }
fn field_unpack(v: FieldWords) -> Field { return fq_unpack(v); }
fn field_pack(a: Field) -> FieldWords { return fq_pack(a); }
// Of what has limbs as memory has them.
fn field_words(a: Field) -> FieldWords { return fq_words(a); }
fn field_mul(a: Field, b: Field) -> Field { return fq_mul(a, b); }
fn field_sqr(a: Field) -> Field { return fq_sqr(a); }
fn field_add(a: Field, b: Field) -> Field { return fq_add(a, b); }
fn field_add_lazy(a: Field, b: Field) -> Field { return fq_add_lazy(a, b); }
fn field_sub(a: Field, b: Field) -> Field { return fq_sub(a, b); }
fn field_neg(a: Field) -> Field { return fq_neg(a); }
fn field_canonical(a: Field) -> Field { return fq_canonical(a); }
fn field_is_zero(a: Field) -> bool { return fq_is_zero(a); }
