//! From flags to an engine.
//!
//! An adapter that is asked for by name is taken or the command fails; without a name the best one is taken, and where
//! there is none, or it computes wrong, the CPU, with the reason in the report.

use std::time::Duration;

use prooflane::{
    device::DeviceError,
    encoding::Format,
    engine::{Engine, EngineError, Options},
    kernel::Compiled,
};
use serde::Serialize;

use super::{
    Failure, Global,
    output::{Output, as_ms},
};

/// What the flags ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The best adapter, or the CPU.
    Best,
    /// This adapter.
    Adapter(String),
    /// The CPU.
    Cpu,
}

impl Wanted {
    /// Out of flags, and `PROOFLANE_ADAPTER` where they are silent.
    pub(super) fn of(global: &Global) -> Result<Self, Failure> {
        match (&global.adapter, global.cpu) {
            (Some(adapter), true) => {
                Err(Failure::absent(format!("--adapter {adapter} and --cpu exclude each other; give one of them")))
            }
            (Some(adapter), false) => Ok(Self::Adapter(adapter.clone())),
            (None, true) => Ok(Self::Cpu),
            (None, false) => Ok(match std::env::var("PROOFLANE_ADAPTER").unwrap_or_default() {
                name if name.is_empty() => Self::Best,
                name if name == "none" => Self::Cpu,
                name => Self::Adapter(name),
            }),
        }
    }
}

/// Multiplications per second in one limb format.
#[derive(Debug, Serialize)]
pub(super) struct Rate {
    pub(super) format: Format,
    pub(super) per_second: f64,
}

pub(super) fn rates(engine: &Engine) -> Vec<Rate> {
    engine.rates().iter().map(|&(format, per_second)| Rate { format, per_second }).collect()
}

/// The pipelines that were built so far.
#[derive(Debug, Serialize)]
pub(super) struct Pipelines {
    pub(super) count: usize,
    /// Over all threads that built them.
    pub(super) sum_ms: f64,
    pub(super) slowest: Option<&'static str>,
    pub(super) slowest_ms: f64,
}

impl Pipelines {
    pub(super) fn of(compiled: &[Compiled]) -> Self {
        let slowest = compiled.iter().max_by_key(|one| one.took);
        Self {
            count: compiled.len(),
            sum_ms: compiled.iter().map(|one| super::output::ms(one.took)).sum(),
            slowest: slowest.map(|one| one.kernel),
            slowest_ms: slowest.map_or(0.0, |one| super::output::ms(one.took)),
        }
    }
}

/// An engine and how it was come by.
#[derive(Debug, Serialize)]
pub(super) struct Place {
    #[serde(skip)]
    pub(super) engine: Engine,
    /// For people.
    pub(super) name: String,
    /// `adapter` or `cpu`.
    pub(super) kind: &'static str,
    /// Why it is the CPU although nobody asked for it.
    pub(super) fallback: Option<String>,
    pub(super) format: Option<Format>,
    pub(super) rates: Vec<Rate>,
    /// Finding the adapter, opening it, measuring the limb formats.
    #[serde(rename = "open_ms", serialize_with = "as_ms")]
    pub(super) open: Duration,
    /// Building all pipelines and testing them with known answers.
    #[serde(rename = "self_test_ms", serialize_with = "as_ms")]
    pub(super) self_test: Duration,
    pub(super) pipelines: Pipelines,
}

impl Place {
    /// Opens what is wanted, self-tested. Takes two steps of `output`.
    #[cfg_attr(not(feature = "sapling"), expect(dead_code, reason = "only the demonstration computes"))]
    pub(super) fn open(output: &Output, wanted: &Wanted, format: Option<Format>) -> Result<Self, Failure> {
        let text = match wanted {
            Wanted::Cpu if format.is_some() => {
                return Err(Failure::absent("--format is of an adapter's arithmetic, the CPU has no such choice"));
            }
            Wanted::Cpu => return Ok(Self::cpu(None)),
            Wanted::Best => "",
            Wanted::Adapter(name) => name,
        };
        let Ok(select) = text.parse();
        let options = Options { select, format, ..Options::default() };
        let (engine, open) = output.step("opening the adapter", || Engine::open(&options));
        let (tested, self_test) = output
            .step("building and testing pipelines", || engine.and_then(|engine| engine.self_test().map(|()| engine)));
        match tested {
            Ok(engine) => Ok(Self::on(engine, open, self_test)),
            Err(error @ EngineError::Format { .. }) => Err(Failure::absent(error)),
            Err(error) if *wanted == Wanted::Best => Ok(Self::cpu(Some(error.to_string()))),
            Err(EngineError::Device(error @ DeviceError::NoAdapter { .. })) => Err(Failure::absent(error)),
            Err(error) => Err(Failure::failed(error)),
        }
    }

    fn on(engine: Engine, open: Duration, self_test: Duration) -> Self {
        Self {
            name: engine.to_string(),
            kind: "adapter",
            fallback: None,
            format: engine.kernels().map(|kernels| kernels.format()),
            rates: rates(&engine),
            open,
            self_test,
            pipelines: Pipelines::of(&engine.compiled()),
            engine,
        }
    }

    fn cpu(fallback: Option<String>) -> Self {
        Self { kind: "cpu", fallback, ..Self::on(Engine::cpu(), Duration::ZERO, Duration::ZERO) }
    }
}
