//! `cargo bench --bench ntt`: transforms of vectors that lie on the device, in natural order before and after, and the
//! quotient of a proof; wall time and device time, with arkworks on the processors of the same machine beside them.
//!
//! **Of each row the first run and every eighth after it are checked, all of their outputs;** what runs between is the same
//! list of dispatches over other values. (A check takes a hundred times as long as a transform, and the card would fall
//! asleep meanwhile.) Up to 2^20 outputs are compared with ark-poly's. At any size a sum of all outputs with weights is
//! compared with what it has to be: for a point `z` drawn at random, values `X_j = P(g omega^j)`
//! have `P(g z) = (z^n - 1)/n sum_j X_j omega^j / (z - omega^j)` (the barycentric form), and coefficients have
//! `P(z) = sum_i c_i z^i`; the other side of either equation is evaluated from the inputs. A wrong output would go
//! unnoticed with a probability of `n / r`, below 2^-220.
//!
//! A filter runs one row, as in `cargo bench --bench ntt -- forward/u64/uniform/2^16`. `PROOFLANE_RECORD=<dir>` appends
//! each row that ran to `<dir>/<date>.csv`; `PROOFLANE_LOG2=16..27` overrides the sizes, of which every other one and
//! the last are run. A table and `target/ntt.svg` end it.

mod common;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use ark_bls12_381::Fr;
use ark_ff::{FftField, Field, PrimeField, UniformRand, Zero, batch_inversion};
use ark_poly::EvaluationDomain;
use ark_std::rand::{SeedableRng, rngs::StdRng};
use common::{Named, Ran, Rows};
use criterion::Criterion;
use prooflane::{
    device::{Gpu, Pool, Span, by_label},
    encoding::{Format, fr_bytes, fr_from_bytes},
    groth16::quotient,
    kernel::{Kernels, Steps},
    ntt::{Direction, Domain, Quotient, host, root_of_unity},
};
use rayon::prelude::*;

/// Results up to this size are compared with ark-poly's, and ark-poly is measured.
const CPU_UP_TO: u32 = 20;
/// A quotient's vectors are one buffer each.
const QUOTIENT_UP_TO: u32 = 25;
/// Elements of one piece of work of a thread.
const CHUNK: usize = 1 << 14;

const KINDS: [(&str, Direction, bool); 4] = [
    ("forward", Direction::Forward, false),
    ("inverse", Direction::Inverse, false),
    ("coset", Direction::Forward, true),
    ("inverse_coset", Direction::Inverse, true),
];

/// Whether a row's run is checked: that for compiling, the first that counts, and every eighth after it.
fn is_checked(run: u32) -> bool {
    run == 0 || run % 8 == 1
}

fn root(log_n: u32) -> Fr {
    root_of_unity(7, log_n).expect("a root of that order")
}

fn random(log_n: u32, seed: u64) -> Vec<Fr> {
    let mut values = vec![Fr::zero(); 1 << log_n];
    values.par_chunks_mut(CHUNK).enumerate().for_each(|(index, chunk)| {
        let rng = &mut StdRng::seed_from_u64((index as u64) << 8 | seed);
        chunk.fill_with(|| Fr::rand(rng));
    });
    values
}

/// `first * ratio^i`.
fn powers(first: Fr, ratio: Fr, log_n: u32) -> Vec<Fr> {
    let mut values = vec![first; 1 << log_n];
    values.par_chunks_mut(CHUNK).enumerate().for_each(|(index, chunk)| {
        let mut power = first * ratio.pow([(index * CHUNK) as u64]);
        for value in chunk {
            *value = power;
            power *= ratio;
        }
    });
    values
}

fn dot(a: &[Fr], b: &[Fr]) -> Fr {
    a.par_iter().zip(b).map(|(a, b)| *a * b).sum()
}

/// A point that is in no domain of this size.
fn point(log_n: u32) -> Fr {
    Fr::rand(&mut StdRng::seed_from_u64(1 << 16 | u64::from(log_n)))
}

/// What values over the powers of `root` have to be weighted with for their polynomial's value at `z`.
fn barycentric(log_n: u32, z: Fr) -> Vec<Fr> {
    let n = 1u64 << log_n;
    let roots = powers(Fr::from(1u64), root(log_n), log_n);
    let mut weights: Vec<Fr> = roots.par_iter().map(|root| z - root).collect();
    batch_inversion(&mut weights);
    let factor = (z.pow([n]) - Fr::from(1u64)) * Fr::from(n).inverse().expect("a unit");
    weights.par_iter_mut().zip(roots).for_each(|(weight, root)| *weight *= factor * root);
    weights
}

