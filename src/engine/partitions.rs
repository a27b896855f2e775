//! Proofs as partitions of the [`crate::pipeline`]: one key resident on each place, many assignments flowing.
//!
//! Bytes are computed before they are leased ([`crate::groth16::GpuBackend::memory`]), so a partition that would not fit
//! is refused before it has touched the device. Places on one card share its budget and its turns, whichever backend
//! lists the card.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use ark_bls12_381::{Bls12_381, Fr};
use ark_groth16::{PreparedVerifyingKey, Proof, prepare_verifying_key};
use ark_std::{
    UniformRand,
    rand::{CryptoRng, Rng},
};

use super::{Engine, EngineError};
use crate::{
    device::Interval,
    groth16::{
        Assignment, Backend, CpuBackend, GpuBackend, ProveError, ProvingKey, Ran, Ready, Sums, assemble, verifies,
    },
    pipeline::{self, Busy, Card, Pipeline, Place, Request, Stages},
};

/// A key for pipelines, with its verifying key prepared. Partitions that share it share what is loaded on a place.
pub struct SharedKey {
    id: u64,
    key: Arc<ProvingKey>,
    vk: PreparedVerifyingKey<Bls12_381>,
}

impl SharedKey {
    /// Prepares `key`.
    pub fn new(key: Arc<ProvingKey>) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Arc::new(Self { id: NEXT.fetch_add(1, Ordering::Relaxed), vk: prepare_verifying_key(&key.vk), key })
    }

    /// The verifying key, prepared.
    pub fn prepared_vk(&self) -> &PreparedVerifyingKey<Bls12_381> {
        &self.vk
    }

    /// The key.
    pub fn key(&self) -> &Arc<ProvingKey> {
        &self.key
    }
}

/// One proof to be made. It is zero-knowledge only if the blinding is uniform, secret and never used again.
pub struct ProofTask {
    /// Under which key.
    pub key: Arc<SharedKey>,
    /// The statement and its witness.
    pub assignment: Arc<Assignment>,
    /// `(r, s)`.
    pub blinding: (Fr, Fr),
}

impl ProofTask {
    /// A proof blinded out of `rng`, which has to be one for secrets, such as the system's.
    pub fn new(key: Arc<SharedKey>, assignment: Arc<Assignment>, rng: &mut (impl Rng + CryptoRng)) -> Self {
        Self { key, assignment, blinding: (Fr::rand(rng), Fr::rand(rng)) }
    }
}

/// How proofs go through a pipeline.
#[derive(Debug, Clone)]
pub struct PipelineOptions {
    /// Partitions that an adapter has under way at once: one computes, the others are prepared, uploaded, assembled.
    /// Two, unless said otherwise.
    pub workers_per_adapter: usize,
    /// Threads for the host work of all partitions of one place; as many as the machine has, unless said otherwise.
    pub host_threads: usize,
    /// Bytes that keys and partitions of one card may lease together: [`crate::groth16::GpuBackend::memory_with`] tells
    /// what a key and a proof take by an engine's [`Engine::planning`]. Without it [`crate::device::Options::limits`] holds, which are boundless by themselves:
    /// then nothing waits for bytes, no key is evicted, and a card that is full refuses.
    pub budget: Option<u64>,
    /// Adds the CPU for partitions that failed on every adapter, where their jobs ask for retries
    /// ([`pipeline::JobOptions::retry`]).
    pub cpu_fallback: bool,
    /// Whether proofs are verified before they are returned. Off, a wrong proof can get out.
    pub verify: bool,
    /// Locks, queue, timeline.
    pub scheduler: pipeline::Options,
}

impl Default for PipelineOptions {
    fn default() -> Self {
        Self {
            workers_per_adapter: 2,
            host_threads: std::thread::available_parallelism().map_or(1, usize::from),
            budget: None,
            cpu_fallback: false,
            verify: true,
            scheduler: pipeline::Options::default(),
        }
    }
}

/// The physical card: one card is listed by several backends, and a system may have several of a kind.
fn card_of(info: &wgpu::AdapterInfo) -> String {
    match info.device_pci_bus_id.as_str() {
        "" => format!("{:x}:{:x} {}", info.vendor, info.device, info.name),
        bus => bus.to_owned(),
    }
}

