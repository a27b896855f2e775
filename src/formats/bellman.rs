//! bellman's `.params`: the keys of Zcash and Filecoin.
//!
//! **Theory.** A file is `alpha_g1 beta_g1 beta_g2 gamma_g2 delta_g1 delta_g2`, then the vectors
//! `ic h l a b_g1 b_g2`, each a big-endian `u32` count and its points. Points are
//! uncompressed as Zcash specifies. The layout is that of the `groth16` crate's `Parameters::write`.
//!
//! **What differs.** The ceremony's files go on after the last vector with a transcript (52,836
//! bytes in Sapling's); bellman's reader never looks there, here the caller says with [`Trailing`]
//! whether that is expected. bellman checks either everything about each point or nothing;
//! [`Check::Curve`] lies between: it catches any damage and costs a few multiplications a point,
//! where the subgroup check costs a scalar multiplication. Whoever has checked the file's hash
//! against a published one gains nothing by more. The few points of the verifying key are always
//! checked fully.
//!
//! **Use.** `Parameters::parse(&bytes, Trailing::Allow, Check::Curve)`.

use std::fmt;

use ark_bls12_381::{Bls12_381, G1Affine, G2Affine};
use ark_groth16::VerifyingKey;
use rayon::prelude::*;

use super::point::Uncompressed;
pub use super::point::{Check, PointError};

/// A parsed file. Nothing is known yet of whether its lengths fit a circuit.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// The verifying key.
    pub vk: VerifyingKey<Bls12_381>,
    /// `beta` in G1.
    pub beta_g1: G1Affine,
    /// `delta` in G1.
    pub delta_g1: G1Affine,
    /// `tau^i t(tau) / delta`.
    pub h: Vec<G1Affine>,
    /// The private variables' combined polynomials over `delta`.
    pub l: Vec<G1Affine>,
    /// The A query, absent variables left out.
    pub a: Vec<G1Affine>,
    /// The B query in G1, absent variables left out.
    pub b_g1: Vec<G1Affine>,
    /// The B query in G2, absent variables left out.
    pub b_g2: Vec<G2Affine>,
    /// How many bytes follow the last vector.
    pub trailing: usize,
}

/// What to do with bytes after the last vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trailing {
    /// Count them in [`Parameters::trailing`], as the files of a ceremony need.
    Allow,
    /// Refuse the file.
    Refuse,
}

/// A part of the file, as error messages name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the part of that name")]
pub enum Section {
    AlphaG1,
    BetaG1,
    BetaG2,
    GammaG2,
    DeltaG1,
    DeltaG2,
    Ic,
    H,
    L,
    A,
    BG1,
    BG2,
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AlphaG1 => "alpha_g1",
            Self::BetaG1 => "beta_g1",
            Self::BetaG2 => "beta_g2",
            Self::GammaG2 => "gamma_g2",
            Self::DeltaG1 => "delta_g1",
            Self::DeltaG2 => "delta_g2",
            Self::Ic => "ic",
            Self::H => "h",
            Self::L => "l",
            Self::A => "a",
            Self::BG1 => "b_g1",
            Self::BG2 => "b_g2",
        })
    }
}

/// Why bytes are no parameters. Offsets and lengths are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// The file ends inside a single point or a count.
    #[error("the parameters end inside {section}, which begins at byte {offset}: {missing} bytes are missing")]
    Truncated {
        /// Where.
        section: Section,
        /// Where the point or count begins.
        offset: usize,
        /// How much of it is not there.
        missing: u64,
    },
    /// The file ends inside a vector, or its count is not to be believed.
    #[error(
        "the parameters' {section} claims {points} points of {point_bytes} bytes from byte {offset} on, \
         but the file ends {missing} bytes earlier"
    )]
    Short {
        /// Which vector.
        section: Section,
        /// The count it claims.
        points: u32,
        /// The length of one point.
        point_bytes: usize,
        /// Where its first point begins.
        offset: usize,
        /// How much is not there.
        missing: u64,
    },
    /// Bytes follow the last vector and the caller did not allow it.
    #[error("{trailing} bytes follow the parameters' end at byte {offset}")]
    Trailing {
        /// Where the parameters end.
        offset: usize,
        /// How many bytes follow.
        trailing: usize,
    },
    /// A point is wrong.
    #[error("point {index} of the parameters' {section}, at byte {offset}, {reason}")]
    Point {
        /// Where.
        section: Section,
        /// Which point of the section, counting from 0.
        index: usize,
        /// Where it begins.
        offset: usize,
        /// What is wrong with it.
        reason: PointError,
    },
}

