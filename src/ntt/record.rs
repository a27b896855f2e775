//! From a plan to dispatches. Vectors are lists of pages: [`Domain::allocate`] or [`Domain::pages`].

use super::{
    plan::{ELEMENT, Plan},
    tables::Pass,
};
use crate::{
    device::Span,
    kernel::{
        Kernel, Steps,
        table::{
            NTT_MULTIPLY, NTT_OUT, NTT_OUT_SLOTS, NTT_PASS, NTT_PASS_SLOTS, NTT_PRODUCT, QUOTIENT_OUT,
            QUOTIENT_OUT_SLOTS,
        },
        twins::{NttParams, ProductParams},
    },
};

/// Elements of a lane.
const ELEMENTS: u32 = 4;
/// Bindings that a vector is spread over.
const SLOTS: u32 = 4;

/// A part of a vector in four bindings.
struct Slots {
    spans: [Span; SLOTS as usize],
    /// Lowest of the two bits of a place that choose one.
    bit: u32,
    /// Elements of each.
    size: u32,
}

impl Plan {
    /// Four bindings that hold the places `first ..`, told apart by the bits of a digit: `count` pages at a distance of
    /// `stride`, whole or in parts.
    fn slots(&self, data: &[Span], first: usize, stride: usize, count: u32) -> Slots {
        let pages: Vec<&Span> = data[first..].iter().step_by(stride).take(count as usize).collect();
        let parts = SLOTS / count;
        let size = self.page_size() / parts;
        let part = |slot: u32| {
            let bytes = ELEMENT * u64::from(size);
            pages[(slot / parts) as usize].slice(u64::from(slot % parts) * bytes, bytes)
        };
        let bit = self.page_bits + stride.ilog2() - parts.ilog2();
        Slots { spans: std::array::from_fn(|slot| part(slot as u32)), bit, size }
    }

    /// Everything but what depends on the binding.
    fn params(&self, pass: &Pass, columns: u32, first: u32) -> NttParams {
        let rows = self.digits[pass.digit];
        let split = pass.split;
        let factor_bits = split.map_or(0, |split| split.rows + split.columns);
        NttParams {
            group0: 0,
            tiles: 0,
            rows,
            columns,
            row_bit: self.below(pass.digit),
            column_bit: 0,
            low_at: 0,
            low_bits: 31,
            high_at: 0,
            first,
            last: ((1u64 << self.log_n) - 1) as u32,
            along: 0,
            shifted: pass.shifted.into(),
            factors: split.map_or(0, |split| 1 + u32::from(split.low > 0)),
            factor_mask: ((1u64 << factor_bits) - 1) as u32,
            factor_low: split.map_or(0, |split| split.low),
            factor_row: split.map_or(0, |split| split.columns),
            second_table: split.map_or(0, |split| split.first() as u32),
            elements: ELEMENTS,
            slot_bit: 0,
            place_mask: self.page_size() - 1,
            digits: self.digits.iter().rev().fold(0, |list, width| list << 4 | width),
            log_n: self.log_n,
            last_digit: self.log_n - self.digits[self.digits.len() - 1],
            target_bit: 31,
            target_mask: u32::MAX,
            window: 0,
            unused: 0,
        }
    }

    /// Tiles of so many elements, at least one.
    fn tiles(elements: u64, params: &NttParams) -> u32 {
        (elements >> (params.rows + params.columns)).max(1) as u32
    }

