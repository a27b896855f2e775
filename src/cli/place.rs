//! Which place the flags ask for, and what reports say of an engine.

use prooflane::{
    encoding::Format,
    engine::{Calibration, Engine, Tuning},
    kernel::Compiled,
};
use serde::Serialize;

use super::{Failure, Global, output::ms};

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
            (Some(adapter), false) => Ok(Self::named(adapter)),
            (None, true) => Ok(Self::Cpu),
            // What is no text names no adapter either, and the error says so.
            (None, false) => Ok(match std::env::var_os("PROOFLANE_ADAPTER").unwrap_or_default() {
                name if name.is_empty() => Self::Best,
                name => Self::named(&name.to_string_lossy()),
            }),
        }
    }

    pub(super) fn named(name: &str) -> Self {
        if name.trim().eq_ignore_ascii_case("none") { Self::Cpu } else { Self::Adapter(name.to_owned()) }
    }
}

/// What formats and plans are to be chosen by.
pub(super) fn tuning(global: &Global) -> Result<Tuning, Failure> {
    match global.calibration.as_str() {
        "cached" => Ok(Tuning::Cached),
        "anew" => Ok(Tuning::Anew),
        "pinned" => Ok(Tuning::Pinned(Calibration::default())),
        file => match Calibration::read(file.as_ref()) {
            Ok(read) => Ok(Tuning::Pinned(read)),
            Err(error) => Err(Failure::absent(format!("--calibration is cached, anew, pinned or a file: {error}"))),
        },
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
            sum_ms: compiled.iter().map(|one| ms(one.took)).sum(),
            slowest: slowest.map(|one| one.kernel),
            slowest_ms: slowest.map_or(0.0, |one| ms(one.took)),
        }
    }
}
