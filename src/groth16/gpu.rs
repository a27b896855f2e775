//! The backend on a device: one key's bases resident, one list of steps a proof.
//!
//! **Theory.** The quotient by six transforms ([`crate::ntt::Quotient`]) leaves `h` where the H MSM reads its scalars;
//! the assignment is uploaded once, and the other four MSMs find their scalars in it through each query's map.
//!
//! **What differs** from the usual host: field elements go up as they lie in memory. Taking the Montgomery factor away,
//! telling zeros and ones apart, digits and sorting are the device's work; the host copies, waits, and adds the last
//! few points.
//!
//! **Use.** [`GpuBackend::load`] uploads a key; [`super::Backend::sums`] may then be called any number of times.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use ark_bls12_381::{Fr, G1Affine, G1Projective, G2Projective};

use super::{Assignment, Backend, Meanwhile, ProveError, ProvingKey, StageTime, Sums};
use crate::{
    device::{Interval, Pool, Span, by_label, leased},
    encoding::fr_write,
    kernel::{Encoded, Group, Kernel, Kernels, Steps, Submitted, table},
    msm::{self, Bases, MsmError, Options, Part, Plan, Recorded, Room, Scalars, Work},
    ntt::{Domain, NttError, Quotient, root_of_unity},
};

/// Proves on a device.
#[derive(Debug)]
pub struct GpuBackend {
    key: Arc<ProvingKey>,
    kernels: Arc<Kernels>,
    quotient: Quotient,
    /// h, l, a and b.
    g1: Bases<G1Projective>,
    b_g2: Bases<G2Projective>,
    /// Scratch memory that the MSMs of a proof share.
    room: Room,
    /// How they are planned.
    options: Options,
}

/// bellman and arkworks derive their roots of unity from this generator.
const GENERATOR: u64 = 7;

impl From<MsmError> for ProveError {
    fn from(error: MsmError) -> Self {
        match error {
            MsmError::Device(error) => Self::Device(error),
            other => Self::Backend(Box::new(other)),
        }
    }
}

impl From<NttError> for ProveError {
    fn from(error: NttError) -> Self {
        match error {
            NttError::Device(error) => Self::Device(error),
            other => Self::Backend(Box::new(other)),
        }
    }
}

impl GpuBackend {
    /// Bytes that are leased beside a key while it is loaded, at most.
    pub const LOADING: u64 = crate::ntt::LOADING;