    /// One pass in place.
    pub(super) fn pass(&self, steps: &mut Steps, data: &[Span], pass: &Pass) {
        let rows = self.digits[pass.digit];
        let row_bit = self.below(pass.digit);
        let spread = self.pages() > 1 && row_bit + rows > self.page_bits;
        let dispatch = |steps: &mut Steps, kernel: &'static Kernel, params: NttParams, bindings: &[&Span]| {
            steps.dispatch(kernel, u64::from(params.tiles) * u64::from(kernel.workgroup), params, bindings);
        };
        if spread {
            let columns = self.columns(rows, row_bit.min(self.page_bits));
            // Bits of the digit that choose a page, and the lowest of them.
            let low = row_bit.max(self.page_bits);
            let bits = row_bit + rows - low;
            let stride = 1usize << (low - self.page_bits);
            let pages = (0..data.len()).filter(|page| page & (stride * ((1 << bits) - 1)) == 0);
            for first in pages {
                let slots = self.slots(data, first, stride, 1 << bits);
                let mut params = self.params(pass, columns, (first as u32) << self.page_bits);
                params.low_at = columns;
                if row_bit < self.page_bits {
                    params.low_bits = row_bit - columns;
                    params.high_at = 31;
                }
                params.tiles = Self::tiles(u64::from(self.page_size()) << bits, &params);
                (params.slot_bit, params.place_mask) = (slots.bit, slots.size - 1);
                let [a, b, c, d] = &slots.spans;
                dispatch(steps, &NTT_PASS_SLOTS, params, &[a, b, c, d, &pass.inner, &pass.factors]);
            }
            return;
        }
        for (page, data) in (0..).zip(data) {
            let columns = self.columns(rows, if row_bit > 0 { row_bit } else { self.page_bits - rows });
            let mut params = self.params(pass, columns, self.first(page));
            if row_bit > 0 {
                (params.low_at, params.low_bits, params.high_at) =
                    (columns, row_bit - columns, (row_bit + rows).min(31));
            } else {
                (params.column_bit, params.low_at) = (rows, rows + columns);
                params.along = if rows >= 2 { 3 } else { 0 };
            }
            params.tiles = Self::tiles(self.page_size().into(), &params);
            dispatch(steps, &NTT_PASS, params, &[data, &pass.inner, &pass.factors]);
        }
    }

    /// The last pass, to natural order in `to`; of a quotient, taken from `plain` at the same places as `from`.
    pub(super) fn out(&self, steps: &mut Steps, from: &[Span], plain: Option<&[Span]>, to: &[Span], pass: &Pass) {
        let rows = self.digits[pass.digit];
        let top = self.digits[0];
        let above = self.log_n - self.page_bits;
        // Columns are the lowest bits of the first digit, as far as one page has them.
        let limit = if self.digits.len() > 1 { top.saturating_sub(above) } else { 0 };
        let columns = self.columns(rows, limit);
        let parts = if self.pages() == 1 { 1 } else { SLOTS };
        let windows = (self.pages() / SLOTS).max(1);
        for (page, source) in (0..).zip(from) {
            let mut params = self.params(pass, columns, self.first(page));
            params.low_at = rows;
            params.column_bit = rows;
            if self.digits.len() > 1 {
                let column_bit = self.log_n - top;
                (params.column_bit, params.high_at) = (column_bit.min(31), (column_bit + columns).min(31));
                params.low_bits = column_bit.min(self.page_bits) - rows;
            }
            params.along = if rows >= 2 { 1 } else { 0 };
            params.tiles = Self::tiles(self.page_size().into(), &params);
            let threads = u64::from(params.tiles) * u64::from(NTT_OUT.workgroup);
            let plain = plain.map(|plain| &plain[page as usize]);
            if parts == 1 {
                let mut bindings = vec![source, &to[0], &pass.inner, &pass.factors];
                bindings.extend(plain);
                let kernel = if plain.is_some() { &QUOTIENT_OUT } else { &NTT_OUT };
                steps.dispatch(kernel, threads, params, &bindings);
                continue;
            }
            for window in 0..windows {
                let slots = self.slots(to, (window * SLOTS) as usize, 1, self.pages().min(SLOTS));
                params.window = window;
                (params.target_bit, params.target_mask) = (slots.bit, slots.size - 1);
                let mut bindings = vec![source];
                bindings.extend(&slots.spans);
                bindings.extend([&pass.inner, &pass.factors]);
                bindings.extend(plain);
                let kernel = if plain.is_some() { &QUOTIENT_OUT_SLOTS } else { &NTT_OUT_SLOTS };
                steps.dispatch(kernel, threads, params, &bindings);
            }
        }
    }

    /// `to = a by`, element by element.
    pub(super) fn product(&self, steps: &mut Steps, a: &[Span], by: &[Span], to: &[Span]) {
        let params = ProductParams { group0: 0, n: self.page_size(), unused0: 0, unused1: 0 };
        for ((a, by), to) in a.iter().zip(by).zip(to) {
            steps.dispatch(&NTT_PRODUCT, params.n.into(), params, &[a, by, to]);
        }
    }

    /// `data *= by`, element by element.
    pub(super) fn multiply(&self, steps: &mut Steps, data: &[Span], by: &[Span]) {
        let params = ProductParams { group0: 0, n: self.page_size(), unused0: 0, unused1: 0 };
        for (data, by) in data.iter().zip(by) {
            steps.dispatch(&NTT_MULTIPLY, params.n.into(), params, &[data, by]);
        }
    }

    /// Place of the first element of a page.
    fn first(&self, page: u32) -> u32 {
        page << self.page_bits
    }
}
