//! Field and curve functions on the device against arkworks, at random values, at 0, 1, p-1, p, 2p-1, and with every
//! limb at its limit: each function alone, through the probe kernels.

mod common;

use ark_bls12_381::{Fq, Fq2, Fr, G1Projective, G2Projective};
use ark_ec::{AffineRepr, CurveGroup};
use ark_ff::{BigInteger, Field, One, PrimeField, UniformRand, Zero};
use ark_std::rand::Rng;
use common::{run_probe, variants};
use prooflane::{
    encoding::{Format, Limbs},
    kernel::{
        Code, Group, Kernel, Kernels,
        field::float,
        table::{PROBE_CURVE, PROBE_FIXED, PROBE_FLOAT, PROBE_FQ, PROBE_FQ2, PROBE_FR},
        twins::ProbeParams,
    },
};

fn params(n: usize, op: u32) -> ProbeParams {
    ProbeParams { group0: 0, n: n as u32, op, count: 3 }
}

/// Integers below `2p` that a field function may meet, whatever they stand for.
fn integers<F: PrimeField<BigInt = ark_ff::BigInt<N>>, const N: usize>(limbs: Limbs) -> Vec<ark_ff::BigInt<N>> {
    let p = F::MODULUS;
    let mut twice = p;
    twice.mul2();
    let offset = |mut base: ark_ff::BigInt<N>, add: u64, sub: u64| {
        base.add_with_carry(&ark_ff::BigInt::from(add));
        base.sub_with_borrow(&ark_ff::BigInt::from(sub));
        base
    };
    let zero = ark_ff::BigInt::<N>::zero();
    let mut all = vec![zero, offset(zero, 1, 0), offset(zero, 2, 0)];
    all.extend([offset(p, 0, 1), p, offset(p, 1, 0), offset(twice, 0, 1), offset(twice, 0, 2)]);
    // Every limb full, from the bottom up and from the top down, and single bits at limb boundaries.
    for limb in 1..=limbs.count {
        let mut power = offset(zero, 1, 0);
        power <<= (limb * limbs.bits) as u32;
        all.extend([power, offset(power, 0, 1)].into_iter().filter(|x| *x < twice && !x.is_zero()));
        let mut top = twice;
        top.sub_with_borrow(&power);
        if top < twice {
            all.push(top);
        }
    }
    let mut rng = ark_std::test_rng();
    while all.len() < 96 {
        let x = F::rand(&mut rng).into_bigint();
        let mut lifted = x;
        lifted.add_with_carry(&p);
        all.extend([x, lifted]);
    }
    all.truncate(96);
    all
}

fn bytes_of<const N: usize>(all: &[ark_ff::BigInt<N>]) -> Vec<u8> {
    all.iter().flat_map(|x| x.to_bytes_le()).collect()
}

