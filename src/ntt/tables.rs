//! What a transform multiplies with, on the device.

use std::collections::BTreeMap;

use ark_bls12_381::Fr;
use ark_ff::{AdditiveGroup, Field};
use rayon::prelude::*;

use super::{
    laws::{Factors, Law, Order, Twist, laws},
    plan::{ELEMENT, Plan, Split},
};
use crate::{
    device::{DeviceError, Pool, Span, leased},
    encoding::{Format, fr_bytes},
    kernel::{Kernels, Steps, table::NTT_FACTORS, twins::FactorsParams},
};

/// Whole tables of factors with more entries than this, which is more than a digit has values, are made on the device.
const EXPANDED: u64 = 1 << 12;

/// One pass with its tables.
#[derive(Debug, Clone)]
pub(super) struct Pass {
    pub(super) digit: usize,
    /// A heap of twiddles: `ntt_tile.wgsl` explains.
    pub(super) inner: Span,
    pub(super) shifted: bool,
    /// Where nothing is multiplied, the twiddles again, which nobody looks at.
    pub(super) factors: Span,
    pub(super) split: Option<Split>,
}

/// Bytes of a heap of twiddles for digits of so many bits.
fn heap_bytes(format: Format, bits: u32) -> u64 {
    format.fr_fixed_size() << bits
}

/// The twiddles of a transform at `shift root^k`, `root` of order `2^bits`: at `h + t` for `t < h = 1, 2, 4, ..` is
/// `shift^(n/2h) root^(t n/2h)`, the point of the level that joins halves of `h` elements.
fn heap(bits: u32, root: Fr, shift: Fr) -> Vec<Fr> {
    let mut values = vec![Fr::ZERO; 1 << bits];
    let (mut ratio, mut first) = (root, shift);
    for level in (0..bits).rev() {
        let half = 1 << level;
        let mut value = first;
        for place in &mut values[half..2 * half] {
            *place = value;
            value *= ratio;
        }
        ratio.square_in_place();
        first.square_in_place();
    }
    values
}

/// `2^columns` powers in each of `2^rows` rows: `first(row)` times powers of `ratio(row)`.
fn rows(rows: u32, columns: u32, law: impl Fn(u64) -> (Fr, Fr) + Sync) -> Vec<Fr> {
    let piece = columns.min(10);
    let mut values = vec![Fr::ZERO; 1 << (rows + columns)];
    values.par_chunks_mut(1 << piece).enumerate().for_each(|(index, chunk)| {
        let pieces = columns - piece;
        let (first, ratio) = law(index as u64 >> pieces);
        let mut value = first * ratio.pow([((index as u64) & ((1 << pieces) - 1)) << piece]);
        for place in chunk {
            *place = value;
            value *= ratio;
        }
    });
    values
}

impl Factors {
    /// Both tables, the first with the scale and the rows' own factors in it.
    pub(super) fn values(&self, split: Split) -> Vec<Fr> {
        let Split { rows: row_bits, columns, low } = split;
        let ratio = |row: u64| self.column * self.both.pow([row]);
        let mut values =
            rows(row_bits, columns - low, |row| (self.scale * self.row.pow([row]), ratio(row).pow([1u64 << low])));
        if low > 0 {
            values.extend(rows(row_bits, low, |row| (Fr::ONE, ratio(row))));
        }
        values
    }
}

/// The tables as kernels take them.
fn device_bytes(format: Format, factors: &Factors, split: Split) -> Vec<u8> {
    // A stored arkworks word is x * 2^256; with this it is x * R.
    let shift = Fr::from(2u64).pow([format.fr().radix_bits() as u64 - 256]);
    let mut values = Factors { scale: factors.scale * shift, ..*factors }.values(split);
    // The scale is in the first table; the second needs its own step to the device's form.
    values[split.first() as usize..].par_iter_mut().for_each(|value| *value *= shift);
    fr_bytes(&values)
}

/// A whole table, multiplied out on the device from one of a row's and a column's square root.
fn expanded(kernels: &Kernels, factors: &Factors, split: Split) -> Result<Span, DeviceError> {
    let gpu = kernels.gpu();
    let halves = split.halves();
    let parts = gpu.store(Pool::Scratch, "parts of twiddles", &device_bytes(kernels.format(), factors, halves))?;
    let whole = gpu.allocate(Pool::Resident, "twiddles", ELEMENT * split.entries())?;
    let params = FactorsParams {
        group0: 0,
        n: split.entries() as u32,
        columns: halves.columns,
        low: halves.low,
        second_table: halves.first() as u32,
    };
    let mut steps = Steps::new(gpu.limits());
    steps.stage("twiddles");
    steps.dispatch(&NTT_FACTORS, split.entries(), params, &[&parts, &whole]);
    kernels.run(&steps)?;
    Ok(whole)
}

/// The passes of a transform with their tables. Passes without a shift share their twiddles.
pub(super) fn passes(kernels: &Kernels, plan: &Plan, order: Order, twist: &Twist) -> Result<Vec<Pass>, DeviceError> {
    let gpu = kernels.gpu();
    let format = kernels.format();
    let store = |bytes: &[u8]| gpu.store(Pool::Resident, "twiddles", bytes);
    let mut plain: BTreeMap<u32, Span> = BTreeMap::new();
    let pass = |law: Law| {
        let bits = plan.digits[law.digit];
        let fresh = || store(&format.fr_fixed_planes(&heap(bits, law.root, law.shift)));
        let shifted = law.shift != Fr::ONE;
        let inner = match plain.get(&bits) {
            Some(inner) if !shifted => inner.clone(),
            _ => fresh()?,
        };
        if !shifted {
            plain.insert(bits, inner.clone());
        }
        let split = law.factors.map(|factors| plan.factors(factors.digit));
        let factors = match law.factors.zip(split) {
            None => inner.clone(),
            Some((factors, split)) if split.low == 0 && split.entries() > EXPANDED => {
                expanded(kernels, &factors, split)?
            }
            Some((factors, split)) => store(&device_bytes(kernels.format(), &factors, split))?,
        };
        Ok(Pass { digit: law.digit, inner, shifted, factors, split })
    };
    laws(plan, order, twist).into_iter().map(pass).collect()
}

/// Bytes that these tables lease.
pub(super) fn memory(plan: &Plan, format: Format, order: Order, twist: &Twist) -> u64 {
    let mut plain = BTreeMap::new();
    let mut bytes = 0;
    for law in laws(plan, order, twist) {
        let bits = plan.digits[law.digit];
        if law.shift != Fr::ONE || plain.insert(bits, ()).is_none() {
            bytes += leased(heap_bytes(format, bits));
        }
        bytes += law.factors.map_or(0, |factors| leased(ELEMENT * plan.factors(factors.digit).entries()));
    }
    bytes
}
