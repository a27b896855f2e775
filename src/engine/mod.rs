//! Where proofs, MSMs and transforms are computed: an open adapter that passed its self-test, or the CPU.
//!
//! [`Engine::best`] takes the best adapter and falls back to the CPU, saying so; [`Engine::open`] takes exactly what
//! was asked for or fails. On a device the fastest limb format is picked, unless it is named, and MSMs are planned, by
//! short measurements that are kept in a file for the next time ([`Tuning`]).
//! One engine serves many keys: [`Engine::load`] gives a [`Prover`] for each.

mod calibration;
mod partitions;
mod selftest;
mod tuning;

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use ark_bls12_381::{Fr, G1Affine, G1Projective, G2Affine, G2Projective};
use ark_ec::VariableBaseMSM;
use thiserror::Error;

pub use calibration::{Calibration, CalibrationError, Identity};
pub use partitions::{Loaded, PipelineOptions, ProofStages, ProofTask, SharedKey, Work, pipeline, places};
pub use tuning::{Origin, Tuning};

use crate::{
    device::{self, DeviceError, Gpu, Limits, Select},
    encoding::Format,
    groth16::{CpuBackend, GpuBackend, ProveError, Prover, ProvingKey},
    kernel::{
        Compiled, Kernels,
        table::{MSM_MULTIPLY, PROBE_FQ},
    },
    msm::{self, Costs, MsmError},
    ntt::{self, Direction, NttError},
    pipeline::{LeaseError, SubmitError},
};
use tuning::Tuned;

/// How to open an engine.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Which adapter.
    pub select: Select,
    /// Limb format; measured if absent.
    pub format: Option<Format>,
    /// Limits below the adapter's own.
    pub limits: Option<Limits>,
    /// Keep the shader compiler's run-time checks.
    pub checked: bool,
    /// What formats and plans are chosen by.
    pub tuning: Tuning,
    /// As for [`Engine::tables`].
    pub tables: u32,
}

