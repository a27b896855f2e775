//! Transforms and the quotient, exactly equal to ark-poly's: every variant through one table of cases.

mod common;

use std::sync::Arc;

use ark_bls12_381::Fr;
use ark_ff::{AdditiveGroup, BigInteger, FftField, Field, One, PrimeField, UniformRand, Zero};
use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};
use prooflane::{
    device::{Gpu, Limits, Options, Pool},
    encoding::{Format, fr_bytes, fr_from_bytes},
    kernel::{Kernels, Steps},
    ntt::{Direction, Domain, NttError, Order, Plan, Quotient, Twist, memory_estimate, ntt, reference, root_of_unity},
};

/// What bellman and arkworks derive roots from, and what snarkjs does.
const GENERATORS: [u64; 2] = [7, 5];

fn root(generator: u64, log_n: u32) -> Fr {
    root_of_unity(generator, log_n).expect("at most 2^32")
}

/// ark-poly's domain, of any root and shift.
fn ark(log_n: u32, root: Fr, coset: Option<Fr>) -> Radix2EvaluationDomain<Fr> {
    let inverse = |x: Fr| x.inverse().expect("not zero");
    let size = Fr::from(1u64 << log_n);
    let offset = coset.unwrap_or(Fr::ONE);
    Radix2EvaluationDomain {
        size: 1 << log_n,
        log_size_of_group: log_n,
        size_as_field_element: size,
        size_inv: inverse(size),
        group_gen: root,
        group_gen_inv: inverse(root),
        offset,
        offset_inv: inverse(offset),
        offset_pow_size: offset.pow([1u64 << log_n]),
    }
}

fn expected(values: &[Fr], direction: Direction, coset: Option<Fr>, root: Fr) -> Vec<Fr> {
    let domain = ark(values.len().ilog2(), root, coset);
    match direction {
        Direction::Forward => domain.fft(values),
        Direction::Inverse => domain.ifft(values),
    }
}

fn random(n: usize, seed: u64) -> Vec<Fr> {
    use ark_std::rand::SeedableRng;
    let mut rng = ark_std::rand::rngs::StdRng::seed_from_u64(seed);
    (0..n).map(|_| Fr::rand(&mut rng)).collect()
}

/// All 0, all r-1, one 1 in the last place, random.
fn inputs(log_n: u32) -> Vec<(&'static str, Vec<Fr>)> {
    let n = 1 << log_n;
    let mut delta = vec![Fr::ZERO; n];
    delta[n - 1] = Fr::ONE;
    vec![
        ("zero", vec![Fr::ZERO; n]),
        ("minus one", vec![-Fr::ONE; n]),
        ("delta", delta),
        ("random", random(n, u64::from(log_n))),
    ]
}

/// Forward, inverse, coset, inverse coset.
fn modes() -> [(Direction, Option<Fr>); 4] {
    let coset = Some(Fr::GENERATOR);
    [(Direction::Forward, None), (Direction::Inverse, None), (Direction::Forward, coset), (Direction::Inverse, coset)]
}

fn large() -> Limits {
    Limits {
        binding: 1 << 31,
        buffer: 1 << 40,
        memory: u64::MAX,
        block: 1 << 20,
        groups: 65535,
        workgroup_memory: 16384,
    }
}

/// A binding that holds 2^15 elements, and dispatches of few groups.
fn tiny() -> Limits {
    Limits { binding: 1 << 20, groups: 48, ..large() }
}

/// A binding that holds 2^9 elements.
fn tinier() -> Limits {
    Limits { binding: 1 << 14, block: 1 << 16, ..large() }
}

/// Kernels of the shared device in every format it can run.
fn kernels() -> Vec<Arc<Kernels>> {
    common::formats().into_iter().map(common::kernels).collect()
}

/// Kernels of a device of its own, with lower limits.
fn within(limits: Limits) -> Vec<Arc<Kernels>> {
    let options = Options { limits: Some(limits), ..common::options() };
    let gpu = Gpu::open(&options).unwrap_or_else(|error| panic!("the tests need an adapter: {error}"));
    common::formats().into_iter().map(|format| Arc::new(Kernels::new(gpu.clone(), format))).collect()
}

