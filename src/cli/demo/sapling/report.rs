//! What the demonstration has found, as data and as text.

use std::{fmt::Write, time::Duration};

use prooflane::groth16::{Proved, StageTime};
use serde::Serialize;

use super::super::{
    super::{
        output::{as_ms, bytes, millis},
        place::Pipelines,
    },
    place::Place,
};

/// The whole run.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) version: &'static str,
    pub(super) seed: u64,
    pub(super) place: Place,
    /// Unpacking both files and comparing their BLAKE2b-512 with the ceremony's.
    #[serde(rename = "parameters_ms", serialize_with = "as_ms")]
    pub(super) parameters: Duration,
    pub(super) circuits: Vec<CircuitReport>,
    pub(super) passed: bool,
}

/// One circuit.
#[derive(Serialize)]
pub(super) struct CircuitReport {
    pub(super) circuit: &'static str,
    pub(super) constraints: usize,
    pub(super) log2_domain: u32,
    pub(super) backend: String,
    /// Parsing the parameters, every point checked to lie on the curve.
    #[serde(rename = "key_read_ms", serialize_with = "as_ms")]
    pub(super) read: Duration,
    /// Bringing the bases to where proofs are computed.
    #[serde(rename = "key_load_ms", serialize_with = "as_ms")]
    pub(super) load: Duration,
    #[serde(rename = "witness_ms", serialize_with = "as_ms")]
    pub(super) witness: Duration,
    pub(super) first: ProofTimes,
    pub(super) warm: Vec<ProofTimes>,
    #[serde(rename = "bellman_ms", serialize_with = "as_ms")]
    pub(super) bellman: Duration,
    pub(super) device_peak_bytes: Option<u64>,
    /// 192 bytes in hexadecimal.
    pub(super) proof: String,
    pub(super) checks: Vec<Check>,
}

impl CircuitReport {
    /// The checks that failed.
    pub(super) fn missed(&self) -> impl Iterator<Item = String> {
        let missed = self.checks.iter().filter(|check| !check.passed);
        missed.map(|check| format!("{}: not true that {}", self.circuit, check.what))
    }
}

/// Something that must hold.
#[derive(Serialize)]
pub(super) struct Check {
    what: &'static str,
    passed: bool,
}

impl Check {
    pub(super) fn new(what: &'static str, passed: bool) -> Self {
        Self { what, passed }
    }
}

/// One proof's times.
#[derive(Serialize)]
pub(super) struct ProofTimes {
    #[serde(rename = "total_ms", serialize_with = "as_ms")]
    pub(super) total: Duration,
    pub(super) stages: Vec<StageTime>,
}

impl ProofTimes {
    pub(super) fn of(proved: &Proved) -> Self {
        Self { total: proved.total(), stages: proved.stages.clone() }
    }

    /// All device stages together, where there are any.
    pub(super) fn device(&self) -> Option<Duration> {
        self.stages.iter().filter_map(|stage| stage.device).reduce(|sum, stage| sum + stage)
    }
}

/// Who computes.
pub(super) fn place(place: &Place) -> String {
    let mut text = format!("adapter     {}\n", place.name);
    if let Some(reason) = &place.fallback {
        let _ = writeln!(text, "            no usable adapter, so the CPU computes: {reason}");
    }
    for rate in &place.rates {
        let _ =
            writeln!(text, "            {} limbs: {:.2e} Fq multiplications/s", rate.format.name(), rate.per_second);
    }
    let Pipelines { count, sum_ms, slowest, slowest_ms } = place.pipelines;
    if let Some(slowest) = slowest {
        let _ = writeln!(text, "opened      {} ms", millis(place.open));
        let _ = writeln!(
            text,
            "pipelines   {count} built in {sum_ms:.1} ms of all threads, slowest {slowest} {slowest_ms:.1} ms"
        );
        let _ = writeln!(text, "self-test   passed, with building pipelines {} ms", millis(place.self_test));
    }
    text
}

/// The parameter files.
pub(super) fn parameters(took: Duration) -> String {
    format!("parameters  both BLAKE2b-512 are the ceremony's, {} ms\n", millis(took))
}

/// One circuit.
pub(super) fn circuit(report: &CircuitReport) -> String {
    let mut text = format!(
        "\nsapling {}: {} constraints, domain 2^{}, on {}\n",
        report.circuit, report.constraints, report.log2_domain, report.backend
    );
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{}", format!("  {name:<12}{value}").trim_end());
    };
    line("read key", format!("{:>10} ms", millis(report.read)));
    line("load key", format!("{:>10} ms", millis(report.load)));
    line("witness", format!("{:>10} ms", millis(report.witness)));
    line("", format!("{:>10}    {:>10}    {:>10}    {:>10}", "first", "device", "warm", "device"));
    let none = ProofTimes { total: Duration::ZERO, stages: Vec::new() };
    let warm = report.warm.last().unwrap_or(&none);
    let host = |stage: &StageTime| match stage.device {
        // A stage of the device only; the host waits for it elsewhere.
        Some(_) if stage.host.is_zero() => String::new(),
        _ => millis(stage.host),
    };
    let device = |stage: &StageTime| stage.device.map_or(String::new(), millis);
    for (index, first) in report.first.stages.iter().enumerate() {
        // The same steps in the same order: a warm proof has the same stages.
        let again = warm.stages.get(index).filter(|again| again.stage == first.stage);
        let [warm_host, warm_device] =
            again.map_or([String::new(), String::new()], |again| [host(again), device(again)]);
        line(
            first.stage,
            format!("{:>10}    {:>10}    {warm_host:>10}    {warm_device:>10}", host(first), device(first)),
        );
    }
    let sum = |proof: &ProofTimes| proof.device().map_or(String::new(), millis);
    let totals = [millis(report.first.total), sum(&report.first), millis(warm.total), sum(warm)];
    line("total", format!("{:>10}    {:>10}    {:>10}    {:>10} ms", totals[0], totals[1], totals[2], totals[3]));
    line("bellman", format!("{:>10} ms on the CPU", millis(report.bellman)));
    if let Some(peak) = report.device_peak_bytes {
        line("device", format!("{} at the peak so far", bytes(peak)));
    }
    line("proof", String::new());
    for start in (0..report.proof.len()).step_by(96) {
        line("", report.proof[start..report.proof.len().min(start + 96)].into());
    }
    for check in &report.checks {
        line(if check.passed { "yes" } else { "NO" }, check.what.into());
    }
    text
}
