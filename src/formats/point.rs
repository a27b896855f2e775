//! Points of BLS12-381 in Zcash's uncompressed encoding.
//!
//! **Theory.** Protocol specification, section 5.4.9.2: big-endian coordinates, 96 bytes in G1 and
//! 192 in G2 (the coefficient of `u` first); the top three bits of the first byte are flags:
//! compressed, infinity, the larger y.
//!
//! **What differs.** The formats that use it have infinity nowhere, so no flag may be set.
//!
//! **Use.** `P::read(bytes, check)` for `P` either group's affine point.

use ark_bls12_381::{Fq, Fq2, g1, g2};
use ark_ec::{AffineRepr, short_weierstrass::Affine};
use ark_ff::{BigInteger384, PrimeField};

/// How far the points of the queries are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// Flags, and coordinates below the field's modulus.
    Encoding,
    /// Also the curve's equation: half as much again (0.4 s for Sapling Spend's 48 MB, two cores).
    #[default]
    Curve,
    /// Also the group of prime order: a hundred times slower (a minute for the same file).
    Subgroup,
}

/// What is wrong with a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PointError {
    /// The compressed flag is set.
    #[error("is flagged as compressed; the format has uncompressed points only")]
    Compressed,
    /// The sort flag is set, which means something in compressed points only.
    #[error("has the sort flag, which an uncompressed point must not have")]
    Sort,
    /// The point at infinity, which the format has nowhere.
    #[error("is the point at infinity")]
    Infinity,
    /// A coordinate is not below the modulus.
    #[error("has coordinate {0} not below the modulus of BLS12-381's base field")]
    NotReduced(&'static str),
    /// The point is off the curve.
    #[error("is not on the curve of BLS12-381: the file is damaged or of another curve")]
    OffCurve,
    /// The point is on the curve and of another order.
    #[error("is on the curve but not in the group of prime order")]
    OffSubgroup,
}

/// A point in Zcash's uncompressed encoding.
pub(super) trait Uncompressed: AffineRepr {
    /// The length of the encoding.
    const BYTES: usize;
    /// The coordinates in the order in which they are written.
    const NAMES: &'static [&'static str];

    /// The point of those coordinates, which may lie anywhere.
    fn from_coordinates(coordinates: &[Fq]) -> Option<Self>;
    /// The curve's equation.
    fn on_curve(&self) -> bool;
    /// Membership in the group of prime order, for points on the curve.
    fn in_subgroup(&self) -> bool;

    fn read(bytes: &[u8], check: Check) -> Result<Self, PointError> {
        const COMPRESSED: u8 = 0x80;
        const INFINITY: u8 = 0x40;
        const SORT: u8 = 0x20;
        let flags = bytes.first().copied().unwrap_or_default();
        for (flag, error) in
            [(COMPRESSED, PointError::Compressed), (INFINITY, PointError::Infinity), (SORT, PointError::Sort)]
        {
            if flags & flag != 0 {
                return Err(error);
            }
        }
        let mut coordinates = [Fq::default(); 4];
        let parts = bytes.chunks_exact(48).zip(Self::NAMES).zip(&mut coordinates);
        for ((bytes, name), coordinate) in parts {
            *coordinate = fq(bytes).ok_or(PointError::NotReduced(name))?;
        }
        let point = Self::from_coordinates(&coordinates).ok_or(PointError::OffCurve)?;
        if check >= Check::Curve && !point.on_curve() {
            return Err(PointError::OffCurve);
        }
        if check >= Check::Subgroup && !point.in_subgroup() {
            return Err(PointError::OffSubgroup);
        }
        Ok(point)
    }
}

// Named by their configurations: the coherence check does not see through the aliases.
impl Uncompressed for Affine<g1::Config> {
    const BYTES: usize = 96;
    const NAMES: &'static [&'static str] = &["x", "y"];

    fn from_coordinates(coordinates: &[Fq]) -> Option<Self> {
        match coordinates {
            [x, y, ..] => Some(Self::new_unchecked(*x, *y)),
            _ => None,
        }
    }

    fn on_curve(&self) -> bool {
        self.is_on_curve()
    }

    fn in_subgroup(&self) -> bool {
        self.is_in_correct_subgroup_assuming_on_curve()
    }
}

impl Uncompressed for Affine<g2::Config> {
    const BYTES: usize = 192;
    const NAMES: &'static [&'static str] = &["x.c1", "x.c0", "y.c1", "y.c0"];

    fn from_coordinates(coordinates: &[Fq]) -> Option<Self> {
        match coordinates {
            [x1, x0, y1, y0] => Some(Self::new_unchecked(Fq2::new(*x0, *x1), Fq2::new(*y0, *y1))),
            _ => None,
        }
    }

    fn on_curve(&self) -> bool {
        self.is_on_curve()
    }

    fn in_subgroup(&self) -> bool {
        self.is_in_correct_subgroup_assuming_on_curve()
    }
}

/// A big-endian field element below the modulus.
fn fq(bytes: &[u8]) -> Option<Fq> {
    let mut limbs = [0u64; 6];
    for (limb, word) in limbs.iter_mut().rev().zip(bytes.chunks_exact(8)) {
        *limb = word.iter().fold(0, |limb, byte| limb << 8 | u64::from(*byte));
    }
    Fq::from_bigint(BigInteger384::new(limbs))
}
