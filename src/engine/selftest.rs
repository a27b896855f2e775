//! Known answers that an adapter has to give before it is used.
//!
//! Drivers miscompile: a rival's G2 doubling came out wrong on Metal, some mobile drivers drop barriers. So before the
//! first MSM of a group, the first transform, or the first proof on an adapter, the kernels that will run are compared
//! with arkworks, MSMs on inputs that reach every branch of the formulas. The pairing check of every proof remains the
//! last word; this is for bare MSMs and transforms, and to blame the adapter by name.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use ark_bls12_381::{Fq, Fr};
use ark_ec::AffineRepr;
use ark_ff::{Field, One, PrimeField, Zero};

use crate::{
    device::{DeviceError, Pool},
    encoding::{Format, fr_bytes, fr_from_bytes},
    kernel::{Kernels, Steps, table::PROBE_FQ, twins::ProbeParams},
    msm::{self, Bases, MsmError, Options, Scalars, Source, reference},
    ntt::{self, Direction, Domain, Quotient, root_of_unity},
};

fn wrong(kernels: &Kernels, what: &str) -> DeviceError {
    DeviceError::SelfTest {
        adapter: kernels.gpu().info().name.clone(),
        what: format!("{what} ({} limbs)", kernels.format().name()),
    }
}

/// 37 terms: infinity, repeated and opposite bases; scalars 0, 1, r-1 and dense ones.
fn terms<G: Source>() -> (Vec<G::Affine>, Vec<Fr>) {
    let generator = G::Affine::generator();
    let scalar = |i: u64| Fr::from(i * i + 3).pow([u64::MAX]);
    let bases: Vec<G::Affine> = (0..37u64)
        .map(|i| match i % 6 {
            0 => generator,
            1 => -generator,
            2 => G::Affine::zero(),
            _ => (generator * scalar(i)).into_affine(),
        })
        .collect();
    let scalars: Vec<Fr> = (0..37)
        .map(|i| match i % 7 {
            0 => Fr::zero(),
            1 => Fr::one(),
            2 => -Fr::one(),
            3 => scalar(5),
            _ => scalar(i),
        })
        .collect();
    (bases, scalars)
}

/// What a sum has to be.
fn judge<G: Source>(kernels: &Kernels, what: &str, got: Result<G, MsmError>, want: G) -> Result<(), DeviceError> {
    match got {
        Ok(got) if got == want => Ok(()),
        Ok(_) => Err(wrong(kernels, &format!("{what} in {}", G::GROUP.name()))),
        Err(MsmError::Device(error)) => Err(error),
        Err(other) => Err(wrong(kernels, &other.to_string())),
    }
}

/// MSMs: entries straight into buckets, and by rounds of pairs.
pub fn group<G: Source>(kernels: &Kernels) -> Result<(), DeviceError> {
    let (bases, scalars) = terms::<G>();
    let want = reference::naive::<G>(&bases, &scalars);
    for (window, rounds) in [(3, 0), (5, 2)] {
        let (window, rounds) = (Some(window), Some(rounds));
        let options = Options { window, rounds, cpu_below: Some(0), ..Options::PINNED };
        judge(kernels, "an MSM", msm::msm::<G>(kernels, &bases, &scalars, &options), want)?;
    }
    Ok(())
}

/// An MSM with multiples of its bases, added in pairs.
pub fn tables<G: Source>(kernels: &Kernels) -> Result<(), DeviceError> {
    let (bases, scalars) = terms::<G>();
    let want = reference::naive::<G>(&bases, &scalars);
    let options = Options { window: Some(4), tables: 3, rounds: Some(2), ..Options::PINNED };
    let sum = || -> Result<G, MsmError> {
        let bases = Bases::<G>::load_with(kernels, &bases, None, &options)?;
        let scalars = Scalars::upload(kernels, &scalars)?;
        let mut steps = Steps::new(kernels.gpu().limits());
        let recorded = msm::record(kernels, &mut steps, &bases, &scalars, &options)?;
        let (rows, _) = kernels.run_and_read(&steps, recorded.rows().as_slice())?;
        recorded.sum(&rows.concat())
    };
    judge(kernels, "an MSM with multiples", sum(), want)
}

/// Transforms of 2^13, which are two digits, of an odd and of an even number of bits, with factors between them that the
/// device made, forward and back over a coset.
pub fn transforms(kernels: &Kernels) -> Result<(), DeviceError> {
    let log_n = 13;
    let root = root_of_unity(7, log_n).unwrap_or(Fr::one());
    let values: Vec<Fr> = (0..1u64 << log_n).map(|i| Fr::from(i + 2).pow([u64::MAX])).collect();
    let shift = Fr::from(7u64);
    let run = |data: &mut Vec<Fr>, direction| match ntt::ntt(kernels, data, direction, Some(shift), root) {
        Err(ntt::NttError::Device(error)) => Err(error),
        Err(other) => Err(wrong(kernels, &other.to_string())),
        Ok(()) => Ok(()),
    };
    let mut data = values.clone();
    run(&mut data, Direction::Forward)?;
    // Value 3 by Horner's rule; the way back then ties all values together.
    let at = shift * root.pow([3u64]);
    let want = values.iter().rev().fold(Fr::zero(), |sum, c| sum * at + c);
    if data[3] != want {
        return Err(wrong(kernels, "a transform"));
    }
    run(&mut data, Direction::Inverse)?;
    if data != values {
        return Err(wrong(kernels, "an inverse transform"));
    }
    quotient(kernels, log_n, root, &values)
}

