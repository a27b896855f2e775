//! MSMs: naive = host mirror = every variant on the device, over sizes, scalars and bases that some prover got wrong.

mod common;

use ark_bls12_381::{Fr, G1Projective, G2Projective};
use ark_ec::{AdditiveGroup, VariableBaseMSM};
use ark_ff::{Field, One, UniformRand, Zero};
use ark_std::rand::{Rng, SeedableRng, rngs::StdRng};
use common::{formats, gpu, kernels, options};
use prooflane::{
    device::{Gpu, Limits},
    kernel::{Group, Kernels, Steps},
    msm::{self, Bases, MsmError, Options, Plan, Scalars, Source, reference},
};

/// No size is left to the host.
const ON_DEVICE: Options = Options { window: None, stage: None, cpu_below: 0 };

/// Bases that are cheap to make in any number: a doubling chain from a seeded start.
fn points<G: Source>(n: usize, rng: &mut StdRng) -> Vec<G::Affine> {
    let mut point = G::rand(rng);
    let all: Vec<G> = (0..n)
        .map(|_| {
            point.double_in_place();
            point
        })
        .collect();
    G::normalize_batch(&all)
}

/// How the scalars of a case are distributed; each entry is somebody's bug or somebody's worst case.
#[derive(Debug, Clone, Copy)]
enum Draw {
    Uniform,
    Zero,
    One,
    MinusOne,
    /// All equal: one bucket of each window holds everything.
    Equal,
    /// 10% random, the rest 0 and 1, as in a witness.
    Sparse,
    /// 64 bits: most windows empty.
    Small,
    /// Powers of two and their neighbours: digits at window borders.
    Borders,
    /// 0, 1, r-1, (r-1)/2, (r+1)/2 in turn.
    Extremes,
}

impl Draw {
    const ALL: [Self; 9] = [
        Self::Uniform,
        Self::Zero,
        Self::One,
        Self::MinusOne,
        Self::Equal,
        Self::Sparse,
        Self::Small,
        Self::Borders,
        Self::Extremes,
    ];

    fn scalars(self, n: usize, rng: &mut StdRng) -> Vec<Fr> {
        let half = Fr::from(2u64).inverse().expect("odd order");
        let same = Fr::rand(rng);
        (0..n)
            .map(|i| match self {
                Self::Uniform => Fr::rand(rng),
                Self::Zero => Fr::zero(),
                Self::One => Fr::one(),
                Self::MinusOne => -Fr::one(),
                Self::Equal => same,
                Self::Sparse if rng.gen_ratio(1, 10) => Fr::rand(rng),
                Self::Sparse => Fr::from(rng.gen_range(0..2u64)),
                Self::Small => Fr::from(rng.r#gen::<u64>()),
                Self::Borders => Fr::from(2u64).pow([(i % 255) as u64]) + Fr::from((i % 3) as u64) - Fr::one(),
                Self::Extremes => [Fr::zero(), Fr::one(), -Fr::one(), half - Fr::one(), half][i % 5],
            })
            .collect()
    }
}

/// What is done to the bases.
#[derive(Debug, Clone, Copy)]
enum Bend {
    Plain,
    /// Infinity at every third place.
    Infinity,
    /// All the same point.
    Repeated,
    /// P, -P, P, -P, ...: sums cancel inside buckets.
    Opposite,
}

impl Bend {
    const ALL: [Self; 4] = [Self::Plain, Self::Infinity, Self::Repeated, Self::Opposite];

