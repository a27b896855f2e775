//! `prooflane demo partitions`: one job of many proofs over the pipeline, watched while it runs.

use std::{
    fmt::Write as _,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use ark_bls12_381::{Bls12_381, Fr};
use ark_ff::UniformRand;
use ark_groth16::Groth16;
use ark_std::rand::{SeedableRng, rngs::StdRng};
use prooflane::{
    engine::{Engine, PipelineOptions, ProofStages, ProofTask, SharedKey, pipeline},
    groth16::{Assignment, ProvingKey},
    pipeline::{Bytes, JobOptions, Pipeline, Timeline, Utilisation},
    synthetic::{Kind, Synthetic},
};
use serde::Serialize;

use super::{
    super::{
        Failure, Global, PartitionCircuit, Partitions,
        output::{Output, as_ms, bytes, millis, ms},
        place::{Wanted, tuning},
    },
    place::Place,
};

/// How often the bars are drawn anew.
const TICK: Duration = Duration::from_millis(50);
/// Rows of `bits`, if not asked for.
const LOG2: u32 = 14;

#[derive(Serialize)]
struct Report {
    version: &'static str,
    seed: u64,
    circuit: &'static str,
    log2_domain: u32,
    partitions: u32,
    workers: u32,
    /// Making or reading the key, and the witness.
    #[serde(rename = "key_ms", serialize_with = "as_ms")]
    key: Duration,
    /// Bringing the key to every place.
    #[serde(rename = "load_ms", serialize_with = "as_ms")]
    load: Duration,
    /// From the job's submission to its last proof, verified.
    #[serde(rename = "job_ms", serialize_with = "as_ms")]
    job: Duration,
    proofs_per_second: f64,
    places: Vec<PlaceReport>,
    /// Proofs that the verifier accepted once more after the job.
    verified: usize,
    timeline: Option<PathBuf>,
    passed: bool,
}

#[derive(Serialize)]
struct PlaceReport {
    name: String,
    /// Why it is the CPU although nobody asked for it.
    fallback: Option<String>,
    proofs: u64,
    /// Nothing for a place that had no partition.
    utilisation: Option<Utilisation>,
    /// Milliseconds that its device waited between its first kernel and its last, by stage, the longest first.
    idle_ms: Vec<(&'static str, f64)>,
    bytes: Bytes,
}

/// What a timeline is written as.
#[derive(Clone, Copy)]
enum Drawing {
    Svg,
    Chrome,
    Table,
}

impl Drawing {
    /// By the file's ending, if it can be written: so that nothing is computed for one that can not.
    fn of(path: &Path) -> Result<Self, Failure> {
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        let drawing = match ending.as_str() {
            "svg" => Self::Svg,
            "json" => Self::Chrome,
            "txt" => Self::Table,
            _ => {
                let path = path.display();
                return Err(Failure::absent(format!("--timeline {path}: the ending says none of .svg, .json, .txt")));
            }
        };
        // Until there is something to draw, an older drawing stays as it was, and a new one is not left empty.
        let writable = match File::options().append(true).create_new(true).open(path) {
            Ok(_) => fs::remove_file(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                File::options().append(true).open(path).map(|_| ())
            }
            Err(error) => Err(error),
        };
        writable.map_err(|error| Failure::failed(format!("--timeline {}: {error}", path.display())))?;
        Ok(drawing)
    }

    fn of_timeline(self, timeline: &Timeline) -> String {
        match self {
            Self::Svg => timeline.svg(),
            Self::Chrome => timeline.chrome(),
            Self::Table => timeline.table(),
        }
    }
}

/// Runs the command.
pub(crate) fn run(global: &Global, flags: &Partitions) -> Result<(), Failure> {
    let mut wanted = vec![Wanted::of(global)?];
    wanted.extend(flags.with.iter().map(|name| Wanted::named(name)));
    if flags.circuit != PartitionCircuit::Bits && flags.log2.is_some() {
        return Err(Failure::absent("--log2 is of the circuit 'bits', Sapling's have a size of their own"));
    }
    #[cfg(not(feature = "sapling"))]
    if flags.circuit != PartitionCircuit::Bits {
        return Err(super::super::without_sapling("demo partitions --circuit spend"));
    }
    let drawing = flags.timeline.as_deref().map(Drawing::of).transpose()?;
    let tuning = tuning(global)?;
    let adapters = wanted.iter().filter(|wanted| **wanted != Wanted::Cpu).count() as u64;
    let output = Output::new(global.json, 2 * adapters + 3);

    let opened = wanted
        .iter()
        .map(|wanted| Place::open(&output, wanted, None, &tuning, global.tables))
        .collect::<Result<Vec<_>, _>>()?;
    for (index, place) in opened.iter().enumerate() {
        output.text(&format!("place {index}     {}\n", place.name))?;
        if let Some(reason) = &place.fallback {
            output.text(&format!("            no usable adapter, so the CPU computes: {reason}\n"))?;
        }
    }
    let engines: Vec<Engine> = opened.iter().map(|place| place.engine.clone()).collect();

    let (made, key_time) = output.step("making the key and the witness", || circuit(flags));
    let (name, key, assignment) = made?;
    let log2_domain = key.log2_domain();
    let size = format!("{} constraints, domain 2^{log2_domain}", assignment.constraints());
    output.text(&format!("circuit     {name}: {size}, key and witness {} ms\n", millis(key_time)))?;

    let options = PipelineOptions {
        workers_per_adapter: flags.workers as usize,
        budget: flags.budget.map(|mib| mib << 20),
        ..PipelineOptions::default()
    };
    let pipeline = pipeline(&engines, &options).map_err(Failure::failed)?;
    let shared = SharedKey::new(key.clone());
    let (loaded, load) = output.step("loading the key", || pipeline.preload(&shared));
    loaded.map_err(Failure::failed)?;
    output.text(&format!("loaded      {} ms\n", millis(load)))?;

    let rng = &mut StdRng::seed_from_u64(flags.seed);
    // Out of the seed, so that the bytes are the same everywhere. Real proofs take secret randomness.
    let mut task =
        || ProofTask { key: shared.clone(), assignment: assignment.clone(), blinding: (Fr::rand(rng), Fr::rand(rng)) };
    let tasks: Vec<_> = (0..flags.partitions).map(|_| task()).collect();
    let (proofs, job) = output.step("proving", || watched(&output, &pipeline, tasks));
    let timeline = pipeline.timeline();
    // Of a job that failed, too.
    if let (Some(path), Some(drawing)) = (&flags.timeline, drawing) {
        let written = fs::write(path, drawing.of_timeline(&timeline));
        written.map_err(|error| Failure::failed(format!("--timeline {}: {error}", path.display())))?;
    }
    let proofs = proofs?;
    let inputs = assignment.public_inputs();
    let verifies = |proof| Groth16::<Bls12_381>::verify_proof(shared.prepared_vk(), proof, inputs).unwrap_or(false);
    let verified = proofs.iter().filter(|proof| verifies(proof)).count();
    let counters = pipeline.counters();
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        seed: flags.seed,
        circuit: name,
        log2_domain,
        partitions: flags.partitions,
        workers: flags.workers,
        key: key_time,
        load,
        job,
        proofs_per_second: f64::from(flags.partitions) / job.as_secs_f64(),
        places: (0..opened.len())
            .map(|index| PlaceReport {
                name: opened[index].name.clone(),
                fallback: opened[index].fallback.clone(),
                proofs: counters.places[index].done,
                utilisation: timeline.utilisation(index),
                idle_ms: timeline.idle(index).into_iter().map(|(stage, time)| (stage, ms(time))).collect(),
                bytes: counters.places[index].bytes,
            })
            .collect(),
        verified,
        timeline: flags.timeline.clone(),
        passed: verified == flags.partitions as usize,
    };
    output.report(&report)?;
    output.text(&text(&report, &timeline))?;
    match report.passed {
        true => Ok(()),
        false => Err(Failure::failed(format!("{verified} of {} proofs verify", flags.partitions)).reported()),
    }
}

/// Name, key, witness.
type Made = (&'static str, Arc<ProvingKey>, Arc<Assignment>);

fn circuit(flags: &Partitions) -> Result<Made, Failure> {
    match flags.circuit {
        PartitionCircuit::Bits => {
            let circuit = Synthetic { kind: Kind::Bits, log2: flags.log2.unwrap_or(LOG2), seed: flags.seed };
            let key = circuit.key().map_err(Failure::failed)?;
            Ok(("bits", Arc::new(key), Arc::new(circuit.assignment().map_err(Failure::failed)?)))
        }
        PartitionCircuit::Output | PartitionCircuit::Spend => sapling(flags),
    }
}

#[cfg(feature = "sapling")]
fn sapling(flags: &Partitions) -> Result<Made, Failure> {
    use prooflane::sapling::{Case, Circuit, parameters, proving_key};
    let circuit = if flags.circuit == PartitionCircuit::Spend { Circuit::Spend } else { Circuit::Output };
    let files = parameters().map_err(Failure::failed)?;
    let key = Arc::new(proving_key(&files, circuit).map_err(Failure::failed)?);
    let case = Case::with_key(&files, key.clone(), circuit, flags.seed).map_err(Failure::failed)?;
    Ok((circuit.name(), key, Arc::new(case.assignment)))
}

#[cfg(not(feature = "sapling"))]
fn sapling(_: &Partitions) -> Result<Made, Failure> {
    Err(super::super::without_sapling("demo partitions --circuit spend"))
}

/// Runs the job with a bar for each place.
fn watched(
    output: &Output,
    pipeline: &Pipeline<ProofStages>,
    tasks: Vec<ProofTask>,
) -> Result<Vec<ark_groth16::Proof<Bls12_381>>, Failure> {
    let partitions = tasks.len() as u64;
    let bars: Vec<_> = pipeline.places().iter().map(|place| output.bar(&place.name, partitions)).collect();
    let job = pipeline.submit(tasks, JobOptions::default()).map_err(Failure::failed)?;
    let draw = || {
        for (bar, place) in bars.iter().zip(pipeline.counters().places) {
            bar.set_position(place.done);
            bar.set_message(format!("{} under way, {} leased", place.in_flight, bytes(place.bytes.leased)));
        }
    };
    let (ended, end) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let (draw, bars) = (&draw, &bars);
        scope.spawn(move || {
            while end.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                draw();
            }
            draw();
            bars.iter().for_each(|bar| bar.finish());
        });
        let proofs = job.wait().map_err(Failure::failed);
        drop(ended);
        proofs
    })
}

fn text(report: &Report, timeline: &Timeline) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "job         {} proofs in {} ms, {:.1} a second",
        report.partitions,
        millis(report.job),
        report.proofs_per_second
    );
    for (index, place) in report.places.iter().enumerate() {
        let percent = |part: f64| format!("{:.1}%", 100.0 * part);
        let busy = match place.utilisation {
            None => "idle".into(),
            Some(Utilisation { lock, device }) => {
                let device = device.map_or("unknown".into(), percent);
                format!("turns taken {} of the time, device busy {device}", percent(lock))
            }
        };
        let Bytes { peak, capacity, .. } = place.bytes;
        let budget = if capacity == u64::MAX { "no budget".into() } else { format!("of {}", bytes(capacity)) };
        let _ =
            writeln!(text, "place {index}     {} proofs, {busy}, {} at the peak, {budget}", place.proofs, bytes(peak));
        if let Some(waits) = timeline.waits(index) {
            let _ = writeln!(text, "            {waits}");
        }
    }
    if let Some(path) = &report.timeline {
        let _ = writeln!(text, "timeline    {}", path.display());
    }
    let _ = writeln!(text, "{} of {} proofs verify", report.verified, report.partitions);
    text
}
