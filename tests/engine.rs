//! Whole proofs, MSMs and transforms through the engine, on the device: the tables that the CPU backend passes too.

mod circuits;
mod common;

use std::sync::Arc;

use ark_bls12_381::{Fr, G1Projective, G2Projective};
use ark_ec::{CurveGroup, PrimeGroup, VariableBaseMSM};
use ark_ff::{AdditiveGroup, UniformRand};
use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};
use common::{formats, gpu, kernels};
use prooflane::{
    device::{DeviceError, Select},
    encoding::Format,
    engine::{Calibration, Engine, EngineError, Options, Origin, Tuning},
    groth16::{GpuBackend, ProvingKey},
    kernel::Group,
    msm::{self, Costs},
    ntt::Direction,
};

#[test]
fn proofs_equal_arkworks_on_the_device() {
    for format in formats() {
        circuits::proofs_equal_arkworks(&|key| {
            Box::new(GpuBackend::load(kernels(format), key).expect("a key on the device"))
        });
    }
}

/// With multiples of the key's bases, few and as many as there are windows: the same bytes, out of more memory.
#[test]
fn proofs_with_tables() {
    let circuit = circuits::Chain::new(300, 2);
    let key: Arc<ProvingKey> = Arc::new((&circuit.key()).try_into().expect("a key"));
    let assignment = prooflane::arkworks::record(circuit).expect("an assignment");
    let (mut proofs, mut memory) = (Vec::new(), 0);
    for tables in [0, 3, 128] {
        let engine = Engine::with(gpu().clone(), Some(formats()[0]), &Tuning::Pinned(Calibration::default()));
        let engine = engine.expect("an engine").tables(tables);
        let kernels = engine.kernels().expect("a device");
        let needs = GpuBackend::memory_with(kernels, &key, &engine.planning()).expect("a plan");
        assert!(needs.key > memory, "{tables}: {needs:?}");
        memory = needs.key;
        let prover = engine.load(key.clone()).expect("a prover");
        let proved = prover.prove_with(&assignment, Fr::from(2u64), Fr::from(3u64)).expect("a proof");
        proofs.push(proved.bytes());
    }
    assert!(proofs.iter().all(|bytes| *bytes == proofs[0]));
}

/// Constraints are looked at while the device computes: the wrong one is named, and the next proof is right.
#[test]
fn a_witness_that_does_not_satisfy() {
    let circuit = circuits::Chain::new(50, 3);
    let key: Arc<ProvingKey> = Arc::new((&circuit.key()).try_into().expect("a key"));
    let prover = Engine::on(gpu().clone(), Some(formats()[0])).expect("an engine").load(key).expect("a prover");
    let prove = |wrong: Option<usize>| {
        let circuit = circuits::Chain { wrong, ..circuits::Chain::new(50, 3) };
        let assignment = prooflane::arkworks::record(circuit).expect("an assignment");
        prover.prove_with(&assignment, Fr::from(2u64), Fr::from(3u64)).map(|_| ()).map_err(|error| error.to_string())
    };
    let refused = prove(Some(49)).expect_err("no witness");
    assert!(refused.starts_with("constraint 49 (counted from 0) of 50 does not hold"), "{refused}");
    assert_eq!(prove(None), Ok(()));
}

/// Bindings of 1 MiB and 64 workgroups, self-test included.
#[test]
fn proofs_under_tiny_limits() {
    let limits = prooflane::device::Limits { binding: 1 << 20, groups: 64, block: 1 << 20, ..gpu().limits() };
    let options = prooflane::device::Options { limits: Some(limits), ..common::options() };
    let small = prooflane::device::Gpu::open(&options).expect("a device");
    let engine = Engine::on(small, Some(formats()[0])).expect("an engine");
    engine.self_test().expect("this adapter computes right within small limits");
    let kernels = engine.kernels().expect("a device");
    circuits::proofs_equal_arkworks(&|key| {
        Box::new(GpuBackend::load(kernels.clone(), key).expect("a key on the device"))
    });
}

