//! Several MSMs that are done together.

mod common;

use ark_bls12_381::{Fr, G1Projective, G2Projective};
use ark_ff::UniformRand;
use ark_std::rand::{Rng, SeedableRng, rngs::StdRng};
use common::{formats, gpu, options};
use prooflane::{
    device::{Gpu, Limits},
    kernel::{Kernels, Steps},
    msm::{self, Bases, Options, Plan, Scalars, Source, reference},
};

/// No size is left to the host.
const ON_DEVICE: Options = Options { cpu_below: Some(0), ..Options::PINNED };

/// A doubling chain, with infinity at every seventh place and opposites of neighbours.
fn points<G: Source>(n: usize, rng: &mut StdRng) -> Vec<G::Affine> {
    let mut point = G::rand(rng);
    let next = |i: usize| match i % 7 {
        3 => G::zero(),
        4 => -point,
        _ => {
            point.double_in_place();
            point
        }
    };
    G::normalize_batch(&(0..n).map(next).collect::<Vec<_>>())
}

/// A tenth random, the rest bits.
fn sparse(n: usize, rng: &mut StdRng) -> Vec<Fr> {
    (0..n).map(|_| if rng.gen_bool(0.1) { Fr::rand(rng) } else { Fr::from(rng.r#gen::<bool>()) }).collect()
}

/// Several MSMs at once, empty ones among them, with scalars of their own or the same, in one piece and in several, with
/// multiples and without: each sum is that of the MSM alone.
#[test]
fn joint_sums() {
    let small = Limits { binding: 1 << 18, ..gpu().limits() };
    // Devices of their own, whose leases nobody else counts among.
    for (format, limits) in formats().into_iter().map(|format| (format, None)).chain([(formats()[0], Some(small))]) {
        let gpu = Gpu::open(&prooflane::device::Options { limits, ..options() }).expect("a device");
        let kernels = Kernels::new(gpu, format);
        for (sizes, options) in [
            (&[40, 0, 65, 3][..], ON_DEVICE),
            (&[0, 0, 1], Options { window: Some(4), ..ON_DEVICE }),
            (&[700, 300, 64, 900], Options { window: Some(5), rounds: Some(2), ..ON_DEVICE }),
            (&[200, 129, 77], Options { window: Some(6), tables: 3, ..ON_DEVICE }),
            (&[1500, 0, 1500], Options { window: Some(9), rounds: Some(1), ..ON_DEVICE }),
            (&[64], ON_DEVICE),
            (&[0, 0], ON_DEVICE),
        ] {
            joint::<G1Projective>(&kernels, sizes, &options);
            joint::<G2Projective>(&kernels, &sizes.iter().map(|n| n / 3).collect::<Vec<_>>(), &options);
        }
    }
}

fn joint<G: Source>(kernels: &Kernels, sizes: &[usize], options: &Options) {
    let mut rng = StdRng::seed_from_u64(sizes[0] as u64);
    // Every other part shares one vector of scalars and finds its own in it.
    let longest = sizes.iter().max().expect("some");
    let shared = sparse(3 * longest + 1, &mut rng);
    let mut all = Vec::new();
    for (index, &n) in sizes.iter().enumerate() {
        let bases = points::<G>(n, &mut rng);
        let positions: Option<Vec<u32>> = (index % 2 == 1).then(|| (0..n as u32).map(|i| 3 * i + i % 3).collect());
        let scalars: Vec<Fr> = match &positions {
            Some(positions) => positions.iter().map(|&p| shared[p as usize]).collect(),
            None => (0..n).map(|_| Fr::rand(&mut rng)).collect(),
        };
        all.push((bases, positions, scalars));
    }
    let queries: Vec<_> = all.iter().map(|(bases, positions, _)| (&bases[..], positions.as_deref())).collect();
    let leased = || kernels.gpu().usage().leased;
    let before = leased();
    let loaded = Bases::<G>::load_joint(kernels, &queries, options).expect("bases");
    let parts: Vec<_> =
        queries.iter().map(|(bases, positions)| msm::Part { n: bases.len(), positions: *positions }).collect();
    let plan = Plan::joint(G::GROUP, &parts, &kernels.gpu().limits(), options).expect("a plan");
    let memory = msm::Memory::of(&plan, &parts);
    assert_eq!(leased() - before, memory.bases, "{plan}");
    let shared = Scalars::upload(kernels, &shared).expect("scalars");
    let own: Vec<_> = all.iter().map(|(.., scalars)| Scalars::upload(kernels, scalars).expect("scalars")).collect();
    let scalars: Vec<_> = own.iter().enumerate().map(|(i, own)| if i % 2 == 1 { &shared } else { own }).collect();
    let (mut steps, before) = (Steps::new(kernels.gpu().limits()), leased());
    let work = msm::Work::lease(kernels, plan.room()).expect("memory");
    let recorded = msm::record_joint(kernels, &mut steps, &loaded, &scalars, options, &work).expect("recorded");
    assert_eq!((recorded.plan(), leased() - before), (&plan, memory.work), "{plan}");
    let (rows, _) = kernels.run_and_read(&steps, recorded.rows().as_slice()).expect("run");
    let want: Vec<G> = all.iter().map(|(bases, _, scalars)| G::msm_unchecked(bases, scalars)).collect();
    assert_eq!(recorded.sums(&rows.concat()).expect("sums"), want, "{sizes:?} {plan}");
    let bases: Vec<_> = all.iter().map(|(bases, ..)| &bases[..]).collect();
    let chosen: Vec<_> = all.iter().map(|(.., scalars)| &scalars[..]).collect();
    assert_eq!(reference::mirror_joint::<G>(&bases, &chosen, &plan), want, "mirror, {sizes:?} {plan}");
    let refused = msm::record_joint(kernels, &mut steps, &loaded, &[], options, &work).expect_err("no scalars");
    assert_eq!(refused.to_string(), format!("{} MSMs together were given 0 vectors of scalars", sizes.len()));
}
