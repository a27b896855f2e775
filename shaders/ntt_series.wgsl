// Powers from two tables, and the reversal of bits: shared by kernels that declare `params.low_bits`, `high`, `low`.

// factor * base^e, in Montgomery form; the constant factor sits in `high`.
fn series(e: u32) -> Fr {
    let low_part = fr_unpack(low[e & ((1u << params.low_bits) - 1u)]);
    return fr_mul(fr_unpack(high[e >> params.low_bits]), low_part);
}
