//! MSMs: naive = host mirror = every variant on the device, over sizes, scalars and bases that some prover got wrong.

mod common;

use ark_bls12_381::{Fr, G1Projective, G2Projective};
use ark_ec::{AdditiveGroup, VariableBaseMSM};
use ark_ff::{Field, One, UniformRand, Zero};
use ark_std::rand::{Rng, SeedableRng, rngs::StdRng};
use common::{formats, gpu, kernels, options};
use prooflane::{
    device::{Gpu, Limits},
    encoding::Format,
    kernel::{Code, Group, Kernels, Steps},
    msm::{self, Bases, Cut, MsmError, Options, Plan, Scalars, Source, Work, reference},
};

/// No size is left to the host.
const ON_DEVICE: Options = Options { cpu_below: Some(0), ..Options::PINNED };

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
    let plan = Plan::new(G::GROUP, n, None, &limits, options).expect("a plan");
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
        if let Err(refused) = Plan::new(Group::G1, 200, None, &gpu().limits(), &options) {
            // Only where the buckets do not fit a binding.
            assert!(window > 16 && matches!(refused, MsmError::Window { .. }), "{refused}");
            continue;
        }
        case::<G1Projective>(200, Draw::Uniform, Bend::Plain, &options);
        case::<G1Projective>(200, Draw::Extremes, Bend::Infinity, &options);
    }
}

/// Rounds of pairs before buckets are summed, at sizes that leave runs of every length modulo the pairs.
#[test]
fn rounds() {
    for rounds in 1..=4 {
        for n in [1, 2, 3, 100, 777] {
            let options = Options { rounds: Some(rounds), window: Some(3 + rounds), ..ON_DEVICE };
            case::<G1Projective>(n, Draw::Uniform, Bend::Plain, &options);
            case::<G2Projective>(n, Draw::Sparse, Bend::Infinity, &options);
        }
        let options = Options { rounds: Some(rounds), ..ON_DEVICE };
        for draw in Draw::ALL {
            for bend in Bend::ALL {
                case::<G1Projective>(130, draw, bend, &options);
            }
            case::<G2Projective>(60, draw, Bend::Repeated, &options);
            case::<G2Projective>(60, draw, Bend::Opposite, &options);
        }
    }
}

/// What GPUs get, whatever the adapter: signed limbs, values in slots, kernels of the first round and the later ones. In
/// G1 alone, as software takes a minute more to compile those of G2, whose functions `arithmetic.rs` runs.
#[test]
fn unrolled() {
    let Some(format) = formats().into_iter().find(|format| *format == Format::U64) else {
        panic!("no adapter with 64-bit integers to test signed limbs on");
    };
    let kernels = Kernels::with_code(gpu().clone(), format, Code::Unrolled);
    let mut cases = Vec::new();
    for rounds in [0, 1, 3] {
        for bend in Bend::ALL {
            for (n, draw) in [(130, Draw::Uniform), (131, Draw::Extremes), (40, Draw::One)] {
                cases.push((n, draw, bend, Options { rounds: Some(rounds), window: Some(4), ..ON_DEVICE }));
            }
        }
    }
    // Sums that pass through many levels unchanged, and many sets.
    cases.push((1, Draw::Uniform, Bend::Plain, Options { window: Some(9), ..ON_DEVICE }));
    cases.push((700, Draw::Sparse, Bend::Infinity, Options { window: Some(8), rounds: Some(2), ..ON_DEVICE }));
    for (n, draw, bend, options) in cases {
        on_kernels::<G1Projective>(&kernels, n, draw, bend, &options);
    }
    // Multiples made on the device, negated and at infinity, as items of several rounds.
    for rounds in [1, 3] {
        for bend in Bend::ALL {
            let options = Options { tables: 3, rounds: Some(rounds), window: Some(4), ..ON_DEVICE };
            multiples::<G1Projective>(&kernels, 90, Draw::Uniform, bend, &options);
        }
    }
}

fn on_kernels<G: Source>(kernels: &Kernels, n: usize, draw: Draw, bend: Bend, options: &Options) {
    let mut rng = StdRng::seed_from_u64(n as u64);
    let mut bases = points::<G>(n, &mut rng);
    bend.apply::<G>(&mut bases);
    let scalars = draw.scalars(n, &mut rng);
    let got = msm::msm::<G>(kernels, &bases, &scalars, options).expect("an MSM");
    let label = format!("{} n={n} {draw:?} {bend:?} {options:?}", G::GROUP.name());
    assert_eq!(got, G::msm_unchecked(&bases, &scalars), "{label}");
}