    fn apply<G: Source>(self, bases: &mut [G::Affine]) {
        let first = bases.first().copied();
        for (i, base) in bases.iter_mut().enumerate() {
            match self {
                Self::Plain => {}
                Self::Infinity if i % 3 == 0 => *base = G::zero().into_affine(),
                Self::Infinity => {}
                Self::Repeated => *base = first.expect("not empty"),
                Self::Opposite => {
                    let first: G = first.expect("not empty").into();
                    *base = if i % 2 == 0 { first } else { -first }.into_affine();
                }
            }
        }
    }
}

fn case<G: Source>(n: usize, draw: Draw, bend: Bend, options: &Options) {
    let mut rng = StdRng::seed_from_u64(n as u64);
    let mut bases = points::<G>(n, &mut rng);
    bend.apply::<G>(&mut bases);
    let scalars = draw.scalars(n, &mut rng);
    let want = G::msm_unchecked(&bases, &scalars);
    let label = format!("{} n={n} {draw:?} {bend:?} {options:?}", G::GROUP.name());
    if n <= 64 {
        assert_eq!(reference::naive::<G>(&bases, &scalars), want, "naive, {label}");
    }
    let limits = gpu().limits();
    let plan = Plan::new(G::GROUP, n, None, &limits, options.window).expect("a plan");
    assert_eq!(reference::mirror::<G>(&bases, &scalars, &plan), want, "mirror, {label}");
    for format in formats() {
        let got = msm::msm::<G>(&kernels(format), &bases, &scalars, options).expect("an MSM");
        assert_eq!(got, want, "{}, {label}", format.name());
    }
}

#[test]
fn sizes() {
    for n in
        [0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129, 237, 511, 512, 513, 1000, 2047, 2049, 4095, 8193, 16383]
    {
        case::<G1Projective>(n, Draw::Uniform, Bend::Plain, &ON_DEVICE);
    }
    for n in [0, 1, 31, 32, 33, 129, 513, 2047, 4097] {
        case::<G2Projective>(n, Draw::Uniform, Bend::Plain, &ON_DEVICE);
    }
}

#[test]
fn scalars_and_bases() {
    for draw in Draw::ALL {
        for bend in Bend::ALL {
            case::<G1Projective>(300, draw, bend, &ON_DEVICE);
        }
        case::<G2Projective>(100, draw, Bend::Infinity, &ON_DEVICE);
        case::<G2Projective>(100, draw, Bend::Opposite, &ON_DEVICE);
    }
}

#[test]
fn windows() {
    for window in [2, 3, 5, 8, 11, 13, 16, 17, 20] {
        let options = Options { window: Some(window), ..ON_DEVICE };
        if let Err(refused) = Plan::new(Group::G1, 200, None, &gpu().limits(), options.window) {
            // Only where the buckets do not fit a binding.
            assert!(window > 16 && matches!(refused, MsmError::Window { .. }), "{refused}");
            continue;
        }
        case::<G1Projective>(200, Draw::Uniform, Bend::Plain, &options);
        case::<G1Projective>(200, Draw::Extremes, Bend::Infinity, &options);
    }
}

/// Long runs through several levels of merging, and the size that a rival computes wrong.
#[test]
fn heavy_buckets() {
    for draw in [Draw::Equal, Draw::One, Draw::Sparse] {
        case::<G1Projective>(20_000, draw, Bend::Plain, &ON_DEVICE);
        case::<G2Projective>(3_000, draw, Bend::Plain, &ON_DEVICE);
    }
    for draw in [Draw::Uniform, Draw::Sparse] {
        case::<G1Projective>(131_071, draw, Bend::Plain, &ON_DEVICE);
    }
}

/// Bindings of 1 MiB and 64 workgroups: every list in pieces, every dispatch in several, the same sums.
#[test]
fn tiny_limits() {
    let full = gpu().limits();
    let limits = Limits { binding: 1 << 20, groups: 64, block: 1 << 20, ..full };
    let gpu = Gpu::open(&prooflane::device::Options { limits: Some(limits), ..options() }).expect("a device");
    let mut rng = StdRng::seed_from_u64(5);
    let (n, m) = (9_000, 2_500);
    let (g1, g2) = (points::<G1Projective>(n, &mut rng), points::<G2Projective>(m, &mut rng));
    let kernels = Kernels::new(gpu, formats()[0]);
    for draw in [Draw::Uniform, Draw::Equal, Draw::Sparse] {
        let scalars = draw.scalars(n, &mut rng);
        let plan = Plan::new(Group::G1, n, None, &kernels.gpu().limits(), None).expect("a plan");
        assert!(plan.chunks.len() > 1, "{plan}");
        let want = G1Projective::msm_unchecked(&g1, &scalars);
        assert_eq!(msm::msm::<G1Projective>(&kernels, &g1, &scalars, &ON_DEVICE).expect("an MSM"), want, "{draw:?}");
        assert_eq!(reference::mirror::<G1Projective>(&g1, &scalars, &plan), want, "{draw:?}");
        let want = G2Projective::msm_unchecked(&g2, &scalars[..m]);
        assert_eq!(
            msm::msm::<G2Projective>(&kernels, &g2, &scalars[..m], &ON_DEVICE).expect("an MSM"),
            want,
            "{draw:?}"
        );
    }
}

/// Resident bases whose scalars lie scattered in a longer vector, longer than a binding.
#[test]
fn mapped_bases() {
    let limits = Limits { binding: 1 << 18, ..gpu().limits() };
    let gpu = Gpu::open(&prooflane::device::Options { limits: Some(limits), ..options() }).expect("a device");
    let kernels = Kernels::new(gpu, formats()[0]);
    let mut rng = StdRng::seed_from_u64(9);
    let positions: Vec<u32> = (0..20_000u32).filter(|i| i % 7 != 3 && i % 11 < 4).collect();
    let all = Draw::Sparse.scalars(20_000, &mut rng);
    let bases = points::<G1Projective>(positions.len(), &mut rng);
    let chosen: Vec<Fr> = positions.iter().map(|&p| all[p as usize]).collect();
    let want = G1Projective::msm_unchecked(&bases, &chosen);
    let bases = Bases::<G1Projective>::load_mapped(&kernels, &bases, &positions).expect("bases");
    let scalars = Scalars::upload(&kernels, &all).expect("scalars");
    let mut steps = Steps::new(kernels.gpu().limits());
    let recorded = msm::record(&kernels, &mut steps, &bases, &scalars, &ON_DEVICE).expect("recorded");
    assert!(recorded.plan().chunks.len() > 2);
    kernels.run(&steps).expect("run");
    let bytes = kernels.gpu().read(&[recorded.rows().expect("not empty")]).expect("read").swap_remove(0);
    assert_eq!(recorded.sum(&bytes).expect("a sum"), want);
    recorded.sum(&[]).expect_err("nothing is no sum");
    let short = Scalars::upload(&kernels, &all[..100]).expect("scalars");
    let refused = msm::record(&kernels, &mut steps, &bases, &short, &ON_DEVICE).expect_err("too short").to_string();
    assert_eq!(refused, "an MSM that needs 20000 scalars was given 100");
}

/// Random sizes, scalars, bases and windows. `PROOFLANE_FUZZ` sets for how many seconds, `PROOFLANE_SEED` which.
#[test]
fn random_cases() {
    let asked = |name, or| std::env::var(name).map_or(or, |text| text.parse::<u64>().expect("a number"));
    let (seconds, seed) = (asked("PROOFLANE_FUZZ", 5), asked("PROOFLANE_SEED", 1));
    let begin = std::time::Instant::now();
    let mut rng = StdRng::seed_from_u64(seed);
    let mut count = 0;
    while count == 0 || begin.elapsed().as_secs() < seconds {
        let bits = rng.gen_range(1..14);
        let n = rng.gen_range(0..1usize << bits);
        let window = rng.gen_bool(0.5).then(|| rng.gen_range(2..=14));
        let options = Options { window, ..ON_DEVICE };
        let (draw, bend) = (Draw::ALL[rng.gen_range(0..9)], Bend::ALL[rng.gen_range(0..4)]);
        if rng.gen_bool(0.7) {
            case::<G1Projective>(n, draw, bend, &options);
        } else {
            case::<G2Projective>(n / 4, draw, bend, &options);
        }
        count += 1;
    }
    eprintln!("{count} cases of seed {seed}");
}

#[test]
fn the_memory_estimate_is_right() {
    let gpu = Gpu::open(&options()).expect("a device");
    let kernels = Kernels::new(gpu.clone(), formats()[0]);
    let mut rng = StdRng::seed_from_u64(4);
    for (n, stride, window) in [(1, 1, None), (33, 1, Some(7)), (700, 3, None), (5000, 1, None)] {
        let options = Options { window, ..ON_DEVICE };
        let positions: Vec<u32> = (0..n).map(|i| stride * i).collect();
        let map = (stride > 1).then_some(&positions[..]);
        let want = msm::memory_estimate(Group::G1, n as usize, map, &gpu.limits(), &options).expect("a plan");
        let points = points::<G1Projective>(n as usize, &mut rng);
        let leased = || gpu.usage().leased;
        let before = leased();
        let bases = match map {
            Some(map) => Bases::<G1Projective>::load_mapped(&kernels, &points, map),
            None => Bases::load(&kernels, &points),
        };
        let bases = bases.expect("bases");
        let after = leased();
        assert_eq!(after - before, want.bases, "{n}");
        let scalars = Draw::Uniform.scalars(bases.scalars(), &mut rng);
        let scalars = Scalars::upload(&kernels, &scalars).expect("scalars");
        assert_eq!(leased() - after, want.scalars, "{n}");
        let mut steps = Steps::new(gpu.limits());
        let recorded = msm::record(&kernels, &mut steps, &bases, &scalars, &options).expect("recorded");
        assert_eq!(leased(), before + want.bases + want.scalars + want.work, "{n}: {}", recorded.plan());
    }
}

#[test]
fn leases_come_back() {
    let gpu = Gpu::open(&options()).expect("a device");
    let kernels = Kernels::new(gpu.clone(), formats()[0]);
    let mut rng = StdRng::seed_from_u64(1);
    let bases = points::<G1Projective>(700, &mut rng);
    let scalars = Draw::Uniform.scalars(700, &mut rng);
    let want = G1Projective::msm_unchecked(&bases, &scalars);
    let mut reserved = 0;
    for round in 0..5 {
        assert_eq!(msm::msm::<G1Projective>(&kernels, &bases, &scalars, &ON_DEVICE).expect("an MSM"), want);
        let usage = gpu.usage();
        assert_eq!(usage.leased, 0, "round {round}");
        assert!(round == 0 || usage.reserved == reserved, "round {round} took more memory from the driver");
        reserved = usage.reserved;
    }
}

#[test]
fn bad_input_is_refused() {
    let mut rng = StdRng::seed_from_u64(2);
    let bases = points::<G1Projective>(3, &mut rng);
    let kernels = kernels(formats()[0]);
    let error = |result: Result<G1Projective, MsmError>| result.expect_err("refused").to_string();
    assert_eq!(error(msm::msm(&kernels, &bases, &[Fr::one()], &ON_DEVICE)), "an MSM that needs 3 scalars was given 1");
    let order = Bases::<G1Projective>::load_mapped(&kernels, &bases, &[4, 2, 7]).expect_err("refused").to_string();
    assert_eq!(order, "the scalar map of an MSM has to increase, it does not at 1");
    let wide = Options { window: Some(40), ..ON_DEVICE };
    let fits = |&window: &u32| Plan::new(Group::G1, 3, None, &kernels.gpu().limits(), Some(window)).is_ok();
    let most = (2..=20).filter(fits).max().expect("a window");
    assert_eq!(
        error(msm::msm(&kernels, &bases, &[Fr::one(); 3], &wide)),
        format!("a window of 40 bits is not possible here; it is 2 to {most}, fewer where bindings are small")
    );
}

#[test]
fn digits_recompose() {
    let mut rng = StdRng::seed_from_u64(3);
    for draw in Draw::ALL {
        for scalar in draw.scalars(300, &mut rng) {
            for window in 2..=20u32 {
                let windows = 255u32.div_ceil(window);
                let digits = reference::digits(scalar, window, windows);
                let base = Fr::from(2u64).pow([u64::from(window)]);
                let value = digits.iter().rev().fold(Fr::ZERO, |sum, &digit| sum * base + Fr::from(digit));
                assert_eq!(value, scalar, "window {window}");
                assert!(digits.iter().all(|digit| digit.unsigned_abs() <= 1 << (window - 1)));
            }
        }
    }
}