/// What tells a right result from a wrong one.
struct Check {
    weights: Vec<Fr>,
    want: Fr,
    exact: Option<Vec<Fr>>,
}

impl Check {
    fn transform(values: &[Fr], direction: Direction, coset: Option<Fr>) -> Self {
        let log_n = values.len().ilog2();
        let (z, shift) = (point(log_n), coset.unwrap_or(Fr::from(1u64)));
        let (of_values, of_coefficients) = (barycentric(log_n, z), powers(Fr::from(1u64), shift * z, log_n));
        let (weights, given) = match direction {
            Direction::Forward => (of_values, of_coefficients),
            Direction::Inverse => (of_coefficients, of_values),
        };
        let exact = (log_n <= CPU_UP_TO).then(|| {
            let mut values = values.to_vec();
            host::ntt(&mut values, direction, coset, root(log_n)).expect("a transform");
            values
        });
        Self { want: dot(&given, values), weights, exact }
    }

    /// `h (x^n - 1) = A B - C`, at a point.
    fn quotient(a: &[Fr], b: &[Fr]) -> Self {
        let log_n = a.len().ilog2();
        let z = point(log_n);
        let given = barycentric(log_n, z);
        let c: Vec<Fr> = a.par_iter().zip(b).map(|(a, b)| *a * b).collect();
        let vanishing = z.pow([1u64 << log_n]) - Fr::from(1u64);
        let want = (dot(&given, a) * dot(&given, b) - dot(&given, &c)) * vanishing.inverse().expect("no root");
        let exact = (log_n <= CPU_UP_TO).then(|| {
            let mut h = quotient::odd_coset(&quotient::Domain::new(log_n).expect("a domain"), a, b);
            h.resize(a.len(), Fr::zero());
            h
        });
        Self { weights: powers(Fr::from(1u64), z, log_n), want, exact }
    }

    fn passes(&self, got: &[Fr], what: &str) {
        assert!(dot(&self.weights, got) == self.want, "{what}: a wrong result");
        assert!(self.exact.as_ref().is_none_or(|exact| exact == got), "{what}: not arkworks' result");
    }
}

fn upload(gpu: &Gpu, spans: &[Span], bytes: &[u8]) {
    let mut rest = bytes;
    for span in spans {
        let (part, after) = rest.split_at(span.size() as usize);
        gpu.upload(span, part).expect("an upload");
        rest = after;
    }
}

fn download(gpu: &Gpu, spans: &[Span]) -> Vec<Fr> {
    let pages = spans.iter().map(|span| fr_from_bytes(&gpu.read(&[span]).expect("readback")[0]));
    pages.collect::<Vec<_>>().concat()
}

/// Runs a list that `record` makes. What came before has ended then.
fn timed(kernels: &Kernels, record: impl FnOnce(&mut Steps)) -> Ran {
    kernels.run(&Steps::new(kernels.gpu().limits())).expect("an empty run");
    let begin = Instant::now();
    let mut steps = Steps::new(kernels.gpu().limits());
    record(&mut steps);
    let intervals = kernels.run(&steps).expect("a run");
    (begin.elapsed(), by_label(&intervals))
}

fn on_device(criterion: &mut Criterion, kernels: &Kernels, log_n: u32, rows: &Rows) {
    let gpu = kernels.gpu();
    let (variant, adapter) = (kernels.format().name(), &gpu.info().name);
    for (group, direction, shifted) in KINDS {
        let named = Named { group, variant, distribution: "uniform", log_n, adapter };
        rows.measure(
            criterion,
            &named,
            || Some(gpu.usage().peak),
            || {
                let coset = shifted.then_some(Fr::GENERATOR);
                let values = random(log_n, 1);
                let check = Check::transform(&values, direction, coset);
                let domain = Domain::new(kernels, log_n, root(log_n)).expect("a domain");
                let transform = domain.prepare(kernels, direction, coset).expect("tables");
                let [from, to] = ["from", "to"].map(|what| domain.allocate(gpu, what).expect("memory"));
                let (bytes, mut checks) = (fr_bytes(&values), (0..).map(is_checked));
                let mut steps = Steps::new(gpu.limits());
                transform.record(&mut steps, &from, &to);
                move || {
                    let checked = checks.next() == Some(true);
                    common::awake(gpu, || drop(kernels.run(&steps).expect("a run")));
                    if checked {
                        upload(gpu, &from, &bytes);
                    }
                    let ran = timed(kernels, |steps| transform.record(steps, &from, &to));
                    if checked {
                        check.passes(&download(gpu, &to), group);
                    }
                    ran
                }
            },
        );
    }
}

