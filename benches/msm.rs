//! `cargo bench --bench msm`: MSMs over resident bases and scalars, every result checked, wall time and device time.
//!
//! A filter runs one row, as in `cargo bench --bench msm -- g1/u64/uniform/2^16`. `PROOFLANE_RECORD=<dir>` appends the
//! rows that ran to `<dir>/<date>.csv`; `PROOFLANE_LOG2=12..20` overrides the sizes.

#[path = "../src/cli/record.rs"]
#[allow(dead_code, unused_imports, reason = "the command line uses other parts, and its tests run there")]
mod record;

use std::{
    cell::RefCell,
    iter::successors,
    time::{Duration, Instant},
};

use ark_bls12_381::{Fr, G1Projective, G2Projective};
use ark_ff::{UniformRand, Zero};
use ark_std::rand::{Rng, SeedableRng, rngs::StdRng};
use criterion::{BenchmarkId, Criterion};
use prooflane::{
    device::{self, Gpu},
    encoding::Format,
    kernel::{Kernels, Steps},
    msm::{self, Bases, Options, Scalars, Source},
};
use record::Row;

/// Nothing is left to the host.
const ON_DEVICE: Options = Options { window: None, stage: None, cpu_below: 0 };
/// Different points; longer vectors repeat them. They fill 1.5 MiB in G1, so gathers from beyond caches are not measured
/// until there are more.
const POINTS: usize = 1 << 14;

fn scalars(distribution: &str, n: usize, rng: &mut StdRng) -> Vec<Fr> {
    let sparse = distribution == "sparse10";
    let bit = |rng: &mut StdRng| Fr::from(rng.gen_range(0..2u64));
    (0..n).map(|_| if sparse && !rng.gen_ratio(1, 10) { bit(rng) } else { Fr::rand(rng) }).collect()
}

/// One row: bases `2^(i mod POINTS) P`, so that the sum is one scalar times `P`, whatever the size.
fn row<G: Source>(
    criterion: &mut Criterion,
    kernels: &Kernels,
    log_n: u32,
    distribution: &str,
    rows: &RefCell<Vec<Row>>,
) {
    let n = 1usize << log_n;
    let (group, variant) = (G::GROUP.name(), kernels.format().name());
    let prepared = RefCell::new(None);
    let measured: RefCell<Vec<(Duration, Duration)>> = RefCell::default();
    let stages: RefCell<Vec<(String, Vec<Duration>)>> = RefCell::default();
    let once = |(bases, scalars, want): &(Bases<G>, Scalars, G)| {
        let begin = Instant::now();
        let mut steps = Steps::new(kernels.gpu().limits());
        let recorded = msm::record(kernels, &mut steps, bases, scalars, &ON_DEVICE).expect("a plan");
        let (rows, intervals) = kernels.run_and_read(&steps, recorded.rows().as_slice()).expect("run");
        let sum = recorded.sum(&rows.concat()).expect("a sum");
        let wall = begin.elapsed();
        assert_eq!(sum, *want, "{group}/{variant}/{distribution}/2^{log_n}: a wrong sum");
        measured.borrow_mut().push((wall, intervals.iter().map(|i| i.end.saturating_sub(i.start)).sum()));
        for interval in intervals {
            let took = interval.end.saturating_sub(interval.start);
            let mut stages = stages.borrow_mut();
            match stages.iter_mut().find(|stage| stage.0 == interval.label) {
                Some(stage) => stage.1.push(took),
                None => stages.push((interval.label.to_string(), vec![took])),
            }
        }
        wall
    };
    let mut benches = criterion.benchmark_group(format!("{group}/{variant}/{distribution}"));
    benches.bench_function(BenchmarkId::from_parameter(format!("2^{log_n}")), |bencher| {
        // Made here, so that rows which a filter leaves out cost nothing.
        let mut prepared = prepared.borrow_mut();
        let case = prepared.get_or_insert_with(|| {
            let rng = &mut StdRng::seed_from_u64(u64::from(log_n));
            let start = G::rand(rng);
            let chain: Vec<G> = successors(Some(start), |&point| Some(point + point)).take(POINTS.min(n)).collect();
            let some = G::normalize_batch(&chain);
            let points: Vec<G::Affine> = some.iter().copied().cycle().take(n).collect();
            let scalars = scalars(distribution, n, rng);
            let powers = successors(Some(Fr::from(1u64)), |&power| Some(power + power));
            let powers: Vec<Fr> = powers.take(POINTS.min(n)).collect();
            let factor = scalars.iter().zip(powers.iter().cycle()).fold(Fr::zero(), |sum, (s, p)| sum + *s * p);
            let bases = Bases::<G>::load(kernels, &points).expect("bases");
            let case = (bases, Scalars::upload(kernels, &scalars).expect("scalars"), start * factor);
            // First use: compiles, and raises the clock of an idle card. criterion calls this closure once a sample.
            once(&case);
            measured.borrow_mut().clear();
            stages.borrow_mut().clear();
            case
        });
        bencher.iter_custom(|iterations| (0..iterations).map(|_| once(case)).sum());
    });
    benches.finish();
    let measured = measured.into_inner();
    if measured.is_empty() {
        return;
    }
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let stages = stages.into_inner();
    let stages: Vec<_> =
        stages.iter().map(|(label, times)| format!("{label} {:.3}", ms(record::median(times)))).collect();
    println!("  stages on the device, median ms: {}", stages.join(", "));
    let (times, device): (Vec<_>, Vec<_>) = measured.into_iter().unzip();
    rows.borrow_mut().push(Row {
        bench: "msm",
        group,
        variant: variant.into(),
        distribution: distribution.into(),
        log2n: Some(log_n),
        times,
        device: Some(record::median(&device)),
        bytes: Some(kernels.gpu().usage().peak),
        checked: true,
        adapter: kernels.gpu().info().name.clone(),
    });
}

