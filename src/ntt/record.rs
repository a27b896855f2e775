//! From a plan to dispatches. Vectors are lists of pages: [`Domain::allocate`] or [`Domain::pages`].

use super::{
    Direction,
    domain::{Domain, Series},
    plan::Pass,
};
use crate::{
    device::Span,
    kernel::{
        Kernel, Steps,
        table::{NTT_DIF, NTT_DIT, NTT_PERMUTE, NTT_PRODUCT, NTT_SCALE},
        twins::{NttParams, PermuteParams, ProductParams, ScaleParams},
    },
};

/// What moves between page `from` and page `to` when the bits of all indices are reversed; `ntt_permute.wgsl` explains.
#[derive(Debug, Clone, Copy)]
pub(super) struct Move {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) bits: u32,
    pub(super) stride_bits: u32,
    pub(super) from0: u32,
    pub(super) to0: u32,
}

fn reverse(i: u32, bits: u32) -> u32 {
    i.reverse_bits().checked_shr(32 - bits).unwrap_or(0)
}

impl Domain {
    /// In place, natural order to bit-reversed order, not scaled: an inverse leaves `n` times the coefficients.
    pub fn dif(&self, steps: &mut Steps, data: &[Span], direction: Direction) {
        self.strips(steps, data, &NTT_DIF, direction, self.plan.across.iter());
        self.each_page(steps, data, &NTT_DIF, direction, self.plan.within.iter());
    }

    /// In place, bit-reversed order to natural order, not scaled.
    pub fn dit(&self, steps: &mut Steps, data: &[Span], direction: Direction) {
        self.each_page(steps, data, &NTT_DIT, direction, self.plan.within.iter().rev());
        self.strips(steps, data, &NTT_DIT, direction, self.plan.across.iter().rev());
    }

    /// `to = from` with all bits of the indices reversed. The two may not overlap.
    pub fn permute(&self, steps: &mut Steps, from: &[Span], to: &[Span]) {
        for m in self.moves() {
            let params = PermuteParams {
                group0: 0,
                n: 1 << m.bits,
                bits: m.bits,
                stride_bits: m.stride_bits,
                from0: m.from0,
                to0: m.to0,
                reversed: 1,
                unused: 0,
            };
            steps.dispatch(&NTT_PERMUTE, 1 << m.bits, params, &[&from[m.from], &to[m.to]]);
        }
    }

    /// `to = from`. A copy by kernel, since device copies within one buffer are refused and spans share buffers.
    pub(super) fn copy(&self, steps: &mut Steps, from: &[Span], to: &[Span]) {
        for (from, to) in from.iter().zip(to) {
            copy(steps, self.plan.page_size(), (from, 0), (to, 0));
        }
    }

    /// `data *= by`, element by element.
    pub(super) fn product(&self, steps: &mut Steps, data: &[Span], by: &[Span]) {
        let n = self.plan.page_size();
        for (data, by) in data.iter().zip(by) {
            let params = ProductParams { group0: 0, n, unused0: 0, unused1: 0 };
            steps.dispatch(&NTT_PRODUCT, n.into(), params, &[data, by]);
        }
    }

    /// Element `i` times `series(i)`, in natural or in bit-reversed order.
    pub(super) fn scale(&self, steps: &mut Steps, data: &[Span], series: &Series, reversed: bool) {
        let n = self.plan.page_size();
        for (page, data) in (0..).zip(data) {
            let params = ScaleParams {
                group0: 0,
                n,
                first: self.first(page),
                log_n: self.plan.log_n,
                low_bits: series.low_bits,
                reversed: reversed.into(),
                unused0: 0,
                unused1: 0,
            };
            steps.dispatch(&NTT_SCALE, n.into(), params, &[data, &series.high, &series.low]);
        }
    }

    pub(super) fn moves(&self) -> impl Iterator<Item = Move> {
        let (pages, page_bits) = (self.plan.pages(), self.plan.page_bits);
        let stride_bits = self.plan.log_n - page_bits;
        (0..pages).flat_map(move |from| {
            (0..pages).map(move |to| Move {
                from: from as usize,
                to: to as usize,
                bits: page_bits - stride_bits,
                stride_bits,
                from0: reverse(to, stride_bits),
                to0: reverse(from, stride_bits),
            })
        })
    }

    /// Index of the first element of a page.
    pub(super) fn first(&self, page: u32) -> u32 {
        page << self.plan.page_bits
    }

    fn each_page<'a>(
        &self,
        steps: &mut Steps,
        data: &[Span],
        kernel: &'static Kernel,
        direction: Direction,
        passes: impl Iterator<Item = &'a Pass> + Clone,
    ) {
        for (page, data) in (0..).zip(data) {
            for pass in passes.clone() {
                self.pass(steps, data, kernel, direction, pass, self.plan.page_bits, self.first(page));
            }
        }
    }

    fn strips<'a>(
        &self,
        steps: &mut Steps,
        data: &[Span],
        kernel: &'static Kernel,
        direction: Direction,
        passes: impl Iterator<Item = &'a Pass> + Clone,
    ) {
        let Some(strip) = &self.strip else { return };
        let columns = 1 << self.plan.strip_bits;
        for first in (0..self.plan.strips()).map(|i| i * columns) {
            for (page, data) in (0..).zip(data) {
                copy(steps, columns, (data, first), (strip, page * columns));
            }
            for pass in passes.clone() {
                self.pass(steps, strip, kernel, direction, pass, self.plan.strip_bits, first);
            }
            for (page, data) in (0..).zip(data) {
                copy(steps, columns, (strip, page * columns), (data, first));
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one line of the kernel's parameters each")]
    fn pass(
        &self,
        steps: &mut Steps,
        data: &Span,
        kernel: &'static Kernel,
        direction: Direction,
        pass: &Pass,
        strip_bits: u32,
        first: u32,
    ) {
        let params = NttParams {
            group0: 0,
            tiles: pass.tiles,
            log_n: self.plan.log_n,
            low_bits: self.twiddles.low_bits,
            tile_bits: pass.rows + pass.column_bits,
            column_bits: pass.column_bits,
            row_bit: pass.row_bit,
            strip_bits,
            page_bits: self.plan.page_bits,
            first,
            inverse: (direction == Direction::Inverse).into(),
            unused: 0,
        };
        let threads = u64::from(pass.tiles) * u64::from(kernel.workgroup);
        steps.dispatch(kernel, threads, params, &[data, &self.twiddles.high, &self.twiddles.low]);
    }
}

/// `n` elements from one place to another.
fn copy(steps: &mut Steps, n: u32, (from, from0): (&Span, u32), (to, to0): (&Span, u32)) {
    let params = PermuteParams { group0: 0, n, bits: 0, stride_bits: 0, from0, to0, reversed: 0, unused: 0 };
    steps.dispatch(&NTT_PERMUTE, n.into(), params, &[from, to]);
}