/// Many proofs at once from the workers of one pool, which share the device, its ring and its memory.
#[test]
fn proofs_in_parallel() {
    use rayon::prelude::*;
    let engine = Engine::on(gpu().clone(), Some(formats()[0])).expect("an engine");
    let circuit = circuits::Chain::new(300, 2);
    let prover = engine.load(Arc::new((&circuit.key()).try_into().expect("a key"))).expect("a prover");
    let assignment = prooflane::arkworks::record(circuit).expect("an assignment");
    let prove = |i: u64| prover.prove_with(&assignment, Fr::from(i), Fr::from(i + 1)).expect("a proof").bytes();
    let sequential: Vec<_> = (0..8).map(prove).collect();
    let parallel: Vec<_> = (0..8u64).into_par_iter().map(prove).collect();
    assert_eq!(sequential, parallel);
}

#[test]
fn self_test_passes_and_a_format_is_chosen() {
    let engine = Engine::on(gpu().clone(), None).expect("an engine");
    engine.self_test().expect("this adapter computes right");
    let measured: Vec<Format> = engine.rates().iter().map(|(format, _)| *format).collect();
    assert_eq!(measured, formats());
    assert!(engine.rates().iter().all(|(_, rate)| *rate > 0.0));
}

/// Proofs and sums are the same whatever they are planned by, and an engine plans by what it is pinned to.
#[test]
fn pinned_numbers_decide_and_change_no_result() {
    let format = formats()[0];
    let [g1, g2] = Costs::H200;
    // Pairs that cost nothing make rounds of them, reductions that cost nothing wide windows.
    let costs = [Costs { pair: 0.001, round: 0.001, ..g1 }, Costs { add: 0.001, wait: 2.4, cpu_below: 64, ..g2 }];
    let options = msm::Options { costs, ..msm::Options::PINNED };
    circuits::proofs_equal_arkworks(&|key| {
        let backend = GpuBackend::load_with(kernels(format), key.clone(), &options).expect("a key on the device");
        let want = GpuBackend::memory_with(&kernels(format), &key, &options).expect("a plan");
        assert_ne!(want, GpuBackend::memory(&kernels(format), &key).expect("a plan"));
        Box::new(backend)
    });

    let known = vec![(format, Group::G1, costs[0]), (format, Group::G2, costs[1])];
    let pinned = Calibration { costs: known, rates: vec![(format, 1.0)], ..Calibration::default() };
    let engine = Engine::with(gpu().clone(), None, &Tuning::Pinned(pinned.clone())).expect("an engine");
    assert_eq!(engine.kernels().expect("a device").format(), format);
    engine.self_test().expect("this adapter computes right");
    assert_eq!((engine.calibration(), engine.costs()), (Some((pinned, Origin::Pinned)), costs));
    // Devices with run-time checks are slower than what they stand for, so nothing is measured on them.
    let engine = Engine::with(gpu().clone(), Some(format), &Tuning::Anew).expect("an engine");
    engine.self_test().expect("this adapter computes right");
    assert_eq!((engine.calibration().expect("numbers").1, engine.costs()), (Origin::Pinned, Costs::H200));
}

/// The CPU sums what it is known to sum faster, and for that no kernel is built.
#[test]
fn the_crossover_decides_who_sums() {
    let format = formats()[0];
    let never = Costs { cpu_below: Costs::NEVER, ..Costs::H200[0] };
    let always = Costs { cpu_below: 1, ..Costs::H200[0] };
    let scalars: Vec<Fr> = (1..=40u64).map(|i| -Fr::from(i)).collect();
    let bases: Vec<_> = (0..40u64).map(|i| (G1Projective::generator() * Fr::from(i)).into_affine()).collect();
    for (costs, on_device) in [(never, false), (always, true)] {
        let pinned = Calibration { costs: vec![(format, Group::G1, costs)], ..Calibration::default() };
        let engine = Engine::with(gpu().clone(), Some(format), &Tuning::Pinned(pinned)).expect("an engine");
        assert_eq!(engine.msm_g1(&bases, &scalars).expect("a sum"), G1Projective::msm_unchecked(&bases, &scalars));
        assert_eq!(!engine.compiled().is_empty(), on_device);
    }
}