/// Multiples of bases made ahead: every number of sets, in pieces too.
fn multiples<G: Source>(kernels: &Kernels, n: usize, draw: Draw, bend: Bend, options: &Options) {
    let mut rng = StdRng::seed_from_u64(n as u64);
    let mut bases = points::<G>(n, &mut rng);
    bend.apply::<G>(&mut bases);
    let positions: Vec<u32> = (0..n as u32).map(|i| 2 * i + i % 2).collect();
    let all = draw.scalars(2 * n + 1, &mut rng);
    let chosen: Vec<Fr> = positions.iter().map(|&p| all[p as usize]).collect();
    for positions in [None, Some(&positions[..])] {
        let scalars = if positions.is_some() { &chosen } else { &all[..n] };
        let want = G::msm_unchecked(&bases, scalars);
        let loaded = Bases::<G>::load_with(kernels, &bases, positions, options).expect("bases");
        let uploaded = Scalars::upload(kernels, &all).expect("scalars");
        let mut steps = Steps::new(kernels.gpu().limits());
        // The tables decide, whatever an MSM asks for.
        let asked = Options { window: Some(2), tables: 1, ..*options };
        let recorded = msm::record(kernels, &mut steps, &loaded, &uploaded, &asked).expect("recorded");
        let (rows, _) = kernels.run_and_read(&steps, recorded.rows().as_slice()).expect("run");
        let plan = recorded.plan();
        assert_eq!(recorded.sum(&rows.concat()).expect("a sum"), want, "{draw:?} {bend:?} {plan}");
        if positions.is_none() {
            assert_eq!(reference::mirror::<G>(&bases, scalars, plan), want, "mirror, {draw:?} {bend:?} {plan}");
        }
    }
}