/// Why there is no engine, or why it refuses.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The adapter lacks what a named limb format needs.
    #[error("adapter '{adapter}' can not run the limb format '{format}': it lacks SHADER_INT64")]
    Format {
        /// Adapter name.
        adapter: String,
        /// Format asked for.
        format: &'static str,
    },
    /// An MSM failed.
    #[error(transparent)]
    Msm(#[from] MsmError),
    /// A transform failed.
    #[error(transparent)]
    Ntt(#[from] NttError),
    /// A key could not be loaded.
    #[error(transparent)]
    Prove(#[from] ProveError),
    /// There are no bytes for a key.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// A pipeline could not be started.
    #[error(transparent)]
    Pipeline(#[from] SubmitError),
    /// The system refused threads for host work.
    #[error("threads for host work could not be started: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

/// How much faster a later format has to be than one before it in [`Format::ALL`]: a measurement of milliseconds errs by
/// some percent, and the portable format's kernels take longer to compile.
const MARGIN: f64 = 1.15;

/// Fewer bases than this are the CPU's before anything is measured: it ends before a device has noticed.
const LEAST: usize = 32;

/// The format to take, by [`MARGIN`]; none of none.
fn fastest(rates: &[(Format, f64)]) -> Option<Format> {
    let mut best: Option<(Format, f64)> = None;
    for &(format, rate) in rates {
        if best.is_none_or(|(_, other)| rate > MARGIN * other) {
            best = Some((format, rate));
        }
    }
    best.map(|(format, _)| format)
}

/// Multiplications per second by format.
type Rates = Vec<(Format, f64)>;

/// Kernels in the fastest of the formats that the adapter can run and computes right, the rates of all of these, and
/// whether they will be the same next time: a format that had no memory, say, may have it then.
fn measured(gpu: Gpu) -> Result<(Kernels, Rates, bool), DeviceError> {
    let able = Format::ALL.into_iter().filter(|format| format.supported(gpu.features()));
    let mut candidates: Vec<_> = able.map(|format| Kernels::new(gpu.clone(), format)).collect();
    // Compiled side by side, measured one after the other.
    std::thread::scope(|scope| {
        for kernels in &candidates {
            scope.spawn(|| kernels.prepare(&[&PROBE_FQ]));
        }
    });
    let mut rates = Vec::new();
    let (mut failure, mut lasting) = (None, true);
    for kernels in &candidates {
        let format = kernels.format();
        match selftest::multiplication_rate(kernels) {
            Ok(rate) => {
                tracing::info!(format = format.name(), rate, "field multiplications per second");
                rates.push((format, rate));
            }
            Err(error) => {
                tracing::warn!(format = format.name(), %error, "limb format set aside");
                lasting &= matches!(error, DeviceError::SelfTest { .. });
                failure = Some(error);
            }
        }
    }
    // The portable format needs nothing, so the list is not empty: what is not fast has failed.
    let format = match (fastest(&rates), failure) {
        (Some(format), _) => format,
        (None, Some(error)) => return Err(error),
        (None, None) => Format::U32,
    };
    let at = candidates.iter().position(|kernels| kernels.format() == format);
    let kernels = at.map_or_else(|| Kernels::new(gpu, format), |at| candidates.swap_remove(at));
    Ok((kernels, rates, lasting))
}

/// Families of kernels, each with its own self-test.
#[derive(Debug, Clone, Copy)]
enum Family {
    G1,
    G2,
    Ntt,
    /// Multiples of bases, of both groups.
    Tables,
}

#[derive(Debug)]
struct OnDevice {
    kernels: Arc<Kernels>,
    /// Where they were measured.
    rates: Rates,
    tuned: Tuned,
    passed: [OnceLock<Result<(), DeviceError>>; 4],
}

/// An open place to compute. Clones share it.
#[derive(Clone, Debug)]
pub struct Engine {
    on: Option<Arc<OnDevice>>,
    /// Multiples of each base of a key.
    tables: u32,
}

impl Engine {
    /// The best adapter, or the CPU where there is none or it fails its self-test; either is announced by `tracing`.
    pub fn best() -> Self {
        let tested = Self::open(&Options::default()).and_then(|engine| engine.self_test().map(|()| engine));
        tested.unwrap_or_else(|error| {
            tracing::warn!(%error, "no usable adapter, computing on the CPU");
            Self::cpu()
        })
    }

    /// The CPU, by arkworks.
    pub fn cpu() -> Self {
        Self { on: None, tables: 1 }
    }

    /// The adapter that `options` name. Self-tests run before first use of each family of kernels.
    pub fn open(options: &Options) -> Result<Self, EngineError> {
        let device = device::Options {
            select: options.select.clone(),
            limits: options.limits,
            checked: options.checked,
            ..Default::default()
        };
        Ok(Self::with(Gpu::open(&device)?, options.format, &options.tuning)?.tables(options.tables))
    }

    /// An engine on an open device.
    pub fn on(gpu: Gpu, format: Option<Format>) -> Result<Self, EngineError> {
        Self::with(gpu, format, &Tuning::default())
    }

    /// An engine on an open device, tuned so.
    pub fn with(gpu: Gpu, format: Option<Format>, tuning: &Tuning) -> Result<Self, EngineError> {
        let able = |format: Format| format.supported(gpu.features());
        let tuned = Tuned::new(&gpu, tuning);
        let known = tuned.known().0.rates;
        let (kernels, rates) = match (format, fastest(&known)) {
            (Some(format), _) if !able(format) => {
                return Err(EngineError::Format { adapter: gpu.info().name.clone(), format: format.name() });
            }
            (Some(format), _) => (Kernels::new(gpu, format), known),
            // Numbers of another adapter may be pinned, and name a format that this one lacks.
            (None, Some(format)) if able(format) => (Kernels::new(gpu, format), known),
            (None, _) => {
                let (kernels, rates, lasting) = measured(gpu)?;
                if lasting {
                    tuned.rated(&rates);
                }
                (kernels, rates)
            }
        };
        let passed = Default::default();
        let on = OnDevice { kernels: Arc::new(kernels), rates, tuned, passed };
        Ok(Self { on: Some(Arc::new(on)), tables: 1 })
    }

    /// The same engine, which keeps up to so many multiples of each base of the keys that it loads, the base itself among
    /// them: about so many times a key's memory ([`GpuBackend::memory_with`] tells the bytes) for fewer additions.
    /// 0 and 1 keep none.
    #[must_use]
    pub fn tables(self, tables: u32) -> Self {
        Self { tables: tables.max(1), ..self }
    }

    /// The kernels and through them the device, if there is one.
    pub fn kernels(&self) -> Option<&Arc<Kernels>> {
        self.on.as_deref().map(|on| &on.kernels)
    }

    /// What formats and plans are chosen by, as far as it was needed by now, and where it came from. As a file it pins
    /// other engines to the same ([`Calibration::write`], [`Tuning::Pinned`]).
    pub fn calibration(&self) -> Option<(Calibration, Origin)> {
        self.on.as_deref().map(|on| {
            let (mut known, origin) = on.tuned.known();
            known.complete(Calibration { rates: on.rates.clone(), ..on.tuned.used(on.kernels.format()) });
            (known, origin)
        })
    }

    /// What MSMs are planned by, by group: built-in costs until the group's self-test has run.
    pub fn costs(&self) -> [Costs; 2] {
        self.on.as_deref().map_or(Costs::H200, |on| on.tuned.costs())
    }

    /// How sums of proofs are planned.
    pub fn planning(&self) -> msm::Options {
        msm::Options { costs: self.costs(), tables: self.tables, ..msm::Options::PINNED }
    }

    /// Multiplications per second of each limb format that was measured, now or before.
    pub fn rates(&self) -> &[(Format, f64)] {
        self.on.as_deref().map_or(&[], |on| &on.rates)
    }

    /// Multiplications in Fq per second, measured unless [`Self::rates`] has it: to compare places with.
    pub(crate) fn speed(&self) -> Result<f64, EngineError> {
        let Some(kernels) = self.kernels() else { return Ok(selftest::multiplication_rate_of_cpu()) };
        match self.rates().iter().find(|(format, _)| *format == kernels.format()) {
            Some((_, rate)) => Ok(*rate),
            None => Ok(selftest::multiplication_rate(kernels)?),
        }
    }

    /// Compile times so far.
    pub fn compiled(&self) -> Vec<Compiled> {
        self.kernels().map_or(Vec::new(), |kernels| kernels.compiled())
    }

    /// Runs every self-test that has not run yet, and measures what plans are made by and is not known. The CPU has
    /// neither.
    pub fn self_test(&self) -> Result<(), EngineError> {
        if let Some(kernels) = self.kernels() {
            kernels.prepare(&GpuBackend::kernels())?;
            if self.tables > 1 {
                kernels.prepare(&[&MSM_MULTIPLY[0], &MSM_MULTIPLY[1]])?;
            }
        }
        for family in [Family::G1, Family::G2, Family::Ntt] {
            self.ready(family)?;
        }
        if self.tables > 1 {
            self.ready(Family::Tables)?;
        }
        Ok(())
    }

    /// The kernels, once those of `family` are known to be right.
    fn ready(&self, family: Family) -> Result<Option<&Kernels>, DeviceError> {
        let Some(on) = self.on.as_deref() else { return Ok(None) };
        let verdict = &on.passed[family as usize];
        // No lock is held meanwhile: a test waits for pools and devices. Two threads may both run it.
        if verdict.get().is_none() {
            let result = match family {
                Family::G1 => selftest::group::<G1Projective>(&on.kernels),
                Family::G2 => selftest::group::<G2Projective>(&on.kernels),
                Family::Ntt => selftest::transforms(&on.kernels),
                Family::Tables => selftest::tables::<G1Projective>(&on.kernels)
                    .and_then(|()| selftest::tables::<G2Projective>(&on.kernels)),
            };
            match result {
                Ok(()) | Err(DeviceError::SelfTest { .. }) => _ = verdict.set(result),
                // Out of memory, say: no verdict on the adapter.
                Err(error) => return Err(error),
            }
        }
        verdict.get().cloned().unwrap_or(Ok(()))?;
        match family {
            Family::G1 => on.tuned.prepare::<G1Projective>(&on.kernels),
            Family::G2 => on.tuned.prepare::<G2Projective>(&on.kernels),
            Family::Ntt | Family::Tables => {}
        }
        Ok(Some(&on.kernels))
    }

    /// Loads a key: its bases stay where this engine computes. Prove with the result as often as you like.
    pub fn load(&self, key: Arc<ProvingKey>) -> Result<Prover, EngineError> {
        self.self_test()?;
        Ok(match self.kernels() {
            Some(kernels) => {
                let backend = GpuBackend::load_with(kernels.clone(), key.clone(), &self.planning())?;
                Prover::new(key, Box::new(backend))
            }
            None => Prover::new(key.clone(), Box::new(CpuBackend::load(key)?)),
        })
    }

    /// `sum scalars[i] * bases[i]` in G1. Lengths must agree; infinity and every scalar are welcome. Where the CPU is known
    /// to be faster ([`Costs::cpu_below`]), it sums.
    pub fn msm_g1(&self, bases: &[G1Affine], scalars: &[Fr]) -> Result<G1Projective, EngineError> {
        self.msm(Family::G1, bases, scalars)
    }

    /// `sum scalars[i] * bases[i]` in G2.
    pub fn msm_g2(&self, bases: &[G2Affine], scalars: &[Fr]) -> Result<G2Projective, EngineError> {
        self.msm(Family::G2, bases, scalars)
    }

    fn msm<G: msm::Source>(&self, family: Family, bases: &[G::Affine], scalars: &[Fr]) -> Result<G, EngineError> {
        if bases.len() != scalars.len() {
            return Err(MsmError::Lengths { bases: bases.len(), scalars: scalars.len() }.into());
        }
        // Sums that the device will not be given do not wait for self-tests and measurements.
        let costs = self.on.as_deref().and_then(|on| on.tuned.known_costs(on.kernels.format(), G::GROUP));
        if bases.len() < costs.map_or(LEAST, |costs| costs.cpu_below as usize) {
            return Ok(<G as VariableBaseMSM>::msm_unchecked(bases, scalars));
        }
        Ok(match self.ready(family)? {
            Some(kernels) => msm::msm(kernels, bases, scalars, &self.planning())?,
            None => <G as VariableBaseMSM>::msm_unchecked(bases, scalars),
        })
    }

    /// Transforms `values`, natural order in and out: forward takes coefficients to values over `coset * root^i`,
    /// inverse undoes it. `root` has the order `values.len()`, a power of two.
    pub fn ntt(&self, values: &mut [Fr], direction: Direction, coset: Option<Fr>, root: Fr) -> Result<(), EngineError> {
        match self.ready(Family::Ntt)? {
            Some(kernels) => Ok(ntt::ntt(kernels, values, direction, coset, root)?),
            None => Ok(ntt::host::ntt(values, direction, coset, root)?),
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kernels() {
            Some(kernels) => {
                let info = kernels.gpu().info();
                write!(
                    f,
                    "{} ({}, {} limbs, driver {})",
                    info.name,
                    info.backend,
                    kernels.format().name(),
                    info.driver_info
                )
            }
            None => write!(f, "CPU (arkworks)"),
        }
    }
}
