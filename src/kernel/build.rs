//! From rows of the table to pipelines: composition, compilation, and a look at the device after each.
//!
//! Pipelines are built once, on first use or ahead of it in parallel. A driver that refuses a pipeline can lose the
//! whole device without a word (gfx-rs/wgpu#10027), so after each build the device is looked at and the kernel named.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use super::{
    field::Code,
    table::{Access, Kernel, Piece},
};
use crate::{
    device::{DeviceError, Gpu, lock},
    encoding::Format,
};

/// The complete WGSL text of a kernel in a limb format.
pub fn compose(kernel: &Kernel, format: Format, code: Code) -> String {
    let mut text: String = kernel
        .pieces
        .iter()
        .map(|piece| match piece {
            Piece::Fr => super::field::fr(format, code),
            Piece::Fq => super::field::fq(format, code),
            Piece::Fq2 => super::field::fq2(format, code),
            Piece::Fixed => super::field::fixed(format, code),
            Piece::Tile => super::field::tile(format, code),
            Piece::Float(shape) => super::field::float::float(*shape, code),
            Piece::File(text) => (*text).into(),
            Piece::ByCode { unrolled, compact } => match code {
                Code::Unrolled => (*unrolled).into(),
                Code::Compact => (*compact).into(),
            },
        })
        .collect();
    if kernel.generic != kernel.name {
        text = text.replace(&format!("fn {}(", kernel.generic), &format!("fn {}(", kernel.name));
    }
    text
}

/// A compiled kernel.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) pipeline: wgpu::ComputePipeline,
    pub(crate) layout: wgpu::BindGroupLayout,
}

/// How long a kernel took to compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// Entry point.
    pub kernel: &'static str,
    /// Composition, validation, translation and the driver's compiler.
    pub took: Duration,
}

type Slot = Arc<Mutex<Option<Arc<Pipeline>>>>;

/// The kernels of one device in one limb format.
#[derive(Debug)]
pub struct Kernels {
    gpu: Gpu,
    format: Format,
    code: Code,
    slots: Mutex<HashMap<&'static str, Slot>>,
    /// Kernels whose build has begun and not ended: when a device is lost meanwhile, one of them did it.
    building: Mutex<Vec<&'static str>>,
    submitting: Mutex<()>,
    compiled: Mutex<Vec<Compiled>>,
}

impl Kernels {
    /// No kernel is built yet. Software adapters get compact code.
    pub fn new(gpu: Gpu, format: Format) -> Self {
        let software = gpu.info().device_type == wgpu::DeviceType::Cpu;
        let code = if software { Code::Compact } else { Code::Unrolled };
        Self::with_code(gpu, format, code)
    }

    /// The same with a given shape of code.
    pub fn with_code(gpu: Gpu, format: Format, code: Code) -> Self {
        Self {
            gpu,
            format,
            code,
            slots: Mutex::default(),
            building: Mutex::default(),
            submitting: Mutex::default(),
            compiled: Mutex::default(),
        }
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The limb format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The shape of its code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// Compile times so far, in the order of completion.
    pub fn compiled(&self) -> Vec<Compiled> {
        lock(&self.compiled).clone()
    }

    /// Builds what is missing of `kernels`, several at a time.
    pub fn prepare(&self, kernels: &[&'static Kernel]) -> Result<(), DeviceError> {
        let next = std::sync::atomic::AtomicUsize::new(0);
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(kernels.len());
        std::thread::scope(|scope| {
            let work = || {
                while let Some(kernel) = kernels.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    self.get(kernel)?;
                }
                Ok(())
            };
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| match worker.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })
    }

    /// Held while a list of steps is submitted.
    pub(super) fn submitting(&self) -> std::sync::MutexGuard<'_, ()> {
        lock(&self.submitting)
    }

    /// The kernel's pipeline, built if it was not.
    pub(crate) fn get(&self, kernel: &'static Kernel) -> Result<Arc<Pipeline>, DeviceError> {
        let slot = lock(&self.slots).entry(kernel.name).or_default().clone();
        let mut slot = lock(&slot);
        if let Some(pipeline) = &*slot {
            return Ok(pipeline.clone());
        }
        let started = Instant::now();
        lock(&self.building).push(kernel.name);
        let built = self.build(kernel);
        let mut building = lock(&self.building);
        if let Err(DeviceError::Lost { .. }) = self.gpu.alive(kernel.name) {
            // The names stay, for the other builders of this moment to report.
            let (adapter, kernel) = (self.gpu.info().name.clone(), building.join(" or "));
            return Err(DeviceError::Kernel { kernel, adapter, reason: "the device was lost".into() });
        }
        building.retain(|name| *name != kernel.name);
        drop(building);
        let pipeline = Arc::new(built?);
        let took = started.elapsed();
        tracing::debug!(kernel = kernel.name, format = self.format.name(), ?took, "kernel compiled");
        lock(&self.compiled).push(Compiled { kernel: kernel.name, took });
        *slot = Some(pipeline.clone());
        Ok(pipeline)
    }

    #[expect(unsafe_code, reason = "wgpu marks modules without run-time checks unsafe")]
    fn build(&self, kernel: &Kernel) -> Result<Pipeline, DeviceError> {
        let refused = |reason: String| DeviceError::Kernel {
            kernel: kernel.name.into(),
            adapter: self.gpu.info().name.clone(),
            reason,
        };
        let text = compose(kernel, self.format, self.code);
        let checks = if self.gpu.checked() {
            wgpu::ShaderRuntimeChecks::checked()
        } else {
            wgpu::ShaderRuntimeChecks::unchecked()
        };
        let built = self.gpu.scoped(|device| {
            let source = wgpu::ShaderSource::Wgsl(text.into());
            let descriptor = wgpu::ShaderModuleDescriptor { label: Some(kernel.name), source };
            // SAFETY: without the checks an index out of range is undefined behaviour. Every kernel compares its
            // thread's or tile's number with a count before it indexes, the plans derive counts and spans from the
            // same numbers, loops end, and the one division is by a count that was compared before. Spans that are
            // too short for their parameters would break this; `Steps::dispatch` says so.
            let module = unsafe { device.create_shader_module_trusted(descriptor, checks) };
            let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: Some(kernel.name),
                entries: &entries(kernel),
            });
            let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some(kernel.name),
                bind_group_layouts: &[Some(&layout)],
                ..Default::default()
            });
            let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(kernel.name),
                layout: Some(&pipeline_layout),
                module: &module,
                entry_point: Some(kernel.name),
                compilation_options: wgpu::PipelineCompilationOptions {
                    zero_initialize_workgroup_memory: false,
                    ..Default::default()
                },
                cache: None,
            });
            Pipeline { pipeline, layout }
        });
        let pipeline = built.map_err(|error| refused(error.to_string()))?;
        self.gpu.alive(kernel.name).map_err(|error| refused(error.to_string()))?;
        Ok(pipeline)
    }
}

fn entries(kernel: &Kernel) -> Vec<wgpu::BindGroupLayoutEntry> {
    let entry = |binding, ty| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
        count: None,
    };
    let storage = kernel.bindings.iter().zip(1..).map(|(access, binding)| {
        entry(binding, wgpu::BufferBindingType::Storage { read_only: *access == Access::Read })
    });
    std::iter::once(entry(0, wgpu::BufferBindingType::Uniform)).chain(storage).collect()
}
