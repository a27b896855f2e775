//! `prooflane demo sapling`: the main job. Real circuits under real keys, proved here and held against bellman.

mod prove;
mod report;

use std::{io, path::Path, time::Duration};

use prooflane::{
    encoding::Format,
    sapling::{Circuit, parameters},
};

use self::report::{CircuitReport, Report};
use super::{
    super::{
        CircuitName, Failure, Global, Sapling,
        output::Output,
        place::{Wanted, tuning},
        record::{self, Row},
    },
    place::Place,
};

/// Warm proofs of a run that is only looked at, and of one that is recorded.
const WARM: usize = 1;
const WARM_RECORDED: usize = 5;

/// Runs the command.
pub(crate) fn run(global: &Global, flags: &Sapling) -> Result<(), Failure> {
    let wanted = Wanted::of(global)?;
    let format = flags.format.map(Format::from);
    let circuits = match flags.circuit {
        CircuitName::Output => &[Circuit::Output][..],
        CircuitName::Spend => &[Circuit::Spend],
        CircuitName::Both => &Circuit::ALL,
    };
    let warm = if flags.record.is_some() { WARM_RECORDED } else { WARM };
    let opening = if wanted == Wanted::Cpu { 0 } else { 2 };
    let output = Output::new(global.json, 1 + opening + circuits.len() as u64 * prove::STEPS);

    if let Some(directory) = &flags.record {
        // Before any work, and so that none is lost.
        record::check(directory).map_err(|error| unrecorded(directory, &error))?;
    }
    let place = Place::open(&output, &wanted, format, &tuning(global)?, global.tables)?;
    output.text(&report::place(&place))?;
    let (files, parameters_time) = output.step("hashing the parameters", parameters);
    let files = files.map_err(Failure::failed)?;
    output.text(&report::parameters(parameters_time))?;

    let mut report = Report {
        version: env!("CARGO_PKG_VERSION"),
        seed: flags.seed,
        parameters: parameters_time,
        place,
        circuits: Vec::new(),
        passed: false,
    };
    for &circuit in circuits {
        let proved = prove::circuit(&output, &report.place.engine, &files, circuit, flags.seed, warm)?;
        output.text(&report::circuit(&proved))?;
        report.circuits.push(proved);
    }
    let missed: Vec<String> = report.circuits.iter().flat_map(CircuitReport::missed).collect();
    report.passed = missed.is_empty();
    output.report(&report)?;
    if let Some(directory) = &flags.record {
        let path = record::append(directory, &rows(&report, format, circuits.first().copied()))
            .map_err(|error| unrecorded(directory, &error).reported())?;
        output.text(&format!("recorded in {}\n", path.display()))?;
    }
    match report.passed {
        true => output.text("all proofs are right\n"),
        false => Err(Failure::failed(missed.join("; ")).reported()),
    }
}

fn unrecorded(directory: &Path, error: &io::Error) -> Failure {
    Failure::failed(format!("{} can not be recorded in: {error}", directory.display()))
}

/// The rows of a recorded run.
///
/// `cold` has single times by nature: `open`, `pipelines` (building them and the self-test) and, of the first circuit,
/// `first_proof`: all that a fresh process spends until its first proof, but for reading and uploading the key.
fn rows(report: &Report, format: Option<Format>, first: Option<Circuit>) -> Vec<Row> {
    let place = &report.place;
    let variant = || match format {
        Some(format) => format.name().to_string(),
        None => "auto".into(),
    };
    let row = |bench, group, circuit: Option<&CircuitReport>, times: Vec<Duration>| Row {
        bench,
        group,
        variant: variant(),
        distribution: circuit.map_or("none".into(), |circuit| format!("sapling-{}", circuit.circuit)),
        log2n: circuit.map(|circuit| circuit.log2_domain),
        times,
        device: None,
        bytes: circuit.and_then(|circuit| circuit.device_peak_bytes),
        checked: report.passed,
        // Without limb format and driver.
        adapter: place.engine.kernels().map_or("cpu".into(), |kernels| kernels.gpu().info().name.clone()),
    };
    let mut rows = Vec::new();
    if place.kind == "adapter" {
        rows.push(row("cold", "open", None, vec![place.open]));
        rows.push(row("cold", "pipelines", None, vec![place.self_test]));
    }
    for circuit in &report.circuits {
        if first.is_some_and(|first| first.name() == circuit.circuit) {
            let all = place.open + place.self_test + circuit.first.total;
            rows.push(row("cold", "first_proof", Some(circuit), vec![all]));
        }
        let times = circuit.warm.iter().map(|proof| proof.total).collect();
        let device = circuit.warm.iter().map(|proof| proof.device()).collect::<Option<Vec<_>>>();
        let device = device.map(|times| record::median(&times));
        rows.push(Row { device, ..row("prove", "groth16", Some(circuit), times) });
        // One row a stage; a stage of the device has no time of its own on the host, which waits for all in `compute`.
        for (index, stage) in circuit.warm.first().iter().flat_map(|proof| proof.stages.iter().enumerate()) {
            let all = || circuit.warm.iter().filter_map(|proof| proof.stages.get(index));
            let device = all().map(|stage| stage.device).collect::<Option<Vec<_>>>();
            let device = device.map(|times| record::median(&times));
            let times = all().map(|stage| stage.host).collect();
            rows.push(Row { device, ..row("prove", stage.stage, Some(circuit), times) });
        }
    }
    rows
}
