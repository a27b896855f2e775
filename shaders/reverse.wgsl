// The lowest `bits` bits of i in the opposite order; i is below 2^bits, bits is 0 .. 32.
fn reverse(i: u32, bits: u32) -> u32 { return reverseBits(i) >> ((32u - bits) & 31u); }
