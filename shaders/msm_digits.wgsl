// Scalars to signed window digits, shared by the counting and the scattering pass, which recompute instead of storing
// them: a digit costs a few shifts, its storage four bytes written and read.
//
// A scalar s arrives with a factor; one multiplication by `scale` makes it plain and one subtraction canonical. Where
// s > (r-1)/2, r - s is used and every digit changes its sign, so that 254 bits remain and -1 costs what 1 costs. A
// window of c bits with carry from the one below gives a digit in -2^(c-1) .. 2^(c-1); zero digits make no entry, so
// zero scalars cost nothing and a one costs one addition, in bucket 1 of window 0.
// With c * windows >= 255 the topmost digit has no carry out.

struct DigitParams {
    group0: u32,
    // Bases, and so threads that act.
    n: u32,
    // c, number of windows, and buckets in one window: 2^(c-1).
    window: u32,
    windows: u32,
    buckets: u32,
    // 1: base i takes scalar map[i] - scalar0; 0: base i takes scalar i.
    mapped: u32,
    scalar0: u32,
    // Sets of buckets: window w adds multiple w / sets of its base to set w % sets. Those from `first` on, before `end`,
    // are wanted, and buckets are numbered from the first of these.
    sets: u32,
    first: u32,
    end: u32,
    unused0: u32,
    unused1: u32,
    scale: FrWords,
}

@group(0) @binding(0) var<uniform> params: DigitParams;
@group(0) @binding(1) var<storage, read_write> scalars: array<FrWords>;
@group(0) @binding(2) var<storage, read> map: array<u32>;

struct Scalar {
    // Plain, below 2^254; shifted down as digits are taken.
    low: vec4<u32>,
    high: vec4<u32>,
    negative: bool,
    carry: u32,
}

// a < b for 256-bit integers: the borrow out of a - b.
fn below(a: FrWords, b: FrWords) -> bool {
    for (var v = 1; v >= 0; v--) {
        for (var k = 3; k >= 0; k--) {
            if (a[v][k] != b[v][k]) { return a[v][k] < b[v][k]; }
        }
    }
    return false;
}

fn scalar_load(i: u32) -> Scalar {
    var at = i;
    if (params.mapped != 0u) { at = map[i] - params.scalar0; }
    let s = fr_canonical(fr_mul(fr_unpack(scalars[at]), fr_unpack(params.scale)));
    let plain = fr_pack(s);
    let opposite = fr_pack(fr_canonical(fr_neg(s)));
    if (below(opposite, plain)) { return Scalar(opposite[0], opposite[1], true, 0u); }
    return Scalar(plain[0], plain[1], false, 0u);
}

struct Digit {
    // 0 .. 2^(c-1)
    magnitude: u32,
    negative: bool,
}

fn scalar_next(s: ptr<function, Scalar>) -> Digit {
    let c = params.window;
    let value = ((*s).low.x & ((1u << c) - 1u)) + (*s).carry;
    let up = vec4<u32>((*s).low.yzw, (*s).high.x);
    let over = vec4<u32>((*s).high.yzw, 0u);
    (*s).low = ((*s).low >> vec4<u32>(c)) | (up << vec4<u32>(32u - c));
    (*s).high = ((*s).high >> vec4<u32>(c)) | (over << vec4<u32>(32u - c));
    let borrow = value > params.buckets;
    (*s).carry = select(0u, 1u, borrow);
    return Digit(select(value, 2u * params.buckets - value, borrow), borrow != (*s).negative);
}