fn quotients(criterion: &mut Criterion, kernels: &Kernels, log_n: u32, rows: &Rows) {
    let gpu = kernels.gpu();
    let (variant, adapter) = (kernels.format().name(), &gpu.info().name);
    let named = Named { group: "quotient", variant, distribution: "uniform", log_n, adapter };
    rows.measure(
        criterion,
        &named,
        || Some(gpu.usage().peak),
        || {
            let [a, b] = [1, 2].map(|seed| random(log_n, seed));
            let check = Check::quotient(&a, &b);
            let domain = Arc::new(Domain::new(kernels, log_n, root(log_n)).expect("a domain"));
            let quotient = Quotient::new(kernels, domain).expect("tables");
            let [a_span, b_span, spare] =
                ["a", "b", "spare"].map(|what| gpu.allocate(Pool::Scratch, what, quotient.bytes()).expect("memory"));
            let (a, b) = (fr_bytes(&a), fr_bytes(&b));
            // The device's `fr_mul(stored, scale)` is plain, and `stored` is read as Montgomery words.
            let two = Fr::from(2u64);
            let radix = two.pow([kernels.format().fr().radix_bits() as u64]).inverse().expect("a unit");
            let factor = two.pow([256]) * Fr::from_le_bytes_mod_order(bytemuck::bytes_of(&quotient.scale())) * radix;
            let mut checks = (0..).map(is_checked);
            let mut steps = Steps::new(gpu.limits());
            quotient.record(&mut steps, &a_span, &b_span, &spare);
            move || {
                let checked = checks.next() == Some(true);
                common::awake(gpu, || drop(kernels.run(&steps).expect("a run")));
                if checked {
                    upload(gpu, std::slice::from_ref(&a_span), &a);
                    upload(gpu, std::slice::from_ref(&b_span), &b);
                }
                let mut h = Vec::new();
                let ran = timed(kernels, |steps| h.push(quotient.record(steps, &a_span, &b_span, &spare)));
                if checked {
                    let mut got = download(gpu, &h);
                    got.par_iter_mut().for_each(|value| *value *= factor);
                    check.passes(&got, "quotient");
                }
                ran
            }
        },
    );
}

fn on_cpu(criterion: &mut Criterion, log_n: u32, rows: &Rows) {
    for (group, direction, shifted) in KINDS {
        let named = Named { group, variant: "arkworks", distribution: "uniform", log_n, adapter: "cpu" };
        let prepare = || {
            let coset = shifted.then_some(Fr::GENERATOR);
            let values = random(log_n, 1);
            let check = Check::transform(&values, direction, coset);
            let domain = host::domain(log_n, root(log_n)).expect("a domain");
            let domain = domain.get_coset(coset.unwrap_or(Fr::from(1u64))).expect("a coset");
            move || {
                let mut values = values.clone();
                let begin = Instant::now();
                match direction {
                    Direction::Forward => domain.fft_in_place(&mut values),
                    Direction::Inverse => domain.ifft_in_place(&mut values),
                }
                let wall = begin.elapsed();
                check.passes(&values, group);
                (wall, Vec::new())
            }
        };
        rows.measure(criterion, &named, || None, prepare);
    }
}

fn main() {
    let gpu = common::open();
    let sizes = common::sizes(&gpu, 8..=14, 12..=24);
    let (first, last) = (*sizes.start(), *sizes.end());
    let sizes = || sizes.clone().filter(|log_n| (log_n - first) % 2 == 0 || *log_n == last);
    let mut criterion = common::criterion(Duration::from_millis(10));
    let rows = Rows::new("ntt");
    for format in Format::ALL.into_iter().filter(|format| format.supported(gpu.features())) {
        let kernels = Kernels::new(gpu.clone(), format);
        for log_n in sizes() {
            on_device(&mut criterion, &kernels, log_n, &rows);
            if log_n <= QUOTIENT_UP_TO {
                quotients(&mut criterion, &kernels, log_n, &rows);
            }
        }
    }
    for log_n in sizes().filter(|log_n| *log_n <= CPU_UP_TO) {
        on_cpu(&mut criterion, log_n, &rows);
    }
    rows.finish("Transforms of vectors on the device", "elements", &["uniform"]);
    criterion.final_summary();
}
