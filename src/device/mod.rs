//! One open adapter: its limits, its memory, its transfers and its clock.
//!
//! This layer knows bytes and time and no mathematics. A [`Gpu`] is a cheap handle; clones share the device, and a
//! device is opened once per card, since two devices on one card only take turns.
//!
//! Errors never panic: operations that can fail run inside error scopes, anything that slips past them lands in a
//! handler, and a lost device is noticed by [`Gpu::alive`], which every wait and transfer ends with.

mod adapter;
mod arena;
mod clock;
mod error;
mod transfer;

use std::{
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

pub use adapter::{Select, adapters, choose, describe};
pub use arena::{Pool, Span, Usage, leased};
pub use clock::{Clock, Interval, by_label};
pub use error::DeviceError;
pub(crate) use transfer::copy_out;

/// Longest wait for one submission before the device counts as hung.
const PATIENCE: Duration = Duration::from_secs(600);

/// What a device allows, as the plans see it. Lower them to force splitting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Limits {
    /// Bytes of one storage binding.
    pub binding: u64,
    /// Bytes of one buffer.
    pub buffer: u64,
    /// Bytes the arena may take from the driver altogether. Leases come out of blocks, so what can be leased is less by
    /// what lies idle in them.
    pub memory: u64,
    /// Bytes by which the arena grows.
    pub block: u64,
    /// Workgroups of one dispatch.
    pub groups: u32,
    /// Bytes of workgroup memory, for reports: every kernel keeps within the 16 KiB that WebGPU promises.
    pub workgroup_memory: u32,
}

impl Limits {
    fn of(limits: &wgpu::Limits) -> Self {
        // A binding's size and offset are multiples of the span alignment.
        let binding = limits.max_storage_buffer_binding_size / arena::ALIGN * arena::ALIGN;
        Self {
            binding,
            buffer: limits.max_buffer_size / arena::ALIGN * arena::ALIGN,
            memory: u64::MAX,
            block: 64 << 20,
            groups: limits.max_compute_workgroups_per_dimension,
            workgroup_memory: limits.max_compute_workgroup_storage_size,
        }
    }

    /// Rounded so that plans need not: sizes to the alignment of spans, and at least one workgroup.
    fn aligned(self) -> Self {
        let round = |bytes: u64| (bytes / arena::ALIGN).max(1) * arena::ALIGN;
        Self {
            binding: round(self.binding),
            buffer: round(self.buffer),
            block: round(self.block),
            groups: self.groups.max(1),
            ..self
        }
    }

    /// The smaller of each.
    pub fn min(self, other: Self) -> Self {
        Self {
            binding: self.binding.min(other.binding),
            buffer: self.buffer.min(other.buffer),
            memory: self.memory.min(other.memory),
            block: self.block.min(other.block),
            groups: self.groups.min(other.groups),
            workgroup_memory: self.workgroup_memory.min(other.workgroup_memory),
        }
    }
}

/// How to open a device.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Which adapter.
    pub select: Select,
    /// Limits below the adapter's own, for budgets and for tests of splitting.
    pub limits: Option<Limits>,
    /// Features to do without although the adapter has them.
    pub without: wgpu::Features,
    /// Keep the shader compiler's bounds and loop checks (tests); they cost speed and guard only against our own faults.
    pub checked: bool,
}

/// Features that are asked for where they are found. None is needed. Today's kernels use 64-bit integers and timestamps;
/// the others are there for variants to come and for whoever shares the device.
const WANTED: wgpu::Features = wgpu::Features::SHADER_INT64
    .union(wgpu::Features::SHADER_F64)
    .union(wgpu::Features::SUBGROUP)
    .union(wgpu::Features::TIMESTAMP_QUERY)
    .union(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS)
    .union(wgpu::Features::IMMEDIATES)
    .union(wgpu::Features::PIPELINE_CACHE);