/// What is measured is numbers, of either group and every format.
#[test]
fn kernels_are_measured() {
    let _alone = common::alone();
    for format in formats() {
        let (kernels, rate) = (kernels(format), 1e9);
        let measured = [
            prooflane::msm::measure::<G1Projective>(&kernels, rate).expect("numbers"),
            prooflane::msm::measure::<G2Projective>(&kernels, rate).expect("numbers"),
        ];
        for costs in measured {
            assert!(costs.times().iter().all(|(_, time)| (0.001..1e9).contains(time)), "{costs:?}");
            assert!((1..=Costs::NEVER).contains(&costs.cpu_below), "{costs:?}");
        }
        // An addition in Fq2 is three to four of Fq. A software adapter shares its cores with whatever else runs: its
        // times tell nothing of each other.
        if kernels.gpu().info().device_type != wgpu::DeviceType::Cpu {
            assert!(measured[1].mixed > measured[0].mixed && measured[1].add > measured[0].add, "{measured:?}");
        }
    }
}

#[test]
fn msm_and_ntt_on_ark_types() {
    let rng = &mut ark_std::test_rng();
    let on_device = Engine::on(gpu().clone(), Some(formats()[0])).expect("an engine");
    for engine in [on_device, Engine::cpu()] {
        let scalars: Vec<Fr> = (0..700).map(|_| Fr::rand(rng)).collect();
        let bases: Vec<_> = (0..700u64).map(|i| (G1Projective::generator() * Fr::from(i)).into_affine()).collect();
        assert_eq!(engine.msm_g1(&bases, &scalars).expect("an MSM"), G1Projective::msm_unchecked(&bases, &scalars));
        let bases: Vec<_> = (0..700u64).map(|i| (G2Projective::generator() * Fr::from(i)).into_affine()).collect();
        assert_eq!(engine.msm_g2(&bases, &scalars).expect("an MSM"), G2Projective::msm_unchecked(&bases, &scalars));
        let error = engine.msm_g2(&bases, &scalars[1..]).expect_err("lengths differ").to_string();
        assert_eq!(error, "an MSM that needs 700 scalars was given 699");

        let domain = Radix2EvaluationDomain::<Fr>::new(512).expect("a domain");
        let shift = Fr::from(9u64);
        let mut values = scalars[..512].to_vec();
        engine.ntt(&mut values, Direction::Forward, Some(shift), domain.group_gen).expect("a transform");
        assert_eq!(values, domain.get_coset(shift).expect("a coset").fft(&scalars[..512]));
        engine.ntt(&mut values, Direction::Inverse, Some(shift), domain.group_gen).expect("a transform");
        assert_eq!(values, scalars[..512]);
        let error =
            engine.ntt(&mut values[1..], Direction::Forward, None, domain.group_gen).expect_err("511").to_string();
        assert_eq!(error, "a transform needs a power of two elements, not 511");
        let error =
            engine.ntt(&mut values, Direction::Forward, Some(Fr::ZERO), domain.group_gen).expect_err("no coset");
        assert_eq!(error.to_string(), prooflane::ntt::NttError::Coset.to_string());
    }
}

#[test]
fn unknown_adapters_are_named() {
    for text in ["no such card", "#99", "pci:ffff:ff:ff.f"] {
        let Ok(select) = text.parse::<Select>();
        let error = Engine::open(&Options { select, ..Default::default() }).expect_err("no such adapter");
        assert!(matches!(error, EngineError::Device(DeviceError::NoAdapter { .. })), "{error}");
        let message = error.to_string();
        let wanted = format!("no adapter matches '{text}'; found: #0 ");
        assert!(message.starts_with(&wanted), "{message}");
    }
}

/// A key larger than the budget is refused with both numbers, and the budget is whole again.
#[test]
fn budgets_are_kept() {
    let limits = prooflane::device::Limits { memory: 1 << 16, ..gpu().limits() };
    let options = prooflane::device::Options { limits: Some(limits), ..common::options() };
    let small = prooflane::device::Gpu::open(&options).expect("a device");
    let kernels = Arc::new(prooflane::kernel::Kernels::new(small.clone(), formats()[0]));
    let key = Arc::new((&circuits::Chain::new(700, 2).key()).try_into().expect("a key"));
    let error = GpuBackend::load(kernels, key).expect_err("64 KiB are too few").to_string();
    assert!(error.contains("bytes of a budget of 65536 bytes are leased"), "{error}");
    assert_eq!(small.usage().leased, 0);
}

