//! Number-theoretic transforms over the scalar field, and the quotient of a Groth16 proof.
//!
//! For `omega` of order `n = 2^k` the forward transform takes coefficients `c_i` to values `sum_i c_i (g omega^j)^i`,
//! the inverse undoes it; `g` is 1, or the shift of a coset. Sources: Cooley and Tukey (Math. Comp. 19, 1965) and Bailey
//! (J. Supercomputing 4, 1990); Shoup's multiplication by numbers known ahead (`src/kernel/field/fixed.rs`). What differs:
//! * the root is a parameter, since provers disagree (bellman and arkworks derive it from 7, snarkjs from 5);
//! * passes over digits of eight or so bits, each in registers and workgroup memory, so that memory is read and written
//!   two or three times altogether ([`Plan`]);
//! * no pass permutes: the last one writes in natural order to another vector, or, where somebody multiplies in between
//!   (the quotient), two transforms in place undo each other's order;
//! * scales, shifts to cosets and back are parts of tables, so that all four kinds cost about the same ([`Order`], and
//!   `laws.rs` for the formulas);
//! * vectors stay in arkworks' Montgomery words on the device: transforms are linear, so the factor `2^256` rides along.
//!
//! [`ntt`] is the call on ark types. Who transforms often makes a [`Domain`] once and calls [`Domain::transform`], or
//! records [`Transform`]s into a list of steps of its own, as [`Quotient`] does.

mod domain;
pub mod host;
mod laws;
mod plan;
mod quotient;
mod record;
pub mod reference;
mod tables;

use ark_bls12_381::Fr;
use thiserror::Error;

pub use domain::{Domain, Memory, Transform, memory_estimate, root_of_unity};
pub use laws::{Order, Twist};
pub use plan::{LOADING, Plan};
pub use quotient::Quotient;

use crate::{
    device::DeviceError,
    encoding::{fr_bytes, fr_from_bytes},
    kernel::{Kernels, Steps},
};

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Coefficients to values.
    Forward,
    /// Values to coefficients.
    Inverse,
}

/// What is wrong with a transform that was asked for.
#[derive(Debug, Clone, Error)]
pub enum NttError {
    /// Not a power of two.
    #[error("a transform needs a power of two elements, not {len}")]
    Length {
        /// Elements that were given.
        len: usize,
    },
    /// Not the length of the domain.
    #[error("{len} elements were given to a domain of 2^{log_n}")]
    Mismatch {
        /// Elements that were given.
        len: usize,
        /// Binary logarithm of the domain's length.
        log_n: u32,
    },
    /// The field has no root of unity of that order.
    #[error("the scalar field has roots of unity of order 2^32 at most, 2^{log_n} was asked for")]
    TooLong {
        /// Binary logarithm of the order.
        log_n: u32,
    },
    /// Not a primitive root.
    #[error("the root is not a primitive 2^{log_n}-th root of unity")]
    Root {
        /// Binary logarithm of the length.
        log_n: u32,
    },
    /// A coset of the group needs an invertible shift.
    #[error("the shift of a coset must not be zero")]
    Coset,
    /// The adapter's bindings are too small for the tables, or for so many pages.
    #[error("2^{log_n} elements do not fit: with bindings of {limit} bytes 2^{most} is the most")]
    Binding {
        /// Binary logarithm of the length.
        log_n: u32,
        /// Bytes of a binding.
        limit: u64,
        /// Binary logarithm of the largest length.
        most: u32,
    },
    /// A domain made for kernels of another limb format.
    #[error("a domain in the limb format '{found}' was given to kernels of '{kernels}'")]
    Format {
        /// Format of the domain.
        found: &'static str,
        /// Format of the kernels.
        kernels: &'static str,
    },
    /// The device layer.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Transforms `values` in place, natural order in and out: forward to the values at `coset * root^i` (`coset` 1 if
/// none), inverse from them. `root` has to be a primitive root of the order that `values` has elements.
///
/// On an error `values` is as it was. Each call makes the tables of the root anew: see [`Domain`].
pub fn ntt(
    kernels: &Kernels,
    values: &mut [Fr],
    direction: Direction,
    coset: Option<Fr>,
    root: Fr,
) -> Result<(), NttError> {
    if !values.len().is_power_of_two() {
        return Err(NttError::Length { len: values.len() });
    }
    Domain::new(kernels, values.len().ilog2(), root)?.transform(kernels, values, direction, coset)
}

impl Domain {
    /// [`ntt`] over this domain. `kernels` are those it was made with.
    pub fn transform(
        &self,
        kernels: &Kernels,
        values: &mut [Fr],
        direction: Direction,
        coset: Option<Fr>,
    ) -> Result<(), NttError> {
        let log_n = self.log_n();
        if values.len() as u64 != 1 << log_n {
            return Err(NttError::Mismatch { len: values.len(), log_n });
        }
        let gpu = kernels.gpu();
        let transform = self.prepare(kernels, direction, coset)?;
        let (work, result) = (self.allocate(gpu, "a transform")?, self.allocate(gpu, "a transform's result")?);
        let page = self.plan().page_size() as usize;
        for (span, values) in work.iter().zip(values.chunks(page)) {
            gpu.upload(span, &fr_bytes(values))?;
        }
        let mut steps = Steps::new(gpu.limits());
        transform.record(&mut steps, &work, &result);
        let (pages, _) = kernels.run_and_read(&steps, &result.iter().collect::<Vec<_>>())?;
        for (values, bytes) in values.chunks_mut(page).zip(pages) {
            values.copy_from_slice(&fr_from_bytes(&bytes));
        }
        Ok(())
    }
}
