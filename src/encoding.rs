//! Host values as device words, and back.
//!
//! In device memory a field element is a packed little-endian integer: 8 words for Fr, 12 for Fq, 24 for Fq2 (c0
//! first). Base-field elements are in Montgomery form with the radix `R = 2^(limbs * bits)` of the limb format that
//! the kernels use, so that a kernel unpacks and packs but never converts; `R` differs between formats and from
//! arkworks' `2^384`. Values in memory are below `2p`, not necessarily below `p`.
//!
//! Scalar-field vectors keep arkworks' own Montgomery words (`x * 2^256`): transforms are linear, so the factor rides
//! along, and the one place where plain integers are needed (MSM digits) multiplies it away on the device.
//!
//! An affine point is `x, y`; infinity is all zeros, which is no point of `y^2 = x^3 + 4` nor of its twist. A bucket
//! or partial sum is `X, Y, ZZ, ZZZ` with `x = X/ZZ`, `y = Y/ZZZ`, `ZZ^3 = ZZZ^2`; infinity has `ZZ = 0` (mod p).

use std::sync::OnceLock;

use ark_bls12_381::{Fq, Fq2, Fr, G1Affine, G1Projective, G2Affine, G2Projective};
use ark_ec::{AffineRepr, CurveGroup};
use ark_ff::{BigInt, BigInteger, Field, PrimeField};
use rayon::prelude::*;

/// How kernels hold field elements in registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// 30-bit limbs, products summed in 64-bit integers. Needs `SHADER_INT64`.
    U64,
    /// 13-bit limbs, products summed in 32-bit integers. Plain WebGPU.
    U32,
}

/// `count` limbs of `bits` bits; the Montgomery radix is `2^(count * bits)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limbs {
    /// Limbs of one element.
    pub count: usize,
    /// Bits of one limb.
    pub bits: usize,
}

impl Limbs {
    /// Binary logarithm of the Montgomery radix.
    pub fn radix_bits(self) -> usize {
        self.count * self.bits
    }
}

impl Format {
    /// Every format, fastest first.
    pub const ALL: [Self; 2] = [Self::U64, Self::U32];