fn check_transforms(kernels: &Kernels, log_n: u32, generator: u64, inputs: &[(&'static str, Vec<Fr>)]) {
    let root = root(generator, log_n);
    let domain = Domain::new(kernels, log_n, root).expect("a domain");
    for (name, input) in inputs {
        for (direction, coset) in modes() {
            let label =
                format!("{} 2^{log_n} root {generator} {name} {direction:?} {coset:?}", kernels.format().name());
            let mut values = input.clone();
            domain.transform(kernels, &mut values, direction, coset).unwrap_or_else(|e| panic!("{label}: {e}"));
            assert!(values == expected(input, direction, coset, root), "{label}\n{}", domain.plan());
            // And back.
            let back = if direction == Direction::Forward { Direction::Inverse } else { Direction::Forward };
            if *name == "random" {
                domain.transform(kernels, &mut values, back, coset).unwrap_or_else(|e| panic!("{label}: {e}"));
                assert!(values == *input, "{label}, there and back");
            }
        }
    }
}

#[test]
fn transforms_are_those_of_ark_poly() {
    for kernels in &kernels() {
        for log_n in 0..=12 {
            for generator in GENERATORS {
                check_transforms(kernels, log_n, generator, &inputs(log_n));
            }
        }
    }
}

#[test]
fn large_transforms_are_those_of_ark_poly() {
    for kernels in &kernels() {
        for (log_n, generator) in [(16, 7), (17, 5), (18, 7)] {
            check_transforms(kernels, log_n, generator, &inputs(log_n)[3..]);
        }
    }
}

#[test]
fn oracle_and_host_mirror_are_ark_poly() {
    for log_n in 0..=12 {
        for generator in GENERATORS {
            let root = root(generator, log_n);
            for (name, input) in inputs(log_n) {
                for (direction, coset) in modes() {
                    let want = expected(&input, direction, coset, root);
                    let label = format!("2^{log_n} root {generator} {name} {direction:?} {coset:?}");
                    if log_n <= 6 {
                        assert!(reference::naive(&input, direction, coset, root) == want, "naive {label}");
                    }
                    for limits in [large(), tinier()] {
                        let plan = Plan::new(log_n, &limits).expect("a plan");
                        let mut values = input.clone();
                        reference::transform(&plan, &mut values, direction, coset, root);
                        assert!(values == want, "mirror {label}\n{plan}");
                    }
                }
            }
        }
    }
}

/// `h` as a prover of the textbook gets it: seven transforms, with `c = a . b` on the domain.
fn textbook(a: &[Fr], b: &[Fr], root: Fr) -> Vec<Fr> {
    let log_n = a.len().ilog2();
    let domain = ark(log_n, root, None);
    let coset = ark(log_n, root, Some(Fr::GENERATOR));
    let c: Vec<_> = a.iter().zip(b).map(|(a, b)| *a * b).collect();
    let [a, b, c] = [a.to_vec(), b.to_vec(), c].map(|values| coset.fft(&domain.ifft(&values)));
    let vanishing = coset.offset_pow_size - Fr::ONE;
    let inverse = vanishing.inverse().expect("not in the domain");
    let values: Vec<_> = a.iter().zip(&b).zip(&c).map(|((a, b), c)| (*a * b - c) * inverse).collect();
    coset.ifft(&values)
}

/// What the MSM's digit kernel makes of stored words: `stored * scale / R`.
fn plain(kernels: &Kernels, quotient: &Quotient, bytes: &[u8]) -> Vec<Fr> {
    let words = quotient.scale();
    let scale = Fr::from_le_bytes_mod_order(bytemuck::bytes_of(&words));
    assert_eq!(scale.into_bigint().to_bytes_le(), bytemuck::bytes_of(&words), "below r");
    let two = Fr::from(2u64);
    let radix = two.pow([kernels.format().fr().radix_bits() as u64]);
    let factor = two.pow([256u64]) * scale * radix.inverse().expect("not zero");
    fr_from_bytes(bytes).into_iter().map(|x| x * factor).collect()
}

fn check_quotient(kernels: &Kernels, log_n: u32, generator: u64) {
    let label = format!("{} 2^{log_n} root {generator}", kernels.format().name());
    let root = root(generator, log_n);
    let domain = Arc::new(Domain::new(kernels, log_n, root).expect("a domain"));
    let quotient = Quotient::new(kernels, domain).expect("a quotient");
    let n = 1usize << log_n;
    // Some rows are padding.
    let rows = n - n / 3;
    let [a, b] = [1, 2].map(|seed| {
        let mut values = random(rows, seed);
        values.resize(n, Fr::zero());
        values
    });
    let gpu = kernels.gpu();
    let store = |values: &[Fr]| gpu.store(Pool::Scratch, "values", &fr_bytes(values)).expect("memory");
    let (a_span, b_span) = (store(&a), store(&b));
    let spare = gpu.allocate(Pool::Scratch, "spare", quotient.bytes()).expect("memory");
    let mut steps = Steps::new(gpu.limits());
    let h = quotient.record(&mut steps, &a_span, &b_span, &spare);
    kernels.run(&steps).unwrap_or_else(|e| panic!("{label}: {e}"));
    let got = plain(kernels, &quotient, &gpu.read(&[&h]).expect("readback")[0]);
    let want = textbook(&a, &b, root);
    assert!(got == want, "{label}\n{}", quotient.domain().plan());
    assert_eq!(want[n - 1], Fr::zero(), "{label}: degree n - 2");
    let mirror = reference::quotient(quotient.domain().plan(), &a, &b, root);
    assert!(mirror.as_ref() == Some(&want), "mirror {label}");
}

#[test]
fn quotients_are_the_textbooks() {
    for kernels in &kernels() {
        for log_n in 0..=13 {
            for generator in GENERATORS {
                check_quotient(kernels, log_n, generator);
            }
        }
    }
}

#[test]
fn tiny_limits_change_nothing() {
    for (limits, sizes) in [(tiny(), [14, 15, 16, 17]), (tinier(), [9, 10, 12, 13])] {
        for kernels in within(limits) {
            for log_n in sizes {
                check_transforms(&kernels, log_n, 7, &inputs(log_n)[3..]);
                check_quotient(&kernels, log_n, 5);
            }
        }
    }
}

/// Transforms down and up undo each other's order: a vector on the device comes back times `n`, without a permutation. So
/// does one of the largest words that arithmetic allows, and what comes back is in range again.
#[test]
fn down_and_up_undo_each_other() {
    let mut largest = Fr::MODULUS;
    largest.mul2();
    largest.sub_with_borrow(&1u64.into());
    for kernels in kernels() {
        for log_n in [0, 1, 2, 9, 10, 11, 13] {
            let gpu = kernels.gpu();
            let root = root(7, log_n);
            let domain = Domain::new(&kernels, log_n, root).expect("a domain");
            let plain = Twist { root, input: Fr::ONE, output: Fr::ONE, scale: Fr::ONE };
            let back = Twist { root: root.inverse().expect("not zero"), ..plain };
            let [down, up] = [(Order::Down, plain), (Order::Up, back)]
                .map(|(order, twist)| domain.prepare_twisted(&kernels, order, &twist).expect("tables"));
            for bytes in [fr_bytes(&random(1 << log_n, 3)), largest.to_bytes_le().repeat(1 << log_n)] {
                let span = gpu.store(Pool::Scratch, "values", &bytes).expect("memory");
                let pages = domain.pages(&span);
                let mut steps = Steps::new(gpu.limits());
                down.record_in_place(&mut steps, &pages);
                up.record_in_place(&mut steps, &pages);
                kernels.run(&steps).expect("a run");
                let n = Fr::from(1u64 << log_n);
                let want: Vec<_> = fr_from_bytes(&bytes).iter().map(|x| *x * n).collect();
                assert!(fr_from_bytes(&gpu.read(&[&span]).expect("readback")[0]) == want, "2^{log_n}");
            }
        }
    }
}

#[test]
fn bad_input_is_named() {
    let kernels = &*kernels().swap_remove(0);
    let call = |len: usize, coset, root| {
        let mut values = vec![Fr::one(); len];
        let result = ntt(kernels, &mut values, Direction::Forward, coset, root);
        assert!(result.is_ok() || values == vec![Fr::one(); len], "left alone");
        result.map(|()| values)
    };
    let message = |error: Result<Vec<Fr>, NttError>| error.expect_err("an error").to_string();
    assert_eq!(message(call(0, None, Fr::ONE)), "a transform needs a power of two elements, not 0");
    assert_eq!(message(call(12, None, root(7, 4))), "a transform needs a power of two elements, not 12");
    for wrong in [root(7, 3), root(7, 5), Fr::ONE, Fr::ZERO, Fr::from(3u64)] {
        assert_eq!(message(call(16, None, wrong)), "the root is not a primitive 2^4-th root of unity");
    }
    assert_eq!(message(call(1, None, -Fr::ONE)), "the root is not a primitive 2^0-th root of unity");
    assert_eq!(message(call(16, Some(Fr::ZERO), root(7, 4))), "the shift of a coset must not be zero");
    assert_eq!(call(1, None, Fr::ONE).expect("a transform"), [Fr::ONE]);
    assert!(matches!(Domain::new(kernels, 33, Fr::ONE), Err(NttError::TooLong { log_n: 33 })));
    assert_eq!(root_of_unity(7, 33), None);
    let domain = Domain::new(kernels, 3, root(7, 3)).expect("a domain");
    let mismatch = domain.transform(kernels, &mut [Fr::ONE; 4], Direction::Forward, None);
    assert!(matches!(mismatch, Err(NttError::Mismatch { len: 4, log_n: 3 })));
    let small = within(tinier());
    let error = Domain::new(&small[0], 20, root(7, 20)).map(|_| ()).expect_err("an error").to_string();
    assert_eq!(error, "2^20 elements do not fit: with bindings of 16384 bytes 2^14 is the most");
}

/// What is leased is what was estimated, on devices of their own, whose leases nobody else counts among.
#[test]
fn the_memory_estimate_is_right() {
    for limits in [None, Some(tiny()), Some(tinier())] {
        for format in common::formats() {
            let gpu = Gpu::open(&Options { limits, ..common::options() }).expect("a device");
            let kernels = Kernels::new(gpu.clone(), format);
            for (log_n, direction) in [0, 5, 10, 13]
                .into_iter()
                .flat_map(|log_n| [Direction::Forward, Direction::Inverse].map(|direction| (log_n, direction)))
            {
                for coset in [None, Some(Fr::from(7u64)), Some(Fr::from(11u64))] {
                    let label = format!("2^{log_n} {direction:?} {coset:?} {limits:?}");
                    let want = memory_estimate(log_n, direction, coset.is_some(), format, &gpu.limits()).expect(&label);
                    let domain = Domain::new(&kernels, log_n, root(5, log_n)).expect("a domain");
                    let before = gpu.usage().leased;
                    gpu.reset_peak();
                    let transform = domain.prepare(&kernels, direction, coset).expect("tables");
                    assert_eq!(gpu.usage().leased - before, want.tables, "{label}");
                    assert!(gpu.usage().peak - before <= want.tables + want.loading, "{label}");
                    let vector = domain.allocate(&gpu, "a vector").expect("memory");
                    assert_eq!(gpu.usage().leased - before, want.tables + want.vector, "{label}");
                    drop((transform, vector));
                }
            }
        }
    }
    let limits = tinier();
    let refused = memory_estimate(31, Direction::Forward, false, Format::U32, &limits).expect_err("too long");
    assert!(matches!(refused, NttError::Binding { log_n: 31, .. }), "{refused}");
}
