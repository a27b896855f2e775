//! Where proofs, MSMs and transforms are computed: an open adapter that passed its self-test, or the CPU.
//!
//! [`Engine::best`] takes the best adapter and falls back to the CPU, saying so; [`Engine::open`] takes exactly what
//! was asked for or fails. On a device the fastest limb format is picked by a short measurement, unless it is named.
//! One engine serves many keys: [`Engine::load`] gives a [`Prover`] for each.

mod partitions;
mod selftest;

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use ark_bls12_381::{Fr, G1Affine, G1Projective, G2Affine, G2Projective};
use ark_ec::VariableBaseMSM;
use thiserror::Error;

pub use partitions::{Loaded, PipelineOptions, ProofStages, ProofTask, SharedKey, Work, pipeline, places};

use crate::{
    device::{self, DeviceError, Gpu, Limits, Select},
    encoding::Format,
    groth16::{CpuBackend, GpuBackend, ProveError, Prover, ProvingKey},
    kernel::{Compiled, Kernels, table::PROBE_FQ},
    msm::{self, MsmError},
    ntt::{self, Direction, NttError},
    pipeline::{LeaseError, SubmitError},
};

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

/// Families of kernels, each with its own self-test.
#[derive(Debug, Clone, Copy)]
enum Family {
    G1,
    G2,
    Ntt,
}

#[derive(Debug)]
struct OnDevice {
    kernels: Arc<Kernels>,
    /// Multiplications per second by format, where it was measured.
    rates: Vec<(Format, f64)>,
    passed: [OnceLock<Result<(), DeviceError>>; 3],
}

/// An open place to compute. Clones share it.
#[derive(Clone, Debug)]
pub struct Engine(Option<Arc<OnDevice>>);

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
        Self(None)
    }

    /// The adapter that `options` name. Self-tests run before first use of each family of kernels.
    pub fn open(options: &Options) -> Result<Self, EngineError> {
        let device = device::Options {
            select: options.select.clone(),
            limits: options.limits,
            checked: options.checked,
            ..Default::default()
        };
        Self::on(Gpu::open(&device)?, options.format)
    }

    /// An engine on an open device.
    pub fn on(gpu: Gpu, format: Option<Format>) -> Result<Self, EngineError> {
        let able = |format: Format| format.supported(gpu.features());
        let mut rates = Vec::new();
        let kernels = match format {
            Some(format) if able(format) => Kernels::new(gpu, format),
            Some(format) => {
                return Err(EngineError::Format { adapter: gpu.info().name.clone(), format: format.name() });
            }
            None => {
                let mut best: Option<(f64, Kernels)> = None;
                let mut failure = None;
                let candidates = Format::ALL.into_iter().filter(|&format| able(format));
                let candidates: Vec<_> = candidates.map(|format| Kernels::new(gpu.clone(), format)).collect();
                // Compiled side by side, measured one after the other.
                std::thread::scope(|scope| {
                    for kernels in &candidates {
                        scope.spawn(|| kernels.prepare(&[&PROBE_FQ]));
                    }
                });
                for kernels in candidates {
                    let format = kernels.format();
                    match selftest::multiplication_rate(&kernels) {
                        Ok(rate) => {
                            tracing::info!(format = format.name(), rate, "field multiplications per second");
                            rates.push((format, rate));
                            if best.as_ref().is_none_or(|(other, _)| rate > MARGIN * other) {
                                best = Some((rate, kernels));
                            }
                        }
                        Err(error) => {
                            tracing::warn!(format = format.name(), %error, "limb format set aside");
                            failure = Some(error);
                        }
                    }
                }
                match (best, failure) {
                    (Some((_, kernels)), _) => kernels,
                    (None, Some(error)) => return Err(error.into()),
                    // The portable format needs nothing, so the list was not empty.
                    (None, None) => Kernels::new(gpu, Format::U32),
                }
            }
        };
        Ok(Self(Some(Arc::new(OnDevice { kernels: Arc::new(kernels), rates, passed: Default::default() }))))
    }

    /// The kernels and through them the device, if there is one.
    pub fn kernels(&self) -> Option<&Arc<Kernels>> {
        self.0.as_deref().map(|on| &on.kernels)
    }

    /// Multiplications per second of each limb format that was measured.
    pub fn rates(&self) -> &[(Format, f64)] {
        self.0.as_deref().map_or(&[], |on| &on.rates)
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

    /// Runs every self-test that has not run yet. The CPU has none.
    pub fn self_test(&self) -> Result<(), EngineError> {
        if let Some(kernels) = self.kernels() {
            kernels.prepare(&GpuBackend::kernels())?;
        }
        for family in [Family::G1, Family::G2, Family::Ntt] {
            self.ready(family)?;
        }
        Ok(())
    }

    /// The kernels, once those of `family` are known to be right.
    fn ready(&self, family: Family) -> Result<Option<&Kernels>, DeviceError> {
        let Some(on) = self.0.as_deref() else { return Ok(None) };
        let verdict = &on.passed[family as usize];
        // No lock is held meanwhile: a test waits for pools and devices. Two threads may both run it.
        if verdict.get().is_none() {
            let result = match family {
                Family::G1 => selftest::group::<G1Projective>(&on.kernels),
                Family::G2 => selftest::group::<G2Projective>(&on.kernels),
                Family::Ntt => selftest::transforms(&on.kernels),
            };
            match result {
                Ok(()) | Err(DeviceError::SelfTest { .. }) => _ = verdict.set(result),
                // Out of memory, say: no verdict on the adapter.
                Err(error) => return Err(error),
            }
        }
        verdict.get().cloned().unwrap_or(Ok(()))?;
        Ok(Some(&on.kernels))
    }

    /// Loads a key: its bases stay where this engine computes. Prove with the result as often as you like.
    pub fn load(&self, key: Arc<ProvingKey>) -> Result<Prover, EngineError> {
        self.self_test()?;
        Ok(match self.kernels() {
            Some(kernels) => Prover::new(key.clone(), Box::new(GpuBackend::load(kernels.clone(), key)?)),
            None => Prover::new(key.clone(), Box::new(CpuBackend::load(key)?)),
        })
    }

    /// `sum scalars[i] * bases[i]` in G1. Lengths must agree; infinity and every scalar are welcome.
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
        let options = msm::Options::default();
        if bases.len() < options.cpu_below {
            return Ok(<G as VariableBaseMSM>::msm_unchecked(bases, scalars));
        }
        Ok(match self.ready(family)? {
            Some(kernels) => msm::msm(kernels, bases, scalars, &options)?,
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