/// A quotient of values that are no witness's, against the same polynomial on the host.
fn quotient(kernels: &Kernels, log_n: u32, root: Fr, a: &[Fr]) -> Result<(), DeviceError> {
    let b: Vec<Fr> = a.iter().rev().copied().collect();
    let refuse = |error: ntt::NttError| match error {
        ntt::NttError::Device(error) => error,
        other => wrong(kernels, &other.to_string()),
    };
    let domain = Arc::new(Domain::new(kernels, log_n, root).map_err(refuse)?);
    let quotient = Quotient::new(kernels, domain).map_err(refuse)?;
    let gpu = kernels.gpu();
    let [a_span, b_span] = [a, &b].map(|values| gpu.store(Pool::Scratch, "self-test", &fr_bytes(values)));
    let spare = gpu.allocate(Pool::Scratch, "self-test", quotient.bytes())?;
    let mut steps = Steps::new(gpu.limits());
    let h = quotient.record(&mut steps, &a_span?, &b_span?, &spare);
    let stored = fr_from_bytes(&kernels.run_and_read(&steps, &[&h])?.0.concat());
    // `fr_mul(stored, scale)` is `stored scale / R`, and `stored` was read as Montgomery words, so a factor 2^256 is
    // off.
    let two = Fr::from(2u64);
    let radix = kernels.format().fr().radix_bits() as u64;
    let scale = Fr::from_le_bytes_mod_order(bytemuck::cast_slice(&quotient.scale()));
    let factor = scale * two.pow([256]) * two.pow([radix]).inverse().unwrap_or_default();
    let host = crate::groth16::quotient::Domain::new(log_n).map_err(|error| wrong(kernels, &error.to_string()))?;
    let want = crate::groth16::quotient::odd_coset(&host, a, &b);
    match want.iter().zip(&stored).all(|(want, stored)| *want == *stored * factor) {
        true => Ok(()),
        false => Err(wrong(kernels, "a quotient")),
    }
}

/// Multiplications per second of the base field in this format: the best of several runs of dependent chains whose ends
/// are checked. Device timestamps are taken where there are any; launches and waits would blur short runs.
pub fn multiplication_rate(kernels: &Kernels) -> Result<f64, DeviceError> {
    // Enough lanes to fill a card, and a chain of milliseconds; a software adapter would only be slow on them.
    let software = kernels.gpu().info().device_type == wgpu::DeviceType::Cpu;
    let (lanes, chain): (usize, u32) = if software { (1 << 10, 64) } else { (1 << 17, 512) };
    let gpu = kernels.gpu();
    let format: Format = kernels.format();
    let [x, y] = [2u64, 3].map(|k| Fq::from(k).pow([u64::MAX, 1]));
    let words = |v: Fq| bytemuck::cast_slice(&vec![format.fq_words(v); lanes]).to_vec();
    let a = gpu.store(Pool::Scratch, "self-test", &words(x))?;
    let b = gpu.store(Pool::Scratch, "self-test", &words(y))?;
    let out = gpu.allocate(Pool::Scratch, "self-test", 48 * lanes as u64)?;
    let mut steps = Steps::new(gpu.limits());
    steps.stage("multiplications");
    let params = ProbeParams { group0: 0, n: lanes as u32, op: 9, count: chain };
    steps.dispatch(&PROBE_FQ, lanes as u64, params, &[&a, &b, &out]);
    // An idle card takes tens of milliseconds to raise its clock, which is why the best run counts and why there are
    // enough of them to get there.
    let mut best = f64::INFINITY;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(60) || best.is_infinite() {
        let run = Instant::now();
        let intervals = kernels.run(&steps)?;
        let wall = run.elapsed();
        let device = intervals.first().map(|interval| interval.end.saturating_sub(interval.start));
        best = best.min(device.filter(|time| !time.is_zero()).unwrap_or(wall).as_secs_f64());
    }
    let bytes = gpu.read(&[&out])?.swap_remove(0);
    // Montgomery words: x R times (y R) / R each step stays x y^k R.
    let want = x * y.pow([u64::from(chain)]);
    let mut words = [0u32; 12];
    bytemuck::cast_slice_mut::<u32, u8>(&mut words).copy_from_slice(&bytes[..48]);
    // Every lane had the same work, so one is decoded and the others have its bytes.
    let right = format.fq_from_words(&words) == want && bytes.chunks_exact(48).all(|chunk| chunk == &bytes[..48]);
    if right { Ok(lanes as f64 * f64::from(chain) / best) } else { Err(wrong(kernels, "a field multiplication")) }
}

/// The same of all of this machine's processors, by arkworks on one of them: the best of three short runs.
pub fn multiplication_rate_of_cpu() -> f64 {
    const CHAIN: u32 = 1 << 18;
    let [x, y] = [2u64, 3].map(|k| Fq::from(k).pow([u64::MAX, 1]));
    let run = |_| {
        let begin = Instant::now();
        let end = (0..CHAIN).fold(x, |product, _| product * y);
        std::hint::black_box(end);
        begin.elapsed()
    };
    let best = (0..3).map(run).min().unwrap_or_default();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    threads as f64 * f64::from(CHAIN) / best.as_secs_f64()
}
