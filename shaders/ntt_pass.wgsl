// One pass of a number-theoretic transform: a few radix-2 stages on tiles of up to 512 elements in workgroup memory.
//
// A stage on bit b pairs the indices i and i + 2^b (bit b of i is 0) with the twiddle omega^((i mod 2^b) 2^(log_n-1-b)).
// Decimation in frequency (`ntt_dif`) takes the bits from the top, natural order to bit-reversed order; decimation in
// time (`ntt_dit`) takes them from the bottom, bit-reversed order to natural order. Between the stages of one pass the
// data stay in the tile: 2^rows rows, at distance 2^row_bit, of 2^column_bits neighbouring columns, so that memory is
// read and written in runs of 2^column_bits * 32 bytes. The pass over the lowest bits has no columns: its rows are
// neighbours.
//
// The binding holds a strip of the vector: position p is element ((p >> strip_bits) << page_bits) + first
// + (p mod 2^strip_bits). A whole vector or a page of it is the strip with strip_bits = page_bits; stages on bits
// beyond one binding run on strips of some columns of every page.
//
// Elements are below 2r before and after every stage (`fr_add`, `fr_sub` and `fr_mul` all keep that); they carry
// whatever constant factor they came with, since twiddles are in the Montgomery form of `fr_mul`.

struct NttParams {
    group0: u32,
    // Tiles of this binding.
    tiles: u32,
    log_n: u32,
    // omega^e = high[e >> low_bits] * low[e mod 2^low_bits] for e < n/2.
    low_bits: u32,
    // A tile: 2^tile_bits elements, 2^column_bits of them in one row, rows 2^row_bit apart.
    // column_bits <= row_bit, tile_bits <= 9, and all shifts below stay under 32.
    tile_bits: u32,
    column_bits: u32,
    row_bit: u32,
    strip_bits: u32,
    page_bits: u32,
    first: u32,
    // 1: powers of omega^-1.
    inverse: u32,
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: NttParams;
@group(0) @binding(1) var<storage, read_write> data: array<FrWords>;
@group(0) @binding(2) var<storage, read> high: array<FrWords>;
@group(0) @binding(3) var<storage, read> low: array<FrWords>;

// The tile, 16 KiB: all that WebGPU promises. The halves of an element lie apart, so that neighbouring lanes touch
// neighbouring 16 bytes.
var<workgroup> sh_first: array<vec4<u32>, 512>;
var<workgroup> sh_second: array<vec4<u32>, 512>;

fn tile_get(l: u32) -> Fr { return fr_unpack(FrWords(sh_first[l], sh_second[l])); }

fn tile_set(l: u32, a: Fr) {
    let words = fr_pack(a);
    sh_first[l] = words[0];
    sh_second[l] = words[1];
}

// Where element l of a tile lies in the binding.
fn position(tile: u32, l: u32) -> u32 {
    let between = params.row_bit - params.column_bits;
    let top = params.row_bit + params.tile_bits - params.column_bits;
    let row = l >> params.column_bits;
    let column = l & ((1u << params.column_bits) - 1u);
    let block = tile & ((1u << between) - 1u);
    return ((tile >> between) << top) | (row << params.row_bit) | (block << params.column_bits) | column;
}

// Elements of a tile; none beyond the last tile, whose lanes still have to meet the barriers.
fn tile_size(tile: u32) -> u32 {
    return select(0u, 1u << params.tile_bits, tile < params.tiles);
}

fn tile_load(tile: u32, lane: u32) {
    for (var l = lane; l < tile_size(tile); l += 256u) {
        let words = data[position(tile, l)];
        sh_first[l] = words[0];
        sh_second[l] = words[1];
    }
}

fn tile_store(tile: u32, lane: u32) {
    for (var l = lane; l < tile_size(tile); l += 256u) {
        data[position(tile, l)] = FrWords(sh_first[l], sh_second[l]);
    }
}

struct Butterfly {
    // Places of the pair in the tile.
    at: u32,
    other: u32,
    // The stage's bit in the whole vector's index; on bit 0 every twiddle is 1.
    bit: u32,
    // The twiddle is omega^exponent, or its negative.
    exponent: u32,
    negative: bool,
}

// Butterfly number `lane` of the stage on bit `bit` of the tile's own index.
fn butterfly(tile: u32, lane: u32, bit: u32) -> Butterfly {
    let at = ((lane >> bit) << (bit + 1u)) | (lane & ((1u << bit) - 1u));
    let p = position(tile, at);
    let index = ((p >> params.strip_bits) << params.page_bits) + params.first + (p & ((1u << params.strip_bits) - 1u));
    var stage = params.row_bit + bit - params.column_bits;
    if (stage >= params.strip_bits) { stage += params.page_bits - params.strip_bits; }
    var exponent = (index & ((1u << stage) - 1u)) << (params.log_n - 1u - stage);
    // omega^-e = -omega^(n/2 - e): the inverse reads the same half of the powers.
    let negative = params.inverse != 0u && exponent != 0u;
    if (negative) { exponent = (1u << (params.log_n - 1u)) - exponent; }
    return Butterfly(at, at | (1u << bit), stage, exponent, negative);
}

// Every exponent of a stage is a multiple of 2^(log_n-1-bit): only the topmost `low_bits` stages need both tables.
fn twiddle(b: Butterfly) -> Fr {
    let w = fr_unpack(high[b.exponent >> params.low_bits]);
    if (b.bit + params.low_bits < params.log_n) { return w; }
    return fr_mul(w, fr_unpack(low[b.exponent & ((1u << params.low_bits) - 1u)]));
}
