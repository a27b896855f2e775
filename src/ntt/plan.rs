//! What a transform of `2^log_n` elements does, as plain numbers.
//!
//! The bits of a place in the vector are cut into digits. A pass transforms one digit of all places, in tiles of up to
//! [`TILE`] bits in the registers and the workgroup memory of 256 lanes: the digit's bits are a tile's rows, and so that
//! memory is touched in runs, a tile takes a few columns as well. Up to ten bits are one digit, up to twenty two; beyond,
//! where vectors outgrow caches, digits have up to nine, so that runs are at least two elements, 64 bytes.
//!
//! **Cost.** A pass over a digit of `k` bits takes `k/2 - 3/4` multiplications an element (twiddles of 1 are left out
//! where a whole level has them), over a coset `k/2`, and one or two more by the factor that ties two digits together; it
//! reads and writes 64 bytes an element, and exchanges `36 (k/2 - 1)` bytes twice through workgroup memory. So 2^24
//! elements in three digits of eight take 9.75 multiplications of 110 products of 32 x 32 bits and 2 of 153 each: at
//! the 8.0 T/s of an H200 2.9 ms, beside 1 ms for 4.2 GB, tables of factors among them, at 4,300 GB/s.
//!
//! **Pages.** Beyond one binding the vector is a row of pages. A kernel binds four parts of a vector. Up to four pages,
//! they are one topmost digit's: its rows are spread over all bindings, and so is what the last pass writes. Beyond, the
//! bits that choose a page become digits of two bits of their own, and the last pass is run once for each four pages that
//! it writes to.

use std::fmt;

use crate::device::Limits;

/// Bytes of one element.
pub const ELEMENT: u64 = 32;
/// Bytes of one twiddle, at most.
const TWIDDLE: u64 = 80;
/// Binary logarithm of the elements of a tile.
pub const TILE: u32 = 10;
/// Widest digit where there are more than two.
const DIGIT: u32 = 9;
/// Fewer tiles than this leave parts of a card idle; smaller tiles have shorter runs instead.
const SPREAD: u32 = 7;
/// A page has at most `2^PAGE` elements, so that shifts in kernels stay below 32.
const PAGE: u32 = 30;
/// The scalar field has no root of unity of a larger order than 2^32.
const MAX_LOG_N: u32 = 32;
/// Most bytes of a table of factors with one entry for each place, as many as the vector has. Larger ones are two tables of
/// about the square root, which cost a second multiplication: a twelfth of the time of 2^24 elements on an H200.
const FACTORS: u64 = 1 << 30;
/// Most bytes that are leased beside a table while the device makes it.
pub const LOADING: u64 = 16 << 20;

/// The digits of a transform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Binary logarithm of the length.
    pub log_n: u32,
    /// Binary logarithm of the elements of one page; `log_n` if one binding holds them all.
    pub page_bits: u32,
    /// Widths of the digits in bits, the topmost first.
    pub digits: Vec<u32>,
    /// Elements that a binding holds.
    binding: u64,
}

/// How a table of `2^(rows + columns)` factors is kept: whole (`low` is 0), or as one with every `2^low`-th column and
/// one with the first `2^low` columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Split {
    pub(super) rows: u32,
    pub(super) columns: u32,
    pub(super) low: u32,
}

impl Split {
    /// Entries of the first table.
    pub(super) fn first(self) -> u64 {
        1 << (self.rows + self.columns - self.low)
    }

    /// The two tables that a whole one is made from.
    pub(super) fn halves(self) -> Self {
        Self { low: self.columns.div_ceil(2), ..self }
    }

    /// Entries of both.
    pub(super) fn entries(self) -> u64 {
        self.first() + if self.low > 0 { 1 << (self.rows + self.low) } else { 0 }
    }
}

/// `bits` in as few digits as can be of up to `most`, none more than a bit wider than another, the last the widest.
fn split(bits: u32, most: u32) -> impl Iterator<Item = u32> {
    let count = bits.div_ceil(most);
    (0..count).map(move |i| bits * (i + 1) / count - bits * i / count)
}

/// The same with digits of up to nine bits where there are more than two.
fn cut(bits: u32, most: u32) -> Vec<u32> {
    let most = if bits > 2 * most { most.min(DIGIT) } else { most };
    split(bits, most).collect()
}

impl Plan {
    /// The plan for `2^log_n` elements, or the largest `log_n` below that a binding of this size can do.
    pub fn new(log_n: u32, limits: &Limits) -> Result<Self, u32> {
        let fits = |log_n: u32| Self::within(log_n, limits.binding);
        fits(log_n).ok_or_else(|| (0..log_n.min(MAX_LOG_N + 1)).rev().find(|&log_n| fits(log_n).is_some()).unwrap_or(0))
    }

