//! From flags to an engine.
//!
//! An adapter that is asked for by name is taken or the command fails; without a name the best one is taken, and where
//! there is none, or it computes wrong, the CPU, with the reason in the report.

use std::time::Duration;

use prooflane::{
    device::DeviceError,
    encoding::Format,
    engine::{Engine, EngineError, Options, Tuning},
};
use serde::Serialize;

use super::super::{
    Failure,
    output::{Output, as_ms},
    place::{Pipelines, Rate, Wanted, rates},
};

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
    /// Opens what is wanted, self-tested. Takes two steps of `output`, for the CPU none.
    pub(super) fn open(
        output: &Output,
        wanted: &Wanted,
        format: Option<Format>,
        tuning: &Tuning,
        tables: u32,
    ) -> Result<Self, Failure> {
        let text = match wanted {
            Wanted::Cpu if format.is_some() => {
                return Err(Failure::absent("--format is of an adapter's arithmetic, the CPU has no such choice"));
            }
            Wanted::Cpu => return Ok(Self::cpu(None)),
            Wanted::Best => "",
            Wanted::Adapter(name) => name,
        };
        let Ok(select) = text.parse();
        let options = Options { select, format, tuning: tuning.clone(), tables, ..Options::default() };
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
