//! `cargo bench --bench field`: multiplications and squarings on the device, chains of dependent ones in 2^20 lanes
//! (2^10 on software adapters), with arkworks on the processors of the same machine beside them.
//!
//! Every lane has factors of its own, and its end is compared with arkworks'. Variants are the limb formats, and for the
//! base field floating point (`src/kernel/field/float.rs`), where the adapter has it and fuses its multiplications;
//! kernels that prove do not use it.
//!
//! A filter runs one row, as in `cargo bench --bench field -- fq-mul/u64`. `PROOFLANE_RECORD=<dir>` appends each row that
//! ran to `<dir>/<date>.csv`. Sizes are numbers of multiplications. A table of rates ends it.

mod common;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use ark_bls12_381::{Fq, Fr};
use ark_ff::{BigInteger, PrimeField};
use ark_std::rand::{SeedableRng, rngs::StdRng};
use common::{Named, Ran, Rows};
use criterion::Criterion;
use prooflane::{
    device::{Gpu, Pool, by_label},
    encoding::Format,
    kernel::{
        Code, Kernel, Kernels, Steps,
        field::float,
        table::{PROBE_FLOAT, PROBE_FQ, PROBE_FR},
        twins::ProbeParams,
    },
};
use rayon::prelude::*;

/// The chain of multiplications by the same factor, in `probe_field.wgsl`.
const CHAIN: u32 = 9;

/// A chain in each lane.
#[derive(Clone, Copy)]
struct Shape {
    log_lanes: u32,
    log_chain: u32,
}

impl Shape {
    fn of(gpu: &Gpu) -> Self {
        match gpu.info().device_type {
            wgpu::DeviceType::Cpu => Self { log_lanes: 10, log_chain: 6 },
            _ => Self { log_lanes: 20, log_chain: 8 },
        }
    }

    fn log_n(self) -> u32 {
        self.log_lanes + self.log_chain
    }
}

/// What a lane computes out of `x` and `y`, in integers that stand for their multiples by `2^-radix`.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    Multiply,
    Square,
}

fn random<F: PrimeField>(log_lanes: u32, seed: u64) -> Vec<F> {
    let rng = &mut StdRng::seed_from_u64(seed);
    (0..1 << log_lanes).map(|_| F::rand(rng)).collect()
}

fn bytes<F: PrimeField>(values: &[F]) -> Vec<u8> {
    values.iter().flat_map(|value| value.into_bigint().to_bytes_le()).collect()
}

/// A row of a kernel that runs chains.
struct Row<'a> {
    kernels: &'a Arc<Kernels>,
    kernel: &'static Kernel,
    step: Step,
    radix_bits: u64,
}

impl Row<'_> {
    /// The steps, and where they leave their results.
    fn steps(&self, shape: Shape, x: &[u8], y: &[u8]) -> (Steps, prooflane::device::Span) {
        let gpu = self.kernels.gpu();
        let [a, b] = [x, y].map(|bytes| gpu.store(Pool::Scratch, "factors", bytes).expect("memory"));
        let out = gpu.allocate(Pool::Scratch, "products", x.len() as u64).expect("memory");
        let mut steps = Steps::new(gpu.limits());
        steps.stage("multiply");
        let n = 1u32 << shape.log_lanes;
        let params = ProbeParams { group0: 0, n, op: CHAIN, count: 1 << shape.log_chain };
        steps.dispatch(self.kernel, u64::from(n), params, &[&a, &b, &out]);
        (steps, out)
    }

    /// The ends of all chains.
    fn want<F: PrimeField>(&self, shape: Shape, x: &[F], y: &[F]) -> Vec<F> {
        let unradix = F::from(2u64).pow([self.radix_bits]).inverse().expect("a unit");
        let end = |(x, y): (&F, &F)| match self.step {
            Step::Multiply => *x * (*y * unradix).pow([1u64 << shape.log_chain]),
            Step::Square => (0..1 << shape.log_chain).fold(*x, |x, _| x.square() * unradix),
        };
        x.par_iter().zip(y).map(end).collect()
    }

    fn measure<F: PrimeField>(&self, criterion: &mut Criterion, rows: &Rows, group: &'static str, variant: &str) {
        let (gpu, shape) = (self.kernels.gpu(), Shape::of(self.kernels.gpu()));
        let adapter = &gpu.info().name;
        let named = Named { group, variant, distribution: "uniform", log_n: shape.log_n(), adapter };
        rows.measure(
            criterion,
            &named,
            || Some(gpu.usage().peak),
            || {
                let [x, y] = [1, 2].map(|seed| random::<F>(shape.log_lanes, seed));
                let (steps, out) = self.steps(shape, &bytes(&x), &bytes(&y));
                let want = self.want(shape, &x, &y);
                move || {
                    common::awake(gpu, || drop(self.kernels.run(&steps).expect("a run")));
                    let begin = Instant::now();
                    let intervals = self.kernels.run(&steps).expect("a run");
                    let wall = begin.elapsed();
                    let got = gpu.read(&[&out]).expect("bytes").swap_remove(0);
                    let right = want.iter().zip(got.chunks_exact(got.len() / want.len()));
                    assert!(
                        right.clone().all(|(want, got)| F::from_le_bytes_mod_order(got) == *want),
                        "wrong products"
                    );
                    (wall, by_label(&intervals))
                }
            },
        );
    }

    /// Whether the adapter computes it rightly, by one step in a few lanes.
    fn fused(&self) -> bool {
        let shape = Shape { log_lanes: 6, log_chain: 0 };
        let [x, y] = [1, 2].map(|seed| random::<Fq>(shape.log_lanes, seed));
        let (steps, out) = self.steps(shape, &bytes(&x), &bytes(&y));
        self.kernels.run(&steps).expect("a run");
        let got = self.kernels.gpu().read(&[&out]).expect("bytes").swap_remove(0);
        let want = self.want(shape, &x, &y);
        want.iter().zip(got.chunks_exact(48)).all(|(want, got)| Fq::from_le_bytes_mod_order(got) == *want)
    }
}

