//! Bases cut into pieces that fit a device's bindings.

use std::ops::Range;

use super::{MsmError, plan::least};
use crate::{device::Limits, kernel::Group};

/// Chunks of bases begin at multiples of this, so that their spans keep the alignment of bindings.
pub(super) const GRAIN: usize = 64;

/// The bases of one of the MSMs that are done together.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// Bases.
    pub n: usize,
    /// The place of each base's scalar, in increasing order; without it base `i` takes scalar `i`.
    pub positions: Option<&'a [u32]>,
}

impl Part<'_> {
    /// The place of a base's scalar.
    fn position(&self, base: usize) -> usize {
        self.positions.map_or(base, |positions| positions[base] as usize)
    }

    /// Scalars that the bases refer to.
    pub(super) fn scalars(&self) -> usize {
        self.n.checked_sub(1).map_or(0, |last| self.position(last) + 1)
    }

    /// Lengths agree.
    pub(super) fn even(&self) -> Result<(), MsmError> {
        match self.positions {
            Some(positions) if positions.len() != self.n => {
                Err(MsmError::Lengths { bases: self.n, scalars: positions.len() })
            }
            _ => Ok(()),
        }
    }

    /// Positions increase. Looks at all of them, so it is for those that load bases; plans take it for granted.
    pub(super) fn ordered(&self) -> Result<(), MsmError> {
        let positions = self.positions.unwrap_or_default();
        match positions.windows(2).position(|pair| pair[0] >= pair[1]) {
            Some(at) => Err(MsmError::Order { at: at + 1 }),
            None => Ok(()),
        }
    }
}

/// Neighbouring bases of one part within a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Which MSM.
    pub part: usize,
    /// Where it lies in the piece, in bases: a multiple of 64.
    pub at: usize,
    /// Its bases, of those of the part.
    pub bases: Range<usize>,
    /// Positions in the part's scalar vector that they refer to; the start is a multiple of 8 (256 bytes).
    pub scalars: Range<usize>,
}

/// What is sorted and summed at a time. Pieces are added to the same buckets, one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Piece {
    /// Bases of one or several parts.
    pub chunks: Vec<Chunk>,
}

impl Piece {
    /// Places for bases, from the first chunk to the end of the last.
    pub fn len(&self) -> usize {
        self.chunks.last().map_or(0, |chunk| chunk.at + chunk.bases.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }
}

/// Places that a part takes up, with those that are left out for the sake of the next one.
fn places(part: &Part) -> usize {
    part.n.next_multiple_of(GRAIN)
}

/// Places in a piece, with all their multiples, by what `widest` of them takes in a binding: a multiple of [`GRAIN`].
pub(super) fn longest(group: Group, limits: &Limits, widest: u64, tables: u32) -> usize {
    let room = limits.binding - limits.binding.min(4 * group.sum_bytes());
    (room / (widest * u64::from(tables))) as usize / GRAIN * GRAIN
}

/// Pieces that there will be, unless scalars lie far apart.
pub(super) fn count(parts: &[Part], longest: usize) -> usize {
    parts.iter().map(places).sum::<usize>().div_ceil(longest.max(1)).max(1)
}

/// As few pieces as every binding allows, as even as may be.
pub(super) fn pieces(
    group: Group,
    parts: &[Part],
    limits: &Limits,
    longest: usize,
    tables: u32,
) -> Result<Vec<Piece>, MsmError> {
    let scalars = (limits.binding / 32) as usize;
    if parts.iter().any(|part| part.n > 0) && (longest == 0 || scalars < GRAIN) {
        return Err(MsmError::Binding { needed: least(group, tables), limit: limits.binding });
    }
    let all: usize = parts.iter().map(places).sum();
    let target = all.div_ceil(count(parts, longest)).next_multiple_of(GRAIN);
    let mut pieces = Vec::new();
    let mut piece = Piece::default();
    for (index, part) in parts.iter().enumerate() {
        let mut start = 0;
        while start < part.n {
            let at = piece.len().next_multiple_of(GRAIN);
            if at >= target {
                pieces.push(std::mem::take(&mut piece));
                continue;
            }
            let first = part.position(start) / 8 * 8;
            let mut end = (start + target - at).min(part.n);
            if part.position(end - 1) - first >= scalars {
                // The first base that lies too far; positions increase, so bisection finds it.
                end = match part.positions {
                    Some(positions) => {
                        start + positions[start..end].partition_point(|&p| (p as usize) < first + scalars)
                    }
                    None => first + scalars,
                };
                if end < part.n {
                    end = end / GRAIN * GRAIN;
                }
                if end <= start {
                    return Err(MsmError::Spread { at: start, limit: scalars });
                }
            }
            let scalars = first..part.position(end - 1) + 1;
            piece.chunks.push(Chunk { part: index, at, bases: start..end, scalars });
            start = end;
        }
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    Ok(pieces)
}
