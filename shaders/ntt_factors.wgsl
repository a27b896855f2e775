// A whole table of factors from one with every 2^low-th column and one with the first 2^low columns: `Split` in
// src/ntt/plan.rs. Their factors R make one: R is what a multiplication takes away.
struct FactorsParams {
    group0: u32,
    // Rows times columns.
    n: u32,
    // Binary logarithms of the columns and of those of the second table.
    columns: u32,
    low: u32,
    // Where the second table begins.
    second_table: u32,
}

@group(0) @binding(0) var<uniform> params: FactorsParams;
@group(0) @binding(1) var<storage, read_write> parts: array<FrWords>;
@group(0) @binding(2) var<storage, read_write> whole: array<FrWords>;

@compute @workgroup_size(128)
fn ntt_factors(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = (group.x + params.group0) * 128u + lane;
    if (i >= params.n) { return; }
    let rest = i & ((1u << params.low) - 1u);
    let other = params.second_table + (((i >> params.columns) << params.low) | rest);
    whole[i] = fr_pack(fr_mul(fr_unpack(parts[i >> params.low]), fr_unpack(parts[other])));
}