    /// As written on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::U64 => "u64",
            Self::U32 => "u32",
        }
    }

    /// Whether a device with these features can run it.
    pub fn supported(self, features: wgpu::Features) -> bool {
        match self {
            Self::U64 => features.contains(wgpu::Features::SHADER_INT64),
            Self::U32 => true,
        }
    }

    /// Limbs of a scalar. `R > 16 r` holds for both, which lazy reduction leans on.
    pub fn fr(self) -> Limbs {
        match self {
            Self::U64 => Limbs { count: 9, bits: 29 },
            Self::U32 => Limbs { count: 20, bits: 13 },
        }
    }

    /// Limbs of a base-field element. Both formats share `R = 2^390`.
    pub fn fq(self) -> Limbs {
        match self {
            Self::U64 => Limbs { count: 13, bits: 30 },
            Self::U32 => Limbs { count: 30, bits: 13 },
        }
    }

    /// What carries arkworks' Fq Montgomery form (`2^384`) to the device's.
    fn fq_shift(self) -> Fq {
        Fq::from(2u64).pow([self.fq().radix_bits() as u64 - 384])
    }

    /// And back. An inversion takes as long as a hundred additions, and sums are read back set by set.
    fn fq_unshift(self) -> Fq {
        static INVERSES: [OnceLock<Fq>; Format::ALL.len()] = [const { OnceLock::new() }; Format::ALL.len()];
        *INVERSES[self as usize].get_or_init(|| self.fq_shift().inverse().unwrap_or(Fq::ONE))
    }

    /// `2^(radix - 256)` for Fr: a device multiplication by this plain integer takes `x * 2^256` to plain `x`.
    pub fn fr_unmont(self) -> [u32; 8] {
        let mut words = [0; 8];
        words[0] = 1 << (self.fr().radix_bits() - 256);
        words
    }

    /// Bytes of a scalar that kernels multiply with often.
    pub fn fr_fixed_size(self) -> u64 {
        match self {
            Self::U64 => 80,
            Self::U32 => 32,
        }
    }

    /// Scalars `w` as `fr_mul_fixed` takes them: the limbs of `w` and of `floor(w R / r)`, a word each and filled up to
    /// whole `vec4`s, or just `w R mod r` in the portable format.
    pub fn fr_fixed_bytes(self, scalars: &[Fr]) -> Vec<u8> {
        let limbs = self.fr();
        let radix = Fr::from(2u64).pow([limbs.radix_bits() as u64]);
        if self == Self::U32 {
            let words = |w: &Fr| words::<4, 8>(&(*w * radix).into_bigint());
            return bytemuck::cast_slice(&scalars.par_iter().map(words).collect::<Vec<_>>()).to_vec();
        }
        let modulus = wide(Fr::MODULUS);
        // Newton: each step doubles the number of correct low bits; one is its own inverse modulo 2.
        let inverse = (0..9).fold(wide(Fr::ONE.into_bigint()), |x, _| {
            let two = wide(Fr::from(2u64).into_bigint());
            x.mul_low(&difference(two, &modulus.mul_low(&x)))
        });
        let fixed = |w: &Fr| {
            // w R = v r + (w R mod r), and so v = -(w R mod r) / r modulo any power of two.
            let rest = wide((*w * radix).into_bigint());
            let v = difference(BigInt::zero(), &rest).mul_low(&inverse);
            let mut out = [0u32; 20];
            for (at, number) in [(0, wide(w.into_bigint())), (limbs.count, v)] {
                for limb in 0..limbs.count {
                    let (word, bit) = (limb * limbs.bits / 64, limb * limbs.bits % 64);
                    let above = if bit > 0 { number.0.get(word + 1).map_or(0, |high| high << (64 - bit)) } else { 0 };
                    out[at + limb] = (number.0[word] >> bit | above) as u32 & ((1 << limbs.bits) - 1);
                }
            }
            out
        };
        bytemuck::cast_slice(&scalars.par_iter().map(fixed).collect::<Vec<_>>()).to_vec()
    }

    /// The same with the first 16 bytes of all before the next 16.
    pub(crate) fn fr_fixed_planes(self, scalars: &[Fr]) -> Vec<u8> {
        let (rows, size) = (self.fr_fixed_bytes(scalars), self.fr_fixed_size() as usize);
        let plane = |at: usize| rows.chunks_exact(size).flat_map(move |row| &row[at..at + 16]);
        (0..size).step_by(16).flat_map(plane).copied().collect()
    }

    /// Bytes of affine points, 96 each.
    pub fn g1_bytes(self, points: &[G1Affine]) -> Vec<u8> {
        let shift = self.fq_shift();
        let encode = |p: &G1Affine| p.xy().map_or([[0u32; 12]; 2], |(x, y)| [x, y].map(|c| words(&(c * shift).0)));
        bytemuck::cast_slice(&points.par_iter().map(encode).collect::<Vec<_>>()).to_vec()
    }

    /// Bytes of affine points, 192 each.
    pub fn g2_bytes(self, points: &[G2Affine]) -> Vec<u8> {
        let shift = self.fq_shift();
        let encode = |p: &G2Affine| {
            p.xy().map_or([[0u32; 12]; 4], |(x, y)| [x.c0, x.c1, y.c0, y.c1].map(|c| words(&(c * shift).0)))
        };
        bytemuck::cast_slice(&points.par_iter().map(encode).collect::<Vec<_>>()).to_vec()
    }

    /// Sums read back from the device (192 bytes each).
    pub fn g1_sums(self, bytes: &[u8]) -> Vec<G1Projective> {
        let unshift = self.fq_unshift();
        let point = |bytes: &[u8]| {
            let [x, y, zz, zzz] = [0, 48, 96, 144].map(|at| element(&bytes[at..at + 48]) * unshift);
            jacobian::<G1Projective, Fq>(x, y, zz, zzz, |x, y, z| G1Projective { x, y, z })
        };
        bytes.chunks_exact(192).map(point).collect()
    }

    /// Sums read back from the device (384 bytes each).
    pub fn g2_sums(self, bytes: &[u8]) -> Vec<G2Projective> {
        let unshift = self.fq_unshift();
        let point = |bytes: &[u8]| {
            let [x, y, zz, zzz] = [0, 96, 192, 288].map(|at| {
                let [c0, c1] = [at, at + 48].map(|at| element(&bytes[at..at + 48]) * unshift);
                Fq2::new(c0, c1)
            });
            jacobian::<G2Projective, Fq2>(x, y, zz, zzz, |x, y, z| G2Projective { x, y, z })
        };
        bytes.chunks_exact(384).map(point).collect()
    }

    /// A base-field element as device words.
    pub fn fq_words(self, x: Fq) -> [u32; 12] {
        words(&(x * self.fq_shift()).0)
    }

    /// A base-field element from device words below `2p`.
    pub fn fq_from_words(self, words: &[u32; 12]) -> Fq {
        element(bytemuck::bytes_of(words)) * self.fq_unshift()
    }
}

/// Integers modulo 2^320.
type Wide = BigInt<5>;

fn wide(integer: BigInt<4>) -> Wide {
    let [a, b, c, d] = integer.0;
    BigInt([a, b, c, d, 0])
}

fn difference(mut a: Wide, b: &Wide) -> Wide {
    a.sub_with_borrow(b);
    a
}

/// From `X, Y, ZZ, ZZZ` to Jacobian coordinates without an inversion: `Z = ZZZ` gives `Z^2 = ZZ^3`, so
/// `X' = x Z^2 = X ZZ^2` and `Y' = y Z^3 = Y ZZZ^2`.
fn jacobian<G: CurveGroup, F: Field>(x: F, y: F, zz: F, zzz: F, build: impl Fn(F, F, F) -> G) -> G {
    if zz.is_zero() { G::zero() } else { build(x * zz.square(), y * zzz.square(), zzz) }
}