    fn within(log_n: u32, binding: u64) -> Option<Self> {
        let page_bits = (binding / ELEMENT).max(1).ilog2().min(PAGE).min(log_n);
        // A heap of twiddles has as many as the digit has values.
        let most = (binding / TWIDDLE).checked_ilog2()?.clamp(1, TILE);
        let above = log_n - page_bits;
        let digits = match above {
            0 => cut(log_n, most),
            1 | 2 => cut(log_n, most.min(page_bits)),
            // A digit of one bit binds parts of its two pages, told apart by the bit below: the lowest page bit's.
            _ => {
                let mut digits: Vec<u32> = split(above, 2).collect();
                digits.reverse();
                digits.extend(cut(page_bits, most));
                digits
            }
        };
        let plan =
            Self { log_n, page_bits, digits: if log_n == 0 { vec![0] } else { digits }, binding: binding / ELEMENT };
        let (first, last) = (plan.digits[0], plan.digits[plan.digits.len() - 1]);
        // Bindings are chosen by bits of the first digit when reading and of the last when writing. Pages have parts that
        // start at multiples of 256 bytes.
        let spread = match above {
            0 => true,
            1 | 2 => first >= 2 && last >= 2 && page_bits >= 5,
            _ => last >= above && page_bits >= 5,
        };
        let tables = (0..plan.digits.len()).all(|digit| plan.factors(digit).entries() <= plan.binding);
        (log_n <= MAX_LOG_N && plan.digits.len() <= 8 && spread && tables).then_some(plan)
    }

    /// Bits of a place below digit `digit`.
    pub fn below(&self, digit: usize) -> u32 {
        self.digits[digit + 1..].iter().sum()
    }

    /// Columns of the tiles of a pass with so many rows: as many as a tile has room for, but for short vectors and for
    /// what limits them.
    pub(super) fn columns(&self, rows: u32, limit: u32) -> u32 {
        let tile = self.log_n.saturating_sub(SPREAD).clamp(7, TILE).max(rows);
        (tile - rows).min(limit).max(2u32.saturating_sub(rows))
    }

    /// The factors between a digit and those below it.
    pub(super) fn factors(&self, digit: usize) -> Split {
        let (rows, columns) = (self.digits[digit], self.below(digit));
        let whole = (FACTORS / ELEMENT).min(self.binding);
        let split = Split { rows, columns, low: 0 };
        if split.entries() <= whole { split } else { split.halves() }
    }

    /// Bindings of the vector.
    pub fn pages(&self) -> u32 {
        1 << (self.log_n - self.page_bits)
    }

    /// Elements of a page.
    pub fn page_size(&self) -> u32 {
        1 << self.page_bits
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u64 {
        ELEMENT << self.page_bits
    }

    /// Bytes of a vector.
    pub fn bytes(&self) -> u64 {
        ELEMENT << self.log_n
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.digits.iter().map(u32::to_string).collect::<Vec<_>>().join(" + ");
        write!(f, "2^{} elements, {} bytes, in {} page(s); bits {digits}", self.log_n, self.bytes(), self.pages())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(binding: u64) -> Limits {
        Limits { binding, buffer: 1 << 40, memory: u64::MAX, block: 1, groups: 65535, workgroup_memory: 16384 }
    }

    #[test]
    fn digits_are_all_bits_and_tables_fit() {
        for (binding, most) in [(1 << 40, 32), (1 << 31, 32), (1 << 27, 30), (1 << 20, 23), (1 << 14, 14)] {
            for log_n in 0..=most {
                let plan =
                    Plan::new(log_n, &limits(binding)).unwrap_or_else(|most| panic!("2^{log_n}: {most} of {binding}"));
                assert_eq!(plan.digits.iter().sum::<u32>(), log_n, "{plan}");
                assert!(plan.digits.iter().all(|&width| width <= TILE && (width > 0 || log_n == 0)), "{plan}");
                assert!(plan.page_bytes() <= binding, "{plan}");
                for split in (0..plan.digits.len()).map(|digit| plan.factors(digit)).filter(|split| split.low == 0) {
                    assert!(ELEMENT * split.halves().entries() <= LOADING, "{plan}");
                }
            }
            assert_eq!(Plan::new(most + 1, &limits(binding)), Err(most));
        }
        let digits = |log_n| Plan::new(log_n, &limits(1 << 31)).map(|plan| plan.digits);
        assert_eq!(digits(10), Ok(vec![10]));
        assert_eq!(digits(20), Ok(vec![10, 10]));
        assert_eq!(digits(24), Ok(vec![8, 8, 8]));
        assert_eq!(digits(27), Ok(vec![9, 9, 9]));
    }
}