fn sizes(gpu: &Gpu) -> std::ops::RangeInclusive<u32> {
    let asked = std::env::var("PROOFLANE_LOG2").ok();
    let asked = asked
        .as_deref()
        .and_then(|text| text.split_once(".."))
        .and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    match (asked, gpu.info().device_type) {
        (Some((first, last)), _) => first..=last,
        (None, wgpu::DeviceType::Cpu) => 8..=12,
        (None, _) => 10..=20,
    }
}

fn main() {
    let Ok(select) = std::env::var("PROOFLANE_ADAPTER").unwrap_or_default().parse();
    let gpu = Gpu::open(&device::Options { select, ..Default::default() }).expect("an adapter to measure");
    println!("adapter: {} ({}, {})", gpu.info().name, gpu.info().backend, gpu.info().driver_info);
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    let rows = RefCell::default();
    for format in Format::ALL.into_iter().filter(|format| format.supported(gpu.features())) {
        let kernels = Kernels::new(gpu.clone(), format);
        for log_n in sizes(&gpu).step_by(2) {
            for distribution in ["uniform", "sparse10"] {
                row::<G1Projective>(&mut criterion, &kernels, log_n, distribution, &rows);
                row::<G2Projective>(&mut criterion, &kernels, log_n, distribution, &rows);
            }
        }
    }
    let rows = rows.into_inner();
    println!("\n{:<28} {:>10} {:>10} {:>10}", "checked", "median ms", "min ms", "device ms");
    for row in &rows {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let name = format!("{}/{}/{}/2^{}", row.group, row.variant, row.distribution, row.log2n.unwrap_or_default());
        let min = row.times.iter().min().copied().unwrap_or_default();
        println!(
            "{name:<28} {:>10.3} {:>10.3} {:>10.3}",
            ms(record::median(&row.times)),
            ms(min),
            ms(row.device.unwrap_or_default())
        );
    }
    if let Ok(directory) = std::env::var("PROOFLANE_RECORD") {
        let file = record::append(directory.as_ref(), &rows).expect("records");
        println!("recorded in {}", file.display());
    }
    criterion.final_summary();
}
