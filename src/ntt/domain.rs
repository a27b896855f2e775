//! A domain: the powers of one root of unity, and prepared transforms over it.

use ark_bls12_381::Fr;
use ark_ff::{Field, Zero};

use super::{
    Direction, NttError,
    laws::{Order, Twist},
    plan::Plan,
    tables::{self, Pass},
};
use crate::{
    device::{DeviceError, Gpu, Limits, Pool, Span, leased},
    encoding::Format,
    kernel::{Kernels, Steps},
};

/// The powers of one root of unity, and how vectors of their number are transformed on one device. Steps that it records
/// have to run on the kernels it was made with.
#[derive(Debug, Clone)]
pub struct Domain {
    root: Fr,
    pub(super) format: Format,
    pub(super) plan: Plan,
}

/// What one kind of transform over a domain needs on the device, made once for any number of runs.
#[derive(Debug)]
pub struct Transform {
    pub(super) plan: Plan,
    pub(super) passes: Vec<Pass>,
}

pub(super) fn plan(log_n: u32, limits: &Limits) -> Result<Plan, NttError> {
    Plan::new(log_n, limits).map_err(|most| NttError::Binding { log_n, limit: limits.binding, most })
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

/// Of zero, one.
pub(super) fn inverse(x: Fr) -> Fr {
    x.inverse().unwrap_or(Fr::ONE)
}

/// `2^-log_n`.
pub(super) fn size_inverse(log_n: u32) -> Fr {
    inverse(Fr::from(2u64)).pow([u64::from(log_n)])
}

impl Domain {
    /// The domain of the powers of `root`, which has to have order `2^log_n`.
    pub fn new(kernels: &Kernels, log_n: u32, root: Fr) -> Result<Self, NttError> {
        super::host::domain(log_n, root)?;
        Ok(Self { root, format: kernels.format(), plan: plan(log_n, &kernels.gpu().limits())? })
    }

    /// Binary logarithm of the length.
    pub fn log_n(&self) -> u32 {
        self.plan.log_n
    }

    /// The root of unity.
    pub fn root(&self) -> Fr {
        self.root
    }

    /// Digits, pages, bytes.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// An error if the kernels are of another format than those that the domain was made with.
    pub(super) fn same_format(&self, kernels: &Kernels) -> Result<(), NttError> {
        match self.format == kernels.format() {
            true => Ok(()),
            false => Err(NttError::Format { found: self.format.name(), kernels: kernels.format().name() }),
        }
    }

    /// The tables of a transform that is described by its sum. `kernels` are those that the domain was made with.
    pub fn prepare_twisted(&self, kernels: &Kernels, order: Order, twist: &Twist) -> Result<Transform, NttError> {
        self.same_format(kernels)?;
        Ok(Transform { plan: self.plan.clone(), passes: tables::passes(kernels, &self.plan, order, twist)? })
    }

    /// The tables of a transform over the domain, or over its coset by a shift. `kernels` are those that the domain was
    /// made with.
    pub fn prepare(&self, kernels: &Kernels, direction: Direction, coset: Option<Fr>) -> Result<Transform, NttError> {
        let shift = coset.unwrap_or(Fr::ONE);
        if shift.is_zero() {
            return Err(NttError::Coset);
        }
        self.prepare_twisted(kernels, Order::Down, &twist(self.log_n(), direction, shift, self.root))
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

/// A transform over the coset by `shift` as its sum.
pub(super) fn twist(log_n: u32, direction: Direction, shift: Fr, root: Fr) -> Twist {
    match direction {
        Direction::Forward => Twist { root, input: shift, output: Fr::ONE, scale: Fr::ONE },
        Direction::Inverse => {
            Twist { root: inverse(root), input: Fr::ONE, output: inverse(shift), scale: size_inverse(log_n) }
        }
    }
}

/// Bytes that a transform leases on its device, exactly as the arena counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Of a [`Transform`], as long as it lives.
    pub tables: u64,
    /// Beside them while the device makes them, at most.
    pub loading: u64,
    /// Of a vector of the domain. A transform has two under way, where it reads and where it writes.
    pub vector: u64,
}

/// What a transform of `2^log_n` elements will lease within `limits`, over the domain or over a coset of it.
pub fn memory_estimate(
    log_n: u32,
    direction: Direction,
    coset: bool,
    format: Format,
    limits: &Limits,
) -> Result<Memory, NttError> {
    let plan = plan(log_n, limits)?;
    let root = root_of_unity(7, log_n).ok_or(NttError::TooLong { log_n })?;
    // Which tables there are does not depend on the shift, if it is no root of unity of that order.
    let shift = if coset { Fr::from(7u64) } else { Fr::ONE };
    Ok(Memory {
        tables: tables::memory(&plan, format, Order::Down, &twist(log_n, direction, shift, root)),
        loading: super::LOADING,
        vector: u64::from(plan.pages()) * leased(plan.page_bytes()),
    })
}

impl Transform {
    /// Records, as the stage `ntt`, the transform of `from` to `to`, both in natural order, of a transform that goes
    /// [`Order::Down`]. What was in `from` is lost. Both are pages of the domain's, which may not overlap.
    pub fn record(&self, steps: &mut Steps, from: &[Span], to: &[Span]) {
        steps.stage("ntt");
        self.record_out(steps, from, None, to);
    }

    /// Records the transform in place: one end of it is in the order of swapped digits.
    pub fn record_in_place(&self, steps: &mut Steps, data: &[Span]) {
        for pass in &self.passes {
            self.plan.pass(steps, data, pass);
        }
    }

    /// The transform of `from` to `to`, or what is left when it is taken from `plain`, which is in swapped order.
    pub(super) fn record_out(&self, steps: &mut Steps, from: &[Span], plain: Option<&[Span]>, to: &[Span]) {
        let Some((last, before)) = self.passes.split_last() else { return };
        for pass in before {
            self.plan.pass(steps, from, pass);
        }
        self.plan.out(steps, from, plain, to, last);
    }
}