fn field<F: PrimeField<BigInt = ark_ff::BigInt<N>>, const N: usize>(
    kernels: &Kernels,
    kernel: &'static Kernel,
    limbs: Limbs,
) {
    let format = kernels.format();
    let values = integers::<F, N>(limbs);
    let pairs: Vec<_> = values.iter().flat_map(|a| values.iter().map(move |b| (*a, *b))).collect();
    let [a, b] =
        [0, 1].map(|side| bytes_of(&pairs.iter().map(|p| if side == 0 { p.0 } else { p.1 }).collect::<Vec<_>>()));
    let mut twice = F::MODULUS;
    twice.mul2();
    let mut eightfold = twice;
    eightfold.mul2();
    eightfold.mul2();
    let unradix = F::from(2u64).pow([limbs.radix_bits() as u64]).inverse().expect("2 is a unit");
    let as_field = |x: &ark_ff::BigInt<N>| F::from_le_bytes_mod_order(&x.to_bytes_le());
    type Law<F> = fn(F, F, F) -> F;
    let laws: [(&str, Law<F>); 10] = [
        ("mul", |x, y, u| x * y * u),
        ("sqr", |x, _, u| x * x * u),
        ("add", |x, y, _| x + y),
        ("sub", |x, y, _| x - y),
        ("neg", |x, _, _| -x),
        ("canonical", |x, _, _| x),
        ("is_zero", |x, _, u| if x.is_zero() { u.inverse().unwrap_or(F::ONE) } else { F::ZERO }),
        ("mul of lazy sums", |x, y, u| (x + y) * (y + y) * u),
        ("sqr of a lazy sum", |x, y, u| (x + y) * (x + y) * u),
        ("chain of 3", |x, y, u| x * (y * u).pow([3])),
    ];
    for (op, (name, law)) in laws.into_iter().enumerate() {
        let out = run_probe(kernels, kernel, pairs.len() as u64, params(pairs.len(), op as u32), &[&a, &b], a.len());
        for ((x, y), out) in pairs.iter().zip(out.chunks_exact(8 * N)) {
            let mut words = [0u64; N];
            for (word, bytes) in words.iter_mut().zip(out.chunks_exact(8)) {
                *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
            }
            let got = ark_ff::BigInt::new(words);
            let label = format!("{} {} {name}({x}, {y}) = {got}", kernel.name, format.name());
            // Signed limbs are packed with 4p more.
            let signed = N == 6 && (format, kernels.code()) == (Format::U64, Code::Unrolled);
            let most = if signed { eightfold } else { twice };
            let bound = if name == "canonical" { F::MODULUS } else { most };
            assert!(got < bound, "{label}: beyond its bound");
            assert_eq!(as_field(&got), law(as_field(x), as_field(y), unradix), "{label}");
        }
    }
}

#[test]
fn scalar_field() {
    for kernels in variants() {
        field::<Fr, 4>(&kernels, &PROBE_FR, kernels.format().fr());
    }
}

/// Multiplication by fixed scalars, of numbers with limbs that were not carried: see `shaders/probe_fixed.wgsl`.
#[test]
fn fixed_scalars() {
    for kernels in variants() {
        let format = kernels.format();
        let values = integers::<Fr, 4>(format.fr());
        let scalar = |x: &ark_ff::BigInt<4>| Fr::from_le_bytes_mod_order(&x.to_bytes_le());
        let pairs: Vec<_> = values.iter().flat_map(|a| values.iter().map(move |f| (*a, scalar(f)))).collect();
        let a = bytes_of(&pairs.iter().map(|pair| pair.0).collect::<Vec<_>>());
        let f = format.fr_fixed_bytes(&pairs.iter().map(|pair| pair.1).collect::<Vec<_>>());
        let unradix = Fr::from(2u64).pow([format.fr().radix_bits() as u64]).inverse().expect("2 is a unit");
        let mut twice = Fr::MODULUS;
        twice.mul2();
        type Law = fn(Fr, Fr, Fr) -> Fr;
        let laws: [(&str, Law); 5] = [
            ("mul_fixed", |x, w, _| x * w),
            ("mul_fixed of the loosest", |x, w, _| x * w),
            ("settle", |x, _, _| x),
            ("mul of the loosest", |x, _, u| x * x * u),
            ("mul_fixed of a loose difference", |x, w, _| -x * w),
        ];
        for (op, (name, law)) in laws.into_iter().enumerate() {
            let n = pairs.len();
            let out = run_probe(&kernels, &PROBE_FIXED, n as u64, params(n, op as u32), &[&a, &f], a.len());
            for ((x, w), out) in pairs.iter().zip(out.chunks_exact(32)) {
                let words: Vec<u64> =
                    out.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().expect("eight bytes"))).collect();
                let got = ark_ff::BigInt::new([words[0], words[1], words[2], words[3]]);
                let label = format!("{} {name}({x}, {w}) = {got}", format.name());
                assert!(got < twice, "{label}: beyond its bound");
                assert_eq!(scalar(&got), law(scalar(x), *w, unradix), "{label}");
            }
        }
    }
}

#[test]
fn base_field() {
    for kernels in variants() {
        field::<Fq, 6>(&kernels, &PROBE_FQ, kernels.format().fq());
    }
}