/// A device that is gone is a typed error that names it, from every call, and no panic.
#[test]
fn a_lost_device_is_an_error() {
    let gpu = prooflane::device::Gpu::open(&common::options()).expect("a device");
    let engine = Engine::on(gpu.clone(), Some(formats()[0])).expect("an engine");
    let span = gpu.store(prooflane::device::Pool::Scratch, "before", &[1; 64]).expect("an upload");
    gpu.destroy();
    let lost = |error: &DeviceError| matches!(error, DeviceError::Lost { .. });
    let error = gpu.upload(&span, &[2; 64]).expect_err("no upload");
    assert!(lost(&error), "{error}");
    let error = gpu.read(&[&span]).expect_err("no read back");
    assert!(lost(&error), "{error}");
    let error = gpu.allocate(prooflane::device::Pool::Resident, "after", 1 << 20).expect_err("no memory");
    assert!(lost(&error), "{error}");
    let error = engine.self_test().expect_err("no kernels").to_string();
    assert!(error.contains("lost"), "{error}");
}

/// Spans, bases and scalars of another device or format are refused, not taken for their own.
#[test]
fn what_belongs_elsewhere_is_refused() {
    use prooflane::{
        device::{Gpu, Pool},
        kernel::{Kernels, Steps},
        msm::{self, Bases, MsmError, Scalars},
        ntt::{Domain, NttError, root_of_unity},
    };
    let here = kernels(formats()[0]);
    let other = Gpu::open(&common::options()).expect("a second device");
    let there = Kernels::new(other.clone(), formats()[0]);
    let gpu = here.gpu();
    let foreign = |error: DeviceError| match error {
        DeviceError::Invalid { reason, .. } => assert!(reason.contains("bytes of another device"), "{reason}"),
        other => panic!("{other}"),
    };
    let span = other.store(Pool::Scratch, "theirs", &[9; 64]).expect("an upload");
    foreign(gpu.upload(&span, &[1; 64]).expect_err("not ours"));
    foreign(gpu.read(&[&span]).expect_err("not ours"));
    let mut steps = Steps::new(gpu.limits());
    steps.clear(&span);
    foreign(here.run(&steps).expect_err("not ours"));

    let points = vec![G1Projective::generator().into_affine(); 8];
    let scalars = vec![Fr::from(5u64); 8];
    let bases = Bases::<G1Projective>::load(&there, &points).expect("bases");
    let uploaded = Scalars::upload(&here, &scalars).expect("scalars");
    let mut steps = Steps::new(gpu.limits());
    msm::record(&here, &mut steps, &bases, &uploaded, &msm::Options::default()).expect("only numbers so far");
    foreign(here.run(&steps).expect_err("not our bases"));

    for format in formats().into_iter().filter(|format| *format != here.format()) {
        let kernels = kernels(format);
        let bases = Bases::<G1Projective>::load(&here, &points).expect("bases");
        let uploaded = Scalars::upload(&kernels, &scalars).expect("scalars");
        let mut steps = Steps::new(gpu.limits());
        let error = msm::record(&here, &mut steps, &bases, &uploaded, &msm::Options::default()).expect_err("another");
        assert!(matches!(error, MsmError::Format { what: "scalars", .. }), "{error}");
        let domain = Domain::new(&here, 3, root_of_unity(7, 3).expect("a root")).expect("a domain");
        let error = domain.transform(&kernels, &mut scalars.clone(), Direction::Forward, None).expect_err("another");
        assert!(matches!(error, NttError::Format { .. }), "{error}");
    }

    for size in [u64::MAX, u64::MAX - 20, gpu.limits().buffer + 1] {
        let error = gpu.allocate(Pool::Scratch, "far too much", size).expect_err("not to be had");
        assert!(matches!(error, DeviceError::OutOfMemory { .. }), "{error}");
    }
}
