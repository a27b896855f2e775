//! `prooflane adapters`: what there is, what of it matters, and whether it computes right.

use std::{fmt::Write, time::Duration};

use prooflane::{
    device::{self, DeviceError, Limits, Select},
    encoding::Format,
    engine::{Calibration, Engine, EngineError, Options},
};
use serde::Serialize;

use super::{
    Failure, Global,
    output::{Output, as_ms, bytes, ms},
    place::{Pipelines, Rate, Wanted, rates, tuning},
};

/// Features that are asked for where they are found; only the first decides which limb formats run.
const FEATURES: [(&str, wgpu::Features); 7] = [
    ("SHADER_INT64", wgpu::Features::SHADER_INT64),
    ("SHADER_F64", wgpu::Features::SHADER_F64),
    ("SUBGROUP", wgpu::Features::SUBGROUP),
    ("TIMESTAMP_QUERY", wgpu::Features::TIMESTAMP_QUERY),
    ("MAPPABLE_PRIMARY_BUFFERS", wgpu::Features::MAPPABLE_PRIMARY_BUFFERS),
    ("IMMEDIATES", wgpu::Features::IMMEDIATES),
    ("PIPELINE_CACHE", wgpu::Features::PIPELINE_CACHE),
];

#[derive(Serialize)]
struct Report {
    adapters: Vec<Adapter>,
    /// Who computes when nothing is asked for.
    default: String,
    passed: bool,
}

#[derive(Serialize)]
struct Adapter {
    index: usize,
    name: String,
    backend: String,
    #[serde(rename = "type")]
    kind: String,
    driver: String,
    driver_info: String,
    /// Vendor and device, as on the bus.
    pci_id: String,
    /// Bus address; empty where the backend does not tell.
    pci_address: String,
    present: Vec<&'static str>,
    absent: Vec<&'static str>,
    subgroup_sizes: [u32; 2],
    /// Of the open device; absent where it would not open.
    limits: Option<Limits>,
    rates: Vec<Rate>,
    format: Option<Format>,
    /// What plans are made by, and where it is from; absent where the adapter would not open.
    calibration: Option<Calibration>,
    calibration_origin: Option<String>,
    pipelines: Pipelines,
    #[serde(rename = "self_test_ms", serialize_with = "as_ms")]
    self_test: Duration,
    /// Why the adapter is not to be used; absent where it passed.
    error: Option<String>,
}

/// Runs the command.
pub(super) fn run(global: &Global) -> Result<(), Failure> {
    let wanted = Wanted::of(global)?;
    let found = match wanted {
        Wanted::Cpu => Vec::new(),
        _ => device::adapters(),
    };
    let output = Output::new(global.json, found.len() as u64);
    let mut adapters = Vec::new();
    for (index, engine) in engines(&found, &wanted, global)? {
        let name = found[index].get_info().name;
        let (adapter, _) = output.step(&name, || examine(index, &found[index], engine()));
        output.text(&describe(&adapter))?;
        adapters.push(adapter);
    }
    // What `Engine::best` would take; an adapter that fails is not replaced by the next one.
    let best = match &wanted {
        Wanted::Best => device::choose(&Select::Best).map(|adapter| {
            let info = adapter.get_info();
            adapters.iter().find(|listed| found[listed.index].get_info() == info)
        }),
        _ => Ok(adapters.first()),
    };
    let default = match (&wanted, best.as_ref().ok().copied().flatten()) {
        (Wanted::Cpu, _) => "CPU (arkworks), as asked for".to_string(),
        (_, None) => {
            let reason = best.err().map_or("no adapter found".to_string(), |error| error.to_string());
            format!("{reason}, so the CPU (arkworks)")
        }
        (_, Some(adapter)) if adapter.error.is_some() => format!("#{} failed, so the CPU (arkworks)", adapter.index),
        (_, Some(adapter)) => device::describe(adapter.index, &found[adapter.index].get_info()),
    };
    output.text(&format!("default: {default}\n"))?;
    let failed: Vec<String> =
        adapters.iter().filter_map(|a| Some(format!("#{}: {}", a.index, a.error.as_ref()?))).collect();
    output.report(&Report { passed: failed.is_empty(), adapters, default })?;
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::failed(failed.join("; ")).reported()),
    }
}

/// Opens an engine.
type Open = Box<dyn FnOnce() -> Result<Engine, EngineError>>;

