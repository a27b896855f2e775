//! `cargo bench --bench msm`: MSMs over resident bases and scalars, every result checked, wall time and device time,
//! with arkworks and blst on the processors of the same machine beside them.
//!
//! A filter runs one row, as in `cargo bench --bench msm -- g1/u64/uniform/2^16`. `PROOFLANE_RECORD=<dir>` appends each
//! row that ran to `<dir>/<date>.csv`; `PROOFLANE_LOG2=12..20` overrides the sizes, `PROOFLANE_WINDOW=17` and
//! `PROOFLANE_ROUNDS=3` what the planner chooses (such rows are not recorded); with `PROOFLANE_COSTS=measured` sums are
//! planned by costs that are measured before, not by built-in ones. A table and `target/msm.svg` end it.

mod common;

use std::{
    iter::successors,
    time::{Duration, Instant},
};

use ark_bls12_381::{Fq, Fq2, Fr, G1Affine, G1Projective, G2Affine, G2Projective};
use ark_ff::{BigInteger, PrimeField, UniformRand, Zero};
use ark_std::rand::{Rng, SeedableRng, rngs::StdRng};
use blst::{MultiPoint, blst_fp, blst_fp2, blst_p1, blst_p1_affine, blst_p2, blst_p2_affine};
use common::{Named, Rows};
use criterion::Criterion;
use prooflane::{
    device::by_label,
    encoding::Format,
    kernel::{Kernels, Steps},
    msm::{self, Bases, Options, Scalars, Source},
};

/// Nothing is left to the host.
const ON_DEVICE: Options = Options { cpu_below: Some(0), ..Options::PINNED };
/// Different points; longer vectors repeat them. They lie apart on the device all the same, in as many bytes as other
/// points would take. A bucket that takes a point twice adds it to itself, which the rounds of pairs do by a slower
/// way: with so many points that is rare.
const POINTS: usize = 1 << 18;

/// As many sizes as end in minutes on a CPU.
const CPU_UP_TO: u32 = 20;

/// Distributions of scalars, worst cases among them: `equal` has all of a window in one bucket, `one` all in one bucket
/// altogether, `small64` leaves most windows empty.
const DISTRIBUTIONS: [&str; 5] = ["uniform", "sparse10", "equal", "one", "small64"];

/// As many multiples of each base as there are windows.
const TABLES: Options = Options { tables: 255, ..ON_DEVICE };