fn on_cpu<F: PrimeField>(criterion: &mut Criterion, rows: &Rows, group: &'static str, shape: Shape) {
    let named = Named { group, variant: "arkworks", distribution: "uniform", log_n: shape.log_n(), adapter: "cpu" };
    rows.measure(
        criterion,
        &named,
        || None,
        || {
            let [x, y] = [1, 2].map(|seed| random::<F>(shape.log_lanes, seed));
            let want: Vec<F> = x.par_iter().zip(&y).map(|(x, y)| *x * y.pow([1u64 << shape.log_chain])).collect();
            move || -> Ran {
                let begin = Instant::now();
                let chain = |(x, y): (&F, &F)| (0..1 << shape.log_chain).fold(*x, |product, _| product * y);
                let got: Vec<F> = x.par_iter().zip(&y).map(chain).collect();
                let wall = begin.elapsed();
                assert!(got == want, "wrong products");
                (wall, Vec::new())
            }
        },
    );
}

fn main() {
    let gpu = common::open();
    let shape = Shape::of(&gpu);
    let mut criterion = common::criterion(Duration::from_secs(1));
    let rows = Rows::new("field");
    for format in Format::ALL.into_iter().filter(|format| format.supported(gpu.features())) {
        let kernels = Arc::new(Kernels::new(gpu.clone(), format));
        let row = |kernel, radix_bits: usize| {
            let (kernels, radix_bits) = (&kernels, radix_bits as u64);
            Row { kernels, kernel, step: Step::Multiply, radix_bits }
        };
        row(&PROBE_FQ, format.fq().radix_bits()).measure::<Fq>(&mut criterion, &rows, "fq-mul", format.name());
        row(&PROBE_FR, format.fr().radix_bits()).measure::<Fr>(&mut criterion, &rows, "fr-mul", format.name());
    }
    if gpu.features().contains(wgpu::Features::SHADER_F64 | wgpu::Features::SHADER_INT64) {
        // What software adapters would get otherwise has integers in place of floating point.
        let kernels = Arc::new(Kernels::with_code(gpu.clone(), Format::U64, Code::Unrolled));
        for (kernel, group, variant, step) in [
            (&PROBE_FLOAT[0], "fq-mul", "f64", Step::Multiply),
            (&PROBE_FLOAT[1], "fq-mul", "f64-karatsuba", Step::Multiply),
            (&PROBE_FLOAT[2], "fq-sqr", "f64", Step::Square),
        ] {
            let row = Row { kernels: &kernels, kernel, step, radix_bits: float::RADIX_BITS };
            match row.fused() {
                true => row.measure::<Fq>(&mut criterion, &rows, group, variant),
                false => println!("{group}/{variant}: set aside, the adapter does not fuse multiplications"),
            }
        }
    }
    on_cpu::<Fq>(&mut criterion, &rows, "fq-mul", shape);
    on_cpu::<Fr>(&mut criterion, &rows, "fr-mul", shape);
    rows.rates();
    criterion.final_summary();
}
