//! How scalars are cut into windows.
//!
//! With `w` windows of `c` bits the topmost has what the others leave of 255 bits, in the worst case one: then every scalar
//! has a digit there, all of them in one or two buckets, and runs of thousands of entries that no thread can sum at once.
//! So the windows are as even as they can be: the lowest have `c` bits, the others one less, 255 altogether. All sets of
//! buckets have `2^(c-1)` of them; in narrow windows the upper half stays empty.

use super::cost::BITS;

/// Windows from the lowest bit on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Bits of the widest windows.
    pub window: u32,
    /// Windows.
    pub windows: u32,
    /// The lowest windows, which are the widest; the others have a bit less.
    pub wide: u32,
}

impl Cut {
    /// As few windows of up to `window` bits as there can be, as even as they can be.
    pub fn even(window: u32) -> Self {
        let windows = BITS.div_ceil(window);
        Self { window, windows, wide: BITS.saturating_sub(windows * (window - 1)).max(1) }
    }

    /// As few as there can be, all of `window` bits.
    pub fn uniform(window: u32) -> Self {
        let even = Self::even(window);
        Self { wide: even.windows, ..even }
    }

    /// Bits of a window.
    pub fn width(self, index: u32) -> u32 {
        self.window - u32::from(index >= self.wide)
    }

    /// Bits below a window.
    pub fn offset(self, index: u32) -> u32 {
        index * self.window - index.saturating_sub(self.wide)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_cover_a_scalar() {
        for window in 2..=20 {
            for cut in [Cut::even(window), Cut::uniform(window)] {
                assert!((1..=cut.windows).contains(&cut.wide), "{cut:?}");
                let mut ends = (0..cut.windows).map(|index| cut.offset(index) + cut.width(index));
                assert!(ends.clone().zip(1..).all(|(end, next)| end == cut.offset(next)), "{cut:?}");
                assert!(ends.next_back().is_some_and(|end| end >= BITS), "{cut:?}");
            }
            // Where windows of a bit less would be more, no bit is too many.
            let Cut { windows, wide, .. } = Cut::even(window);
            assert!(windows * (window - 1) >= BITS || windows * (window - 1) + wide == BITS, "{window}");
        }
        assert_eq!(Cut::even(12), Cut { window: 12, windows: 22, wide: 13 });
    }
}