fn scalars(distribution: &str, n: usize, rng: &mut StdRng) -> Vec<Fr> {
    let same = Fr::rand(rng);
    let draw = |_| match distribution {
        "uniform" => Fr::rand(rng),
        "sparse10" if rng.gen_ratio(1, 10) => Fr::rand(rng),
        "sparse10" => Fr::from(rng.gen_range(0..2u64)),
        "equal" => same,
        "one" => Fr::from(1u64),
        "small64" => Fr::from(rng.r#gen::<u64>()),
        other => unreachable!("no distribution {other}"),
    };
    (0..n).map(draw).collect()
}

/// Bases, scalars, and their sum. Bases are `2^(i mod POINTS) P`, so that the sum is one scalar times `P`, whatever the
/// size.
struct Case<G: Source> {
    points: Vec<G::Affine>,
    scalars: Vec<Fr>,
    want: G,
}

fn case<G: Source>(log_n: u32, distribution: &str) -> Case<G> {
    let n = 1usize << log_n;
    let rng = &mut StdRng::seed_from_u64(u64::from(log_n));
    let start = G::rand(rng);
    let chain: Vec<G> = successors(Some(start), |&point| Some(point + point)).take(POINTS.min(n)).collect();
    let points = G::normalize_batch(&chain).iter().copied().cycle().take(n).collect();
    let scalars = scalars(distribution, n, rng);
    let powers = successors(Some(Fr::from(1u64)), |&power| Some(power + power));
    let powers: Vec<Fr> = powers.take(POINTS.min(n)).collect();
    let factor = scalars.iter().zip(powers.iter().cycle()).fold(Fr::zero(), |sum, (s, p)| sum + *s * p);
    Case { points, scalars, want: start * factor }
}

/// One row on the device.
fn on_device<G: Source>(
    criterion: &mut Criterion,
    kernels: &Kernels,
    (log_n, distribution): (u32, &'static str),
    options: Options,
    rows: &Rows,
) {
    let options = &Options { window: asked("PROOFLANE_WINDOW"), rounds: asked("PROOFLANE_ROUNDS"), ..options };
    let tables = if options.tables > 1 { "-tables" } else { "" };
    let planned = if options.costs == ON_DEVICE.costs { "" } else { "-measured" };
    let (variant, adapter) = (format!("{}{tables}{planned}", kernels.format().name()), &kernels.gpu().info().name);
    let named = Named { group: G::GROUP.name(), variant: &variant, distribution, log_n, adapter };
    rows.measure(
        criterion,
        &named,
        || Some(kernels.gpu().usage().peak),
        || {
            let case = case::<G>(log_n, distribution);
            let bases = Bases::<G>::load_with(kernels, &case.points, None, options).expect("bases");
            let scalars = Scalars::upload(kernels, &case.scalars).expect("scalars");
            move || {
                let begin = Instant::now();
                let mut steps = Steps::new(kernels.gpu().limits());
                let recorded = msm::record(kernels, &mut steps, &bases, &scalars, options).expect("a plan");
                let (rows, intervals) = kernels.run_and_read(&steps, recorded.rows().as_slice()).expect("run");
                let sum = recorded.sum(&rows.concat()).expect("a sum");
                let wall = begin.elapsed();
                assert_eq!(sum, case.want, "a wrong sum: {distribution} 2^{log_n}");
                (wall, by_label(&intervals))
            }
        },
    );
}

/// One row of a library on this machine's processors, all threads: `prepare` makes what `sum` takes.
fn on_cpu<G: Source, T>(
    criterion: &mut Criterion,
    variant: &str,
    log_n: u32,
    rows: &Rows,
    prepare: fn(&Case<G>) -> T,
    sum: fn(&Case<G>, &T) -> G,
) {
    let named = Named { group: G::GROUP.name(), variant, distribution: "uniform", log_n, adapter: "cpu" };
    rows.measure(
        criterion,
        &named,
        || None,
        || {
            let case = case::<G>(log_n, "uniform");
            let ready = prepare(&case);
            move || {
                let begin = Instant::now();
                let sum = sum(&case, &ready);
                let wall = begin.elapsed();
                assert_eq!(sum, case.want, "a wrong sum: {log_n}");
                (wall, Vec::new())
            }
        },
    );
}

/// Both libraries keep elements in Montgomery form over 2^384.
fn fp(x: Fq) -> blst_fp {
    blst_fp { l: x.0.0 }
}

fn fp2(x: Fq2) -> blst_fp2 {
    blst_fp2 { fp: [fp(x.c0), fp(x.c1)] }
}

fn fq(x: blst_fp) -> Fq {
    Fq::new_unchecked(ark_ff::BigInt(x.l))
}

fn fq2(x: blst_fp2) -> Fq2 {
    Fq2::new(fq(x.fp[0]), fq(x.fp[1]))
}

fn bytes(scalars: &[Fr]) -> Vec<u8> {
    scalars.iter().flat_map(|scalar| scalar.into_bigint().to_bytes_le()).collect()
}

/// Points and scalars as blst takes them; no base of these benches is infinity.
fn blst_g1(case: &Case<G1Projective>) -> (Vec<blst_p1_affine>, Vec<u8>) {
    let point = |p: &G1Affine| blst_p1_affine { x: fp(p.x), y: fp(p.y) };
    (case.points.iter().map(point).collect(), bytes(&case.scalars))
}

fn blst_g2(case: &Case<G2Projective>) -> (Vec<blst_p2_affine>, Vec<u8>) {
    let point = |p: &G2Affine| blst_p2_affine { x: fp2(p.x), y: fp2(p.y) };
    (case.points.iter().map(point).collect(), bytes(&case.scalars))
}

fn baselines(criterion: &mut Criterion, log_n: u32, rows: &Rows) {
    on_cpu::<G1Projective, ()>(criterion, "arkworks", log_n, rows, |_| (), |case, ()| ark_sum(case));
    on_cpu::<G2Projective, ()>(criterion, "arkworks", log_n, rows, |_| (), |case, ()| ark_sum(case));
    on_cpu(criterion, "blst", log_n, rows, blst_g1, |_, (points, scalars)| {
        let blst_p1 { x, y, z } = points.as_slice().mult(scalars, 255);
        G1Projective { x: fq(x), y: fq(y), z: fq(z) }
    });
    on_cpu(criterion, "blst", log_n, rows, blst_g2, |_, (points, scalars)| {
        let blst_p2 { x, y, z } = points.as_slice().mult(scalars, 255);
        G2Projective { x: fq2(x), y: fq2(y), z: fq2(z) }
    });
}

fn ark_sum<G: Source>(case: &Case<G>) -> G {
    G::msm_unchecked(&case.points, &case.scalars)
}

/// A number from the environment.
fn asked(name: &str) -> Option<u32> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

fn main() {
    let gpu = common::open();
    let sizes = || common::sizes(&gpu, 8..=12, 10..=20);
    let mut criterion = common::criterion(Duration::from_secs(1));
    let rows = Rows::new("msm");
    for format in Format::ALL.into_iter().filter(|format| format.supported(gpu.features())) {
        let kernels = Kernels::new(gpu.clone(), format);
        let mut costs = ON_DEVICE.costs;
        if std::env::var("PROOFLANE_COSTS").is_ok_and(|costs| costs == "measured") {
            // The rate is for adapters without timestamps, whose stages could not be told anyway.
            let rate = 1e9;
            costs = [
                msm::measure::<G1Projective>(&kernels, rate).expect("costs"),
                msm::measure::<G2Projective>(&kernels, rate).expect("costs"),
            ];
            println!("{}: {costs:#?}", format.name());
        }
        let [plain, tables] = [ON_DEVICE, TABLES].map(|options| Options { costs, ..options });
        for log_n in sizes().step_by(2) {
            for distribution in DISTRIBUTIONS {
                on_device::<G1Projective>(&mut criterion, &kernels, (log_n, distribution), plain, &rows);
                on_device::<G2Projective>(&mut criterion, &kernels, (log_n, distribution), plain, &rows);
            }
            on_device::<G1Projective>(&mut criterion, &kernels, (log_n, "uniform"), tables, &rows);
            on_device::<G2Projective>(&mut criterion, &kernels, (log_n, "uniform"), tables, &rows);
        }
    }
    for log_n in sizes().step_by(2).filter(|log_n| *log_n <= CPU_UP_TO) {
        baselines(&mut criterion, log_n, &rows);
    }
    rows.finish("MSM, uniform scalars, resident bases", "bases", &["uniform"]);
    criterion.final_summary();
}
