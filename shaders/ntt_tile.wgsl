// The transform of one tile: 2^rows rows of 2^columns columns, every column a transform of its own, natural order in and
// out. Decimation in time (Cooley and Tukey, 1965): two levels at a time in the registers of a lane, which holds four
// elements; between two such steps the lanes exchange them through workgroup memory. The first step takes its elements
// from the vector, the last one gives them back.
//
// A place in the tile is row << columns | column, with the bits of the row reversed until the last step, as decimation in
// time wants its input; the two levels of a step join elements whose places differ in bits q and q + 1. With an odd
// number of rows' bits the last step repeats a bit and leaves out its first level.
//
// Twiddles lie as a heap: those of the level that joins halves of h elements are twiddle(h .. 2 h). Over a coset of the
// rows (`shifted`) they hold the shift as well; otherwise those of the first level are 1, and half of the second's.
//
// Bounds: see `src/kernel/field/fixed.rs`. What comes in is tidy and below 2p. Each step begins with its elements 0 and
// 2 tidy and 1 and 3 loose; a level multiplies 1 and 3 and adds 5p at most, 50p after ten levels.

struct NttParams {
    group0: u32,
    // Tiles of this dispatch.
    tiles: u32,
    // Binary logarithms of the tile's rows and columns; together at least 2 and at most 10.
    rows: u32,
    columns: u32,
    // Where row, column and the number of the tile go in the place in the vector: the tile's lowest bits at `low_at`,
    // the others at `high_at`.
    row_bit: u32,
    column_bit: u32,
    low_at: u32,
    low_bits: u32,
    high_at: u32,
    // What all places have in common, and the last place there is: a vector of one or two fills no tile.
    first: u32,
    last: u32,
    // Whether lanes go along rows instead of columns, so that they touch neighbours: 1 when reading, 2 when writing.
    along: u32,
    shifted: u32,
    // Afterwards each element is multiplied with so many factors: 0, 1 or 2.
    factors: u32,
    // Of the place, these bits choose the factor: all but the lowest `factor_low` in the first table; those from
    // `factor_row` on and those below `factor_low` in the second, which begins at `second_table`.
    factor_mask: u32,
    factor_low: u32,
    factor_row: u32,
    second_table: u32,
    // 4, told at run time lest a compiler unrolls.
    elements: u32,
    // Of the binding that is read, or of four of them: place in the vector to place in the binding.
    slot_bit: u32,
    place_mask: u32,
    // What `ntt_out.wgsl` explains.
    digits: u32,
    log_n: u32,
    last_digit: u32,
    target_bit: u32,
    target_mask: u32,
    window: u32,
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: NttParams;

// The topmost two bits of a place, in the order of the elements of the first step.
const ORDER = vec4<u32>(0u, 2u, 1u, 3u);

fn tile_lanes() -> u32 { return 1u << (params.rows + params.columns - 2u); }

// The places of the elements that a lane takes.
fn taken_places(taken: u32) -> vec4<u32> {
    return vec4<u32>(taken) | (ORDER << vec4<u32>(params.rows + params.columns - 2u));
}

// A lane's number as row and column, without the row's two topmost bits.
fn lane_place(lane: u32, along_rows: bool) -> u32 {
    if (!along_rows) { return lane; }
    let bits = params.rows - 2u;
    return ((lane & ((1u << bits) - 1u)) << params.columns) | (lane >> bits);
}

// Where the row and column of a tile lie in the vector.
fn tile_place(tile: u32) -> u32 {
    let low = tile & ((1u << params.low_bits) - 1u);
    return params.first | (low << params.low_at) | ((tile >> params.low_bits) << params.high_at);
}

fn row_of(place: u32) -> u32 { return place >> params.columns; }

fn column_of(place: u32) -> u32 { return place & ((1u << params.columns) - 1u); }

fn within(place: u32) -> u32 {
    return (row_of(place) << params.row_bit) | (column_of(place) << params.column_bit);
}

// Places of the four elements: bits q and q + 1 put into the number m of the lane.
fn places(m: u32, q: u32) -> vec4<u32> {
    let at = ((m >> q) << (q + 2u)) | (m & ((1u << q) - 1u));
    return vec4<u32>(at) | (vec4<u32>(0u, 1u, 2u, 3u) << vec4<u32>(q));
}

// Which banks of memory: neighbours in any five bits fall into different ones.
fn banks(at: vec4<u32>) -> vec4<u32> { return at ^ (at >> vec4<u32>(5u)); }

// Transforms the elements that a lane took at taken_places(taken); returns the places of what it holds in the end.
fn tile_levels(x: ptr<function, array<Fr, 4>>, taken: u32, lane: u32, acting: bool) -> vec4<u32> {
    if (params.rows == 0u) { return taken_places(taken); }
    let bits = params.rows + params.columns;
    var m = taken;
    if (params.rows > 2u) {
        m = (reverse(row_of(taken), params.rows - 2u) << params.columns) | column_of(taken);
    }
    // One bit of rows is a step of one level.
    var level = u32(params.rows == 1u);
    var q = params.columns - level;
    loop {
        if (acting) {
            // Elements that one half of the second level joins.
            let half = (2u << q) >> params.columns;
            let row = (m & ((1u << q) - 1u)) >> params.columns;
            let plain = half <= 2u && params.shifted == 0u;
            for (var l = level; l < 2u; l++) {
                var u = (*x)[1];
                var v = (*x)[3];
                let at = (half >> (1u - l)) + row;
                if (!plain) { u = fr_mul_fixed(u, twiddle(at)); }
                if (!plain || (l == 1u && half == 2u)) { v = fr_mul_fixed(v, twiddle(at + l * (half >> 1u))); }
                let even = (*x)[0];
                let odd = (*x)[2];
                (*x)[0] = fr_add_loose(even, u);
                (*x)[2] = fr_sub_loose(even, u);
                (*x)[1] = fr_add_loose(odd, v);
                (*x)[3] = fr_sub_loose(odd, v);
            }
        }
        let top = bits - 2u;
        if (q == top) { break; }
        let from_at = places(m, q);
        level = u32(q + 1u == top);
        q = min(q + 2u, top);
        m = lane;
        if (q == top) { m = lane_place(lane, (params.along & 2u) != 0u); }
        var to_at = places(m, q);
        if (level == 1u) { to_at = to_at.xzyw; }
        tile_exchange(x, banks(from_at), banks(to_at), acting);
        (*x)[0] = fr_tidy((*x)[0]);
        (*x)[2] = fr_tidy((*x)[2]);
    }
    return places(m, q);
}

// What is written for an element that lies at `place` in the vector: below 2p.
fn finished(a: Fr, place: u32) -> Fr {
    var y = fr_tidy(a);
    if (params.factors == 0u) { return fr_settle(y); }
    let e = place & params.factor_mask;
    var at = e >> params.factor_low;
    for (var i = 0u; i < params.factors; i++) {
        y = fr_mul(y, fr_unpack(factors[at]));
        let low = e & ((1u << params.factor_low) - 1u);
        at = params.second_table + ((e >> params.factor_row) << params.factor_low) + low;
    }
    return y;
}
