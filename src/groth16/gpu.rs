//! The backend on a device: one key's bases resident, one list of steps a proof.
//!
//! **Theory.** The quotient by six transforms ([`crate::ntt::Quotient`]) leaves `h` where the H MSM reads its scalars;
//! the assignment is uploaded once, and the other four MSMs find their scalars in it through each query's map.
//!
//! **What differs** from the usual host: field elements go up as they lie in memory. Taking the Montgomery factor away,
//! telling zeros and ones apart, digits and sorting are the device's work; the host copies, waits, and adds the last
//! few points.
//!
//! **Use.** [`GpuBackend::load`] uploads a key; [`super::Backend::sums`] may then be called any number of times.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use ark_bls12_381::{Fr, G1Projective, G2Projective};

use super::{Assignment, Backend, ProveError, ProvingKey, StageTime, Sums};
use crate::{
    device::{DeviceError, Interval, Pool, Span},
    encoding::fr_bytes,
    kernel::{Kernel, Kernels, Steps, table},
    msm::{self, Bases, MsmError, Options, Recorded, Scalars, Source},
    ntt::{Domain, NttError, Quotient, root_of_unity},
};

/// Proves on a device.
#[derive(Debug)]
pub struct GpuBackend {
    key: Arc<ProvingKey>,
    kernels: Arc<Kernels>,
    quotient: Quotient,
    a: Bases<G1Projective>,
    b_g1: Bases<G1Projective>,
    b_g2: Bases<G2Projective>,
    h: Bases<G1Projective>,
    l: Bases<G1Projective>,
}

/// bellman and arkworks derive their roots of unity from this generator.
const GENERATOR: u64 = 7;

impl From<MsmError> for ProveError {
    fn from(error: MsmError) -> Self {
        match error {
            MsmError::Device(error) => Self::Device(error),
            other => Self::Backend(Box::new(other)),
        }
    }
}

impl From<NttError> for ProveError {
    fn from(error: NttError) -> Self {
        match error {
            NttError::Device(error) => Self::Device(error),
            other => Self::Backend(Box::new(other)),
        }
    }
}

/// An MSM over an empty query reads nothing back; a proof's other queries still do.
fn sum<G: Source>(recorded: &Recorded<G>, rows: &mut impl Iterator<Item = Vec<u8>>) -> G {
    match recorded.rows() {
        Some(_) => recorded.sum(&rows.next().unwrap_or_default()),
        None => recorded.sum(&[]),
    }
}

impl GpuBackend {
    /// Every kernel that a proof runs, for building them ahead.
    pub fn kernels() -> Vec<&'static Kernel> {
        let pairs = [&table::MSM_ACCUMULATE, &table::MSM_MERGE, &table::MSM_REDUCE];
        let mut all: Vec<&'static Kernel> = pairs.into_iter().flatten().collect();
        all.extend([
            &table::MSM_COUNT,
            &table::MSM_SCATTER,
            &table::SCAN_TILES,
            &table::SCAN_SUMS,
            &table::SCAN_ADD,
            &table::NTT_DIF,
            &table::NTT_DIT,
            &table::NTT_SCALE,
            &table::NTT_PERMUTE,
            &table::NTT_PRODUCT,
            &table::QUOTIENT_COMBINE,
        ]);
        all
    }

    /// Uploads the key's bases, and the tables of its domain.
    pub fn load(kernels: Arc<Kernels>, key: Arc<ProvingKey>) -> Result<Self, ProveError> {
        let log_n = key.log2_domain;
        let root = root_of_unity(GENERATOR, log_n)
            .ok_or_else(|| ProveError::Backend(format!("there is no root of unity of order 2^{log_n}").into()))?;
        let domain = Arc::new(Domain::new(&kernels, log_n, root)?);
        let g1 = |query: &super::Query<_>| Bases::load_mapped(&kernels, &query.bases, &query.index);
        Ok(Self {
            quotient: Quotient::new(&kernels, domain)?,
            a: g1(&key.a)?,
            b_g1: g1(&key.b_g1)?,
            l: g1(&key.l)?,
            b_g2: Bases::load_mapped(&kernels, &key.b_g2.bases, &key.b_g2.index)?,
            h: Bases::load(&kernels, &key.h)?,
            key,
            kernels,
        })
    }

    /// Values over the domain, filled up with zeros.
    fn values(&self, what: &str, values: &[Fr]) -> Result<Span, DeviceError> {
        let gpu = self.kernels.gpu();
        let mut bytes = fr_bytes(values);
        bytes.resize(self.quotient.bytes() as usize, 0);
        gpu.store(Pool::Scratch, what, &bytes)
    }
}