#[test]
fn extension_field() {
    for kernels in variants() {
        let format = kernels.format();
        let all = integers::<Fq, 6>(format.fq());
        // Extremes, and random values from the end.
        let some: Vec<_> = all[..24].iter().chain(&all[84..]).copied().collect();
        // Both halves of both operands at their limits.
        let values: Vec<[_; 2]> = some.iter().flat_map(|x| some.iter().step_by(5).map(move |y| [*x, *y])).collect();
        let pairs: Vec<_> = values.iter().flat_map(|a| values.iter().step_by(7).map(move |b| (*a, *b))).collect();
        let [a, b] = [0, 1]
            .map(|side| bytes_of(&pairs.iter().flat_map(|p| if side == 0 { p.0 } else { p.1 }).collect::<Vec<_>>()));
        let fq = |x: &ark_ff::BigInt<6>| Fq::from_le_bytes_mod_order(&x.to_bytes_le());
        let fq2 = |x: &[ark_ff::BigInt<6>; 2]| Fq2::new(fq(&x[0]), fq(&x[1]));
        let radix = Fq::from(2u64).pow([format.fq().radix_bits() as u64]);
        let unradix = Fq2::new(radix.inverse().expect("2 is a unit"), Fq::zero());
        type Law = fn(Fq2, Fq2, Fq2) -> Fq2;
        let zero_test: Law = |x, y, u| if x == y { u.inverse().unwrap_or_default() } else { Fq2::zero() };
        let laws: [(&str, Law); 17] = [
            ("mul", |x, y, u| x * y * u),
            ("add", |x, y, _| x + y),
            ("sub", |x, y, _| x - y),
            ("is_zero", |x, _, u| if x.is_zero() { u.inverse().unwrap_or_default() } else { Fq2::zero() }),
            ("inverse", |x, _, u| x.inverse().unwrap_or_default() * (u * u).inverse().unwrap_or_default()),
            ("sub2", |x, y, _| x - y),
            ("sub4", |x, y, _| x - y),
            ("sub_two6", |x, y, _| x - y - y),
            ("mul of lazy differences", |x, y, u| -(x - y).square() * u),
            ("is_zero of a lazy difference", zero_test),
            ("is_zero of a difference of sums", zero_test),
            ("x of a chord", |x, y, u| (x - y) * y * u - x - y),
            ("y of a chord", |x, y, u| (x - y) * y * u - y),
            ("y of a chord from a negated point", |x, y, u| (x - y) * y * u + x),
            ("is_zero of a difference of words", zero_test),
            ("mul of a difference from a negated value", |x, y, u| (x + y) * y * u),
            ("mul of a negated difference", |x, y, u| -(x + y) * y * u),
        ];
        for (op, (name, law)) in laws.into_iter().enumerate() {
            let out =
                run_probe(&kernels, &PROBE_FQ2, pairs.len() as u64, params(pairs.len(), op as u32), &[&a, &b], a.len());
            for ((x, y), out) in pairs.iter().zip(out.chunks_exact(96)) {
                let [c0, c1] = [0, 48].map(|at| Fq::from_le_bytes_mod_order(&out[at..at + 48]));
                assert_eq!(
                    Fq2::new(c0, c1),
                    law(fq2(x), fq2(y), unradix),
                    "{} fq2 {name}({x:?}, {y:?})",
                    format.name()
                );
            }
        }
    }
}