#[test]
fn tables() {
    for format in formats() {
        let kernels = kernels(format);
        for tables in [2, 3, 7, 255] {
            let options = Options { tables, rounds: Some(tables % 2), ..ON_DEVICE };
            multiples::<G1Projective>(&kernels, 90, Draw::Uniform, Bend::Infinity, &options);
            multiples::<G1Projective>(&kernels, 0, Draw::Uniform, Bend::Plain, &options);
            multiples::<G1Projective>(&kernels, 3, Draw::Extremes, Bend::Opposite, &options);
            multiples::<G2Projective>(&kernels, 20, Draw::Sparse, Bend::Plain, &options);
        }
    }
    let limits = Limits { binding: 1 << 18, ..gpu().limits() };
    let gpu = Gpu::open(&prooflane::device::Options { limits: Some(limits), ..options() }).expect("a device");
    let kernels = Kernels::new(gpu, formats()[0]);
    // Pieces that add to the same buckets, which others left empty, full, or at infinity.
    for (draw, bend, rounds) in [
        (Draw::Uniform, Bend::Plain, 2),
        (Draw::Equal, Bend::Opposite, 1),
        (Draw::Equal, Bend::Repeated, 0),
        (Draw::One, Bend::Infinity, 0),
        (Draw::Sparse, Bend::Plain, 3),
        (Draw::Extremes, Bend::Opposite, 0),
    ] {
        let options = Options { tables: 4, window: Some(6), rounds: Some(rounds), ..ON_DEVICE };
        let plan = Plan::new(Group::G1, 1_500, None, &kernels.gpu().limits(), &options).expect("a plan");
        assert!(plan.pieces.len() > 2 && plan.rounds.len() == rounds as usize, "{plan}");
        multiples::<G1Projective>(&kernels, 1_500, draw, bend, &options);
        multiples::<G2Projective>(&kernels, 700, draw, bend, &options);
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

/// Bindings of 720 KiB and 64 workgroups: every list in pieces, every dispatch in several, the same sums.
#[test]
fn tiny_limits() {
    let full = gpu().limits();
    let limits = Limits { binding: 720 << 10, groups: 64, block: 1 << 20, ..full };
    let gpu = Gpu::open(&prooflane::device::Options { limits: Some(limits), ..options() }).expect("a device");
    let mut rng = StdRng::seed_from_u64(5);
    let (n, m) = (12_000, 6_000);
    let (g1, g2) = (points::<G1Projective>(n, &mut rng), points::<G2Projective>(m, &mut rng));
    let kernels = Kernels::new(gpu, formats()[0]);
    for (draw, rounds) in [(Draw::Uniform, 0), (Draw::Equal, 1), (Draw::Sparse, 2), (Draw::Uniform, 3)] {
        let options = Options { rounds: Some(rounds), window: Some(8), ..ON_DEVICE };
        let scalars = draw.scalars(n, &mut rng);
        let plan = Plan::new(Group::G1, n, None, &kernels.gpu().limits(), &options).expect("a plan");
        assert!(plan.pieces.len() > 1 && plan.batch < plan.sets, "{plan}");
        assert_eq!(plan.rounds.len(), rounds as usize, "{plan}");
        let want = G1Projective::msm_unchecked(&g1, &scalars);
        assert_eq!(msm::msm::<G1Projective>(&kernels, &g1, &scalars, &options).expect("an MSM"), want, "{draw:?}");
        assert_eq!(reference::mirror::<G1Projective>(&g1, &scalars, &plan), want, "{draw:?}");
        let want = G2Projective::msm_unchecked(&g2, &scalars[..m]);
        let got = msm::msm::<G2Projective>(&kernels, &g2, &scalars[..m], &options).expect("an MSM");
        assert_eq!(got, want, "{draw:?}");
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
    assert!(recorded.plan().pieces.len() > 2);
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
    let limits = Limits { binding: 1 << 18, ..gpu().limits() };
    let small = Gpu::open(&prooflane::device::Options { limits: Some(limits), ..options() }).expect("a device");
    let small = Kernels::new(small, formats()[0]);
    let mut count = 0;
    while count == 0 || begin.elapsed().as_secs() < seconds {
        let bits = rng.gen_range(1..14);
        let n = rng.gen_range(0..1usize << bits);
        let window = rng.gen_bool(0.5).then(|| rng.gen_range(2..=14));
        let rounds = rng.gen_bool(0.5).then(|| rng.gen_range(0..=4));
        let options = Options { window, rounds, ..ON_DEVICE };
        let (draw, bend) = (Draw::ALL[rng.gen_range(0..9)], Bend::ALL[rng.gen_range(0..4)]);
        if rng.gen_bool(0.2) {
            // In pieces, with multiples.
            let options = Options { tables: rng.gen_range(1..=5), ..options };
            multiples::<G1Projective>(
                &small,
                n / 4,
                draw,
                bend,
                &Options { window: window.map(|w| w.min(9)), ..options },
            );
        } else if rng.gen_bool(0.7) {
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
    for (n, stride, window, tables) in [
        (1, 1, None, 1),
        (33, 1, Some(7), 1),
        (700, 3, None, 1),
        (5000, 1, None, 1),
        (700, 2, None, 4),
        (100, 1, None, 99),
    ] {
        let options = Options { window, tables, rounds: Some(tables / 2), ..ON_DEVICE };
        let positions: Vec<u32> = (0..n).map(|i| stride * i).collect();
        let map = (stride > 1).then_some(&positions[..]);
        let want = msm::memory_estimate(Group::G1, n as usize, map, &gpu.limits(), &options).expect("a plan");
        let points = points::<G1Projective>(n as usize, &mut rng);
        let leased = || gpu.usage().leased;
        let before = leased();
        let bases = Bases::<G1Projective>::load_with(&kernels, &points, map, &options).expect("bases");
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
    let few = Bases::<G1Projective>::load(&kernels, &bases).expect("bases");
    let many = Bases::<G1Projective>::load(&kernels, &bases.repeat(50)).expect("bases");
    let plan = |bases: &Bases<_>| bases.plan(&kernels.gpu().limits(), &ON_DEVICE).expect("a plan");
    let work = Work::lease(&kernels, plan(&few).room()).expect("work space");
    let (mut steps, ones) = (Steps::new(kernels.gpu().limits()), [Fr::one(); 150]);
    let scalars = Scalars::upload(&kernels, &ones).expect("scalars");
    let refused = msm::record_in(&kernels, &mut steps, &many, &scalars, &ON_DEVICE, &work).expect_err("too small");
    let (needed, given) = (plan(&many).scratch_bytes(), plan(&few).scratch_bytes());
    assert_eq!(
        refused.to_string(),
        format!("an MSM needs {needed} bytes of work space in its spans, it was given {given}")
    );
    let wide = Options { window: Some(40), ..ON_DEVICE };
    let fits = |&window: &u32| {
        Plan::new(Group::G1, 3, None, &kernels.gpu().limits(), &Options { window: Some(window), ..ON_DEVICE }).is_ok()
    };
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
                for cut in [Cut::even(window), Cut::uniform(window)] {
                    let digits = reference::digits(scalar, cut);
                    let above = |sum: Fr, (at, &digit): (u32, &i64)| {
                        assert!(digit.unsigned_abs() <= 1 << (cut.width(at) - 1), "{cut:?}");
                        sum * Fr::from(1u64 << cut.width(at)) + Fr::from(digit)
                    };
                    let value = (0..cut.windows).zip(&digits).rev().fold(Fr::ZERO, above);
                    assert_eq!(value, scalar, "{cut:?}");
                }
            }
        }
    }
}