/// A pipeline of proofs over open engines. Their self-tests run first.
pub fn pipeline(engines: &[Engine], options: &PipelineOptions) -> Result<Pipeline<ProofStages>, EngineError> {
    Ok(Pipeline::new(places(engines, options)?, &options.scheduler)?)
}

/// The places of such a pipeline, for whoever wraps their stages. Several engines have their speeds measured first.
pub fn places(engines: &[Engine], options: &PipelineOptions) -> Result<Vec<Place<ProofStages>>, EngineError> {
    let mut cards: Vec<(String, Arc<Card<Loaded>>)> = Vec::new();
    let mut places = Vec::new();
    let spare = options.cpu_fallback.then(Engine::cpu);
    for engine in engines.iter().chain(&spare) {
        engine.self_test()?;
        let (name, card) = match engine.kernels() {
            Some(kernels) => {
                let gpu = kernels.gpu();
                let name = card_of(gpu.info());
                let card = match cards.iter().find(|(known, _)| *known == name) {
                    Some((_, card)) => card.clone(),
                    None => {
                        let budget = options.budget.unwrap_or(u64::MAX).min(gpu.limits().memory);
                        cards.push((name, Card::new(budget)));
                        cards[cards.len() - 1].1.clone()
                    }
                };
                (gpu.info().name.clone(), card)
            }
            None => ("CPU".to_owned(), Card::new(u64::MAX)),
        };
        let threads = rayon::ThreadPoolBuilder::new()
            .num_threads(options.host_threads.max(1))
            .thread_name(|index| format!("host work {index}"))
            .build()?;
        let place = places.len();
        places.push(Place {
            name,
            stages: ProofStages { engine: engine.clone(), threads, place, verify: options.verify },
            card,
            workers: options.workers_per_adapter.max(1),
            fallback: options.cpu_fallback && place == engines.len(),
            // A place on its own is not compared.
            speed: if engines.len() > 1 { engine.speed()? } else { 1.0 },
        });
    }
    Ok(places)
}

impl Pipeline<ProofStages> {
    /// Loads a key on every living place that is no fallback, one after the other, so that its first proof need not. Waits
    /// for the bytes, behind whoever asked before. Fails where no proof under the key would fit its budget, and where it
    /// can not be loaded; other partitions may evict it again before its first proof.
    pub fn preload(&self, key: &SharedKey) -> Result<(), EngineError> {
        for place in self.places().iter().filter(|place| !place.fallback && place.stages.alive()) {
            let request = place.stages.bytes(key)?;
            place.card.fits(request)?;
            let peak = request.peak.min(GpuBackend::LOADING);
            let lease = place.card.lease(Request { peak, ..request }, || false)?;
            lease.pass();
            lease.key(|| place.stages.load_key(key))?;
        }
        Ok(())
    }

    /// Lets go of a key on every place where no partition uses it; on how many it was.
    pub fn evict(&self, key: &SharedKey) -> usize {
        self.places().iter().filter(|place| place.card.evict(place.stages.id(key))).count()
    }
}

/// The stages of a proof on one engine.
pub struct ProofStages {
    engine: Engine,
    threads: rayon::ThreadPool,
    place: usize,
    verify: bool,
}

/// A key on its place.
pub enum Loaded {
    /// Bases and tables on a device.
    Gpu(Box<GpuBackend>),
    /// The key itself.
    Cpu(Box<CpuBackend>),
}

/// A proof under way.
pub struct Work {
    assignment: Arc<Assignment>,
    key: Option<Arc<Loaded>>,
    state: State,
}

enum State {
    /// Nothing was done yet, or nothing is left.
    Host,
    Ready(Box<Ready>),
    Ran(Box<Ran>),
    Sums(Box<Sums>),
}

impl ProofStages {
    /// Places on one card have one ledger, and a key on each.
    fn id(&self, key: &SharedKey) -> u64 {
        key.id << 16 | self.place as u64
    }

    fn bytes(&self, key: &SharedKey) -> Result<Request, ProveError> {
        let (key_bytes, peak) = match self.engine.kernels() {
            Some(kernels) => {
                let memory = GpuBackend::memory_with(kernels, &key.key, &self.engine.planning())?;
                (memory.key, memory.proof)
            }
            None => (0, 0),
        };
        Ok(Request { key: self.id(key), key_bytes, peak })
    }