/// What rounds of pairs leave in memory is taken by the next round, so its bound has to reproduce itself: values up to
/// 4.08 p, around the borders of all cases, give values below 4.08 p.
#[test]
fn chords_keep_their_bound() {
    // p / 100, and that so many times.
    let mut hundredth = Fq::MODULUS;
    hundredth.0.iter_mut().rev().fold(0, |rest, limb| {
        let value = rest << 64 | u128::from(*limb);
        *limb = (value / 100) as u64;
        value % 100
    });
    let hundredths = |k: u32| {
        let mut sum = ark_ff::BigInt::<6>::zero();
        (0..k).for_each(|_| _ = sum.add_with_carry(&hundredth));
        sum
    };
    let mut unit = ark_ff::BigInt::<6>::one();
    unit <<= 360;
    let around = |k: u32| {
        let (x, mut less, mut more) = (hundredths(k), hundredths(k), hundredths(k));
        less.sub_with_borrow(&unit);
        more.add_with_carry(&unit);
        [less, x, more]
    };
    let borders = [1, 100, 122, 123, 145, 200, 245, 272, 273, 300, 400, 407];
    let values: Vec<_> = borders.into_iter().flat_map(around).filter(|x| *x < hundredths(408)).collect();
    let words = |x: &ark_ff::BigInt<6>| x.to_bytes_le();
    let all = || values.iter().flat_map(|x| values.iter().map(move |y| [x, y]));
    // Both halves of Fq2 alike: its functions act on each.
    let [a, b] = [0, 1].map(|side| all().flat_map(|pair| words(pair[side]).repeat(2)).collect::<Vec<_>>());
    for kernels in variants() {
        if (kernels.format(), kernels.code()) != (Format::U64, Code::Unrolled) {
            continue;
        }
        let n = all().count();
        for op in [11, 12, 13] {
            let out = run_probe(&kernels, &PROBE_FQ2, n as u64, params(n, op), &[&a, &b], a.len());
            for (pair, got) in all().zip(out.chunks_exact(48).step_by(2)) {
                // Only bases are negated, and these are below p.
                if op == 13 && *pair[0] > Fq::MODULUS {
                    continue;
                }
                let mut bound = [0; 48];
                bound.copy_from_slice(&words(&hundredths(408)));
                assert!(got.iter().rev().lt(bound.iter().rev()), "op {op}: {got:?} of {} and {}", pair[0], pair[1]);
            }
        }
    }
}

/// The probes of one group: what the test needs to know about it.
struct CurveCase<G: CurveGroup> {
    group: Group,
    affine: fn(Format, &[G::Affine]) -> Vec<u8>,
    sums: fn(Format, &[u8]) -> Vec<G>,
    /// A sum's words with `ZZ = z^2`, `ZZZ = z^3`.
    xyzz: fn(Format, &G, Fq) -> Vec<u8>,
}

fn g1_xyzz(format: Format, p: &G1Projective, z: Fq) -> Vec<u8> {
    let p = p.into_affine();
    let zz = if p.is_zero() { Fq::zero() } else { z.square() };
    [p.x * zz, p.y * zz * z, zz, zz * z].iter().flat_map(|c| format.fq_words(*c)).flat_map(u32::to_le_bytes).collect()
}

fn g2_xyzz(format: Format, p: &G2Projective, z: Fq) -> Vec<u8> {
    let p = p.into_affine();
    // A factor off the base field, so that both halves of ZZ and ZZZ are used.
    let z = Fq2::new(z, Fq::one());
    let zz = if p.is_zero() { Fq2::zero() } else { z.square() };
    [p.x * zz, p.y * zz * z, zz, zz * z]
        .iter()
        .flat_map(|c| [c.c0, c.c1])
        .flat_map(|c| format.fq_words(c))
        .flat_map(u32::to_le_bytes)
        .collect()
}

