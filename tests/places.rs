//! Pipelines over several devices, and over wgpu's noop backend, which runs every call and no kernel.

mod circuits;
mod common;

use std::sync::Arc;

use ark_bls12_381::Fr;
use ark_ff::Field;
use circuits::{Chain, blinding, task};
use common::{alone, formats, gpu};
use prooflane::{
    device::{DeviceError, Gpu, Pool, Span},
    encoding::{fr_bytes, fr_from_bytes},
    engine::{Engine, EngineError, PipelineOptions, SharedKey, places},
    groth16::proof_to_bytes,
    kernel::{Encoded, Kernels, Steps, Submitted, table::PROBE_FR, twins::ProbeParams},
    pipeline::{Busy, Card, JobOptions, Locks, Options, Pipeline, Place, Request, Stages},
};

/// Stages that know wgpu and little else: `STEPS` times a product by the key, for each value.
struct Products {
    kernels: Arc<Kernels>,
}

/// Values of a partition.
const VALUES: u64 = 100;
const STEPS: u32 = 50;

enum Work {
    New(Vec<Fr>),
    Ready(Encoded),
    Ran(Submitted),
}

impl Stages for Products {
    type Task = u64;
    type Key = Span;
    type Work = Work;
    type Read = Vec<Fr>;
    type Output = Vec<Fr>;
    type Error = DeviceError;

    fn request(&self, _: &u64) -> Result<Request, DeviceError> {
        let bytes = prooflane::device::leased(32 * VALUES);
        Ok(Request { key: 0, key_bytes: bytes, peak: 2 * bytes })
    }

    fn prepare(&self, task: &u64) -> Result<Work, DeviceError> {
        Ok(Work::New((0..VALUES).map(|i| Fr::from(task + i)).collect()))
    }

    fn load(&self, _: &u64) -> Result<Span, DeviceError> {
        let factor = Fr::from(3u64);
        self.kernels.gpu().store(Pool::Resident, "factors", &fr_bytes(&vec![factor; VALUES as usize]))
    }

    fn upload(&self, key: &Arc<Span>, work: &mut Work) -> Result<(), DeviceError> {
        let Work::New(values) = work else { panic!("out of turn") };
        let gpu = self.kernels.gpu();
        let input = gpu.store(Pool::Resident, "values", &fr_bytes(values))?;
        let out = gpu.allocate(Pool::Scratch, "products", 32 * VALUES)?;
        let mut steps = Steps::new(gpu.limits());
        steps.stage("products");
        let params = ProbeParams { group0: 0, n: VALUES as u32, op: 9, count: STEPS };
        steps.dispatch(&PROBE_FR, VALUES, params, &[&input, key, &out]);
        *work = Work::Ready(self.kernels.encode(&steps, &[&out])?);
        Ok(())
    }

    fn compute(&self, work: &mut Work, stop: &dyn Fn() -> bool) -> Result<(), DeviceError> {
        let Work::Ready(ready) = std::mem::replace(work, Work::New(Vec::new())) else { panic!("out of turn") };
        let submitted = self.kernels.launch(ready, stop)?;
        self.kernels.wait(&submitted)?;
        *work = Work::Ran(submitted);
        Ok(())
    }

    fn read_back(&self, work: Work) -> Result<(Vec<Fr>, Vec<Busy>), DeviceError> {
        let Work::Ran(submitted) = work else { panic!("out of turn") };
        let (read, intervals) = self.kernels.collect(submitted)?;
        let busy = intervals.iter().map(|i| Busy { label: i.label, begin: i.start, end: i.end }).collect();
        Ok((fr_from_bytes(&read[0]), busy))
    }

    fn assemble(&self, _: &u64, read: Vec<Fr>) -> Result<Vec<Fr>, DeviceError> {
        Ok(read)
    }

    fn retry(&self, _: &DeviceError) -> bool {
        true
    }
}

fn noop() -> Gpu {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::NOOP;
    descriptor.backend_options.noop.enable = true;
    let instance = wgpu::Instance::new(descriptor);
    let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::NOOP));
    Gpu::open_on(&adapters[0], &common::options()).expect("the noop device")
}

fn place(kernels: &Arc<Kernels>, name: &str) -> Place<Products> {
    let stages = Products { kernels: kernels.clone() };
    Place { name: name.into(), stages, card: Card::new(1 << 16), workers: 3, fallback: false, speed: 1.0 }
}