impl Backend for GpuBackend {
    fn name(&self) -> String {
        let (info, format) = (self.kernels.gpu().info(), self.kernels.format().name());
        format!("{} ({}, {format})", info.name, info.backend)
    }

    fn sums(&self, assignment: &Assignment) -> Result<(Sums, Vec<StageTime>), ProveError> {
        assignment.check(&self.key)?;
        let gpu = self.kernels.gpu();
        let log = &mut Vec::new();

        let begin = Instant::now();
        let a = self.values("a", &assignment.a)?;
        let b = self.values("b", &assignment.b)?;
        let spare = gpu.allocate(Pool::Scratch, "quotient", self.quotient.bytes())?;
        let full = [&assignment.inputs[..], &assignment.aux[..]].concat();
        let witness = Scalars::upload(&self.kernels, &full)?;
        host(log, "upload", begin);

        let begin = Instant::now();
        let mut steps = Steps::new(gpu.limits());
        let h = Scalars { span: self.quotient.record(&mut steps, &a, &b, &spare), scale: self.quotient.scale() };
        let kernels = &*self.kernels;
        let options = |stage| Options { stage: Some(stage), ..Options::default() };
        let h = msm::record(kernels, &mut steps, &self.h, &h, &options("h"))?;
        let l = msm::record(kernels, &mut steps, &self.l, &witness, &options("l"))?;
        let a = msm::record(kernels, &mut steps, &self.a, &witness, &options("a"))?;
        let b_g1 = msm::record(kernels, &mut steps, &self.b_g1, &witness, &options("b_g1"))?;
        let b_g2 = msm::record(kernels, &mut steps, &self.b_g2, &witness, &options("b_g2"))?;
        let submitted = kernels.submit(&steps)?;
        host(log, "record", begin);

        let begin = Instant::now();
        let intervals = kernels.finish(submitted)?;
        host(log, "compute", begin);
        log.extend(device(&intervals));

        let begin = Instant::now();
        let rows = [h.rows(), l.rows(), a.rows(), b_g1.rows(), b_g2.rows()];
        let spans: Vec<&Span> = rows.into_iter().flatten().collect();
        let mut rows = gpu.read(&spans)?.into_iter();
        let sums = Sums {
            h: sum(&h, &mut rows),
            l: sum(&l, &mut rows),
            a: sum(&a, &mut rows),
            b_g1: sum(&b_g1, &mut rows),
            b_g2: sum(&b_g2, &mut rows),
        };
        host(log, "read back", begin);
        Ok((sums, std::mem::take(log)))
    }
}

fn host(log: &mut Vec<StageTime>, stage: &'static str, begin: Instant) {
    log.push(StageTime { stage, host: begin.elapsed(), device: None });
}

/// Device time by stage, in the order in which stages began; the host waits for all of them in `compute`.
fn device(intervals: &[Interval]) -> Vec<StageTime> {
    let mut all: Vec<StageTime> = Vec::new();
    for interval in intervals {
        let took = interval.end.saturating_sub(interval.start);
        match all.iter_mut().find(|stage| stage.stage == interval.label) {
            Some(stage) => stage.device = stage.device.map(|sum| sum + took),
            None => all.push(StageTime { stage: interval.label, host: Duration::ZERO, device: Some(took) }),
        }
    }
    all
}
