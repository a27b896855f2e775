//! The same transforms without a device, by ark-poly over a domain with any root.

use ark_bls12_381::Fr;
use ark_ff::{Field, Zero};
use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};

use super::{Direction, NttError};

/// arkworks' domain of the powers of `root`, which has to have order `2^log_n`.
pub fn domain(log_n: u32, root: Fr) -> Result<Radix2EvaluationDomain<Fr>, NttError> {
    if log_n > 32 {
        return Err(NttError::TooLong { log_n });
    }
    let primitive = match log_n.checked_sub(1) {
        None => root == Fr::ONE,
        Some(half) => root.pow([1u64 << half]) == -Fr::ONE,
    };
    let size = 1u64 << log_n;
    let (Some(size_inv), Some(group_gen_inv), true) = (Fr::from(size).inverse(), root.inverse(), primitive) else {
        return Err(NttError::Root { log_n });
    };
    Ok(Radix2EvaluationDomain {
        size,
        log_size_of_group: log_n,
        size_as_field_element: Fr::from(size),
        size_inv,
        group_gen: root,
        group_gen_inv,
        offset: Fr::ONE,
        offset_inv: Fr::ONE,
        offset_pow_size: Fr::ONE,
    })
}

/// [`super::ntt`] on the CPU.
pub fn ntt(values: &mut [Fr], direction: Direction, coset: Option<Fr>, root: Fr) -> Result<(), NttError> {
    if !values.len().is_power_of_two() {
        return Err(NttError::Length { len: values.len() });
    }
    let roots = domain(values.len().ilog2(), root)?;
    let shift = coset.unwrap_or(Fr::ONE);
    let roots = roots.get_coset(shift).filter(|_| !shift.is_zero()).ok_or(NttError::Coset)?;
    let done = match direction {
        Direction::Forward => roots.fft(values),
        Direction::Inverse => roots.ifft(values),
    };
    values.copy_from_slice(&done);
    Ok(())
}
