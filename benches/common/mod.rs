//! What benches over sizes share: rows that are measured and recorded one by one, and a table and a picture at the end.

mod chart;
#[path = "../../src/cli/record.rs"]
#[allow(dead_code, unused_imports, reason = "the command line uses other parts, and its tests run there")]
mod record;

use std::{
    cell::RefCell,
    ops::RangeInclusive,
    time::{Duration, Instant},
};

use criterion::{BenchmarkId, Criterion, SamplingMode};
use prooflane::device::{Gpu, Options};
use record::Row;

/// Of one run: wall time, and the device's time by stage.
pub(crate) type Ran = (Duration, Vec<(&'static str, Duration)>);

/// A row that is to be measured.
pub(crate) struct Named<'a> {
    pub(crate) group: &'static str,
    pub(crate) variant: &'a str,
    pub(crate) distribution: &'static str,
    pub(crate) log_n: u32,
    pub(crate) adapter: &'a str,
}

/// The rows of one bench.
pub(crate) struct Rows {
    bench: &'static str,
    rows: RefCell<Vec<Row>>,
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The median in milliseconds.
#[allow(dead_code, reason = "not every bench has times beside its rows'")]
pub(crate) fn median_ms(times: &[Duration]) -> f64 {
    ms(record::median(times))
}

/// The adapter under test, `PROOFLANE_ADAPTER` or the best, named on standard output.
pub(crate) fn open() -> Gpu {
    let Ok(select) = std::env::var("PROOFLANE_ADAPTER").unwrap_or_default().parse();
    let gpu = Gpu::open(&Options { select, ..Default::default() }).expect("an adapter to measure");
    println!("adapter: {} ({}, {})", gpu.info().name, gpu.info().backend, gpu.info().driver_info);
    gpu
}

/// Ten samples of each row, of so long together, after a fifth of that; the command line may say otherwise.
pub(crate) fn criterion(measurement: Duration) -> Criterion {
    let criterion = Criterion::default().sample_size(10).warm_up_time(measurement / 5);
    criterion.measurement_time(measurement).configure_from_args()
}

/// How long a card is kept busy so that it runs at its full clock: an H200 that has little to do between checks on the host
/// falls to a sixth of it.
#[allow(dead_code, reason = "where checks are short the clock stays up")]
const AWAKE: Duration = Duration::from_millis(100);

/// Runs something until the clock of the card is up.
#[allow(dead_code, reason = "where checks are short the clock stays up")]
pub(crate) fn awake(gpu: &Gpu, mut run: impl FnMut()) {
    let begin = Instant::now();
    while gpu.info().device_type != wgpu::DeviceType::Cpu && begin.elapsed() < AWAKE {
        run();
    }
}

/// Binary logarithms of sizes: `PROOFLANE_LOG2=12..20`, or the first range on a software adapter, or the second.
#[allow(dead_code, reason = "not every bench runs over sizes")]
pub(crate) fn sizes(gpu: &Gpu, software: RangeInclusive<u32>, hardware: RangeInclusive<u32>) -> RangeInclusive<u32> {
    let asked = std::env::var("PROOFLANE_LOG2").ok();
    let asked = asked
        .as_deref()
        .and_then(|text| text.split_once(".."))
        .and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    match (asked, gpu.info().device_type) {
        (Some((first, last)), _) => first..=last,
        (None, wgpu::DeviceType::Cpu) => software,
        (None, _) => hardware,
    }
}

impl Rows {
    pub(crate) fn new(bench: &'static str) -> Self {
        Self { bench, rows: RefCell::default() }
    }

    /// Measures what `prepare` makes, which checks its results. Nothing is prepared for a row that a filter leaves out.
    pub(crate) fn measure<'a, R: FnMut() -> Ran + 'a>(
        &self,
        criterion: &mut Criterion,
        named: &Named<'_>,
        bytes: impl Fn() -> Option<u64>,
        prepare: impl Fn() -> R + 'a,
    ) {
        let Named { group, variant, distribution, log_n, adapter } = *named;
        let mut prepared = None;
        let mut measured: Vec<Ran> = Vec::new();
        let mut benches = criterion.benchmark_group(format!("{group}/{variant}/{distribution}"));
        benches.sampling_mode(SamplingMode::Flat);
        benches.bench_function(BenchmarkId::from_parameter(format!("2^{log_n}")), |bencher| {
            let run = prepared.get_or_insert_with(|| {
                let mut run = prepare();
                // First use: compiles, and raises the clock of an idle card. criterion calls this closure once a sample.
                run();
                run
            });
            let mut once = || {
                let ran = run();
                let wall = ran.0;
                measured.push(ran);
                wall
            };
            bencher.iter_custom(|iterations| (0..iterations).map(|_| once()).sum());
        });
        benches.finish();
        let Some((_, stages)) = measured.first() else { return };
        let of = |stage: usize| -> Vec<Duration> { measured.iter().map(|ran| ran.1[stage].1).collect() };
        let told = |(index, (name, _)): (usize, &(&str, _))| format!("{name} {:.3}", ms(record::median(&of(index))));
        let told: Vec<_> = stages.iter().enumerate().map(told).collect();
        let device: Vec<Duration> = measured.iter().map(|ran| ran.1.iter().map(|stage| stage.1).sum()).collect();
        if !told.is_empty() {
            println!("  stages on the device, median ms: {}", told.join(", "));
        }
        let row = Row {
            bench: self.bench,
            group,
            variant: variant.into(),
            distribution: distribution.into(),
            log2n: Some(log_n),
            device: (!told.is_empty()).then(|| record::median(&device)),
            times: measured.iter().map(|ran| ran.0).collect(),
            bytes: bytes(),
            checked: true,
            adapter: adapter.into(),
        };
        // At once: a later row may end the run, where memory is short. A row of another plan than the planner's is none.
        let pinned = ["PROOFLANE_WINDOW", "PROOFLANE_ROUNDS"].into_iter().any(|name| std::env::var_os(name).is_some());
        if let (Ok(directory), false) = (std::env::var("PROOFLANE_RECORD"), pinned) {
            record::append(directory.as_ref(), std::slice::from_ref(&row)).expect("a record");
        }
        self.rows.borrow_mut().push(row);
    }

    /// Prints what rows whose sizes are numbers of operations do in a second.
    #[allow(dead_code, reason = "most benches measure no rates")]
    pub(crate) fn rates(self) {
        println!("\n{:<34} {:>10} {:>10}", "checked", "median ms", "G/s");
        for row in self.rows.into_inner() {
            let name = format!("{}/{}", row.group, row.variant);
            // The device's own time, where it has a clock.
            let time = row.device.unwrap_or_else(|| record::median(&row.times));
            let rate = f64::from(row.log2n.unwrap_or_default()).exp2() / time.as_nanos() as f64;
            println!("{name:<34} {:>10.3} {rate:>10.3}", ms(time));
        }
    }

    /// Prints all rows, and draws those of some distributions in `target/<bench>.svg`.
    #[allow(dead_code, reason = "one bench measures rates")]
    pub(crate) fn finish(self, caption: &str, of: &str, distributions: &[&str]) {
        let rows = self.rows.into_inner();
        println!("\n{:<34} {:>10} {:>10} {:>10}", "checked", "median ms", "min ms", "device ms");
        for row in &rows {
            let name =
                format!("{}/{}/{}/2^{}", row.group, row.variant, row.distribution, row.log2n.unwrap_or_default());
            let min = row.times.iter().min().copied().unwrap_or_default();
            let device = row.device.map_or(String::new(), |time| format!("{:.3}", ms(time)));
            println!("{name:<34} {:>10.3} {:>10.3} {device:>10}", ms(record::median(&row.times)), ms(min));
        }
        let picture = format!("target/{}.svg", self.bench);
        match chart::draw(picture.as_ref(), &rows, caption, of, distributions) {
            Ok(true) => println!("drawn in {picture}"),
            Ok(false) => {}
            Err(error) => println!("{picture} could not be drawn: {error}"),
        }
    }
}