/// The adapter that is asked for, or each of them, with the way to its engine.
fn engines(found: &[wgpu::Adapter], wanted: &Wanted, global: &Global) -> Result<Vec<(usize, Open)>, Failure> {
    let (tuning, tables) = (tuning(global)?, global.tables);
    let open = move |select| Engine::open(&Options { select, tuning: tuning.clone(), tables, ..Options::default() });
    let Wanted::Adapter(name) = wanted else {
        let each = |index| {
            let open = open.clone();
            (index, Box::new(move || open(Select::Index(index))) as Open)
        };
        return Ok((0..found.len()).map(each).collect());
    };
    let Ok(select) = name.parse::<Select>();
    let engine = open(select).map_err(|error| match error {
        EngineError::Device(DeviceError::NoAdapter { .. }) => Failure::absent(error),
        other => Failure::failed(other),
    })?;
    let info = engine.kernels().map(|kernels| kernels.gpu().info().clone());
    let index = found.iter().position(|adapter| Some(adapter.get_info()) == info);
    let index = index.ok_or_else(|| Failure::failed(format!("adapter '{name}' went away")))?;
    Ok(vec![(index, Box::new(move || Ok(engine)))])
}

fn examine(index: usize, adapter: &wgpu::Adapter, engine: Result<Engine, EngineError>) -> Adapter {
    let info = adapter.get_info();
    let has = |present: bool| {
        let features = FEATURES.iter().filter(move |(_, feature)| adapter.features().contains(*feature) == present);
        features.map(|(name, _)| *name).collect()
    };
    let mut report = Adapter {
        index,
        backend: info.backend.to_string(),
        kind: format!("{:?}", info.device_type),
        driver: info.driver,
        driver_info: info.driver_info,
        pci_id: format!("{:04x}:{:04x}", info.vendor, info.device),
        pci_address: info.device_pci_bus_id,
        present: has(true),
        absent: has(false),
        subgroup_sizes: [info.subgroup_min_size, info.subgroup_max_size],
        name: info.name,
        limits: None,
        rates: Vec::new(),
        format: None,
        calibration: None,
        calibration_origin: None,
        pipelines: Pipelines::of(&[]),
        self_test: Duration::ZERO,
        error: None,
    };
    match engine {
        Err(error) => report.error = Some(error.to_string()),
        Ok(engine) => {
            let begin = std::time::Instant::now();
            report.error = engine.self_test().err().map(|error| error.to_string());
            report.self_test = begin.elapsed();
            report.rates = rates(&engine);
            report.pipelines = Pipelines::of(&engine.compiled());
            report.format = engine.kernels().map(|kernels| kernels.format());
            if let Some((known, origin)) = engine.calibration() {
                (report.calibration, report.calibration_origin) = (Some(known), Some(origin.to_string()));
            }
            report.limits = engine.kernels().map(|kernels| kernels.gpu().limits());
        }
    }
    report
}

fn describe(adapter: &Adapter) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<10} {value}");
    };
    let list = |names: &[&str]| if names.is_empty() { "none".into() } else { names.join(", ") };
    line("backend", format!("{}, {}", adapter.backend, adapter.kind));
    line("driver", format!("{} {}", adapter.driver, adapter.driver_info));
    let address = if adapter.pci_address.is_empty() { "address unknown" } else { &adapter.pci_address };
    line("pci", format!("{} ({address})", adapter.pci_id));
    line("features", list(&adapter.present));
    line("without", list(&adapter.absent));
    line("subgroups", format!("{} to {} lanes", adapter.subgroup_sizes[0], adapter.subgroup_sizes[1]));
    if let Some(limits) = &adapter.limits {
        line("binding", bytes(limits.binding));
        line("buffer", bytes(limits.buffer));
        line("groups", format!("{} a dispatch", limits.groups));
        line("workgroup", format!("{} of memory", bytes(limits.workgroup_memory.into())));
    }
    let rates = adapter.rates.iter().map(|rate| format!("{} {:.2e}/s", rate.format.name(), rate.per_second));
    line("Fq muls", rates.collect::<Vec<_>>().join(", "));
    line("chosen", adapter.format.map_or("none".into(), |format| format!("{} limbs", format.name())));
    if let Some(origin) = &adapter.calibration_origin {
        line("costs", origin.clone());
    }
    for known in
        adapter.calibration.iter().flat_map(|known| known.to_string().lines().map(String::from).collect::<Vec<_>>())
    {
        line("", known);
    }
    if let Some(slowest) = adapter.pipelines.slowest {
        let Pipelines { count, sum_ms, slowest_ms, .. } = adapter.pipelines;
        line("pipelines", format!("{count} in {sum_ms:.0} ms, slowest {slowest} {slowest_ms:.0} ms"));
    }
    let result = match &adapter.error {
        None => format!("passed in {:.0} ms", ms(adapter.self_test)),
        Some(error) => format!("FAILED: {error}"),
    };
    line("self-test", result);
    format!("#{} {}\n{text}", adapter.index, adapter.name)
}