impl Parameters {
    /// Reads a whole file.
    pub fn parse(bytes: &[u8], trailing: Trailing, check: Check) -> Result<Self, ParamsError> {
        let cursor = &mut Cursor { bytes, offset: 0 };
        let alpha_g1 = cursor.point(Section::AlphaG1)?;
        let beta_g1 = cursor.point(Section::BetaG1)?;
        let beta_g2 = cursor.point(Section::BetaG2)?;
        let gamma_g2 = cursor.point(Section::GammaG2)?;
        let delta_g1 = cursor.point(Section::DeltaG1)?;
        let delta_g2 = cursor.point(Section::DeltaG2)?;
        let gamma_abc_g1 = cursor.points(Section::Ic, Check::Subgroup)?;
        let h = cursor.points(Section::H, check)?;
        let l = cursor.points(Section::L, check)?;
        let a = cursor.points(Section::A, check)?;
        let b_g1 = cursor.points(Section::BG1, check)?;
        let b_g2 = cursor.points(Section::BG2, check)?;
        let left = cursor.left();
        if left != 0 && trailing == Trailing::Refuse {
            return Err(ParamsError::Trailing { offset: cursor.offset, trailing: left });
        }
        let vk = VerifyingKey { alpha_g1, beta_g2, gamma_g2, delta_g2, gamma_abc_g1 };
        Ok(Self { vk, beta_g1, delta_g1, h, l, a, b_g1, b_g2, trailing: left })
    }
}

/// Reads from front to back; `offset` never exceeds the length.
struct Cursor<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Cursor<'a> {
    fn left(&self) -> usize {
        self.bytes.len() - self.offset
    }

    /// The next `length` bytes, or how many of them are missing.
    fn take(&mut self, length: u64) -> Result<&'a [u8], u64> {
        let rest = self.bytes.get(self.offset..).unwrap_or_default();
        let missing = length.saturating_sub(rest.len() as u64);
        // Where nothing is missing, `length` is at most a slice's length and fits a usize.
        let taken = usize::try_from(length).ok().and_then(|length| rest.get(..length));
        let taken = taken.ok_or(missing)?;
        self.offset += taken.len();
        Ok(taken)
    }

    /// One point of the verifying key.
    fn point<P: Uncompressed>(&mut self, section: Section) -> Result<P, ParamsError> {
        let offset = self.offset;
        let bytes =
            self.take(P::BYTES as u64).map_err(|missing| ParamsError::Truncated { section, offset, missing })?;
        P::read(bytes, Check::Subgroup).map_err(|reason| ParamsError::Point { section, index: 0, offset, reason })
    }

    /// One vector, its points read on all cores.
    fn points<P: Uncompressed>(&mut self, section: Section, check: Check) -> Result<Vec<P>, ParamsError> {
        let offset = self.offset;
        let count = self.take(4).map_err(|missing| ParamsError::Truncated { section, offset, missing })?;
        // Folding avoids a conversion that could fail: `count` has four bytes.
        let points = count.iter().fold(0u32, |count, byte| count << 8 | u32::from(*byte));
        let offset = self.offset;
        let point_bytes = P::BYTES;
        let bytes = self.take(u64::from(points) * point_bytes as u64).map_err(|missing| ParamsError::Short {
            section,
            points,
            point_bytes,
            offset,
            missing,
        })?;
        let read = || bytes.par_chunks_exact(point_bytes).map(|bytes| P::read(bytes, check));
        // Which error a parallel collection meets first is chance; name the first in the file.
        read().collect::<Result<Vec<P>, PointError>>().map_err(|any| {
            let first = read().enumerate().find_first(|(_, point)| point.is_err());
            let (index, reason) = match first {
                Some((index, Err(reason))) => (index, reason),
                _ => (0, any),
            };
            let offset = offset + index * point_bytes;
            ParamsError::Point { section, index, offset, reason }
        })
    }
}
