// Plain scalars to signed window digits, shared by the counting and the scattering pass, which recompute instead of
// storing them: a digit costs a few shifts, its storage four bytes written and read.
//
// A window of c bits with carry from the one below gives a digit in -2^(c-1) .. 2^(c-1); zero digits make no entry, so
// zero scalars cost nothing and a one costs one addition, in bucket 1 of window 0.
// With at least 255 bits in all windows the topmost digit has no carry out.

struct DigitParams {
    group0: u32,
    // Bases, and so threads that act.
    n: u32,
    // c of the first `wide` windows, one more than of the others; number of windows, and buckets in one: 2^(c-1) of the
    // wide ones.
    window: u32,
    windows: u32,
    wide: u32,
    buckets: u32,
    // Sets of buckets: window w adds multiple w / sets of its base to set w % sets. Those from `first` on, before `end`,
    // are wanted, and buckets are numbered from `key0` on.
    sets: u32,
    first: u32,
    end: u32,
    key0: u32,
    // The place of base 0, and how far on the next multiple of each base lies.
    base0: u32,
    stride: u32,
}

@group(0) @binding(0) var<uniform> params: DigitParams;
// As `msm_plain` leaves them: 254 bits, and in bit 255 whether they are to be negated.
@group(0) @binding(1) var<storage, read_write> plain: array<array<vec4<u32>, 2>>;

struct Scalar {
    // Shifted down as digits are taken.
    low: vec4<u32>,
    high: vec4<u32>,
    negative: bool,
    carry: u32,
}

fn scalar_load(i: u32) -> Scalar {
    let low = plain[i][0];
    var high = plain[i][1];
    let negative = (high.w >> 31u) == 1u;
    high.w &= 0x7fffffffu;
    return Scalar(low, high, negative, 0u);
}

struct Digit {
    // 0 .. 2^(c-1)
    magnitude: u32,
    negative: bool,
}

// The digit of window `w`, from the lowest on.
fn scalar_next(s: ptr<function, Scalar>, w: u32) -> Digit {
    let c = params.window - u32(w >= params.wide);
    let most = 1u << (c - 1u);
    let value = ((*s).low.x & ((1u << c) - 1u)) + (*s).carry;
    let up = vec4<u32>((*s).low.yzw, (*s).high.x);
    let over = vec4<u32>((*s).high.yzw, 0u);
    (*s).low = ((*s).low >> vec4<u32>(c)) | (up << vec4<u32>(32u - c));
    (*s).high = ((*s).high >> vec4<u32>(c)) | (over << vec4<u32>(32u - c));
    let borrow = value > most;
    (*s).carry = select(0u, 1u, borrow);
    return Digit(select(value, 2u * most - value, borrow), borrow != (*s).negative);
}
