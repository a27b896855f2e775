// Pairs of neighbours in the sorted list become single points, round after round, before buckets are summed: affine
// additions, whose divisions share one inversion (P. Montgomery's trick), take 5M + 1S and their part of an inversion
// where XYZZ takes 8M + 2S. Every run begins at a multiple of 2^rounds and is filled up with nothing, so item 2i and
// item 2i + 1 of a list always belong to one bucket, and item i of the next list is their sum.
//
// Three kernels make a round, of which the first and the last differ in round 0 (`msm_pair_entries`) and later ones
// (`msm_pair_points`):
//     msm_pair_products  thread t multiplies the denominators of its pairs t, t + threads, ..., and keeps what stood before each
//     msm_pair_invert    inverts the products of all threads
//     msm_pair_add       thread t walks back: inverse of each denominator, slope, sum
//
// Items of round 0 are entries, those of later rounds points. Pair i of round r takes points[(2i) << (r - 1)] and
// points[(2i + 1) << (r - 1)] and leaves its sum in the place of the first; those of round 0 are left in points[i].

struct PairParams {
    group0: u32,
    // Buckets of the batch of sets.
    keys: u32,
    threads: u32,
    // From 0.
    round: u32,
    // Altogether.
    rounds: u32,
}

@group(0) @binding(0) var<uniform> params: PairParams;
@group(0) @binding(1) var<storage, read> bases: array<AffineWords>;
// End of each bucket's run in `entries`.
@group(0) @binding(2) var<storage, read_write> ends: array<u32>;
@group(0) @binding(3) var<storage, read_write> entries: array<u32>;
@group(0) @binding(4) var<storage, read_write> points: array<AffineWords>;
// Of each pair, the product of the denominators before its own.
@group(0) @binding(5) var<storage, read_write> prefixes: array<CoordWords>;
// Of each thread, the product of its denominators; then its inverse.
@group(0) @binding(6) var<storage, read_write> products: array<CoordWords>;

// The last run is filled up for all rounds too: what this one leaves unwritten the next would read.
fn pair_count() -> u32 {
    let items = (ends[params.keys - 1u] + (1u << params.rounds) - 1u) >> params.rounds;
    return items << (params.rounds - params.round - 1u);
}

// How a pair is added.
const NOTHING: u32 = 0u; // The other one, or infinity, is the sum.
const CHORD: u32 = 1u; // (y2 - y1) / (x2 - x1)
const TANGENT: u32 = 2u; // 3 x1^2 / 2 y1
const OPPOSITE: u32 = 3u; // The sum is infinity.

struct Pair {
    kind: u32,
    // Items, nothing made of infinity.
    a: u32,
    b: u32,
    // Not for NOTHING and OPPOSITE.
    denominator: Coord,
}

fn is_infinity(item: u32, x: CoordWords) -> bool {
    // All zero words. A zero x alone may be a point.
    return coord_words_are_zero(x) && coord_words_are_zero(item_y_words(item));
}

// Each test stands once: a test for zero is long where it finds one, and code that is hardly ever run takes room in
// the instruction cache all the same.
fn pair(i: u32) -> Pair {
    var result = Pair(CHORD, item(2u * i), item(2u * i + 1u), coord_zero());
    var xa: CoordWords;
    var xb: CoordWords;
    if (result.a != 0u) { xa = item_x(result.a); }
    if (result.b != 0u) { xb = item_x(result.b); }
    if (result.a == 0u || is_infinity(result.a, xa)) {
        result.a = 0u;
        result.kind = NOTHING;
    }
    if (result.b == 0u || is_infinity(result.b, xb)) {
        result.b = 0u;
        result.kind = NOTHING;
    }
    if (result.kind == NOTHING) { return result; }
    result.denominator = coord_diff(coord_digits(xb), coord_digits(xa));
    var difference = result.denominator;
    while (coord_is_zero(difference)) {
        let y = item_y(result.a);
        if (result.kind == CHORD) {
            result.kind = OPPOSITE;
            difference = coord_diff_carried(item_y(result.b), y);
        } else {
            result.kind = TANGENT;
            let centred = coord_centre(y);
            result.denominator = coord_add(centred, centred);
            break;
        }
    }
    return result;
}