    /// Every kernel that a proof, or loading a key without multiples, runs, for building them ahead.
    pub fn kernels() -> Vec<&'static Kernel> {
        let pairs = [
            &table::MSM_PAIR_PRODUCTS_FIRST,
            &table::MSM_PAIR_PRODUCTS,
            &table::MSM_PAIR_INVERT,
            &table::MSM_PAIR_ADD_FIRST,
            &table::MSM_PAIR_ADD,
            &table::MSM_ACCUMULATE,
            &table::MSM_JOIN,
            &table::MSM_MERGE,
            &table::MSM_REDUCE,
        ];
        let mut all: Vec<&'static Kernel> = pairs.into_iter().flatten().collect();
        all.extend([
            &table::MSM_PLAIN,
            &table::MSM_COUNT,
            &table::MSM_SCATTER,
            &table::SCAN_TILES,
            &table::SCAN_SUMS,
            &table::SCAN_ADD,
            &table::NTT_PASS,
            &table::NTT_PRODUCT,
            &table::NTT_MULTIPLY,
            &table::NTT_FACTORS,
            &table::QUOTIENT_OUT,
        ]);
        all
    }

    /// Bytes that `key` and one proof under it will lease on the device of `kernels`: exactly, as its arena counts.
    pub fn memory(kernels: &Kernels, key: &ProvingKey) -> Result<Memory, ProveError> {
        Self::memory_with(kernels, key, &Options::PINNED)
    }

    /// The same for [`Self::load_with`] and these options.
    pub fn memory_with(kernels: &Kernels, key: &ProvingKey, options: &Options) -> Result<Memory, ProveError> {
        Ok(Self::needs(kernels, key, options)?.0)
    }

    /// The same, and the scratch memory that the MSMs of a proof share.
    fn needs(kernels: &Kernels, key: &ProvingKey, options: &Options) -> Result<(Memory, Room), ProveError> {
        let limits = kernels.gpu().limits();
        let (tables, vector) = Quotient::memory(key.log2_domain, kernels.format(), &limits)?;
        let mut memory = Memory { key: tables, proof: 3 * leased(vector) };
        memory.proof += leased(32 * (key.num_inputs + key.num_aux) as u64);
        let mut room = Room::default();
        let mut sums = |group, parts: &[Part]| -> Result<(), MsmError> {
            let plan = Plan::joint(group, parts, &limits, options)?;
            memory.key += msm::Memory::of(&plan, parts).bases;
            memory.proof += plan.sums_bytes();
            room = room.join(plan.room());
            Ok(())
        };
        sums(Group::G1, &g1(key).map(|(points, positions)| Part { n: points.len(), positions }))?;
        sums(Group::G2, &[Part { n: key.b_g2.len(), positions: Some(&key.b_g2.index) }])?;
        memory.proof += room.bytes();
        Ok((memory, room))
    }

    /// Uploads the key's bases, and the tables of its domain. Sums are planned by the built-in costs.
    pub fn load(kernels: Arc<Kernels>, key: Arc<ProvingKey>) -> Result<Self, ProveError> {
        Self::load_with(kernels, key, &Options::PINNED)
    }

    /// The same with sums planned by `options`, and with as many multiples of each base as they name, made ahead.
    pub fn load_with(kernels: Arc<Kernels>, key: Arc<ProvingKey>, options: &Options) -> Result<Self, ProveError> {
        // What could not be proved is not loaded either.
        let room = Self::needs(&kernels, &key, options)?.1;
        let log_n = key.log2_domain;
        let root = root_of_unity(GENERATOR, log_n)
            .ok_or_else(|| ProveError::Backend(format!("there is no root of unity of order 2^{log_n}").into()))?;
        let domain = Arc::new(Domain::new(&kernels, log_n, root)?);
        Ok(Self {
            quotient: Quotient::new(&kernels, domain)?,
            g1: Bases::load_joint(&kernels, &g1(&key), options)?,
            b_g2: Bases::load_with(&kernels, &key.b_g2.bases, Some(&key.b_g2.index), options)?,
            key,
            kernels,
            room,
            options: *options,
        })
    }

    /// The assignment, `a` and `b` over the whole domain, to the device, and at the same time a list of everything that a
    /// proof runs, ready to be submitted. Nothing waits for what runs there, unless the staging ring is full.
    pub(crate) fn upload(&self, assignment: &Assignment) -> Result<Ready, ProveError> {
        let gpu = self.kernels.gpu();
        let Assignment { a, b, inputs, aux, .. } = assignment;
        let domain = 1 << self.key.log2_domain;
        let parts: [(_, &[Fr], &[Fr], usize); 3] =
            [("a", a, &[], domain), ("b", b, &[], domain), ("scalars", inputs, aux, inputs.len() + aux.len())];
        let mut spans = Vec::new();
        for (what, _, _, length) in parts {
            spans.push(gpu.allocate(Pool::Scratch, what, 32 * length as u64)?);
        }
        let [a, b, witness] = &spans[..] else { unreachable!("three parts") };
        // A thread of its own, as for filling: a pool's worker that waits could take up another proof.
        std::thread::scope(|scope| {
            let recording = scope.spawn(|| self.record([a, b], witness.clone()));
            for (span, (_, first, second, length)) in spans.iter().zip(parts) {
                gpu.upload_with(span, 32 * length, &|at, block| fr_write(first, second, at, block))?;
            }
            recording.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn record(&self, [a, b]: [&Span; 2], witness: Span) -> Result<Ready, ProveError> {
        let kernels = &*self.kernels;
        let gpu = kernels.gpu();
        let spare = gpu.allocate(Pool::Scratch, "quotient", self.quotient.bytes())?;
        let mut steps = Steps::new(gpu.limits());
        let span = self.quotient.record(&mut steps, a, b, &spare);
        let h = Scalars { span, scale: self.quotient.scale(), format: kernels.format() };
        let witness = Scalars { span: witness, scale: kernels.format().fr_unmont(), format: kernels.format() };
        let options = |stage| Options { stage: Some(stage), ..self.options };
        // The MSMs run one after the other and share their scratch memory.
        let work = Work::lease(kernels, self.room)?;
        let g1 = [&h, &witness, &witness, &witness];
        let queries = Queries {
            g1: msm::record_joint(kernels, &mut steps, &self.g1, &g1, &options("g1"), &work)?,
            b_g2: msm::record_in(kernels, &mut steps, &self.b_g2, &witness, &options("b_g2"), &work)?,
        };
        let encoded = kernels.encode(&steps, &queries.rows())?;
        Ok(Ready { encoded, queries })
    }

    /// First submission to last completion.
    pub(crate) fn compute(&self, ready: Ready, stop: &dyn Fn() -> bool) -> Result<Ran, ProveError> {
        let Ready { encoded, queries } = ready;
        let submitted = self.kernels.launch(encoded, stop)?;
        self.kernels.wait(&submitted)?;
        Ok(Ran { submitted, queries })
    }

    /// What the device left, and when it was at what.
    pub(crate) fn read_back(&self, ran: Ran) -> Result<(Left, Vec<Interval>), ProveError> {
        let Ran { submitted, queries } = ran;
        let (rows, intervals) = self.kernels.collect(submitted)?;
        Ok((Left { rows, queries }, intervals))
    }
}

/// Device memory of a key and of a proof under it, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Bases, maps and tables, as long as the key is loaded.
    pub key: u64,
    /// Inputs and scratch of one proof at its peak.
    pub proof: u64,
}

/// A proof's work that only has to be submitted.
pub(crate) struct Ready {
    encoded: Encoded,
    queries: Queries,
}

/// A proof's work that has run.
pub(crate) struct Ran {
    submitted: Submitted,
    queries: Queries,
}

/// What a proof's work left on the host.
pub(crate) struct Left {
    rows: Vec<Vec<u8>>,
    queries: Queries,
}

impl Left {
    /// The last additions, by the threads of the current pool.
    pub(crate) fn sums(self) -> Result<Sums, ProveError> {
        Ok(self.queries.sums(self.rows)?)
    }
}

/// What is summed in G1, in the order of [`Queries::g1`].
fn g1(key: &ProvingKey) -> [msm::Query<'_, G1Affine>; 4] {
    fn mapped(query: &super::Query<G1Affine>) -> msm::Query<'_, G1Affine> {
        (&query.bases, Some(&query.index))
    }
    [(&key.h, None), mapped(&key.l), mapped(&key.a), mapped(&key.b_g1)]
}