fn curve<G: CurveGroup>(case: &CurveCase<G>) {
    let mut rng = ark_std::test_rng();
    let [p, q] = [0; 2].map(|_| G::rand(&mut rng));
    let g = G::generator();
    let points = [G::zero(), g, -g, g + g, p, -p, q, p + q, -(p + q)];
    // Every pair: infinity on either side, equal points, opposite points.
    let pairs: Vec<(G, G)> = points.iter().flat_map(|a| points.iter().map(move |b| (*a, *b))).collect();
    for kernels in variants() {
        let format = kernels.format();
        let right: Vec<_> = pairs.iter().map(|(_, b)| b.into_affine()).collect();
        let affine = (case.affine)(format, &right);
        let mut a = Vec::new();
        let mut b = Vec::new();
        for (x, y) in &pairs {
            a.extend((case.xyzz)(format, x, Fq::from(rng.gen_range(1..u64::MAX))));
            b.extend((case.xyzz)(format, y, Fq::rand(&mut rng)));
        }
        type Law<G> = fn(G, G) -> G;
        let laws: [(&str, Law<G>); 4] = [
            ("add_affine", |x, y| x + y),
            ("subtract_affine", |x, y| x - y),
            ("add", |x, y| x + y),
            ("from_affine", |_, y| y),
        ];
        for (op, (name, law)) in laws.into_iter().enumerate() {
            let kernel = &PROBE_CURVE[case.group as usize];
            let out = run_probe(
                &kernels,
                kernel,
                pairs.len() as u64,
                params(pairs.len(), op as u32),
                &[&affine, &a, &b],
                a.len(),
            );
            let got = (case.sums)(format, &out);
            assert_eq!(got.len(), pairs.len());
            for (i, ((x, y), got)) in pairs.iter().zip(got).enumerate() {
                assert_eq!(got, law(*x, *y), "{} {} {name}, pair {i}", case.group.name(), format.name());
            }
        }
    }
}

#[test]
fn curve_g1() {
    curve(&CurveCase { group: Group::G1, affine: Format::g1_bytes, sums: Format::g1_sums, xyzz: g1_xyzz });
}

#[test]
fn curve_g2() {
    curve(&CurveCase { group: Group::G2, affine: Format::g2_bytes, sums: Format::g2_sums, xyzz: g2_xyzz });
}

/// Multiplications and squarings by floating point, at every limb's limit and at the one tie of a reduction. Where fused
/// multiplications are fused, that code too.
#[test]
fn floating_point() {
    let gpu = common::gpu();
    if !gpu.features().contains(wgpu::Features::SHADER_F64 | wgpu::Features::SHADER_INT64) {
        eprintln!("this adapter has no 64-bit floating point");
        return;
    }
    let mut values = integers::<Fq, 6>(Limbs { count: 8, bits: 50 });
    // Products of these with R mod p are themselves, so quotients are the lowest limbs: -2^49 modulo 2^50 among them.
    let (one, p) = (float::radix().into_bigint(), Fq::MODULUS);
    let half = ark_ff::BigInt::<6>::from(1u64 << 49);
    values.extend([one, half]);
    let pairs: Vec<_> = values.iter().flat_map(|a| values.iter().map(move |b| (*a, *b))).collect();
    let [a, b] =
        [0, 1].map(|side| bytes_of(&pairs.iter().map(|p| if side == 0 { p.0 } else { p.1 }).collect::<Vec<_>>()));
    let unradix = float::radix().inverse().expect("a unit");
    let as_field = |x: &ark_ff::BigInt<6>| Fq::from_le_bytes_mod_order(&x.to_bytes_le());
    for code in Code::ALL {
        let kernels = Kernels::with_code(gpu.clone(), Format::U64, code);
        for kernel in &PROBE_FLOAT {
            let out = run_probe(&kernels, kernel, pairs.len() as u64, params(pairs.len(), 0), &[&a, &b], a.len());
            let right = pairs.iter().zip(out.chunks_exact(48)).all(|((a, b), got)| {
                let (mut want, b) = (as_field(a), as_field(b) * unradix);
                for _ in 0..3 {
                    want = if kernel.name.contains("square") { want.square() * unradix } else { want * b };
                }
                let mut got_integer = ark_ff::BigInt::<6>::default();
                for (limb, bytes) in got_integer.0.iter_mut().zip(got.chunks_exact(8)) {
                    *limb = u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
                }
                let mut twice = p;
                twice.mul2();
                got_integer < twice && Fq::from_le_bytes_mod_order(got) == want
            });
            // Software adapters may take fused multiplications apart; integers are the same everywhere.
            if code == Code::Compact || gpu.info().device_type != wgpu::DeviceType::Cpu {
                assert!(right, "{} {code:?}", kernel.name);
            } else {
                eprintln!("{} with this adapter's fma: {}", kernel.name, if right { "right" } else { "wrong" });
            }
        }
    }
}
