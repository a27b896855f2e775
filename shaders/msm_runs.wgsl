// What `msm_accumulate` and `msm_join` both know of runs: `ends` is in entries, 2^rounds of which are an item.

// The key of an unused slot of partial sums.
const NONE: u32 = 0xffffffffu;

// End of a bucket's run of items.
fn end_of(key: u32) -> u32 { return (ends[key] + (1u << params.rounds) - 1u) >> params.rounds; }