fn words<const N: usize, const W: usize>(limbs: &BigInt<N>) -> [u32; W] {
    let mut words = [0; W];
    for (pair, limb) in words.chunks_exact_mut(2).zip(limbs.0) {
        pair.copy_from_slice(&[limb as u32, (limb >> 32) as u32]);
    }
    words
}

/// The Fq whose arkworks Montgomery form is this integer; the integer may exceed `p` (it is below `2^384`).
fn element(bytes: &[u8]) -> Fq {
    let mut limbs = [0u64; 6];
    for (limb, bytes) in limbs.iter_mut().zip(bytes.chunks_exact(8)) {
        let mut le = [0; 8];
        le.copy_from_slice(bytes);
        *limb = u64::from_le_bytes(le);
    }
    let mut integer = BigInt::new(limbs);
    while integer >= <Fq as ark_ff::PrimeField>::MODULUS {
        ark_ff::BigInteger::sub_with_borrow(&mut integer, &<Fq as ark_ff::PrimeField>::MODULUS);
    }
    Fq::new_unchecked(integer)
}

/// Scalars in arkworks' Montgomery words (`x * 2^256`), 32 bytes each.
pub fn fr_bytes(scalars: &[Fr]) -> Vec<u8> {
    let mut bytes = vec![0; 32 * scalars.len()];
    bytes.par_chunks_mut(32 << 12).enumerate().for_each(|(index, block)| fr_write(scalars, &[], index << 17, block));
    bytes
}

/// Writes such bytes of `first`, then `second`, then zeros, from byte `at`, a multiple of 32, on.
pub(crate) fn fr_write(first: &[Fr], second: &[Fr], at: usize, block: &mut [u8]) {
    debug_assert!(at.is_multiple_of(32) && block.len().is_multiple_of(32), "parts of scalars");
    for (i, bytes) in (at / 32..).zip(block.chunks_exact_mut(32)) {
        let scalar = first.get(i).or_else(|| second.get(i - first.len()));
        for (word, bytes) in scalar.map_or([0; 4], |x| x.0.0).into_iter().zip(bytes.chunks_exact_mut(8)) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }
}

/// Scalars from arkworks' Montgomery words below `2r`.
pub fn fr_from_bytes(bytes: &[u8]) -> Vec<Fr> {
    let decode = |bytes: &[u8]| {
        let mut limbs = [0u64; 4];
        for (limb, bytes) in limbs.iter_mut().zip(bytes.chunks_exact(8)) {
            let mut le = [0; 8];
            le.copy_from_slice(bytes);
            *limb = u64::from_le_bytes(le);
        }
        let mut integer = BigInt::new(limbs);
        if integer >= <Fr as ark_ff::PrimeField>::MODULUS {
            ark_ff::BigInteger::sub_with_borrow(&mut integer, &<Fr as ark_ff::PrimeField>::MODULUS);
        }
        Fr::new_unchecked(integer)
    };
    bytes.par_chunks_exact(32).map(decode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ark_ff::{One, UniformRand, Zero};

    #[test]
    fn points_and_scalars_come_back() {
        let mut rng = ark_std::test_rng();
        for format in Format::ALL {
            for x in [Fq::zero(), Fq::one(), -Fq::one(), Fq::rand(&mut rng)] {
                assert_eq!(format.fq_from_words(&format.fq_words(x)), x);
            }
            let one = format.fq_words(Fq::one());
            let p = G1Projective::rand(&mut rng).into_affine();
            let mut bytes = format.g1_bytes(&[p, G1Affine::zero()]);
            let infinity = bytes.split_off(96);
            bytes.extend(bytemuck::cast_slice(&[one, one]));
            bytes.extend_from_slice(&infinity);
            bytes.extend_from_slice(&infinity);
            assert_eq!(format.g1_sums(&bytes), vec![p.into(), G1Projective::zero()]);
        }
        let scalars = [Fr::zero(), Fr::one(), -Fr::one(), Fr::rand(&mut rng)];
        // v r <= w R < (v + 1) r, by integers of 64 bits a limb: r (v + 1) - w R is between 1 and r.
        for (w, bytes) in scalars.iter().zip(Format::U64.fr_fixed_bytes(&scalars).chunks_exact(80)) {
            let words: &[u32] = bytemuck::cast_slice(bytes);
            let number = |words: &[u32]| {
                words.iter().rev().fold(Wide::zero(), |sum, limb| {
                    let mut shifted = sum << 29;
                    shifted.0[0] |= u64::from(*limb);
                    shifted
                })
            };
            assert_eq!(number(&words[..9]), wide(w.into_bigint()));
            let product = number(&words[9..18]).mul_low(&wide(Fr::MODULUS));
            // w 2^261 modulo 2^320.
            let rest = difference(number(&words[..9]) << 261, &product);
            assert!(rest < wide(Fr::MODULUS), "{w}");
        }
        assert_eq!(fr_from_bytes(&fr_bytes(&scalars)), scalars);
    }
}
