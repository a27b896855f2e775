//! What a transform of `2^log_n` elements does, as plain numbers.
//!
//! Stage by stage the bits of an index are taken from the top (decimation in frequency; in time it is the same list
//! backwards). A pass takes up to [`ROWS`] bits at once on tiles in workgroup memory, the last one the lowest
//! [`TILE`] bits of contiguous elements, so that 2^24 elements are read and written three times.
//!
//! Beyond one binding the vector is a row of pages. Bits that select a page are dealt with on strips: a run of columns
//! of every page, moved together into a space of the size of one page (the first half of the four-step transform of
//! Bailey, J. Supercomputing 4, 1990, without its transpositions). After that every page is a transform of its own.

use std::fmt;

use crate::device::Limits;

/// Bytes of one element.
pub const ELEMENT: u64 = 32;
/// A tile has at most `2^TILE` elements: 16 KiB, the workgroup memory that WebGPU promises.
const TILE: u32 = 9;
/// Most bits of one strided pass. With 8, rows are runs of 2 elements, 64 bytes: still whole memory sectors.
const ROWS: u32 = 8;
/// A page has at most `2^PAGE` elements, so that shifts in kernels stay below 32.
const PAGE: u32 = 30;
/// The scalar field has no root of unity of a larger order than 2^32.
const MAX_LOG_N: u32 = 32;

/// One pass over a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// Lowest bit of the binding's index that this pass takes.
    pub row_bit: u32,
    /// Number of bits it takes.
    pub rows: u32,
    /// Binary logarithm of the neighbours that are one row of a tile; at most `row_bit`.
    pub column_bits: u32,
    /// Tiles: workgroups.
    pub tiles: u32,
}

/// The passes of a transform, in the order of decimation in frequency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Binary logarithm of the length.
    pub log_n: u32,
    /// Binary logarithm of the elements of one page; `log_n` if one binding holds them all.
    pub page_bits: u32,
    /// Binary logarithm of the columns of a strip; `page_bits` if there is one page.
    pub strip_bits: u32,
    /// Passes over a strip: empty if there is one page.
    pub across: Vec<Pass>,
    /// Passes over a page.
    pub within: Vec<Pass>,
}

/// Passes over the bits `low .. high` of a binding of `2^high` elements.
fn passes(low: u32, high: u32) -> Vec<Pass> {
    let pass = |row_bit: u32, rows: u32| {
        let column_bits = (TILE - rows).min(row_bit);
        Pass { row_bit, rows, column_bits, tiles: 1 << (high - rows - column_bits) }
    };
    let contiguous = if low == 0 { high.min(TILE) } else { 0 };
    let strided = high - low - contiguous;
    let count = strided.div_ceil(ROWS);
    let mut top = high;
    let mut list: Vec<_> = (0..count)
        .map(|i| {
            // Shares differ by one bit at most.
            let rows = strided * (i + 1) / count - strided * i / count;
            top -= rows;
            pass(top, rows)
        })
        .collect();
    list.extend((contiguous > 0).then(|| pass(0, contiguous)));
    list
}

impl Plan {
    /// The plan for `2^log_n` elements, or the largest `log_n` that a binding of this size can do.
    pub fn new(log_n: u32, limits: &Limits) -> Result<Self, u32> {
        let page = (limits.binding / ELEMENT).max(1).ilog2().min(PAGE);
        if log_n <= page {
            let within = passes(0, log_n);
            return Ok(Self { log_n, page_bits: log_n, strip_bits: log_n, across: Vec::new(), within });
        }
        // A strip holds at least one column of every page. Pages start at multiples of 256 bytes.
        let most = if page < 3 { page } else { (2 * page).min(MAX_LOG_N) };
        if log_n > most {
            return Err(most);
        }
        let strip_bits = 2 * page - log_n;
        let (across, within) = (passes(strip_bits, page), passes(0, page));
        Ok(Self { log_n, page_bits: page, strip_bits, across, within })
    }

    /// Bindings of the vector.
    pub fn pages(&self) -> u32 {
        1 << (self.log_n - self.page_bits)
    }

    /// Elements of a page.
    pub fn page_size(&self) -> u32 {
        1 << self.page_bits
    }

    /// Strips of the vector, if there are several pages.
    pub fn strips(&self) -> u32 {
        1 << (self.page_bits - self.strip_bits)
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u64 {
        ELEMENT << self.page_bits
    }

    /// Bytes of a vector.
    pub fn bytes(&self) -> u64 {
        ELEMENT << self.log_n
    }

    /// Bytes of the space that strips need.
    pub fn strip_bytes(&self) -> u64 {
        if self.pages() > 1 { self.page_bytes() } else { 0 }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "2^{} elements, {} bytes, in {} page(s)", self.log_n, self.bytes(), self.pages())?;
        let mut list = |what: &str, times: u32, passes: &[Pass]| {
            passes.iter().try_for_each(|p| {
                let (low, high) = (p.row_bit, p.row_bit + p.rows - 1);
                let (rows, columns) = (1 << p.rows, 1 << p.column_bits);
                writeln!(f, "  {times} x {what}: bits {high}..{low}, {} tiles of {rows} x {columns}", p.tiles)
            })
        };
        list("strip", self.strips(), &self.across)?;
        list("page", self.pages(), &self.within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(binding: u64) -> Limits {
        Limits { binding, buffer: 1 << 40, memory: u64::MAX, block: 1, groups: 65535, workgroup_memory: 16384 }
    }

    #[test]
    fn every_bit_is_taken_once_from_the_top() {
        for (binding, most) in [(1 << 40, 30), (1 << 30, 32), (1 << 20, 30), (1 << 14, 18)] {
            for log_n in 0..=most {
                let plan = Plan::new(log_n, &limits(binding)).unwrap();
                let shift = plan.page_bits - plan.strip_bits;
                let mut next = plan.log_n;
                let across = plan.across.iter().map(|pass| (pass, shift));
                for (pass, shift) in across.chain(plan.within.iter().map(|pass| (pass, 0))) {
                    next -= pass.rows;
                    assert_eq!(pass.row_bit + shift, next, "{plan}");
                    assert!(pass.rows + pass.column_bits <= TILE && pass.column_bits <= pass.row_bit, "{plan}");
                    let elements = u64::from(pass.tiles) << (pass.rows + pass.column_bits);
                    assert_eq!(elements, u64::from(plan.page_size()), "{plan}");
                }
                assert_eq!(next, 0, "{plan}");
                assert!(plan.page_bytes() <= binding, "{plan}");
            }
            if most < 30 {
                assert_eq!(Plan::new(most + 1, &limits(binding)), Err(most));
            }
        }
        assert_eq!(Plan::new(24, &limits(1 << 40)).unwrap().within.len(), 3);
    }
}