/// A poisoned mutex only says that another thread panicked between two consistent states.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Inner {
    info: wgpu::AdapterInfo,
    device: wgpu::Device,
    queue: wgpu::Queue,
    limits: Limits,
    checked: bool,
    arena: arena::Arena,
    ring: transfer::Ring,
    lost: Arc<OnceLock<String>>,
    stray: Arc<Mutex<Option<String>>>,
}

/// An open device. Clones share it.
#[derive(Clone)]
pub struct Gpu(Arc<Inner>);

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Gpu({} on {})", self.0.info.name, self.0.info.backend)
    }
}

impl Gpu {
    /// Opens the adapter that `options.select` names, with all of its limits.
    pub fn open(options: &Options) -> Result<Self, DeviceError> {
        Self::open_on(&adapter::choose(&options.select)?, options)
    }

    /// Opens a given adapter; `options.select` is not looked at.
    pub fn open_on(adapter: &wgpu::Adapter, options: &Options) -> Result<Self, DeviceError> {
        let info = adapter.get_info();
        let limits = adapter.limits();
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("prooflane"),
            required_features: adapter.features() & WANTED & !options.without,
            required_limits: limits.clone(),
            memory_hints: wgpu::MemoryHints::Performance,
            ..Default::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .map_err(|e| DeviceError::Refused { adapter: info.name.clone(), reason: e.to_string() })?;
        let lost = Arc::new(OnceLock::new());
        let slot = lost.clone();
        device.set_device_lost_callback(move |reason, message| {
            let _ = slot.set(format!("{reason:?}: {message}"));
        });
        let stray = Arc::new(Mutex::new(None));
        let slot = stray.clone();
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            tracing::error!(%error, "uncaptured device error");
            lock(&slot).get_or_insert(error.to_string());
        }));
        let own = Limits::of(&limits);
        tracing::info!(adapter = %info.name, backend = %info.backend, driver = %info.driver_info, "device opened");
        Ok(Self(Arc::new(Inner {
            info,
            device,
            queue,
            limits: options.limits.map_or(own, |asked| own.min(asked)).aligned(),
            checked: options.checked,
            arena: arena::Arena::new(),
            ring: transfer::Ring::default(),
            lost,
            stray,
        })))
    }

    /// Name, backend, driver.
    pub fn info(&self) -> &wgpu::AdapterInfo {
        &self.0.info
    }

    /// What plans have to keep within.
    pub fn limits(&self) -> Limits {
        self.0.limits
    }

    /// Features in use.
    pub fn features(&self) -> wgpu::Features {
        self.0.device.features()
    }

    /// Whether shader modules keep their run-time checks.
    pub fn checked(&self) -> bool {
        self.0.checked
    }

    /// Device memory leased from the arena now, at the peak, and taken from the driver.
    pub fn usage(&self) -> Usage {
        self.0.arena.usage()
    }

    /// Lets [`Usage::peak`] begin anew from what is leased now.
    pub fn reset_peak(&self) {
        self.0.arena.reset_peak();
    }

    /// Leases `size` bytes; `what` names them in errors and debuggers. Contents are unspecified.
    pub fn allocate(&self, pool: Pool, what: &str, size: u64) -> Result<Span, DeviceError> {
        self.0.arena.allocate(self, pool, what, size)
    }

    /// Leases a span and uploads `data` into it.
    pub fn store(&self, pool: Pool, what: &str, data: &[u8]) -> Result<Span, DeviceError> {
        let span = self.allocate(pool, what, data.len() as u64)?;
        self.upload(&span, data)?;
        Ok(span)
    }

    /// Waits until a submission has run on the device.
    pub fn wait(&self, index: wgpu::SubmissionIndex, during: &str) -> Result<(), DeviceError> {
        let poll = wgpu::PollType::Wait { submission_index: Some(index), timeout: Some(PATIENCE) };
        let polled = self.device().poll(poll);
        self.alive(during)?;
        match polled {
            Ok(_) => Ok(()),
            Err(wgpu::PollError::Timeout) => Err(DeviceError::Timeout {
                adapter: self.0.info.name.clone(),
                during: during.into(),
                seconds: PATIENCE.as_secs(),
            }),
            Err(error) => Err(self.invalid(during, &error)),
        }
    }

    /// An error if the device was lost or an operation was refused since the last look.
    pub fn alive(&self, during: &str) -> Result<(), DeviceError> {
        if let Some(reason) = self.0.lost.get() {
            return Err(DeviceError::Lost {
                adapter: self.0.info.name.clone(),
                during: during.into(),
                reason: reason.clone(),
            });
        }
        // An error that no scope caught has no known owner, so from then on nobody trusts this device.
        match &*lock(&self.0.stray) {
            Some(reason) => Err(DeviceError::Invalid { during: during.into(), reason: reason.clone() }),
            None => Ok(()),
        }
    }

    /// Gives the device back at once, for every clone of this handle: what runs is abandoned, what comes after is a
    /// [`DeviceError::Lost`].
    pub fn destroy(&self) {
        // wgpu tells of a destroyed device late or never; who destroyed it knows.
        let _ = self.0.lost.set("it was given back".into());
        self.0.device.destroy();
    }

    pub(crate) fn device(&self) -> &wgpu::Device {
        &self.0.device
    }

    pub(crate) fn queue(&self) -> &wgpu::Queue {
        &self.0.queue
    }

    /// An error if a span is of another device: buffers never cross devices.
    pub(crate) fn own<'a>(&self, during: &str, spans: impl IntoIterator<Item = &'a Span>) -> Result<(), DeviceError> {
        match spans.into_iter().find(|span| !span.is_of(&self.0.arena)) {
            None => Ok(()),
            Some(span) => Err(DeviceError::Invalid {
                during: during.into(),
                reason: format!("{} bytes of another device were given to {}", span.size(), self.0.info.name),
            }),
        }
    }

    fn ring(&self) -> &transfer::Ring {
        &self.0.ring
    }

    pub(crate) fn invalid(&self, during: &str, reason: &dyn std::fmt::Display) -> DeviceError {
        // On a lost device other operations fail in odd ways; the loss is what there is to say.
        match self.alive(during) {
            Err(lost @ DeviceError::Lost { .. }) => lost,
            _ => DeviceError::Invalid { during: during.into(), reason: reason.to_string() },
        }
    }

    /// Runs `operation` inside error scopes and returns what it made, or the first error.
    pub(crate) fn scoped<T>(&self, operation: impl FnOnce(&wgpu::Device) -> T) -> Result<T, wgpu::Error> {
        let device = self.device();
        let filters = [wgpu::ErrorFilter::Internal, wgpu::ErrorFilter::OutOfMemory, wgpu::ErrorFilter::Validation];
        let scopes = filters.map(|filter| device.push_error_scope(filter));
        let made = operation(device);
        let errors: Vec<_> = scopes.into_iter().rev().filter_map(|scope| pollster::block_on(scope.pop())).collect();
        errors.into_iter().next().map_or(Ok(made), Err)
    }

    /// A buffer, or the bytes that could not be had.
    fn create_buffer(&self, what: &str, size: u64, usage: wgpu::BufferUsages) -> Result<wgpu::Buffer, DeviceError> {
        let descriptor = wgpu::BufferDescriptor { label: Some(what), size, usage, mapped_at_creation: false };
        self.scoped(|device| device.create_buffer(&descriptor))
            .map_err(|error| match error {
                wgpu::Error::OutOfMemory { .. } => {
                    DeviceError::OutOfMemory { what: what.into(), bytes: size, limit: self.limits().buffer }
                }
                other => self.invalid(&format!("a buffer for {what}"), &other),
            })
            .and_then(|buffer| self.alive(what).map(|()| buffer))
    }
}