#[test]
fn the_same_stages_over_noop_and_real_devices() {
    let _alone = alone();
    let format = formats()[0];
    let real = Arc::new(Kernels::new(gpu().clone(), format));
    let second = Arc::new(Kernels::new(Gpu::open(&common::options()).expect("a device"), format));
    let nothing = Arc::new(Kernels::new(noop(), format));
    // Words are taken as Montgomery words: each step multiplies by 3 R / R' with the format's R' and the stored R.
    let right = |task: u64| {
        let radix = format.fr().radix_bits() as u64;
        let factor = Fr::from(3u64) * Fr::from(2u64).pow([256]) * Fr::from(2u64).pow([radix]).inverse().expect("not 0");
        (0..VALUES).map(|i| Fr::from(task + i) * factor.pow([u64::from(STEPS)])).collect::<Vec<_>>()
    };
    for (devices, computes) in [(vec![&nothing], false), (vec![&real], true), (vec![&real, &second], true)] {
        for locks in [Locks::None, Locks::One, Locks::Two] {
            let places = devices.iter().enumerate().map(|(i, kernels)| place(kernels, &format!("device {i}")));
            let options = Options { locks, ..Options::default() };
            let pipeline = Pipeline::new(places.collect(), &options).expect("a pipeline");
            let job = pipeline.submit((0..20).collect(), JobOptions::default()).expect("a job");
            let results = job.wait().unwrap_or_else(|error| panic!("{error}"));
            for (task, got) in (0..20).zip(results) {
                let want = if computes { right(task) } else { vec![Fr::from(0u64); VALUES as usize] };
                assert_eq!(got, want, "partition {task}, {locks:?}");
            }
            for place in pipeline.places() {
                let bytes = place.card.bytes();
                assert!(bytes.peak <= bytes.capacity && bytes.leased == bytes.keys);
            }
        }
    }
}

/// A device that computes nothing is found out before it gets work.
#[test]
fn a_device_that_computes_nothing_is_refused() {
    let _alone = alone();
    let engine = Engine::on(noop(), Some(formats()[0])).expect("an engine");
    match prooflane::engine::pipeline(&[engine], &PipelineOptions::default()) {
        Err(EngineError::Device(DeviceError::SelfTest { adapter, .. })) => assert_eq!(adapter, "noop wgpu backend"),
        other => panic!("{:?}", other.map(|_| "a pipeline")),
    }
}

/// Two devices, as if of two cards, and the CPU in one pipeline: right proofs, and a key where it is used.
#[test]
fn several_places_share_a_job() {
    let _alone = alone();
    let format = Some(formats()[0]);
    let first = Engine::on(gpu().clone(), format).expect("an engine");
    let second = Engine::on(Gpu::open(&common::options()).expect("a device"), format).expect("an engine");
    let engines = [first, second, Engine::cpu()];
    let circuit = Chain::new(120, 2);
    let assignment = circuit.assignment();
    let key = SharedKey::new(circuit.proving_key());
    let cpu = Engine::cpu().load(key.key().clone()).expect("a prover");
    let mut places = places(&engines, &PipelineOptions::default()).expect("places");
    let [a, b, c] = [0, 1, 2].map(|i: usize| &places[i].card);
    assert!(Arc::ptr_eq(a, b) && !Arc::ptr_eq(a, c), "two devices of one card share its bytes and turns");
    assert!(places.iter().all(|place| place.speed > 1.0), "several places are compared");
    places[1].card = Card::new(u64::MAX);
    // So that each begins with one.
    places.iter_mut().for_each(|place| place.speed = 1.0);
    let pipeline = Pipeline::new(places, &Options::default()).expect("a pipeline");
    let count = 40;
    let job = pipeline
        .submit((0..count).map(|i| task(&key, &assignment, i)).collect(), JobOptions::default())
        .expect("a job");
    let proofs = job.wait().unwrap_or_else(|error| panic!("{error}"));
    for (i, proof) in (0..count).zip(&proofs) {
        let (r, s) = blinding(i);
        assert_eq!(proof_to_bytes(proof), cpu.prove_with(&assignment, r, s).expect("a proof").bytes());
    }
    let done: Vec<u64> = pipeline.counters().places.iter().map(|place| place.done).collect();
    assert_eq!(done.iter().sum::<u64>(), count);
    assert!(done.iter().all(|&done| done > 0), "{done:?}");
    let kernels = |i: usize| engines[i].kernels().expect("a device").gpu().usage().leased;
    assert!((0..2).all(|i| kernels(i) > 0), "a key lies where it was used");
    let timeline = pipeline.timeline();
    let table = timeline.table();
    assert!((0..3).all(|place| timeline.utilisation(place).is_some()), "{table}");
}