    fn load_key(&self, key: &SharedKey) -> Result<Loaded, ProveError> {
        let key = key.key.clone();
        self.threads.install(|| {
            Ok(match self.engine.kernels() {
                Some(kernels) => {
                    let options = self.engine.planning();
                    Loaded::Gpu(Box::new(GpuBackend::load_with(kernels.clone(), key, &options)?))
                }
                None => Loaded::Cpu(Box::new(CpuBackend::load(key)?)),
            })
        })
    }
}

fn out_of_turn() -> ProveError {
    ProveError::Backend("stages ran out of turn".into())
}

impl Stages for ProofStages {
    type Task = ProofTask;
    type Key = Loaded;
    type Work = Work;
    type Read = Sums;
    type Output = Proof<Bls12_381>;
    type Error = ProveError;

    /// Size of the domain: everything grows with it.
    fn cost(task: &ProofTask) -> f64 {
        (1u64 << task.key.key.log2_domain()) as f64
    }

    fn request(&self, task: &ProofTask) -> Result<Request, ProveError> {
        self.bytes(&task.key)
    }

    fn prepare(&self, task: &ProofTask) -> Result<Work, ProveError> {
        self.threads.install(|| {
            task.assignment.check(&task.key.key)?;
            task.assignment.satisfied()
        })?;
        Ok(Work { assignment: task.assignment.clone(), key: None, state: State::Host })
    }

    fn load(&self, task: &ProofTask) -> Result<Loaded, ProveError> {
        self.load_key(&task.key)
    }

    fn upload(&self, key: &Arc<Loaded>, work: &mut Work) -> Result<(), ProveError> {
        if let Loaded::Gpu(backend) = &**key {
            work.state = State::Ready(Box::new(backend.upload(&work.assignment)?));
        }
        work.key = Some(key.clone());
        Ok(())
    }

    fn compute(&self, work: &mut Work, stop: &dyn Fn() -> bool) -> Result<(), ProveError> {
        let key = work.key.clone().ok_or_else(out_of_turn)?;
        work.state = match (&*key, std::mem::replace(&mut work.state, State::Host)) {
            (Loaded::Gpu(backend), State::Ready(ready)) => State::Ran(Box::new(backend.compute(*ready, stop)?)),
            (Loaded::Cpu(backend), State::Host) => {
                let sums = self.threads.install(|| backend.sums(&work.assignment, &|| Ok(())))?.0;
                State::Sums(Box::new(sums))
            }
            _ => return Err(out_of_turn()),
        };
        Ok(())
    }

    fn read_back(&self, work: Work) -> Result<(Sums, Vec<Busy>), ProveError> {
        let Work { key, state, .. } = work;
        match (key.as_deref(), state) {
            (Some(Loaded::Gpu(backend)), State::Ran(ran)) => {
                let (left, intervals) = backend.read_back(*ran)?;
                let sums = self.threads.install(|| left.sums())?;
                let busy =
                    |interval: Interval| Busy { label: interval.label, begin: interval.start, end: interval.end };
                Ok((sums, intervals.into_iter().map(busy).collect()))
            }
            (_, State::Sums(sums)) => Ok((*sums, Vec::new())),
            _ => Err(out_of_turn()),
        }
    }

    fn assemble(&self, task: &ProofTask, sums: Sums) -> Result<Proof<Bls12_381>, ProveError> {
        let (r, s) = task.blinding;
        self.threads.install(|| {
            let proof = assemble(&task.key.key, &sums, r, s);
            if self.verify && !verifies(&task.key.vk, &proof, task.assignment.public_inputs()) {
                return Err(ProveError::ProofRejected { backend: self.engine.to_string() });
            }
            Ok(proof)
        })
    }

    fn retry(&self, error: &ProveError) -> bool {
        // A rejected proof may be a device's fault or the key's; another place can tell.
        matches!(error, ProveError::Device(_) | ProveError::ProofRejected { .. })
    }

    fn alive(&self) -> bool {
        self.engine.kernels().is_none_or(|kernels| kernels.gpu().alive("the pipeline").is_ok())
    }
}