struct Queries {
    /// h, l, a and b.
    g1: Recorded<G1Projective>,
    b_g2: Recorded<G2Projective>,
}

impl Queries {
    /// What has to be read back, in the order of the fields; empty queries leave nothing.
    fn rows(&self) -> Vec<&Span> {
        self.g1.rows().into_iter().chain(self.b_g2.rows()).collect()
    }

    /// The sums out of these. Each ends in 255 doublings one after the other, half a millisecond in G2, so all five are
    /// made at the same time.
    fn sums(&self, rows: Vec<Vec<u8>>) -> Result<Sums, MsmError> {
        let mut rows = rows.into_iter();
        // An MSM over an empty query reads nothing back; a proof's other queries still do.
        let mut of = |read: Option<&Span>| read.and_then(|_| rows.next()).unwrap_or_default();
        let (g1, b_g2) = (of(self.g1.rows()), of(self.b_g2.rows()));
        let (b_g2, g1) = rayon::join(|| self.b_g2.sum(&b_g2), || self.g1.sums(&g1));
        let (b_g2, g1) = (b_g2?, g1?);
        let [h, l, a, b_g1] = g1[..] else { unreachable!("a sum of each part") };
        Ok(Sums { a, b_g1, b_g2, h, l })
    }
}

impl Backend for GpuBackend {
    fn name(&self) -> String {
        let (info, format) = (self.kernels.gpu().info(), self.kernels.format().name());
        format!("{} ({}, {format})", info.name, info.backend)
    }

    fn sums(&self, assignment: &Assignment, meanwhile: Meanwhile<'_>) -> Result<(Sums, Vec<StageTime>), ProveError> {
        assignment.check(&self.key)?;
        let log = &mut Vec::new();
        let begin = Instant::now();
        let ready = self.upload(assignment)?;
        host(log, "upload", begin);
        let begin = Instant::now();
        let refused = AtomicBool::new(false);
        // A thread of its own: a pool's worker that waits could take up another proof.
        let (ran, done) = std::thread::scope(|scope| {
            let beside = scope.spawn(|| {
                let done = meanwhile();
                refused.store(done.is_err(), Relaxed);
                done
            });
            let ran = self.compute(ready, &|| refused.load(Relaxed));
            (ran, beside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        done?;
        let ran = ran?;
        host(log, "compute", begin);
        let begin = Instant::now();
        let (left, intervals) = self.read_back(ran)?;
        let sums = left.sums()?;
        log.extend(device(&intervals));
        host(log, "read back", begin);
        Ok((sums, std::mem::take(log)))
    }
}

fn host(log: &mut Vec<StageTime>, stage: &'static str, begin: Instant) {
    log.push(StageTime { stage, host: begin.elapsed(), device: None });
}

/// Device time by stage; the host waits for all of them in `compute`.
fn device(intervals: &[Interval]) -> Vec<StageTime> {
    let stage = |(stage, took)| StageTime { stage, host: Duration::ZERO, device: Some(took) };
    by_label(intervals).into_iter().map(stage).collect()
}
