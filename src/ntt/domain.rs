//! A domain: the powers of one root of unity on one device, and the steps of transforms over it.

use ark_bls12_381::Fr;
use ark_ff::Field;
use rayon::prelude::*;

use super::{NttError, plan::Plan};
use crate::{
    device::{DeviceError, Gpu, Limits, Pool, Span, leased},
    encoding::{Format, fr_bytes},
    kernel::Kernels,
};

/// Most bytes of a table of twiddles. Up to here one table holds every power; beyond, the topmost stages multiply two
/// entries. Larger costs memory and cache misses, smaller costs a multiplication in more stages.
const TWIDDLES: u64 = 32 << 20;

/// `factor * base^e` for `e < 2^log_count`, as two tables in device Montgomery form: `high[e >> low_bits]`, which
/// carries the factor, times `low[e mod 2^low_bits]`.
#[derive(Debug, Clone)]
pub(super) struct Series {
    pub(super) high: Span,
    pub(super) low: Span,
    pub(super) low_bits: u32,
}

/// `first * ratio^i` for `i < count`.
fn powers(first: Fr, ratio: Fr, count: usize) -> Vec<Fr> {
    const CHUNK: usize = 1 << 10;
    let mut values = vec![first; count];
    values.par_chunks_mut(CHUNK).enumerate().for_each(|(index, chunk)| {
        let mut power = first * ratio.pow([(index * CHUNK) as u64]);
        for value in chunk {
            *value = power;
            power *= ratio;
        }
    });
    values
}

impl Series {
    pub(super) fn new(
        kernels: &Kernels,
        (base, factor): (Fr, Fr),
        log_count: u32,
        low_bits: u32,
    ) -> Result<Self, DeviceError> {
        // A stored arkworks word is x * 2^256; with this it is x * R.
        let shift = Fr::from(2u64).pow([kernels.format().fr().radix_bits() as u64 - 256]);
        let store = |first, ratio, bits: u32| {
            let table = powers(first * shift, ratio, 1 << bits);
            kernels.gpu().store(Pool::Resident, "powers", &fr_bytes(&table))
        };
        Ok(Self {
            high: store(factor, base.pow([1 << low_bits]), log_count - low_bits)?,
            low: store(Fr::ONE, base, low_bits)?,
            low_bits,
        })
    }

    /// Bytes that the two tables lease.
    pub(super) fn memory(log_count: u32, low_bits: u32) -> u64 {
        [log_count - low_bits, low_bits].map(|bits| leased(super::plan::ELEMENT << bits)).iter().sum()
    }

    /// Two tables of about equal size.
    pub(super) fn even(kernels: &Kernels, series: (Fr, Fr), log_count: u32) -> Result<Self, DeviceError> {
        Self::new(kernels, series, log_count, log_count / 2)
    }
}

/// The powers of one root of unity on one device, for one limb format. Made once and used for any number of
/// transforms of that size; steps that it records have to run on the kernels it was made with.
#[derive(Debug, Clone)]
pub struct Domain {
    root: Fr,
    pub(super) format: Format,
    pub(super) plan: Plan,
    pub(super) twiddles: Series,
    /// Space for strips, if there are several pages. One queue runs one list of steps after the other, so one is enough.
    pub(super) strip: Option<Span>,
}

fn plan(log_n: u32, limits: &Limits) -> Result<Plan, NttError> {
    Plan::new(log_n, limits).map_err(|most| NttError::Binding { log_n, limit: limits.binding, most })
}

/// Powers that the twiddles' series has, and those of its low table. Half of the powers are enough:
/// omega^(n/2) = -1.
fn twiddle_bits(log_n: u32, limits: &Limits) -> (u32, u32) {
    let half = log_n.saturating_sub(1);
    let most = (TWIDDLES.min(limits.binding) / super::plan::ELEMENT).max(1).ilog2();
    (half, half.saturating_sub(most))
}

/// The root of order `2^log_n` that comes from a generator: bellman and arkworks take 7, snarkjs 5 for BLS12-381.
/// Nothing if `log_n` is above 32.
pub fn root_of_unity(generator: u64, log_n: u32) -> Option<Fr> {
    use ark_ff::{FftField, PrimeField};
    let cofactor = <Fr as PrimeField>::TRACE;
    let mut root = Fr::from(generator).pow(cofactor);
    for _ in log_n..<Fr as FftField>::TWO_ADICITY {
        root.square_in_place();
    }
    (log_n <= <Fr as FftField>::TWO_ADICITY).then_some(root)
}

impl Domain {
    /// The domain of the powers of `root`, which has to have order `2^log_n`.
    pub fn new(kernels: &Kernels, log_n: u32, root: Fr) -> Result<Self, NttError> {
        super::host::domain(log_n, root)?;
        let gpu = kernels.gpu();
        let limits = gpu.limits();
        let plan = plan(log_n, &limits)?;
        let (half, low_bits) = twiddle_bits(log_n, &limits);
        let twiddles = Series::new(kernels, (root, Fr::ONE), half, low_bits)?;
        let strip = match plan.strip_bytes() {
            0 => None,
            bytes => Some(gpu.allocate(Pool::Scratch, "strips of a transform", bytes)?),
        };
        Ok(Self { root, format: kernels.format(), plan, twiddles, strip })
    }

    /// The plan of such a domain, and the bytes that it leases.
    pub(super) fn memory(log_n: u32, limits: &Limits) -> Result<(Plan, u64), NttError> {
        let plan = plan(log_n, limits)?;
        let (half, low_bits) = twiddle_bits(log_n, limits);
        let strip = if plan.strip_bytes() > 0 { leased(plan.strip_bytes()) } else { 0 };
        let bytes = Series::memory(half, low_bits) + strip;
        Ok((plan, bytes))
    }

    /// Binary logarithm of the length.
    pub fn log_n(&self) -> u32 {
        self.plan.log_n
    }

    /// The root of unity.
    pub fn root(&self) -> Fr {
        self.root
    }

    /// Passes, pages, bytes.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// `1/n`.
    pub(super) fn size_inverse(&self) -> Fr {
        let half = (Fr::ONE + Fr::ONE).inverse().unwrap_or(Fr::ONE);
        half.pow([u64::from(self.plan.log_n)])
    }

    /// Leases a vector, a span for each page. Contents are unspecified.
    pub fn allocate(&self, gpu: &Gpu, what: &str) -> Result<Vec<Span>, DeviceError> {
        (0..self.plan.pages()).map(|_| gpu.allocate(Pool::Scratch, what, self.plan.page_bytes())).collect()
    }

    /// The pages of a vector that lies in one span of at least [`Plan::bytes`].
    pub fn pages(&self, span: &Span) -> Vec<Span> {
        let bytes = self.plan.page_bytes();
        (0..u64::from(self.plan.pages())).map(|page| span.slice(page * bytes, bytes)).collect()
    }
}
