// The coordinate interface over Fq2 = Fq[u] / (u^2 + 1): what `curve.wgsl` needs to be G2.
// Both halves of every value are below 2p (field.rs), the sums inside the products below 4p.
struct Fq2 { c0: Fq, c1: Fq }
alias Coord = Fq2;
struct CoordWords { c0: FqWords, c1: FqWords }
fn coord_zero() -> Coord { return Fq2(fq_zero(), fq_zero()); }
fn coord_one() -> Coord { return Fq2(fq_one(), fq_zero()); }
fn coord_unpack(v: CoordWords) -> Coord { return Fq2(fq_unpack(v.c0), fq_unpack(v.c1)); }
fn coord_pack(a: Coord) -> CoordWords { return CoordWords(fq_pack(a.c0), fq_pack(a.c1)); }
fn coord_add(a: Coord, b: Coord) -> Coord { return Fq2(fq_add(a.c0, b.c0), fq_add(a.c1, b.c1)); }
fn coord_sub(a: Coord, b: Coord) -> Coord { return Fq2(fq_sub(a.c0, b.c0), fq_sub(a.c1, b.c1)); }
fn coord_is_zero(a: Coord) -> bool { return fq_is_zero(a.c0) && fq_is_zero(a.c1); }

// Karatsuba, 3M: a0 b0 - a1 b1 + ((a0 + a1)(b0 + b1) - a0 b0 - a1 b1) u. The three products share one call: inlined
// thrice in every formula they make compilers slow and overflow instruction caches.
fn coord_mul(a: Coord, b: Coord) -> Coord {
    var low = fq_zero();
    var high = fq_zero();
    var x = a.c0;
    var y = b.c0;
    for (var k = 0u; k < 3u; k++) {
        let product = fq_mul(x, y);
        if (k == 0u) {
            low = product;
            x = a.c1;
            y = b.c1;
        } else if (k == 1u) {
            high = product;
            x = fq_add_lazy(a.c0, a.c1);
            y = fq_add_lazy(b.c0, b.c1);
        } else {
            x = product;
        }
    }
    return Fq2(fq_sub(low, high), fq_sub(fq_sub(x, low), high));
}
